// SPDX-License-Identifier: MIT
// An answer as the numbers of a picture, and where each of them stands in the whole.
import type { Tensor } from "../../api";
import type { Request, Source, Span } from "./source";

export interface Layer {
    name: string;
    values: ArrayLike<number>;
}

export interface Picture {
    layers: Layer[];
    rows: number;
    columns: number;
    /** Of the whole: first and one past the last. */
    down: Span;
    across: Span;
    /** The whole. */
    all: { rows: number; columns: number };
    heads: number;
}

type Answer =
    | Record<string, Tensor>
    | {
          scale: number;
          offset: number;
          tensors: Record<string, { shape: number[]; base64: string }>;
      };

/** Tensors with plain numbers, of bytes too: each stands for offset + scale · byte. */
function tensors(answer: Answer): [string, number[], ArrayLike<number>][] {
    if (!("tensors" in answer) || !("scale" in answer))
        return Object.entries(answer as Record<string, Tensor>).map(([name, { shape, data }]) => [
            name,
            shape,
            data instanceof BigInt64Array
                ? Float64Array.from(data, Number)
                : (data as Float32Array),
        ]);
    const { scale, offset } = answer as { scale: number; offset: number };
    return Object.entries(
        answer.tensors as Record<string, { shape: number[]; base64: string }>,
    ).map(([name, { shape, base64 }]) => [name, shape, scaled(atob(base64), scale, offset)]);
}

function scaled(bytes: string, scale: number, offset: number): Float32Array {
    const values = new Float32Array(bytes.length);
    for (let i = 0; i < values.length; i++) values[i] = offset + scale * bytes.charCodeAt(i);
    return values;
}

const within = ([from, to]: Span, count: number): Span => [
    Math.max(0, Math.min(count - 1, from)),
    Math.max(1, Math.min(count, to)),
];

/** Out of rows and columns that were answered, those that are seen. */
function cut(
    values: ArrayLike<number>,
    columns: number,
    [top, bottom]: Span,
    [left, right]: Span,
): ArrayLike<number> {
    const width = right - left;
    if (width === columns) return (values as Float32Array).subarray(top * width, bottom * width);
    const out = new Float64Array(width * (bottom - top));
    for (let i = 0; i < out.length; i++)
        out[i] = values[(top + Math.floor(i / width)) * columns + left + (i % width)];
    return out;
}

export function picture(
    source: Source,
    { cut: isCut }: Request,
    answer: Answer,
    rows: Span | null,
    columns: Span | null,
    head: number,
): Picture {
    const all = tensors(answer),
        matrices = all.filter(([, shape]) => shape.length > 1);
    const bias = source.operation.name === "bias",
        [[, shape]] = matrices.length ? matrices : all;
    const heads = bias && shape.length > 2 ? shape[0] : 1;
    const count = shape.length > 2 && bias ? shape[1] : shape[0];
    const width = shape.reduce((product, one) => product * one, 1) / heads / count;
    const seen: Span = !isCut && rows ? rows : [0, source.rows ?? count];
    const whole = { rows: source.rows ?? count, columns: source.columns ?? width };
    const down = isCut && rows ? within(rows, whole.rows) : seen;
    const across = columns ? within(columns, whole.columns) : ([0, whole.columns] as Span);
    const index = ([from, to]: Span, count: number, whole: number): Span => [
        Math.floor((from * count) / whole),
        Math.ceil((to * count) / whole),
    ];
    const top = isCut ? index(down, count, whole.rows) : ([0, count] as Span);
    const left = columns ? index(across, width, whole.columns) : ([0, width] as Span);
    const skip = Math.min(head, heads - 1) * count;
    return {
        down,
        across,
        all: whole,
        heads,
        rows: top[1] - top[0],
        columns: left[1] - left[0],
        layers: (matrices.length ? matrices : all).map(([name, , values]) => ({
            name,
            values: cut(values, width, [top[0] + skip, top[1] + skip], left),
        })),
    };
}

/** Ends of the colours: −1 and 1 where they hold all, else those of the values; both signs alike.
 * `signed`: waves have both signs, though a part of them may have one. */
export function ends({ layers }: Picture, signed: boolean): [number, number] {
    let low = Infinity,
        high = -Infinity;
    for (const { values } of layers)
        for (let i = 0; i < values.length; i++) {
            if (!Number.isFinite(values[i])) continue; // masked, and drawn clear
            low = Math.min(low, values[i]);
            high = Math.max(high, values[i]);
        }
    if (low > high) return [0, 1];
    if (!signed && (low >= 0 || high <= 0))
        return low >= 0 && high <= 1 && high > 0 ? [0, 1] : [low, high];
    const size = Math.max(-low, high) <= 1.001 ? 1 : Math.max(-low, high);
    return [-size, size];
}
