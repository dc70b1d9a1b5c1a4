// SPDX-License-Identifier: MIT
// PE(t + Δ) = T PE(t): the map of a shift, both sides, and what is left between them.
import { get, type Ask, type Tensor } from "../../api";
import { h } from "../../dom";
import { of, renew, slider } from "../../kit/controls";
import { curves, legend, type Curve } from "../../kit/curves";
import { heatmap, type Heat } from "../../kit/heatmap";
import { Work } from "../../kit/work";
import { exact, short, whole } from "../../numbers";
import type { App, Shown } from "../../view";
import { t } from "../../words";
import type { Source } from "./source";

const SHOWN = 8,
    FAR = 1024; // blocks of the picture; positions

type Tensors = Record<"blocks" | "left" | "right" | "residual", Tensor>;

const numbers = (tensor: Tensor) => tensor.data as Float32Array;

/** Blocks along the diagonal, zeros elsewhere. */
function matrix(blocks: Float32Array, pairs: number): Float32Array {
    const size = 2 * pairs,
        values = new Float32Array(size * size);
    for (let pair = 0; pair < pairs; pair++)
        for (let i = 0; i < 4; i++)
            values[(2 * pair + (i >> 1)) * size + 2 * pair + (i % 2)] = blocks[4 * pair + i];
    return values;
}

/** What is chosen: PE(t), and how far it is taken. */
function chosen(app: App): { position: string; delta: string; to: number } {
    const { position = "0", delta = "0" } = app.state.params;
    return { position, delta, to: +position + +delta };
}

function asked(app: App, { entry, params }: Source): Ask | undefined {
    const operation = entry.operations.find(({ name }) => name === "shift");
    const own = Object.entries(params).filter(([name]) => name in entry.parameters.properties);
    const { position, delta } = app.state.params;
    return operation && get(operation.href, { ...Object.fromEntries(own), position, delta });
}

function sentence(app: App, { blocks, residual }: Tensors): string {
    const { position, delta, to } = chosen(app),
        [a, b, c, d] = numbers(blocks);
    const worst = numbers(residual).reduce((most, one) => Math.max(most, Math.abs(one)), 0);
    const block = `[${short(a)} ${short(b)}; ${short(c)} ${short(d)}]`;
    return t(
        `PE(${to}) = T · PE(${position}): pair 0 goes by ${block}, which Δ = ${delta} alone decides. In float32 the two sides differ by at most ${short(worst, 3)}.`,
        `PE(${to}) = T · PE(${position})：第 0 对乘以 ${block}，只由 Δ = ${delta} 决定。float32 下两边最多相差 ${short(worst, 3)}。`,
    );
}

function knobs(app: App): HTMLElement[] {
    const { position, delta } = chosen(app);
    const ends = { max: FAR, show: whole };
    return [
        of(
            "position",
            slider({
                ...ends,
                label: "t",
                min: 0,
                value: +position,
                change: (position) => app.go({ position }),
            }),
        ),
        of(
            "delta",
            slider({
                ...ends,
                label: "Δ",
                min: -FAR,
                value: +delta,
                change: (delta) => app.go({ delta }),
            }),
        ),
        h(
            "button.chip",
            {
                type: "button",
                onclick: () => app.go({ position: undefined, delta: undefined }, "push"),
            },
            t("close", "关闭"),
        ),
    ];
}

/** The map as a picture: the first pairs of it. */
function mapped(blocks: Tensor, label: string): Heat {
    const [all] = blocks.shape,
        pairs = Math.min(SHOWN, all),
        size = 2 * pairs;
    return {
        rows: size,
        columns: size,
        values: matrix(numbers(blocks), pairs),
        low: -1,
        high: 1,
        palette: "rdbu",
        aspect: 1,
        rowName: t("to", "到"),
        columnName: t(
            `from (the first ${pairs} of ${all} pairs)`,
            `从（${all} 对中的前 ${pairs} 对）`,
        ),
        valueName: t("coefficient", "系数"),
        rowAt: (row) => row,
        columnAt: (column) => column,
        label,
    };
}

/** Curves with their names above them. */
function chart() {
    let drawn: Curve[] = [];
    const list = legend(),
        plot = curves((index) => list.draw(drawn, index));
    return {
        elements: [list.element, plot.element],
        leave: () => plot.leave(),
        draw(
            next: Curve[],
            more: { yName: string; yRange?: [number, number]; label: string },
        ): void {
            drawn = next;
            list.draw(drawn, -1);
            const x = Float64Array.from(next[0].values as Float32Array, (_, i) => i);
            plot.draw({ x, curves: drawn, xName: t("column", "列"), ...more });
        },
    };
}

export function shift(app: App, changed: (shown: Shown[]) => void) {
    const bar = h("div.controls"),
        words = h("p.verdict");
    const told = h("p.cell"),
        both = chart(),
        rest = chart();
    let heat: Heat | undefined;
    const map = heatmap((row, column, keyed) => {
        if (!heat) return;
        told.textContent = `T[${row}, ${column}] = ${exact(heat.values[row * heat.columns + column])}`;
        if (keyed) app.say(told.textContent);
    });
    const sides = h("div", {}, ...both.elements, ...rest.elements),
        maps = h("div.maps", {}, h("div", {}, map.element, told), sides);
    const title = h("h2", {}, t("A shift is a linear map", "平移是线性变换")),
        box = h("section.panel.under.shift", { hidden: true }, title, bar, words, maps);
    const work = new Work(app, { pictures: [words, maps] });
    const button = h(
        "button.chip",
        {
            type: "button",
            hidden: true,
            onclick: () => app.go({ position: 3, delta: 5 }, "push"),
        },
        t("T_Δ: what a shift does", "T_Δ：平移做了什么"),
    );

    function draw(answer: Tensors): void {
        const { position, to } = chosen(app),
            left = { name: `PE(${to})`, values: numbers(answer.left), colour: "turn" },
            name = t("residual", "残差");
        const label = (words.textContent = sentence(app, answer));
        map.draw((heat = mapped(answer.blocks, label)));
        both.draw(
            [
                left,
                {
                    name: `T · PE(${position})`,
                    values: numbers(answer.right),
                    colour: "slow",
                    dots: true,
                },
            ],
            { yName: t("value", "值"), yRange: [-1.1, 1.1], label },
        );
        rest.draw([{ name, values: numbers(answer.residual), colour: "bad", dash: [6, 4] }], {
            yName: name,
            label: name,
        });
    }

    return {
        box,
        button,
        update(source: Source): void {
            const ask = asked(app, source),
                on = !!ask && app.state.params.delta !== undefined;
            button.hidden = !ask || on;
            box.hidden = !on;
            changed(on ? [{ title: "T_Δ", ask: ask!, formats: ["svg"] }] : []);
            if (!on) return work.stop();
            renew(bar, () => knobs(app));
            work.run((signal) => app.api.ask<Tensors>(ask!, signal), draw);
        },
        leave(): void {
            work.stop();
            both.leave();
            rest.leave();
        },
    };
}
