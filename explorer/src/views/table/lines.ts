// SPDX-License-Identifier: MIT
// Rows and columns of a table as curves, below its picture.
import { h } from "../../dom";
import { choice, renew } from "../../kit/controls";
import { curves, legend, type Curve } from "../../kit/curves";
import { exact, short } from "../../numbers";
import type { App } from "../../view";
import { t } from "../../words";
import type { Layer, Picture } from "./picture";
import type { Source } from "./source";
import { columnName, place, rowName, wave } from "./words";

const COLOURS = ["turn", "slow", "good", "query", "bad", "key", "ink", "soft"],
    MOST = 8;

export type Way = "plot_rows" | "plot_columns";

/** Those that the URL names. */
export const picked = (app: App, way: Way): number[] =>
    (app.state.params[way] ?? "").split(",").filter(Boolean).map(Number);

/** Another one, or one less. */
export function pick(app: App, way: Way, index: number): void {
    const now = picked(app, way),
        next = now.includes(index)
            ? now.filter((one) => one !== index)
            : [...now, index].slice(-MOST);
    app.go({ [way]: next.join(",") || undefined }, "push");
}

interface Chart {
    x: number[];
    curves: Curve[];
    xName: string;
}

const style = (i: number) => ({ colour: COLOURS[i % MOST], dash: i % 2 ? [6, 4] : undefined });

/** Where a row or column of the whole is in the picture; −1: outside of what is seen. */
const inside = (index: number, [from, to]: [number, number], count: number) =>
    index < from || index >= to ? -1 : Math.floor(((index - from) * count) / (to - from));

const several = (picture: Picture, name: string, layer: Layer) =>
    picture.layers.length > 1 ? `${layer.name} ${name}` : name;

function ofColumns(app: App, source: Source, picture: Picture): Chart {
    const { rows, columns, down, across } = picture,
        out: Curve[] = [];
    for (const column of picked(app, "plot_columns")) {
        const at = inside(column, across, columns);
        if (at >= 0)
            for (const layer of picture.layers)
                out.push({
                    name: several(picture, `${columnName(source, source.params)} ${column}`, layer),
                    values: Array.from(
                        { length: rows },
                        (_, row) => layer.values[row * columns + at],
                    ),
                    ...style(out.length),
                });
    }
    const every = (down[1] - down[0]) / rows;
    const x = Array.from({ length: rows }, (_, row) => place(source, down[0] + row * every));
    // An axis runs from left to right.
    if (x[0] > x[rows - 1])
        for (const one of [x, ...out.map(({ values }) => values as number[])]) one.reverse();
    return { x, curves: out, xName: rowName(source) };
}

/** Columns by their waves: sines, and cosines, over pairs. */
function byPairs(
    source: Source,
    { across, columns }: Picture,
    layer: Layer,
): Record<string, number[]> {
    const found: Record<string, number[]> = {};
    for (let at = 0; at < columns; at++) {
        const own = wave(source, layer.name, across[0] + at);
        if (own) (found[own.fn] ??= [])[own.pair] = at;
    }
    return found;
}

function ofRows(app: App, source: Source, picture: Picture): Chart {
    const { rows, columns, down, across } = picture,
        out: Curve[] = [],
        pairs = app.state.params.axis === "pair";
    const length = pairs ? across[1] : columns;
    for (const row of picked(app, "plot_rows")) {
        const at = inside(row, down, rows);
        if (at >= 0)
            for (const layer of picture.layers) {
                const name = several(
                    picture,
                    `${rowName(source)} ${short(place(source, row), 9)}`,
                    layer,
                );
                const lines = pairs
                    ? Object.entries(byPairs(source, picture, layer))
                    : [["", [...Array(columns).keys()]] as const];
                for (const [fn, places] of lines)
                    out.push({
                        name: `${fn && !name.startsWith(fn) ? `${fn} ` : ""}${name}`,
                        ...style(out.length),
                        values: Array.from(
                            { length },
                            (_, i) => layer.values[at * columns + (places[i] ?? NaN)],
                        ),
                    });
            }
    }
    const most = pairs
        ? Math.max(
              ...out.map(({ values }) => [...(values as number[])].findLastIndex(Number.isFinite)),
              0,
          ) + 1
        : columns;
    const from = pairs ? 0 : across[0];
    return {
        x: Array.from(
            { length: most },
            (_, i) => from + i * (pairs ? 1 : (across[1] - from) / columns),
        ),
        curves: out.map((one) => ({
            ...one,
            values: [...(one.values as number[])].slice(0, most),
        })),
        xName: pairs ? t("pair", "维度对") : columnName(source, source.params),
    };
}

/** What is picked, each with a button that takes it away. */
function chips(app: App, way: Way, source: Source): HTMLElement[] {
    const name = (index: number) =>
        way === "plot_rows"
            ? `${rowName(source)} ${short(place(source, index), 9)}`
            : `${columnName(source, source.params)} ${index}`;
    return picked(app, way).map((index) =>
        h(
            "button.chip",
            {
                type: "button",
                onclick: () => pick(app, way, index),
                title: t("take it away", "移除"),
            },
            `${name(index)} ✕`,
        ),
    );
}

/** Columns of sines and cosines may stand by their pairs. */
const axis = (app: App): HTMLElement =>
    choice(
        "x",
        { column: t("column", "列"), pair: t("pair", "维度对") },
        app.state.params.axis ?? "column",
        (axis) => app.go({ axis }, "push"),
    );

/** A chart that is there while something is picked. */
function chart(app: App, way: Way) {
    const list = legend(),
        out = h("div.picked"),
        head = h("div.controls"),
        told = h("p.cell");
    let now: Chart | undefined;
    const plot = curves((index) => {
        list.draw(now!.curves, index);
        told.textContent = index < 0 ? "" : `${now!.xName} ${exact(now!.x[index])}`;
    });
    const box = h(
        "section.panel.under",
        { hidden: true },
        head,
        out,
        list.element,
        plot.element,
        told,
    );
    return {
        box,
        leave: () => plot.leave(),
        draw(source: Source, picture: Picture, note: string): void {
            const rows = way === "plot_rows";
            box.hidden = !picked(app, way).length;
            if (box.hidden) return;
            now = rows ? ofRows(app, source, picture) : ofColumns(app, source, picture);
            head.hidden = !(
                rows &&
                wave(source, picture.layers[0].name, 0) &&
                !/rope|xpos/.test(source.entry.name)
            );
            renew(head, () => (head.hidden ? [] : [axis(app)]));
            renew(out, () => [...chips(app, way, source), h("span", {}, note)]);
            list.draw(now.curves, -1);
            if (now.curves.length)
                plot.draw({
                    ...now,
                    yName: t("value", "值"),
                    label: `${
                        rows ? t("rows", "行") : t("columns", "列")
                    }: ${now.curves.map(({ name }) => name).join(", ")}`,
                });
            plot.element.hidden = !now.curves.length;
        },
    };
}

export function lines(app: App) {
    const both = [chart(app, "plot_columns"), chart(app, "plot_rows")];
    return {
        elements: both.map(({ box }) => box),
        draw: (source: Source, picture: Picture, note: string) =>
            both.forEach((one) => one.draw(source, picture, note)),
        leave: () => both.forEach((one) => one.leave()),
    };
}
