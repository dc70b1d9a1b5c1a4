// SPDX-License-Identifier: MIT
// A query and a key turn with their positions, each pair at its own speed; their product knows the
// distance alone.
import { encode } from "../../../clients/js/client.js";
import { get, post, type Ask, type Tensor } from "../api";
import { h } from "../dom";
import { choice, of, renew, slider } from "../kit/controls";
import { dials, handLegend, type Dials } from "../kit/dials";
import { heatmap } from "../kit/heatmap";
import { play } from "../kit/play";
import { Work } from "../kit/work";
import { short, whole } from "../numbers";
import type { App, Mounted } from "../view";
import { t } from "../words";
import { TURNED_POSITIONS } from "./limits";

const POSITIONS = 256,
    SHOWN = TURNED_POSITIONS;

type Tensors = Record<string, Tensor>;

interface Choice {
    dim: number;
    base: number;
    /** Directions of the query and the key in every pair, in degrees. */
    q: number;
    k: number;
    /** Where the query stands, and how far before it the key. */
    position: number;
    delta: number;
}

function chosen(app: App): Choice {
    const { dim, base, q, k, position, delta } = app.state.params;
    return {
        dim: +(dim ?? 8),
        base: +(base ?? 100),
        q: +(q ?? 20),
        k: +(k ?? 80),
        position: Math.max(+(position ?? 12), +(delta ?? 5)),
        delta: +(delta ?? 5),
    };
}

/** The same unit vector in every pair. */
function vector(dim: number, degrees: number): number[] {
    const angle = (degrees * Math.PI) / 180;
    return Array.from({ length: dim }, (_, i) => (i % 2 ? Math.sin(angle) : Math.cos(angle)));
}

function tensors(app: App, rows: number) {
    const { dim, q, k } = chosen(app),
        shape = [1, 1, rows, dim];
    const repeated = (degrees: number) => ({
        shape,
        data: Float32Array.from({ length: rows * dim }, (_, i) => vector(dim, degrees)[i % dim]),
    });
    return { q: repeated(q), k: repeated(k) };
}

const scheme = (app: App) => ({
    encoding: "rope",
    layout: "interleaved",
    dim: chosen(app).dim,
    base: chosen(app).base,
});

function bytes(app: App, path: string, rows: number, more: Record<string, unknown>): Ask {
    return {
        ...get(path, { ...scheme(app), ...more }),
        method: "POST",
        bytes: encode(tensors(app, rows)),
        type: "application/x-safetensors",
    };
}

const turned = (app: App) => bytes(app, "/v1/rotation", POSITIONS, { axes: "bhsd", start: 0 });
const scored = (app: App) => bytes(app, "/v1/attention", SHOWN, { scale: 1, outputs: "scores" });

/** The rotation of one query and one key, as a person would ask for it. */
function small(app: App): Ask {
    const { dim, q, k, position, delta } = chosen(app),
        shape = [1, 1, 1, dim];
    const one = (degrees: number, at: number) =>
        post("/v1/rotation", {
            encoding: { name: "rope", base: chosen(app).base },
            layout: "interleaved",
            axes: "bhsd",
            positions: [at],
            tensors: { x: { dtype: "f32", shape, data: vector(dim, degrees) } },
        });
    return delta < 0 ? one(k, position - delta) : one(q, position);
}

interface Answers {
    turned: Tensors;
    scores: Tensor;
    orders: { half: Tensor };
}

async function ask(app: App, signal: AbortSignal): Promise<Answers> {
    const { dim } = chosen(app);
    const [both, scores, order] = await Promise.all([
        app.api.ask<Tensors>(turned(app), signal),
        app.api.ask<Tensors>(scored(app), signal),
        app.api.ask<Tensors>(
            get("/v1/layout", {
                head_dim: dim,
                heads: 1,
                from_layout: "interleaved",
                to_layout: "half",
            }),
            signal,
        ),
    ]);
    return { turned: both, scores: scores.scores, orders: { half: order.permutation } };
}

/** Elements of a head by their place, coloured by their pair. */
function strip(name: string, places: number[]): HTMLElement {
    return h(
        "div.strip",
        {},
        h("span", {}, name),
        h(
            "ol",
            {},
            ...places.map((element) => {
                const pair = Math.floor(element / 2),
                    cell = h("li", {}, `${pair}`, h("sub", {}, element % 2 ? "y" : "x"));
                cell.dataset.pair = `${pair % 4}`;
                return cell;
            }),
        ),
    );
}

function layouts(app: App, half: Tensor): HTMLElement {
    const { dim } = chosen(app);
    return h(
        "section.layouts",
        {},
        h("h2", {}, t("Two orders of the same numbers", "同一组数的两种排列")),
        strip(
            "interleaved",
            Array.from({ length: dim }, (_, i) => i),
        ),
        strip("half", Array.from(half.data as BigInt64Array, Number)),
        h(
            "p",
            {},
            t(
                "A pair stands side by side, or half a head apart. Read in the wrong order, token 0 is still perfect, since it is not turned; everything after it is not.",
                "一对元素或相邻，或相隔半个头。读错排列时，第 0 个 token 没有旋转，仍然完全正确；其后全错。",
            ),
        ),
    );
}

