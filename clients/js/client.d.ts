// SPDX-License-Identifier: MIT

/** Elements in row-major order. `f16` is a Float16Array where there is one; else, and for `bf16`,
 * the bits stand in a Uint16Array. */
export interface Tensor {
  dtype: string;
  shape: number[];
  data: Float64Array | Float32Array | Uint16Array | BigInt64Array | Int32Array | Uint32Array
    | Uint8Array;
}

/** What is sent: `shape` is that of a list and `dtype` that of the array, where they are left out. */
export type Tensors = Record<string, { data: Tensor["data"]; shape?: number[]; dtype?: string }>;

/** Parameters by the names of openapi.yaml. They go into the query, lists joined by commas; where one
 * is an object, `{ name: "rope", base: 500000 }`, all goes as JSON, tensors as lists of numbers: those
 * that JSON does not read, of i64 and of bits, then need parameters without objects. */
export type Params = Record<string, unknown>;

export interface More {
  headers?: Record<string, string>;
  /** Ends a request; the module looks at it some twenty times a second. */
  signal?: AbortSignal;
}

export interface RequestMore extends More {
  body?: BodyInit;
}

/** A refusal: `message` says what to do, `problem` is the document (RFC 9457), if there was one. */
export class PosencError extends Error {
  status: number;
  problem: { code?: string; detail?: string; errors?: { parameter?: string; detail: string }[] };
}

export interface Client {
  /** Any request of openapi.yaml, with a path and query: the response of fetch, or one like it. */
  request(method: string, target: string, more?: RequestMore): Promise<Response>;

  /** GET /v1/encodings */
  encodings(more?: More): Promise<any>;
  /** GET /v1/encodings/{name}/{view}; an analysis is the view "analysis/decay". */
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
  diagnose(params: Params, tensors?: Tensors, more?: More): Promise<any>;
  /** POST /v1/positions: ids of tokens, or, with position_ids, what is wrong with those. */
  positions(params: Params, tensors?: Tensors, more?: More): Promise<any>;
  /** POST /v1/config: a model's config.json, parsed; `layers` has each kind of its layers. */
  config(config: object, more?: More): Promise<any>;
}

/** A client of a server, by its URL, or of the module, by the URL of a file *.wasm, by its bytes or
 * compiled. `settings` are the module's, by the names of posencd's flags: {"json-body-max": "1MiB"}. */
export function connect(
  where: string | URL | BufferSource | WebAssembly.Module,
  settings?: Record<string, string>,
): Promise<Client>;

/** Reads a response of the service: tensors by name of safetensors, one tensor of npy and raw, what
 * JSON says, text. Throws PosencError. */
export function read(response: Response): Promise<any>;

/** Tensors as safetensors. */
export function encode(tensors: Tensors): Blob;

/** The module itself, for programs that have requests as bytes: nothing is added or changed. */
export function open(
  source: BufferSource | WebAssembly.Module,
  settings?: Record<string, string>,
): Promise<(
  method: string, target: string, fields: [string, string][], body: Uint8Array,
  signal?: AbortSignal,
) => Promise<{ status: number; fields: [string, string][]; parts: Uint8Array[] }>>;
