// SPDX-License-Identifier: MIT
// What is left of a table when its angles are made in fewer bits, over position.
import { get, type Ask, type Tensor } from "../api";
import { h } from "../dom";
import { choice, of, renew, slider } from "../kit/controls";
import { curves, legend, type Curve } from "../kit/curves";
import { facts } from "../kit/facts";
import { heatmap } from "../kit/heatmap";
import { Work } from "../kit/work";
import { short, whole } from "../numbers";
import type { App, Mounted, View } from "../view";
import { t } from "../words";

type Tensors = Record<string, Tensor>;

const ROWS = 96,
    LEAST = -9,
    WRONG = 0.01;
const ANGLES = { f32: "float32", f16: "float16", bf16: "bfloat16" };
const LINES: Record<string, { colour: string; dash?: number[] }> = {
    f32: { colour: "turn" },
    f16: { colour: "key", dash: [6, 4] },
    bf16: { colour: "slow", dash: [2, 3] },
};

interface Choice {
    angle: keyof typeof ANGLES;
    dim: number;
    base: number;
    reach: number;
}

function chosen(app: App): Choice {
    const { angle = "f32", dim, base, reach } = app.state.params;
    return {
        angle: (angle in ANGLES ? angle : "f32") as Choice["angle"],
        dim: +(dim ?? 128),
        base: +(base ?? 500000),
        reach: +(reach ?? 1e8),
    };
}

/** Whole positions, evenly over the digits of a number, powers of ten among them. */
function positions(reach: number): number[] {
    const all = Array.from({ length: ROWS }, (_, i) => Math.round(reach ** (i / (ROWS - 1))));
    for (let power = 1; power <= reach; power *= 10) all.push(power);
    return [...new Set(all)].sort((a, b) => a - b);
}

function asked(app: App, angle: string): Ask {
    const { dim, base, reach } = chosen(app);
    return get("/v1/encodings/rope/analysis/error", {
        dim,
        base,
        angle,
        positions: positions(reach).join(","),
    });
}

/** The largest of every row. */
function worst(tensor: Tensor): Float64Array {
    const [rows, pairs] = tensor.shape,
        values = tensor.data as Float32Array;
    return Float64Array.from({ length: rows }, (_, row) =>
        values
            .subarray(row * pairs, (row + 1) * pairs)
            .reduce((most, value) => Math.max(most, value), 0),
    );
}

function lines(answers: Tensors[]): Curve[] {
    return Object.entries(ANGLES).map(([id, name], i) => ({
        name,
        ...LINES[id],
        values: worst(answers[i].error).map((one) => (one && Number.isFinite(one) ? one : NaN)),
    }));
}

function sentence(app: App, errors: Float64Array): HTMLElement {
    const { angle, reach } = chosen(app),
        at = positions(reach),
        first = errors.findIndex((one) => one > WRONG);
    if (first < 0)
        return h(
            "p.verdict",
            {},
            t(
                `With angles in ${ANGLES[angle]} no cosine or sine here is off by more than 1 %.`,
                `角度用 ${ANGLES[angle]} 计算时，图中没有哪个余弦或正弦偏差超过 1 %。`,
            ),
        );
    return h(
        "p.verdict",
        {},
        t(
            `With angles in ${ANGLES[angle]}, a cosine or sine is off by more than 1 % at position `,
            `角度用 ${ANGLES[angle]} 计算时，余弦或正弦偏差超过 1 % 的位置，图中最早是 `,
        ),
        h("em", {}, whole(at[first])),
        t(", the first one shown here; at ", "；到 "),
        h("b", {}, whole(at[at.length - 1])),
        t(" by ", " 时偏差达 "),
        h("em", {}, short(errors[errors.length - 1], 3)),
        t(".", "。"),
    );
}

function numbers(errors: Float64Array, at: number[], error: Tensor): HTMLElement {
    const most = errors.indexOf(errors.reduce((a, b) => Math.max(a, b))),
        pairs = error.shape[1];
    const row = Array.from((error.data as Float32Array).subarray(most * pairs, (most + 1) * pairs));
    return facts([
        {
            name: t("worst", "最大偏差"),
            value: short(errors[most], 3),
            source: t(
                `cosine or sine of pair ${row.indexOf(Math.max(...row))} at position ${whole(at[most])}`,
                `第 ${row.indexOf(Math.max(...row))} 对，位置 ${whole(at[most])} 的余弦或正弦`,
            ),
        },
        {
            name: t("exact instead", "精确算法"),
            value: "≤ ½ ulp",
            source: t(
                "every value of this service is the real number, rounded once",
                "本服务的每个值都是真实值只舍入一次的结果",
            ),
        },
    ]);
}

