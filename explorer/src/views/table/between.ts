// SPDX-License-Identifier: MIT
// The difference of two tables that stand beside each other.
import { h } from "../../dom";
import { heatmap } from "../../kit/heatmap";
import { exact, short, whole } from "../../numbers";
import { t } from "../../words";
import type { Picture } from "./picture";

const shape = ({ rows, columns, layers }: Picture) => `${[rows, columns, layers.length]}`;

export function between(place: HTMLElement, seen: unknown[]): void {
    const [a, b] = seen as (Picture | undefined)[];
    if (!a || !b) return;
    if (shape(a) !== shape(b))
        return place.replaceChildren(
            h(
                "p.note",
                {},
                t(
                    "The two have not as many rows and columns: there is no difference to draw.",
                    "两张表的行列数不同，无法画出差值。",
                ),
            ),
        );
    const { rows, columns } = a,
        told = h("p.cell");
    const layers = a.layers.map(({ name, values }, i) => ({
        name,
        values: Float64Array.from(values, (one, at) => b.layers[i].values[at] - one),
    }));
    const all = layers.flatMap(({ values }) => [...values]),
        most = all.reduce((size, one) => Math.max(size, Math.abs(one)), 0);
    const where = all.findIndex((one) => Math.abs(one) === most) % (rows * columns),
        same = all.filter((one) => !one).length;
    const name = (row: number, column: number) =>
        `${t("row", "行")} ${row}, ${t("column", "列")} ${column}`;
    place.replaceChildren(
        h("h2", {}, "B − A"),
        h(
            "p.verdict",
            {},
            most === 0
                ? t("The two are equal, number by number.", "两者逐个数相等。")
                : t(
                      `Farthest apart by ${short(most, 3)}, at ${name(Math.floor(where / columns), where % columns)}; ${whole(same)} of ${whole(all.length)} cells are equal.`,
                      `最大差值 ${short(most, 3)}，位于${name(Math.floor(where / columns), where % columns)}；${whole(all.length)} 个格子中有 ${whole(same)} 个相等。`,
                  ),
        ),
        h(
            "div.maps.panel",
            {},
            ...layers.map(({ name: layer, values }) => {
                const map = heatmap((row, column) => {
                    told.textContent = `${layer}: ${name(row, column)}: ${exact(values[row * columns + column])}`;
                });
                map.draw({
                    rows,
                    columns,
                    values,
                    low: -(most || 1),
                    high: most || 1,
                    palette: "rdbu",
                    rowName: t("row", "行"),
                    columnName: `${t("column", "列")} · ${layer}`,
                    valueName: "B − A",
                    rowAt: (row) => a.down[0] + Math.floor((row * (a.down[1] - a.down[0])) / rows),
                    columnAt: (column) => a.across[0] + column,
                    label: `B − A, ${layer}`,
                });
                return map.element;
            }),
        ),
        told,
    );
}
