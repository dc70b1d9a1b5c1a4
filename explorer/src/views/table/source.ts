// SPDX-License-Identifier: MIT
// Which table is meant: an encoding of the catalogue with its own parameters, and the part of it
// that
// is seen.
import { encode } from "../../../../clients/js/client.js";
import { get, query, type Ask, type Params, type Tensor } from "../../api";
import type { App } from "../../view";

export interface Parameter {
    type: string | string[];
    enum?: string[];
    minimum?: number;
    maximum?: number;
    exclusiveMinimum?: number;
    default?: unknown;
    description: string;
}

interface Schema {
    properties: Record<string, Parameter>;
    required: string[];
}

interface Operation {
    name: string;
    href: string;
    parameters: Schema;
    example: string;
}

export interface Entry {
    name: string;
    title: string;
    formula: string;
    parameters: Schema;
    operations: Operation[];
}

/** Of a file of one's own. */
export interface Own {
    name: string;
    tensors: Record<string, Tensor>;
}

export interface Source {
    entry: Entry;
    operation: Operation;
    /** What the API is asked with, but for the part that is seen. */
    params: Params;
    /** Rows and columns of the whole, where they are known before the answer. */
    rows?: number;
    columns?: number;
    bytes?: Blob;
    /** How long it can be. */
    most: number;
}

/** First and one past the last. */
export type Span = [number, number];

// Of an answer; of one that a part is cut out of; of a picture; of the length's slider.
const CELLS = 1 << 18,
    CUT = 1 << 20,
    ROWS = 512,
    LONGEST = 65536;

/** Names of this view in the URL; the others are the API's. */
const VIEW = [
    "encoding",
    "operation",
    "file",
    "tensor",
    "head",
    "rows",
    "columns",
    "pool",
    "position",
    "delta",
    "plot_rows",
    "plot_columns",
    "axis",
];

/** Parameters that change what an answer looks like, and not what it says. */
export const FORM = [
    "dtype",
    "format",
    "flat",
    "data_format",
    "download",
    "revision",
    "plot",
    "plot_columns",
    "plot_width",
    "plot_height",
    "colormap",
    "theme",
    "title",
    "lang",
    "strict",
    "pool",
    "rows",
    "columns",
    "config",
    "layer_type",
    "table",
    "version",
];

/** First values, larger than those of the catalogue's examples. */
const FIRST: Params = {
    dim: "128",
    length: "100",
    height: "24",
    width: "24",
    shape: "16,16",
    ndim: "2",
    mrope_section: "16,16,16",
    t_center: "50",
    heads: "8",
    query_length: "64",
    max_relative_position: "16",
    p: "1",
    a: "0.25",
};
const FIRST_OF: Record<string, Params> = {
    binary: { dim: "8", length: "256" },
    periodic: { dim: "16" },
    shaw: { dim: "64" },
    mrope: { dim: "96" },
    "rope-nd": { axes_dim: "16,56,56", shape: "1,16,16" },
    "kerple-power": { p: "0.5" },
    "deberta-log": { query_length: "512" },
    t5: { query_length: "160" },
    sandwich: { query_length: "128" },
};

/** What a way of scaling needs beside its name. */
function scaling(type: string | undefined, pairs: number): Params {
    const each = (value: number) => Array(pairs).fill(value).join();
    const original = { original_max_position_embeddings: "4096" },
        factor = { factor: "8" };
    return (
        (
            {
                linear: factor,
                ntk: factor,
                ntk_fixed: factor,
                yarn: { ...factor, ...original },
                dynamic: { ...factor, seq_len: "32768", max_position_embeddings: "4096" },
                llama3: { ...factor, ...original, low_freq_factor: "1", high_freq_factor: "4" },
                longrope: {
                    ...original,
                    max_position_embeddings: "32768",
                    seq_len: "32768",
                    short_factor: each(1),
                    long_factor: each(8),
                },
                custom: { freq_factors: each(8) },
            } as Record<string, Params>
        )[type ?? ""] ?? {}
    );
}

export const shown = (entry: Entry): Operation[] =>
    entry.operations.filter(({ name }) => ["table", "bias", "scale"].includes(name));

export const isPosted = (params: Params): boolean => /^tensor:/.test(params.table ?? "tensor:");

/** Those that the catalogue's example gives, with larger values. */
export function first(entry: Entry, operation: Operation): Params {
    const given = Object.fromEntries(new URL(operation.example, "http://a").searchParams);
    return Object.fromEntries(
        Object.entries(given).map(([name, value]) => [
            name,
            FIRST_OF[entry.name]?.[name] ?? FIRST[name] ?? value,
        ]),
    );
}

/** How many rows an encoding without `start` has. */
function rowsOf(name: string, operation: string, params: Params): number | undefined {
    const p = (name: string) => +(params[name] ?? 0);
    if (operation === "bias") return p("query_length");
    switch (name) {
        case "transformer-xl":
            return params.direction === "past" ? p("length") : p("length") * 2 - 1;
        case "sinusoidal-2d":
        case "rope-2d":
            return p("height") * p("width") + +/^(1|true)$/.test(params.class_token) || undefined;
        case "rope-nd":
        case "sinusoidal-nd":
        case "fourier":
            return (
                (params.shape ?? "").split(",").reduce((rows, size) => rows * +size, 1) || undefined
            );
        case "shaw":
            return p("max_relative_position") * 2 + 1;
        default:
            return p("length") || undefined;
    }
}

