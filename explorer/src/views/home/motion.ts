// SPDX-License-Identifier: MIT
// The position that moves: faster the farther it is, so that each decade of pairs is seen turning.
import { h } from "../../dom";
import { slider } from "../../kit/controls";
import { whole } from "../../numbers";
import { t } from "../../words";

export interface Motion {
    element: HTMLElement;
    /** The end of the way. */
    context(length: number): void;
    leave(): void;
}

const DECADE = 4,
    FIRST = 6,
    REST = 1.2; // s for tenfold, positions a second at the start, s at the end
const SPEED = Math.LN10 / DECADE;

/** `turn` is told each position and how far it is from the one before, `rested` where it stops. */
export function motion(
    start: number,
    length: number,
    playing: boolean,
    turn: (position: number, speed: number) => void,
    rested: (position: number) => void,
): Motion {
    let position = start,
        end = length,
        frame = 0,
        last = 0,
        waits = 0;
    const bar = slider({
        label: t("position", "位置"),
        min: 1,
        max: length,
        log: true,
        value: start,
        show: whole,
        change: (value) => {
            stop();
            turn((position = value), 0);
            rested(position);
        },
    });
    const button = h("button.play", {
        type: "button",
        onclick: () => {
            if (frame) {
                stop();
                turn(position, 0);
                rested(position);
            } else play();
        },
    });

    function step(now: number): void {
        const passed = Math.min(0.1, (now - last) / 1000),
            before = position;
        last = now;
        frame = requestAnimationFrame(step);
        if (position >= end) {
            waits += passed;
            if (waits < REST) return;
            position = 1;
            waits = 0;
        }
        position = Math.min(end, position + Math.max(FIRST, position * SPEED) * passed);
        bar.move(position);
        turn(position, position - before);
    }

    function show(): void {
        button.textContent = frame ? "❚❚" : "▶";
        button.setAttribute(
            "aria-label",
            frame ? t("stop the hands", "停住指针") : t("turn the hands", "转动指针"),
        );
    }

    function play(): void {
        last = performance.now();
        frame = requestAnimationFrame(step);
        show();
    }

    function stop(): void {
        cancelAnimationFrame(frame);
        frame = 0;
        show();
    }

    turn(position, 0);
    if (playing) play();
    else show();
    return {
        element: h("div.motion", {}, button, bar),
        context(next) {
            end = next;
            position = Math.min(position, end);
            bar.move(position, end);
        },
        leave: stop,
    };
}
