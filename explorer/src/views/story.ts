// SPDX-License-Identifier: MIT
// How one came to turn vectors: six ideas, each with the flaw that led to the next one. A slider of
// length shows all of them.
import type { Ask, Tensor } from "../api";
import { h } from "../dom";
import { of, renew, slider } from "../kit/controls";
import { Work } from "../kit/work";
import { whole } from "../numbers";
import type { App, Mounted } from "../view";
import { t } from "../words";
import { chapters, type Chapter } from "./story/chapters";

interface Choice {
    step: number;
    length: number;
}

function chosen(app: App, count: number): Choice {
    const { step, length } = app.state.params;
    return {
        step: Math.min(Math.max(+(step ?? 1), 1), count),
        length: Math.max(2, +(length ?? 16) || 16),
    };
}

function steps(app: App, all: Chapter[], step: number): HTMLElement {
    return h(
        "ol.steps",
        { "aria-label": t("chapters", "章节") },
        ...all.map((one, i) =>
            h(
                "li",
                {},
                h(
                    "button",
                    {
                        type: "button",
                        "aria-current": i + 1 === step ? "step" : undefined,
                        onclick: () => app.go({ step: i + 1 }, "push"),
                    },
                    h("b", {}, i + 1),
                    one.name,
                ),
            ),
        ),
    );
}

function walk(app: App, count: number, step: number): HTMLElement {
    const to = (next: number, words: string) =>
        h(
            "button.chip",
            {
                type: "button",
                disabled: next < 1 || next > count,
                onclick: () => app.go({ step: next }, "push"),
            },
            words,
        );
    return h(
        "div.walk",
        {},
        to(step - 1, t("← back", "← 上一步")),
        to(step + 1, t("next →", "下一步 →")),
    );
}

export function mount(stage: HTMLElement, app: App): Mounted {
    const all = chapters(app),
        top = h("div"),
        knobs = h("div.controls");
    const words = h("div.chapter"),
        picture = h("div.panel.idea"),
        flaw = h("p.flaw"),
        bottom = h("div");
    const work = new Work(app, { pictures: [picture, flaw] });
    let standing: Chapter | undefined;
    stage.append(top, words, knobs, picture, flaw, bottom);

    function show(chapter: Chapter, step: number): void {
        standing = chapter;
        top.replaceChildren(steps(app, all, step));
        words.replaceChildren(h("h2", {}, chapter.title), h("p", {}, chapter.idea));
        picture.replaceChildren(chapter.element);
        bottom.replaceChildren(walk(app, all.length, step));
        flaw.replaceChildren();
    }

    function update(): void {
        const { step, length } = chosen(app, all.length),
            chapter = all[step - 1];
        if (standing !== chapter) show(chapter, step);
        renew(knobs, () => [
            of(
                "length",
                slider({
                    label: t("length", "长度"),
                    min: 2,
                    max: chapter.most,
                    log: true,
                    value: Math.min(length, chapter.most),
                    show: whole,
                    change: (length) => app.go({ length }),
                }),
            ),
            ...(chapter.controls?.() ?? []),
        ]);
        const asks = chapter.asks(Math.min(length, chapter.most));
        app.shows([
            {
                title: chapter.name,
                ask: asks[0],
                formats: asks[0].method === "GET" ? ["png", "svg", "npy"] : ["npy"],
            },
        ]);
        work.run(
            (signal) =>
                Promise.all(
                    asks.map((ask: Ask) => app.api.ask<Record<string, Tensor>>(ask, signal)),
                ),
            (answers) =>
                flaw.replaceChildren(chapter.draw(answers, Math.min(length, chapter.most))),
        );
    }
    update();
    return {
        update,
        leave() {
            work.stop();
            for (const one of all) one.leave?.();
        },
    };
}
