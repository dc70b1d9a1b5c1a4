// SPDX-License-Identifier: MIT

/** Elements in row-major order. `f16` is a Float16Array where there is one; else, and for `bf16`,
 * the bits stand in a Uint16Array. */
export interface Tensor {
    dtype: string;
    shape: number[];
    data:
        | Float64Array
        | Float32Array
        | Uint16Array
        | BigInt64Array
        | Int32Array
        | Uint32Array
        | Uint8Array;
}

/** Tensors of a request. Without `shape` a tensor has one axis; without `dtype` its elements are
 * those of the array. A Uint16Array requires a `dtype`: "f16" or "bf16". */
export type Tensors = Record<string, { data: Tensor["data"]; shape?: number[]; dtype?: string }>;

/** Parameters by the names of openapi.yaml; undefined and null are left out. Lists may have rows,
 * and may be typed arrays. Beside tensors the parameters go into the query; where one of them is an
 * object, `{ name: "rope", base: 500000 }`, the body is JSON, with the tensors in base64. */
export type Params = Record<string, unknown>;

export interface More {
    /** They take the place of the client's own: `accept` is "application/x-safetensors,
     * application/json;q=0.5", `content-type` that of the body. */
    headers?: HeadersInit;
    /** Ends a request, which rejects with the signal's reason: an AbortError where `abort()` has no
     * argument, a TimeoutError of `AbortSignal.timeout(ms)`. The module checks it every 50 ms. */
    signal?: AbortSignal;
}

export interface RequestMore extends More {
    body?: BodyInit;
}

/** A refusal: `message` says what to do, `problem` is the document (RFC 9457), if there was one. */
export class PosencError extends Error {
    status: number;
    problem: { code?: string; detail?: string; errors?: { parameter?: string; detail: string }[] };
    constructor(status: number, problem: PosencError["problem"]);
}

export interface Client {
    /** Any request of openapi.yaml, with a path and query: the response of fetch, or one like it. */
    request(method: string, target: string, more?: RequestMore): Promise<Response>;

    /** GET /v1/encodings */
    encodings(more?: More): Promise<any>;
    /** GET /v1/engines: what inference engines rotate for a config, as measured; with `engine` or
     * `model_type` each measured cell. */
    engines(params?: Params, more?: More): Promise<any>;
    /** GET /v1/encodings/{name}/{view}, or POST where the query would have over 2000 characters; an
     * analysis is the view "analysis/decay". */
    view(name: string, view: string, params?: Params, more?: More): Promise<Record<string, Tensor>>;
    table(name: string, params?: Params, more?: More): Promise<Record<string, Tensor>>;
    frequencies(name: string, params?: Params, more?: More): Promise<Record<string, Tensor>>;
    bias(name: string, params?: Params, more?: More): Promise<Record<string, Tensor>>;

    /** POST /v1/rotation: rotates each of the tensors. */
    rotate(params: Params, tensors: Tensors, more?: More): Promise<Record<string, Tensor>>;
    /** POST /v1/attention */
    attention(params: Params, tensors: Tensors, more?: More): Promise<Record<string, Tensor>>;
    /** POST /v1/embedding */
    embed(params: Params, tensors?: Tensors, more?: More): Promise<any>;
    /** POST /v1/layout */
    layout(params: Params, tensors: Tensors, more?: More): Promise<Record<string, Tensor>>;
    /** POST /v1/comparison */
    compare(params: Params, tensors?: Tensors, more?: More): Promise<any>;
    /** POST /v1/diagnosis */
    diagnose(params: Params, tensors: Tensors, more?: More): Promise<any>;
    /** POST /v1/positions: ids of tokens, or, with position_ids, what is wrong with those. */
    positions(params: Params, tensors?: Tensors, more?: More): Promise<any>;
    /** POST /v1/lint: which engines read a config.json otherwise: {config, for, against}. */
    lint(params: Params, tensors?: Tensors, more?: More): Promise<any>;
    /** POST /v1/extend: what changes a config.json to a longer context: {config, to, type, for}. */
    extend(params: Params, tensors?: Tensors, more?: More): Promise<any>;
    /** POST /v1/golden: inputs of a rotary kernel and its right outputs, from a config.json:
     * {config, context, layout}. `golden` is the description that check takes. */
    golden(
        params: Params,
        more?: More,
    ): Promise<{ golden: object; tensors: Record<string, Tensor> }>;
    /** POST /v1/check: whether outputs of a kernel, under their names in the golden file, are right:
     * {golden, tolerance_of}. Tensors of a golden file that are named "golden.NAME" are verified. */
    check(params: Params, tensors: Tensors, more?: More): Promise<any>;
    /** POST /v1/config: a model's config.json, parsed or as text; `layers` has each kind of its
     * layers. */
    config(config: object | string, more?: More): Promise<any>;
}

/** A client of a server, by its URL, or of the module, by the URL of a file *.wasm, by its bytes or
 * compiled. `settings` are those of the module, by the names of posencd's flags:
 * {"json-body-max": "1MiB"}. */
export function connect(
    where: string | URL | BufferSource | WebAssembly.Module,
    settings?: Record<string, string>,
): Promise<Client>;

/** Reads a response of the service: tensors by name of safetensors, one tensor of npy and raw, what
 * JSON says, text. Throws PosencError. */
export function read(response: Response): Promise<any>;

/** Tensors as safetensors, with metadata. */
export function encode(tensors: Tensors, metadata?: Record<string, string>): Blob;

/** The module itself, for programs that have requests as bytes: nothing is added or changed. */
export function open(
    source: BufferSource | WebAssembly.Module,
    settings?: Record<string, string>,
): Promise<
    (
        method: string,
        target: string,
        fields: [string, string][],
        body: Uint8Array,
        signal?: AbortSignal,
    ) => Promise<{ status: number; fields: [string, string][]; parts: Uint8Array[] }>
>;
