// SPDX-License-Identifier: MIT
// Rotations over an image: a small map of cosines for each pair, by axis; a large one for the
// chosen pair; and a map of the similarity of each token to the chosen one.
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
    /** Of the tokens of the frame: a list for each axis. */
    ids: number[][];
    /** [tokens, pairs] */
    cosines: Tensor;
    /** Of each token to the chosen one, over all pairs. */
    similarity: Tensor;
    /** The axis whose ids rotate each pair. */
    axes: number[];
    /** Of each pair, in ids. */
    wavelengths: number[];
}

export interface TurnsDrawn {
    elements: HTMLElement[];
    draw(prompt: Prompt, turns: Turns): void;
}

/** A number in about four characters: 6.3, 840, 45k, 1.2M. */
function brief(value: number): string {
    if (value >= 1e12) return short(value, 1);
    const [unit, suffix] = value >= 1e6 ? [1e6, "M"] : value >= 1e4 ? [1e3, "k"] : [1, ""];
    return `${short(value / unit, value / unit >= 100 ? 3 : 2)}${suffix}`;
}

const cosinesOf = ({ ids, cosines, axes }: Turns, pair: number): Float32Array =>
    Float32Array.from(ids[0], (_, token) => Number(cosines.data[token * axes.length + pair]));

/** A sentence on how far the chosen pair turns from the first token of the frame to the last. */
function pairSentence({ pair }: Prompt, { ids, axes, wavelengths }: Turns): HTMLElement {
    const axisIds = ids[axes[pair]],
        [first, last] = [axisIds[0], axisIds.at(-1)!],
        wavelength = wavelengths[pair];
    return h(
        "p.verdict",
        {},
        t(`Pair ${pair} turns with `, `维度对 ${pair} 随`),
        h("b", {}, axisNames()[axes[pair]]),
        t(": once in ", "旋转：每 "),
        h("em", {}, short(wavelength)),
        t(" ids. ", " 个 id 一圈。"),
        first === last
            ? t(
                  `All ids of this image are ${short(first)}: its angle is the same everywhere.`,
                  `本图的 id 都是 ${short(first)}：处处同一角度。`,
              )
            : t(
                  `The ids of this image go from ${short(first)} to ${short(last)}: `,
                  `本图的 id 从 ${short(first)} 到 ${short(last)}：共转 `,
              ),
        first !== last && h("em", {}, short((last - first) / wavelength, 3)),
        first !== last && t(" turns.", " 圈。"),
    );
}

/** For each axis, a section with a small map of the cosines of each of its pairs. */
function axisSections(app: App, prompt: Prompt, turns: Turns): HTMLElement[] {
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
                [shortest, longest] = [short(low, 3), short(high, 3)],
                distance = Math.abs(ids[axis].at(-1)! - ids[axis][0]),
                unfinished = pairs.filter((pair) => wavelengths[pair] > distance).length;
            const caption = t(
                `${pairs.length} pairs, one turn in ${shortest} to ${longest} ids; ${unfinished} finish none in this picture`,
                `${pairs.length} 个维度对，每 ${shortest} 到 ${longest} 个 id 一圈；${unfinished} 个在本图中转不满一圈`,
            );
            return h(
                "section.pairs",
                {},
                h("h3", {}, h("b", {}, name), ` ${caption}`),
                h(
                    "div.sheet",
                    { role: "img", "aria-label": `${name}: ${caption}` },
                    ...pairs.map((pair) => {
                        const canvas = pixels({
                            rows: prompt.height,
                            columns: prompt.width,
                            values: cosinesOf(turns, pair),
                            low: -1,
                            high: 1,
                            palette: "rdbu",
                        });
                        canvas.className = "small";
                        return h(
                            `div${pair === prompt.pair ? ".here" : ""}` as "div",
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
    const verdict = h("div"),
        allPairs = h("div.pairwise"),
        pairTitle = h("h2"),
        pairReadout = h("p.cell"),
        similarityTitle = h("h2"),
        similarityReadout = h("p.cell");
    let prompt: Prompt, turns: Turns;
    const tokenLabel = (row: number, column: number) => {
        const ids = turns.ids.map((list) => short(list[row * prompt.width + column])).join(", ");
        return t(
            `row ${row}, column ${column} (ids ${ids}): `,
            `行 ${row}，列 ${column}（id ${ids}）：`,
        );
    };
    const pairMap = heatmap((row, column) => {
        const value = cosinesOf(turns, prompt.pair)[row * prompt.width + column];
        pairReadout.textContent = tokenLabel(row, column) + short(value, 6);
    });
    const similarityMap = heatmap(
        (row, column) => {
            const value = Number(turns.similarity.data[row * prompt.width + column]);
            similarityReadout.textContent = tokenLabel(row, column) + short(value, 6);
        },
        (row, column) => app.go({ row, column }),
    );
    const heatOf = (
        values: ArrayLike<number>,
        [low, high]: [number, number],
        valueName: string,
        label: string,
    ): Heat => ({
        rows: prompt.height,
        columns: prompt.width,
        values,
        low,
        high,
        palette: low === -1 ? "rdbu" : "viridis",
        aspect: prompt.height / prompt.width,
        rowName: t("row", "行"),
        columnName: t("column", "列"),
        valueName,
        rowAt: (row) => row,
        columnAt: (column) => column,
        label,
    });
    return {
        elements: [
            verdict,
            h(
                "div.both",
                {},
                h("div.panel", {}, pairTitle, pairMap.element, pairReadout),
                h("div.panel", {}, similarityTitle, similarityMap.element, similarityReadout),
            ),
            allPairs,
        ],
        draw(newPrompt, newTurns) {
            prompt = newPrompt;
            turns = newTurns;
            const { pair, row, column } = prompt,
                name = axisNames()[turns.axes[pair]];
            verdict.replaceChildren(pairSentence(prompt, turns));
            pairTitle.textContent = t(`pair ${pair}, ${name}`, `维度对 ${pair}，${name}`);
            similarityTitle.textContent = t(
                `the whole head: mean cosine to the token at row ${row}, column ${column}`,
                `整个头：相对行 ${row}、列 ${column} 的旋转`,
            );
            pairMap.draw(
                heatOf(cosinesOf(turns, pair), [-1, 1], t("cosine", "余弦"), verdict.textContent!),
            );
            const similarity = turns.similarity.data as Float32Array;
            similarityMap.draw(
                heatOf(
                    similarity,
                    extent([similarity], false),
                    t("mean cosine", "余弦均值"),
                    similarityTitle.textContent,
                ),
            );
            allPairs.replaceChildren(
                h(
                    "h2",
                    {},
                    t(
                        "all pairs, with the number of ids in one turn",
                        "所有维度对，及一圈的 id 数",
                    ),
                ),
                ...axisSections(app, prompt, turns),
            );
        },
    };
}