function controls(app: App): HTMLElement[] {
    const { angle, base, reach } = chosen(app);
    return [
        choice(t("angles in", "角度精度"), ANGLES, angle, (angle) => app.go({ angle }, "push")),
        of(
            "base",
            slider({
                label: "base",
                min: 1000,
                max: 1e7,
                log: true,
                value: base,
                show: whole,
                change: (base) => app.go({ base }),
            }),
        ),
        slider({
            label: t("up to position", "最远位置"),
            min: 1024,
            max: 1e8,
            log: true,
            value: reach,
            show: whole,
            change: (reach) => app.go({ reach }),
        }),
    ];
}

function mount(stage: HTMLElement, app: App): Mounted {
    const knobs = h("div.controls"),
        said = h("div"),
        below = h("div"),
        told = h("p.cell");
    const list = legend();
    let shown: Curve[] = [],
        at: number[] = [],
        error: Tensor | undefined;
    const picture = curves((index) => list.draw(shown, index));
    const map = heatmap((row, pair) => {
        if (error)
            told.textContent =
                `${t("position", "位置")} ${whole(at[row])}, ${t("pair", "维度对")} ${pair}: ` +
                short(Number(error.data[row * error.shape[1] + pair]), 5);
    });
    const panels = [
        h("div.panel", {}, map.element, told),
        h("div.panel.under", {}, list.element, picture.element),
    ];
    const work = new Work(app, { pictures: [said, ...panels, below] });
    stage.append(knobs, said, ...panels, below);

    function draw(answers: Tensors[]): void {
        const { angle, reach } = chosen(app);
        at = positions(reach);
        error = answers[Object.keys(ANGLES).indexOf(angle)].error;
        const errors = worst(error),
            values = (error.data as Float32Array).map((one) =>
                Math.max(LEAST, Math.log10(one || 1e-30)),
            );
        shown = lines(answers);
        said.replaceChildren(sentence(app, errors));
        below.replaceChildren(numbers(errors, at, error));
        list.draw(shown, -1);
        map.draw({
            rows: error.shape[0],
            columns: error.shape[1],
            values,
            low: LEAST,
            high: 0,
            palette: "viridis",
            rowName: t("position", "位置"),
            columnName: t("pair", "维度对"),
            valueName: t("error of cos and sin", "cos 和 sin 的误差"),
            rowAt: (row) => at[row],
            columnAt: (pair) => pair,
            show: (value) => short(10 ** value, 2),
            rowTicks: at.flatMap((one, i) => (Number.isInteger(Math.log10(one)) ? [i] : [])),
            label: t(
                "Error of each pair's cosine and sine by position",
                "各维度对的余弦与正弦误差随位置的变化",
            ),
        });
        picture.draw({
            x: at,
            curves: shown,
            xLog: true,
            yLog: true,
            xName: t("position", "位置"),
            yName: t("worst error of a cosine or sine", "余弦或正弦的最大误差"),
            label: said.textContent ?? "",
        });
    }

    function update(): void {
        renew(knobs, () => controls(app));
        app.shows([
            {
                title: t("error", "误差"),
                ask: asked(app, chosen(app).angle),
                formats: ["png", "svg", "npy"],
            },
        ]);
        work.run(
            (signal) =>
                Promise.all(
                    Object.keys(ANGLES).map((angle) =>
                        app.api.ask<Tensors>(asked(app, angle), signal),
                    ),
                ),
            draw,
        );
    }
    update();
    return {
        update,
        leave() {
            work.stop();
            picture.leave();
        },
    };
}

export const precision: View = {
    name: "precision",
    section: "inspect",
    accepts: () => ({
        angle: Object.keys(ANGLES),
        dim: [2, 65536, 1],
        base: [1, 1e30],
        reach: [1024, 1e8],
    }),
    title: () => t("What fewer bits cost", "低精度的代价"),
    lead: () =>
        t(
            "An angle is a position times a frequency. In 32, or 16 bits it is off before its sine is taken.",
            "角度等于位置乘以频率。用 32 位或 16 位计算时，还没取正弦就已经有误差。",
        ),
    mount,
};
