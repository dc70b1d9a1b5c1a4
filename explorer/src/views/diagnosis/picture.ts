// SPDX-License-Identifier: MIT
// Pictures of the posted values, the expected ones, and their difference.
import { read } from "../../../../clients/js/client.js";
import { get, type Tensor } from "../../api";
import { h } from "../../dom";
import { heatmap } from "../../kit/heatmap";
import { short } from "../../numbers";
import type { App } from "../../view";
import { t } from "../../words";
import { found, type Candidate } from "./report";

const ROWS = 512;

type Tensors = Record<string, Tensor>;

/** The content of a file: the tensor of a .npy, whose first byte is 0x93, or those of .safetensors. */
async function stored(file: Blob): Promise<{ npy: Tensor } | { several: Tensors }> {
    const npy = new Uint8Array(await file.slice(0, 1).arrayBuffer())[0] === 0x93;
    const answer = await read(
        new Response(file, {
            headers: {
                "content-type": npy ? "application/x-npy" : "application/x-safetensors",
            },
        }),
    );
    return npy ? { npy: answer } : { several: answer };
}

/** The only tensor of a file, or its first one: all heads of it. */
export async function tensorOf(file: Blob): Promise<Tensor> {
    const found = await stored(file);
    return "npy" in found ? found.npy : Object.values(found.several)[0];
}

/** The tensors of a file, where a table of cos and sin in one .npy is two. */
export async function tensors(file: Blob): Promise<Tensors> {
    const found = await stored(file);
    return "npy" in found ? unstacked(found.npy) : found.several;
}

/** cos and sin of a rotary table, which .npy has one behind the other: [2, positions, width]. */
function unstacked(one: Tensor): Tensors {
    if (one.shape.length !== 3 || one.shape[0] !== 2) return { npy: one };
    const shape = one.shape.slice(1),
        size = shape[0] * shape[1],
        data = one.data as Float32Array;
    return {
        cos: { ...one, shape, data: data.subarray(0, size) },
        sin: { ...one, shape, data: data.subarray(size) },
    };
}

/** Rows of positions that can be drawn: two dimensions, and numbers that the page knows. */
function drawable(posted: Tensors): [string, Tensor] | undefined {
    return Object.entries(posted).find(
        ([, one]) => one.shape.length === 2 && (one.dtype === "f32" || one.dtype === "f64"),
    );
}

async function expected(
    app: App,
    name: string,
    rows: number,
    candidate: Candidate,
    signal: AbortSignal,
) {
    const { name: encoding, ...params } = found(candidate);
    const answer = await app.api.ask<Tensors>(
        get(`/v1/encodings/${encoding}/table`, { ...params, length: rows }),
        signal,
    );
    return answer[name] ?? Object.values(answer)[0];
}

function panel(
    title: string,
    tensor: { rows: number; columns: number; values: ArrayLike<number> },
    size: number,
) {
    const told = h("p.cell");
    const map = heatmap((row, column) => {
        told.textContent =
            `${t("position", "位置")} ${row}, ${t("column", "列")} ${column}: ` +
            short(tensor.values[row * tensor.columns + column], 6);
    });
    map.draw({
        ...tensor,
        low: -size,
        high: size,
        palette: "rdbu",
        rowName: t("position", "位置"),
        columnName: t("column", "列"),
        valueName: t("value", "值"),
        rowAt: (row) => row,
        columnAt: (column) => column,
        label: title,
    });
    return h("section.panel", {}, h("h2", {}, title), map.element, told);
}

/** Nothing where the file has no rows that could be drawn, or stands in no order that is known. */
export async function picture(
    app: App,
    posted: Tensors,
    candidate: Candidate,
    signal: AbortSignal,
): Promise<HTMLElement | null> {
    const found = drawable(posted);
    if (!found) return null;
    const [name, tensor] = found,
        columns = tensor.shape[1],
        rows = Math.min(ROWS, tensor.shape[0]);
    const values = (tensor.data as Float32Array).subarray(0, rows * columns);
    const right = await expected(app, name, rows, candidate, signal);
    if (right?.shape[1] !== columns) return null;
    const other = right.data as Float32Array,
        change = values.map((one, i) => one - other[i]);
    const most = change.reduce((size, one) => Math.max(size, Math.abs(one)), 1e-9);
    const shape = { rows, columns };
    return h(
        "div.three",
        {},
        panel(t("posted", "提交的"), { ...shape, values }, 1),
        panel(t("expected", "应有的"), { ...shape, values: other }, 1),
        panel(t("difference", "差值"), { ...shape, values: change }, most),
    );
}
