// SPDX-License-Identifier: MIT
// How alike two positions are, over their distance; and what the base does to that.
import { get, type Tensor } from "../api";
import { h } from "../dom";
import { choice, of, renew, slider } from "../kit/controls";
import { curves, legend, type Curve } from "../kit/curves";
import { facts } from "../kit/facts";
import { Work } from "../kit/work";
import { short, whole } from "../numbers";
import type { App, Mounted } from "../view";
import { t } from "../words";

const SAMPLES = 1201,
    USUAL = 10000,
    NEAR = 8192;

type Tensors = Record<string, Tensor>;

interface Choice {
    encoding: string;
    dim: number;
    base: number;
    reach: number;
    both: boolean;
}

function chosen(app: App): Choice {
    const { encoding = "rope", dim, base, max_offset, min_offset } = app.state.params;
    return {
        encoding,
        dim: +(dim ?? 128),
        base: +(base ?? USUAL),
        reach: +(max_offset ?? 512),
        both: min_offset !== undefined,
    };
}

/** The decay of one base; both signs of the distance are asked for where both are shown. */
function decay(app: App, base: number, whole = false) {
    const { encoding, dim, reach, both } = chosen(app),
        biased = encoding === "alibi";
    return get(`/v1/encodings/${encoding}/analysis/decay`, {
        ...(biased ? { heads: 8 } : { dim, base, normalize: true }),
        max_offset: reach,
        min_offset: both ? -reach : undefined,
        samples: whole ? undefined : SAMPLES,
    });
}

const waves = (app: App) =>
    get(`/v1/encodings/${chosen(app).encoding}/analysis/wavelengths`, {
        dim: chosen(app).dim,
        base: chosen(app).base,
        context: NEAR,
        format: "json",
    });

/** Near offsets one by one, for sentences about neighbours. */
const near = (app: App) =>
    get(`/v1/encodings/${chosen(app).encoding}/analysis/decay`, {
        dim: chosen(app).dim,
        base: chosen(app).base,
        normalize: true,
        max_offset: NEAR,
    });

interface Answers {
    own: Tensors;
    usual: Tensors;
    waves?: { shortest: number; longest: number };
    near?: Tensors;
}

async function ask(app: App, signal: AbortSignal): Promise<Answers> {
    const biased = chosen(app).encoding === "alibi";
    const [own, usual, wave, close] = await Promise.all([
        app.api.ask<Tensors>(decay(app, chosen(app).base), signal),
        app.api.ask<Tensors>(decay(app, USUAL), signal),
        biased ? undefined : app.api.ask<{ shortest: number; longest: number }>(waves(app), signal),
        biased ? undefined : app.api.ask<Tensors>(near(app), signal),
    ]);
    return { own, usual, waves: wave, near: close };
}

function curvesOf(app: App, { own, usual }: Answers): Curve[] {
    const { base, encoding } = chosen(app),
        values = own.decay.data as Float32Array;
    if (encoding === "alibi") {
        const [heads, offsets] = own.decay.shape;
        return Array.from({ length: heads }, (_, head) => ({
            name: t(`head ${head + 1}`, `头 ${head + 1}`),
            colour: head % 2 ? "slow" : "turn",
            dash: head % 4 > 1 ? [6, 4] : undefined,
            values: values.subarray(head * offsets, (head + 1) * offsets),
        }));
    }
    return [
        ...(base === USUAL
            ? []
            : [
                  {
                      name: t("base 10 000", "base 10 000"),
                      colour: "still",
                      dash: [6, 4],
                      values: usual.decay.data as Float32Array,
                  },
              ]),
        {
            name: t("envelope: the most there is from here on", "包络：此后能达到的最大值"),
            colour: "still",
            dash: [2, 3],
            values: own.envelope.data as Float32Array,
        },
        {
            name: t(`base ${whole(base)}`, `base ${whole(base)}`),
            colour: base === USUAL ? "turn" : "slow",
            values,
        },
    ];
}

