// SPDX-License-Identifier: MIT
// Controls that hold a parameter of the state.
import { h } from "../dom";

/** A control of a parameter, so that it can be marked where that is at fault. */
export function of<Element extends HTMLElement>(name: string, control: Element): Element {
    control.dataset.name = name;
    return control;
}

export interface Range {
    label: string;
    min: number;
    max: number;
    step?: number;
    value: number;
    /** The slider moves over powers of two of this; an arrow key is a fiftieth, one at least. */
    log?: boolean;
    show(value: number): string;
    change(value: number): void;
}

export type Slider = HTMLElement & { move(value: number, max?: number): void };

const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };

/** A slider with its name and its value in words; `move` sets it from elsewhere, its end too. */
export function slider(range: Range): Slider {
    const inside = (value: number) => (range.log ? Math.log2(value) : value);
    const outside = (value: number) => (range.log ? Math.round(2 ** value) : value);
    const output = h("output", {}, range.show(range.value));
    const input = h("input", {
        type: "range",
        "aria-label": range.label,
        min: inside(range.min),
        max: inside(range.max),
        step: range.step ?? (range.log ? "any" : 1),
        value: inside(range.value),
        oninput: () => {
            show(outside(+input.value));
            range.change(outside(+input.value));
        },
        onkeydown: (event: KeyboardEvent) => {
            const way = STEPS[event.key];
            if (!range.log || !way) return;
            event.preventDefault();
            const value = outside(+input.value),
                by = Math.max(1, Math.round(value / 50));
            const next = Math.max(range.min, Math.min(+outside(+input.max), value + way * by));
            element.move(next);
            range.change(next);
        },
    });
    const show = (value: number) => {
        output.textContent = range.show(value);
        input.setAttribute("aria-valuetext", range.show(value));
    };
    const element = Object.assign(
        h("label.slider", {}, h("span", {}, range.label), input, output),
        {
            move(value: number, max?: number) {
                if (max) input.max = `${inside(max)}`;
                input.value = `${inside(value)}`;
                show(value);
            },
        },
    );
    show(range.value);
    return element;
}

/** One of a few: buttons that are pressed, names by values. */
export function choice(
    label: string,
    names: Record<string, string>,
    value: string,
    change: (value: string) => void,
): HTMLElement {
    const buttons = Object.entries(names).map(([one, name]) =>
        h(
            "button.chip",
            {
                type: "button",
                "aria-pressed": `${one === value}`,
                onclick: () => {
                    for (const button of buttons)
                        button.setAttribute("aria-pressed", `${button === own(one)}`);
                    change(one);
                },
            },
            name,
        ),
    );
    const own = (one: string) => buttons[Object.keys(names).indexOf(one)];
    return h(
        "div.choice",
        { role: "group", "aria-label": label },
        h("span", {}, label),
        ...buttons,
    );
}

/** One of many. */
export function select(
    label: string,
    names: Record<string, string>,
    value: string,
    change: (value: string) => void,
): HTMLElement {
    const list = h(
        "select",
        { "aria-label": label, onchange: () => change(list.value) },
        ...Object.entries(names).map(([one, name]) => h("option", { value: one }, name)),
    );
    list.value = value; // of a value that is no option, nothing is selected
    return h("label.select", {}, h("span", {}, label), list);
}

const FOCUSED = "button, input, select";

/** Puts controls anew into their box, as the state has them now, and leaves the focus where it was.
 * A
 * slider that is being moved stays, with all beside it. */
export function renew(box: HTMLElement, controls: () => HTMLElement[]): void {
    const own = document.activeElement as HTMLElement,
        inside = box.contains(own);
    if (inside && own.matches("[type=range]")) return;
    const at = inside ? [...box.querySelectorAll<HTMLElement>(FOCUSED)].indexOf(own) : -1;
    box.replaceChildren(...controls());
    if (at >= 0) box.querySelectorAll<HTMLElement>(FOCUSED)[at]?.focus();
}