function sentence(app: App, scores: Tensor): HTMLElement {
    const { position, delta } = chosen(app),
        n = position - delta;
    const inside = [position, n].every((one) => one >= 0 && one < SHOWN);
    const value = inside ? Number(scores.data[position * SHOWN + n]) : NaN;
    return h(
        "p.verdict",
        {},
        "R(",
        h("b", {}, whole(position)),
        ")q · R(",
        h("b", {}, whole(n)),
        ")k = ",
        h("em", {}, inside ? short(value, 5) : "…"),
        t(
            " and at every other place with the same distance, ",
            "，只要距离相同，在任何位置都一样：",
        ),
        h("span.nowrap", {}, `m − n = ${whole(delta)}`),
        t(".", "。"),
    );
}

function controls(app: App): HTMLElement[] {
    const { dim, base, position, delta } = chosen(app);
    return [
        of(
            "dim",
            choice(t("pairs", "维度对"), { 4: "2", 8: "4", 16: "8" }, `${dim}`, (dim) =>
                app.go({ dim }, "push"),
            ),
        ),
        of(
            "base",
            slider({
                label: "base",
                min: 2,
                max: 1e4,
                log: true,
                value: base,
                show: whole,
                change: (base) => app.go({ base }),
            }),
        ),
        slider({
            label: t("position m", "位置 m"),
            min: Math.max(0, delta),
            max: SHOWN - 1,
            value: position,
            show: whole,
            change: (position) => app.go({ position }),
        }),
        slider({
            label: t("distance m − n", "距离 m − n"),
            min: 0,
            max: 32,
            value: delta,
            show: whole,
            change: (delta) => app.go({ delta, position: Math.max(delta, chosen(app).position) }),
        }),
    ];
}

function turnDials(app: App, picture: Dials, { turned: both }: Answers): void {
    const { dim, position, delta } = chosen(app),
        n = Math.max(0, position - delta);
    const row = (tensor: Tensor, at: number) =>
        (tensor.data as Float32Array).subarray(at * dim, (at + 1) * dim);
    picture.draw(row(both.q, position), row(both.k, n));
}

export function mount(stage: HTMLElement, app: App): Mounted {
    const knobs = h("div.controls"),
        words = h("div"),
        below = h("div");
    const told = h("p.cell"),
        key = () =>
            JSON.stringify([chosen(app).dim, chosen(app).base, chosen(app).q, chosen(app).k]);
    let answers: Answers | undefined,
        asked = "";
    const picture = dials((which, by) => app.go({ [which]: Math.round(chosen(app)[which] + by) }));
    const map = heatmap(
        (m, n) => {
            if (answers)
                told.textContent = `m ${m}, n ${n}: ${short(Number(answers.scores.data[m * SHOWN + n]), 6)}`;
        },
        (m, n) => m >= n && app.go({ position: m, delta: m - n }),
    );
    const player = play(t("move both", "一起移动"), () => {
        const { position, delta } = chosen(app);
        app.go({ position: position + 1 < SHOWN ? position + 1 : delta });
    });
    const both = h(
        "div.both",
        {},
        h("div.panel", {}, player.element, handLegend(), picture.element),
        h(
            "div.panel",
            {},
            h("h2", {}, t("every query with every key", "所有查询与所有键")),
            map.element,
            told,
        ),
    );
    const work = new Work(app, {
        pictures: [words, both, below],
        failed() {
            player.stop();
            asked = ""; // so that the same is asked for again, and no other answer is drawn for it
        },
    });
    stage.append(knobs, words, both, below);

    function draw(): void {
        if (!answers) return;
        words.replaceChildren(sentence(app, answers.scores));
        turnDials(app, picture, answers);
    }

    function drawAll(next: Answers): void {
        answers = next;
        const { dim } = chosen(app);
        below.replaceChildren(layouts(app, next.orders.half));
        map.draw({
            rows: SHOWN,
            columns: SHOWN,
            aspect: 1,
            values: next.scores.data as Float32Array,
            low: -dim / 2,
            high: dim / 2,
            palette: "rdbu",
            rowName: t("query at m", "查询位置 m"),
            columnName: t("key at n", "键位置 n"),
            valueName: t("score q · k", "得分 q · k"),
            rowAt: (row) => row,
            columnAt: (column) => column,
            label: t(
                "Scores of a query at m and a key at n: the same along every diagonal",
                "位置 m 的查询与位置 n 的键的得分：沿每条对角线相同",
            ),
        });
        draw();
    }

    function update(): void {
        renew(knobs, () => controls(app));
        app.shows([{ title: t("rotation", "旋转"), ask: small(app), formats: ["npy"] }]);
        if (asked === key()) return draw();
        asked = key();
        work.run((signal) => ask(app, signal), drawAll);
    }
    update();
    return {
        update,
        leave() {
            work.stop();
            player.stop();
        },
    };
}