function sentence({ near: close, waves: wave }: Answers): HTMLElement {
    if (!close || !wave)
        return h(
            "p.verdict",
            {},
            t(
                "ALiBi has no waves: each head takes off a straight line of its own, the same at any length.",
                "ALiBi 没有波：每个头各减去一条直线，与长度无关。",
            ),
        );
    const values = close.decay.data as Float32Array,
        half = values.findIndex((one) => one < 0.5);
    const percent = short(100 * values[1], 3);
    return h(
        "p.verdict",
        {},
        t("A neighbour is ", "相邻位置的相似度为 "),
        h("b", {}, `${percent} %`),
        t(" alike; ", "；"),
        half < 0
            ? t(
                  `half is not lost within ${whole(NEAR)} tokens.`,
                  `${whole(NEAR)} 个 token 内不会降到一半。`,
              )
            : t("half of it is gone after ", "降到一半需要 "),
        half >= 0 && h("em", {}, whole(half)),
        half >= 0 && t(" tokens.", " 个 token。"),
    );
}

function numbers({ near: close, waves: wave }: Answers): HTMLElement {
    if (!close || !wave) return h("div");
    const values = close.decay.data as Float32Array;
    return facts([
        {
            name: t("shortest wave", "最短波长"),
            value: short(wave.shortest),
            source: t(
                "positions for one turn of the fastest pair, 2π",
                "最快的一对转一圈所需的位置数，2π",
            ),
        },
        {
            name: t("longest wave", "最长波长"),
            value: whole(wave.longest),
            source: t(
                "of the slowest pair: 2π · base^(1 − 2/dim)",
                "最慢的一对：2π · base^(1 − 2/dim)",
            ),
        },
        {
            name: t("neighbours differ by", "邻位差异"),
            value: `${short(100 * (1 - values[1]), 3)} %`,
            source: t(
                "what one step takes off the similarity: a larger base reaches farther and has more similar neighbours",
                "走一步减少的相似度：base 越大看得越远，邻位越难区分",
            ),
        },
    ]);
}

function controls(app: App): HTMLElement[] {
    const { encoding, dim, base, reach, both } = chosen(app),
        biased = encoding === "alibi";
    const all = [
        choice(
            t("scheme", "方案"),
            { rope: "RoPE", sinusoidal: t("sinusoidal", "正弦"), alibi: "ALiBi" },
            encoding,
            (encoding) => app.go({ encoding }, "push"),
        ),
        biased
            ? null
            : of(
                  "dim",
                  choice(
                      "dim",
                      Object.fromEntries([32, 64, 128, 256].map((one) => [one, `${one}`])),
                      `${dim}`,
                      (dim) => app.go({ dim }, "push"),
                  ),
              ),
        choice(
            t("offsets", "偏移"),
            { one: "0 … Δ", both: "−Δ … Δ" },
            both ? "both" : "one",
            (way) => app.go({ min_offset: way === "both" ? "-" : undefined }, "push"),
        ),
        biased
            ? null
            : of(
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
        of(
            "max_offset",
            slider({
                label: t("distance", "距离"),
                min: 16,
                max: 131072,
                log: true,
                value: reach,
                show: whole,
                change: (max_offset) => app.go({ max_offset }),
            }),
        ),
    ];
    return all.filter((one) => one !== null);
}

export function mount(stage: HTMLElement, app: App): Mounted {
    const knobs = h("div.controls"),
        words = h("div"),
        below = h("div"),
        told = h("p.cell"),
        list = legend();
    let shown: Curve[] = [],
        offsets: ArrayLike<number> = [];
    const picture = curves((index) => {
        list.draw(shown, index);
        told.textContent = index < 0 ? "" : `${t("distance", "距离")} ${whole(offsets[index])}`;
    });
    const panel = h("div.panel", {}, list.element, picture.element, told);
    const work = new Work(app, { pictures: [words, panel, below] });
    stage.append(knobs, words, panel, below);

    function draw(answers: Answers): void {
        shown = curvesOf(app, answers);
        offsets = Float64Array.from(answers.own.offsets.data as BigInt64Array, Number);
        words.replaceChildren(sentence(answers));
        below.replaceChildren(numbers(answers));
        list.draw(shown, -1);
        const biased = chosen(app).encoding === "alibi";
        picture.draw({
            x: offsets,
            curves: shown,
            xName: t("distance between two tokens", "两个 token 的距离"),
            yName: biased ? t("added to the score", "加到得分上的值") : t("similarity", "相似度"),
            yRange: biased ? undefined : [-0.4, 1.02],
            label: words.textContent ?? "",
        });
    }

    function update(): void {
        const { base } = chosen(app);
        renew(knobs, () => controls(app));
        app.shows([
            {
                title: t("similarity over distance", "相似度随距离"),
                ask: decay(app, base, true),
                formats: ["png", "svg", "npy"],
            },
        ]);
        work.run((signal) => ask(app, signal), draw);
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
