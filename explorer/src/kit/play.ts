// SPDX-License-Identifier: MIT
import { h } from "../dom";
import { t } from "../words";

/** A button that steps some times a second until it is pressed again. */
export function play(
    name: string,
    step: () => void,
    perSecond = 12,
): { element: HTMLElement; stop(): void } {
    let timer = 0;
    const button = h("button.play", { type: "button", onclick: () => (timer ? stop() : start()) });

    function show(): void {
        button.textContent = timer ? "❚❚" : "▶";
        button.setAttribute(
            "aria-label",
            `${timer ? t("stop", "停止") : t("play", "播放")}: ${name}`,
        );
    }

    function start(): void {
        timer = window.setInterval(step, 1000 / perSecond);
        show();
    }

    function stop(): void {
        clearInterval(timer);
        timer = 0;
        show();
    }

    show();
    return { element: h("div.player", {}, button, h("span", {}, name)), stop };
}
