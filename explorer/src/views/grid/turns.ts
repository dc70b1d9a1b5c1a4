// SPDX-License-Identifier: MIT
// What each pair does over an image: small pictures by axis, one pair large, and how like one token
// all others are.
import type { Tensor } from "../../api";
import { h } from "../../dom";
import { heatmap, pixels, type Heat } from "../../kit/heatmap";
import { short } from "../../numbers";
import { extent } from "../../kit/scales";
import type { App } from "../../view";
import { t } from "../../words";
import { axisNames } from "./ids";
import type { Prompt } from "./prompt";

export interface Turns {
    /** Of the frame: axis by axis. */
    ids: number[][];
    cosines: Tensor;
    similarity: Tensor;
    /** Of each pair. */
    axes: number[];
    wavelengths: number[];
}

export interface TurnsDrawn {
    elements: HTMLElement[];
    draw(own: Prompt, turns: Turns): void;
}

/** In at most five letters: 6.3, 840, 45k, 1.2M. */
function brief(value: number): string {
    if (value >= 1e12) return short(value, 1);
    const [unit, name] = value >= 1e6 ? [1e6, "M"] : value >= 1e4 ? [1e3, "k"] : [1, ""];
    return `${short(value / unit, value / unit >= 100 ? 3 : 2)}${name}`;
}

const pairOf = ({ ids, cosines, axes }: Turns, pair: number): Float32Array =>
    Float32Array.from(ids[0], (_, token) => Number(cosines.data[token * axes.length + pair]));

/** How far a pair turns from the first token of the frame to the last. */
function sentence({ pair }: Prompt, { ids, axes, wavelengths }: Turns): HTMLElement {
    const list = ids[axes[pair]],
        [first, last] = [list[0], list.at(-1)!],
        wave = wavelengths[pair];
    return h(
        "p.verdict",
        {},
        t(`Pair ${pair} turns with `, `维度对 ${pair} 随`),
        h("b", {}, axisNames()[axes[pair]]),
        t(": once in ", "旋转：每 "),
        h("em", {}, short(wave)),
        t(" ids. ", " 个 id 一圈。"),
        first === last
            ? t(
                  `Those of this picture are all ${short(first)}: it is at one angle throughout.`,
                  `本图的 id 都是 ${short(first)}：处处同一角度。`,
              )
            : t(
                  `Those of this picture go from ${short(first)} to ${short(last)}: `,
                  `本图的 id 从 ${short(first)} 到 ${short(last)}：共转 `,
              ),
        first !== last && h("em", {}, short((last - first) / wave, 3)),
        first !== last && t(" turns.", " 圈。"),
    );
}

/** The pairs of each axis, as small pictures of their cosines. */
function sheet(app: App, own: Prompt, turns: Turns): HTMLElement[] {
    const { axes, wavelengths, ids } = turns;
    return axisNames()
        .map((name, axis) => ({
            name,
            axis,
            pairs: [...axes.keys()].filter((pair) => axes[pair] === axis),
        }))
        .filter(({ pairs }) => pairs.length)
        .map(({ name, axis, pairs }) => {
            const [low, high] = extent([pairs.map((pair) => wavelengths[pair])], false),
                [from, to] = [short(low, 3), short(high, 3)],
                reach = Math.abs(ids[axis].at(-1)! - ids[axis][0]),
                count = pairs.filter((pair) => wavelengths[pair] > reach).length;
            const words = t(
                `${pairs.length} pairs, one turn in ${from} to ${to} ids; ${count} finish none in this picture`,
                `${pairs.length} 个维度对，每 ${from} 到 ${to} 个 id 一圈；${count} 个在本图中转不满一圈`,
            );
            return h(
                "section.pairs",
                {},
                h("h3", {}, h("b", {}, name), ` ${words}`),
                h(
                    "div.sheet",
                    { role: "img", "aria-label": `${name}: ${words}` },
                    ...pairs.map((pair) => {
                        const canvas = pixels({
                            rows: own.height,
                            columns: own.width,
                            values: pairOf(turns, pair),
                            low: -1,
                            high: 1,
                            palette: "rdbu",
                        });
                        canvas.className = "small";
                        return h(
                            `div${pair === own.pair ? ".here" : ""}` as "div",
                            {
                                title: t(`pair ${pair}`, `维度对 ${pair}`),
                                onclick: () => app.go({ pair }),
                            },
                            canvas,
                            h("span", {}, brief(wavelengths[pair])),
                        );
                    }),
                ),
            );
        });
}

export function turnsDrawn(app: App): TurnsDrawn {
    const words = h("div"),
        all = h("div.pairwise"),
        toldPair = h("p.cell"),
        toldAlike = h("p.cell"),
        titlePair = h("h2"),
        titleAlike = h("h2");
    let own: Prompt, turns: Turns;
    const place = (row: number, column: number) => {
        const ids = turns.ids.map((list) => short(list[row * own.width + column])).join(", ");
        return t(
            `row ${row}, column ${column} (ids ${ids}): `,
            `行 ${row}，列 ${column}（id ${ids}）：`,
        );
    };
    const pairMap = heatmap((row, column) => {
        const value = pairOf(turns, own.pair)[row * own.width + column];
        toldPair.textContent = place(row, column) + short(value, 6);
    });
    const alikeMap = heatmap(
        (row, column) => {
            const value = Number(turns.similarity.data[row * own.width + column]);
            toldAlike.textContent = place(row, column) + short(value, 6);
        },
        (row, column) => app.go({ row, column }),
    );
    const heat = (
        values: ArrayLike<number>,
        [low, high]: [number, number],
        valueName: string,
        label: string,
    ): Heat => ({
        rows: own.height,
        columns: own.width,
        values,
        low,
        high,
        palette: low === -1 ? "rdbu" : "viridis",
        aspect: own.height / own.width,
        rowName: t("row", "行"),
        columnName: t("column", "列"),
        valueName,
        rowAt: (row) => row,
        columnAt: (column) => column,
        label,
    });
    return {
        elements: [
            words,
            h(
                "div.both",
                {},
                h("div.panel", {}, titlePair, pairMap.element, toldPair),
                h("div.panel", {}, titleAlike, alikeMap.element, toldAlike),
            ),
            all,
        ],
        draw(next, answers) {
            own = next;
            turns = answers;
            const { pair, row, column } = own,
                name = axisNames()[turns.axes[pair]];
            words.replaceChildren(sentence(own, turns));
            titlePair.textContent = t(`pair ${pair}, ${name}`, `维度对 ${pair}，${name}`);
            titleAlike.textContent = t(
                `the whole head: how far all pairs turn from row ${row}, column ${column}`,
                `整个头：相对行 ${row}、列 ${column} 的旋转`,
            );
            pairMap.draw(
                heat(pairOf(turns, pair), [-1, 1], t("cosine", "余弦"), words.textContent!),
            );
            const similarity = turns.similarity.data as Float32Array;
            alikeMap.draw(
                heat(
                    similarity,
                    extent([similarity], false),
                    t("mean cosine", "余弦均值"),
                    titleAlike.textContent,
                ),
            );
            all.replaceChildren(
                h(
                    "h2",
                    {},
                    t("every pair, with the ids of one turn", "所有维度对，及一圈的 id 数"),
                ),
                ...sheet(app, own, turns),
            );
        },
    };
}
