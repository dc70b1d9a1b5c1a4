// SPDX-License-Identifier: MIT
// What a number of a table says: its formula with the numbers in it, and its wave.
import { get, type Ask, type Params } from "../../api";
import { short } from "../../numbers";
import { t } from "../../words";
import type { Source } from "./source";

/** Of pairs, as the API answers. */
export interface Waves {
    tensors: Record<string, { data: number[] }>;
    attention_factor?: number;
}

/** Where frequencies of pairs are told, with the parameters that they take. */
export function waves({ entry, params }: Source): Ask | undefined {
    const found = ["frequencies", "wavelengths"]
        .map((name) => entry.operations.find((one) => one.name === name))
        .find((one) => one);
    const known = { ...entry.parameters.properties, config: 1, layer_type: 1 };
    return (
        found &&
        get(found.href, {
            ...Object.fromEntries(Object.entries(params).filter(([name]) => name in known)),
            format: "json",
            context: found.name === "wavelengths" ? 1 : undefined,
        })
    );
}

export type Fn = "sin" | "cos";

/** The wave that a column is a sample of; none where columns are no waves. */
export function wave(
    { entry, params, operation }: Source,
    layer: string,
    column: number,
): { fn: Fn; pair: number } | undefined {
    const pairs = Math.ceil(+params.dim / 2);
    if (params.cache || params.part === "complex" || operation.name !== "table") return undefined;
    switch (entry.name) {
        case "sinusoidal":
        case "transformer-xl":
            return params.layout === "concatenated"
                ? { fn: column < pairs ? "sin" : "cos", pair: column % pairs }
                : { fn: column % 2 ? "cos" : "sin", pair: column >> 1 };
        case "all-sin":
        case "periodic":
            return { fn: "sin", pair: column };
        case "timestep": {
            const half = +params.dim >> 1,
                flipped = /^(1|true)$/.test(params.flip_sin_to_cos);
            return column >= 2 * half
                ? undefined
                : { fn: column < half !== flipped ? "sin" : "cos", pair: column % half };
        }
        case "rope":
        case "mrope":
        case "xpos":
        case "rope-2d": {
            const all = Math.floor(
                (+params.rotary_dim || +params.dim * +(params.partial_rotary_factor ?? 1)) / 2,
            );
            return { fn: layer.startsWith("cos") ? "cos" : "sin", pair: column % all };
        }
        case "rope-nd": {
            const all = (params.axes_dim ?? "").split(",").reduce((sum, d) => sum + +d / 2, 0);
            return { fn: layer.startsWith("cos") ? "cos" : "sin", pair: column % all };
        }
        default:
            return undefined;
    }
}

/** The position of a row, or its distance. */
export function place({ entry, params, operation }: Source, row: number): number {
    if (entry.name === "transformer-xl") return +params.length - 1 - row;
    if (operation.name === "bias") return +(params.query_start ?? 0) + row;
    if (entry.name === "shaw") return row - +params.max_relative_position;
    const start = +(params.start ?? 0),
        way = row * +(params.step ?? 1);
    // −0.3 and three steps of 0.1 are named 0, though their doubles leave 5.6·10⁻¹⁷.
    return Math.abs(start + way) <= Number.EPSILON * Math.abs(way) ? 0 : start + way;
}

export function rowName({ entry, operation }: Source): string {
    if (operation.name === "bias") return t("query", "查询");
    return /^(transformer-xl|shaw)$/.test(entry.name)
        ? t("distance", "距离")
        : /-[2n]d$/.test(entry.name)
          ? t("point", "点")
          : t("position", "位置");
}

export function columnName({ entry, operation }: Source, params: Params): string {
    if (operation.name === "bias") return t("key", "键");
    return /rope|xpos/.test(entry.name) && !params.cache && !params.duplicate
        ? t("pair", "维度对")
        : t("column", "列");
}

/** The formula with its numbers where it is short, else as the catalogue has it. */
export function formula(
    source: Source,
    told: Waves | undefined,
    layer: string,
    row: number,
    column: number,
): string {
    const { entry, params } = source,
        at = place(source, row),
        own = wave(source, layer, column);
    const position = params.positions ? "t" : short(at, 9);
    const known =
        told && own && (told.tensors.inv_freq?.data ?? told.tensors.wavelengths.data)[own.pair];
    if (known === undefined) {
        switch (params.positions ? "" : entry.name) {
            case "index":
                return `p(${position}) = ${position}`;
            case "normalized":
                return `${position} / ${+params.length - 1}`;
            case "binary":
                return t(
                    `bit ${params.bit_order === "lsb" ? column : +params.dim - 1 - column} of ${position}`,
                    `${position} 的第 ${params.bit_order === "lsb" ? column : +params.dim - 1 - column} 位`,
                );
            default:
                return entry.formula;
        }
    }
    const length = told!.tensors.wavelengths.data[own!.pair],
        factor = told!.attention_factor ?? 1;
    const angle = /-2d$/.test(entry.name) ? "t" : position;
    const w = short(told!.tensors.inv_freq ? known : (2 * Math.PI) / known, 6);
    return (
        `${factor === 1 ? "" : `${short(factor, 6)} · `}${entry.name === "xpos" ? "ζᵖ · " : ""}` +
        `${own!.fn}(${angle} · ${w})${
            Number.isFinite(length)
                ? t(
                      `, one turn in ${short(length)} positions`,
                      `，每 ${short(length)} 个位置转一圈`,
                  )
                : t(", never turns", "，从不转动")
        }`
    );
}

/** What the colours of a picture stand for. `layer`: the tensor that is drawn. */
export function barName({ operation: { name } }: Source, layer: string): string {
    if (layer === "buckets") return t("number of the bucket", "桶的编号");
    if (name === "bias") return t("added to the score", "加到得分上的值");
    return name === "scale" ? t("scale", "缩放") : t("value", "值");
}