/** A posted table: rows of its last dimension. */
function posted(own: Own, wanted: string | undefined): { rows: number; bytes: Blob } {
    const tensor = own.tensors[wanted ?? ""] ?? Object.values(own.tensors)[0];
    const width = tensor.shape.at(-1) ?? 1,
        rows = tensor.data.length / width;
    return { rows, bytes: encode({ table: { ...tensor, shape: [rows, width] } }) };
}

/** How many positions a posted table has. */
export function positionsOf(entry: Entry, given: Params, rows: number): number {
    if (entry.name === "hierarchical") return rows * rows;
    if (!given.to) return rows;
    const [down, across] = given.to.split(",");
    return +(given.prefix ?? 0) + +down * +(across ?? 1) || rows;
}

export function source(app: App, entry: Entry, own: Own): Source {
    const given = app.state.params,
        all = shown(entry);
    const operation = all.find(({ name }) => name === given.operation) ?? all[0];
    const begin = first(entry, operation);
    const params: Params = given.config
        ? { length: begin.length }
        : { ...begin, ...scaling(given.rope_type, +(given.dim ?? begin.dim) >> 1) };
    if (given.positions || given.coordinates || given.cache === "ggml") delete params.length;
    if (given.coordinates) delete params.shape;
    if (given.alpha) delete params.factor;
    for (const [name, value] of Object.entries(given))
        if (!VIEW.includes(name)) params[name] = value;
    const learned = "table" in entry.parameters.properties && isPosted(given);
    const file = learned ? posted(own, given.tensor) : undefined;
    const most = !file
        ? Math.min(entry.name === "binary" ? 2 ** +params.dim : LONGEST, LONGEST)
        : positionsOf(entry, given, file.rows);
    if (file) {
        params.table = "tensor:table";
        params.length = `${Math.max(1, Math.min(+(given.length ?? 4096), most))}`;
    }
    const rows =
        given.positions || given.coordinates
            ? undefined
            : rowsOf(entry.name, operation.name, params);
    return {
        entry,
        operation,
        params,
        rows,
        bytes: file?.bytes,
        most,
        columns: operation.name === "bias" ? +(params.key_length ?? rows!) : undefined,
    };
}

const ask = ({ operation, bytes }: Source, params: Record<string, unknown>): Ask =>
    bytes
        ? {
              method: "POST",
              target: query(operation.href, params),
              bytes,
              type: "application/octet-stream",
          }
        : get(operation.href, params);

const has = ({ operation }: Source, name: string) => name in operation.parameters.properties;

/** The rows from one to another, where the API can leave the others out. */
function part(source: Source, [from, to]: Span): Record<string, unknown> | undefined {
    const { params, columns } = source,
        of = (name: string, other = 0) => +(params[name] ?? other);
    if (!source.rows) return undefined;
    if (has(source, "start"))
        return { ...params, start: of("start") + from * of("step", 1), length: to - from };
    if (has(source, "query_start"))
        return {
            ...params,
            query_start: of("query_start") + from,
            query_length: to - from,
            key_length: columns,
        };
    return undefined;
}

/** `cut`: the answer has all rows, and those that are seen are taken out of it in the page. */
export interface Request {
    ask: Ask;
    /** The same without pooling: for copying, and for files. */
    whole: Ask;
    cut: boolean;
    pooled: boolean;
    bytewise: boolean;
}

/** `fine`: numbers are read, not only colours. */
export function request(
    source: Source,
    rows: Span | null,
    columns: Span | null,
    pool: string,
    fine: boolean,
): Request {
    const seen = rows && part(source, rows),
        params = seen ?? source.params,
        cut = !!rows && !seen;
    const count = rows && seen ? rows[1] - rows[0] : (source.rows ?? 0);
    const width = source.columns ?? (+(params.dim ?? 0) || 1);
    const across = columns || !source.columns || width <= ROWS ? width : ROWS;
    const most = Math.max(8, Math.floor(cut ? CUT / width : Math.min(ROWS, CELLS / across)));
    const pooled = has(source, "pool") && (count > most || across < width),
        bytewise = pooled && !fine;
    const whole = ask(source, params);
    return {
        whole,
        cut,
        pooled,
        bytewise,
        ask: !pooled
            ? whole
            : ask(source, {
                  ...params,
                  pool,
                  rows: most,
                  ...(across < width ? { columns: across } : {}),
                  ...(bytewise ? { dtype: "u8", format: "json", data_format: "base64" } : {}),
              }),
    };
}

/** One row, number by number; none where the API cannot leave the others out, or a file is large.
 * */
export function one(source: Source, row: number): Ask | undefined {
    const params = (source.bytes?.size ?? 0) < CUT * 8 && part(source, [row, row + 1]);
    return params ? ask(source, params) : undefined;
}
