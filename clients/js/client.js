// SPDX-License-Identifier: MIT
// A server or posenc.wasm: see client.d.ts.

const PIECE = 1 << 20, TURN = 50; // bytes; ms to a turn of the page
const ARRAYS = {
  f64: Float64Array, f32: Float32Array, f16: globalThis.Float16Array ?? Uint16Array,
  bf16: Uint16Array, i64: BigInt64Array, i32: Int32Array, u32: Uint32Array, u8: Uint8Array,
  bool: Uint8Array,
};
const NPY = {
  f8: "f64", f4: "f32", f2: "f16", i8: "i64", i4: "i32", u4: "u32", u1: "u8", b1: "bool",
};
const JSON_TYPE = "application/json", SAFETENSORS = "application/x-safetensors";

export class PosencError extends Error {
  constructor(status, problem) {
    super(problem.detail ?? `status ${status}`);
    Object.assign(this, { name: "PosencError", status, problem });
  }
}

const tensor = (dtype, shape, buffer, begin, end) =>
  ({ dtype, shape, data: new ARRAYS[dtype](buffer.slice(begin, end)) });
const text = (buffer, begin, size) => new TextDecoder().decode(new Uint8Array(buffer, begin, size));

const safetensors = (buffer) => {
  const [size] = new Uint32Array(buffer, 0, 1), begin = 8 + size;
  const { __metadata__, ...tensors } = JSON.parse(text(buffer, 8, size));
  for (const name in tensors) {
    const { dtype, shape, data_offsets: [from, to] } = tensors[name];
    tensors[name] = tensor(dtype.toLowerCase(), shape, buffer, begin + from, begin + to);
  }
  return tensors;
};

const npy = (buffer) => {
  const [size] = new Uint16Array(buffer, 8, 1);
  const [, dtype, shape] = text(buffer, 10, size).match(/'[<|](..)'.*\((.*)\)/);
  return tensor(NPY[dtype], shape.match(/\d+/g)?.map(Number) ?? [], buffer, 10 + size);
};

export const encode = (tensors) => {
  const head = {}, parts = [];
  let end = 0;
  for (const name in tensors) {
    const { data, shape = [data.length], dtype } = tensors[name];
    const kind = dtype ?? Object.keys(ARRAYS).find((one) => data instanceof ARRAYS[one]);
    head[name] = { dtype: kind.toUpperCase(), shape, data_offsets: [end, end += data.byteLength] };
    parts.push(data);
  }
  let told = JSON.stringify(head);
  told += " ".repeat(-told.length & 7);
  return new Blob([new Uint32Array([told.length, 0]), told, ...parts]);
};

export const read = async (response) => {
  const { headers, ok, status } = response, type = headers.get("content-type") ?? "";
  const json = /json/.test(type);
  if (!ok) throw new PosencError(status, json ? await response.json() : {});
  if (json) return response.json();
  if (/text|yaml/.test(type)) return response.text();
  const buffer = await response.arrayBuffer(), dtype = headers.get("tensor-dtype");
  if (type === SAFETENSORS) return safetensors(buffer);
  if (/npy/.test(type)) return npy(buffer);
  return dtype ? tensor(dtype, headers.get("tensor-shape").split(",").map(Number), buffer) : buffer;
};

const latin = (text) => Uint8Array.from(text, (char) => char.charCodeAt());
const lines = (pairs) => pairs.map(([name, value]) => `${name}: ${value}\n`).join("");

const had = (at) => {
  if (!at) throw new Error("no memory");
  return at;
};

const put = (own, bytes) => {
  const at = had(own.posenc_alloc(bytes.length + 1));
  new Uint8Array(own.memory.buffer).set(bytes, at);
  return at;
};

const take = (own, at) => {
  const bytes = new Uint8Array(own.memory.buffer);
  const taken = String.fromCharCode(...bytes.slice(at, bytes.indexOf(0, at)));
  own.posenc_free(at);
  return taken;
};

export const open = async (source, settings = {}) => {
  const module = source instanceof WebAssembly.Module ? source : await WebAssembly.compile(source);
  const crypto = globalThis.crypto ?? (await import("node:crypto")).webcrypto;
  let current;

  const start = async () => {
    const posenc = {
      now: () => performance.now(),
      random: (at, size) => crypto.getRandomValues(new Uint8Array(own.memory.buffer, at, size)),
      leave: () => { throw 0; },
      attempt: (run, at) => {
        try {
          return own.posenc_run(run, at);
        } catch (error) {
          if (error) throw error;
        }
      },
    };
    const { exports: own } = await WebAssembly.instantiate(module, { posenc });
    own._initialize();
    const wrong = own.posenc_start(put(own, latin(lines(Object.entries(settings)))));
    if (wrong) throw new Error(take(own, wrong));
    return own;
  };

  const ask = async (method, target, fields, body, signal) => {
    let due = performance.now() + TURN;
    const turn = async () => {
      if (performance.now() > due) {
        await new Promise((done) => setTimeout(done));
        due = performance.now() + TURN;
      }
      signal?.throwIfAborted();
    };
    await turn();
    const own = await (current ??= start());
    try {
      const head = put(own, latin(`${method} ${target}\n${lines(fields)}`));
      const request = had(own.posenc_begin(head, body.length));
      own.posenc_free(head);
      for (let at = 0, more = 1; more && at < body.length; at += PIECE, await turn()) {
        const bytes = body.subarray(at, at + PIECE), piece = put(own, bytes);
        more = own.posenc_feed(request, piece, bytes.length);
        own.posenc_free(piece);
      }
      const [status, ...told] = take(own, had(own.posenc_finish(request))).trim().split("\n");
      const parts = [];
      for (let at; (at = own.posenc_next(request)); await turn())
        parts.push(new Uint8Array(own.memory.buffer).slice(at, at + own.posenc_size()));
      if (own.posenc_size()) throw new Error("broke off");
      own.posenc_end(request);
      return { status: +status, fields: told.map((line) => line.split(/: (.*)/s, 2)), parts };
    } catch (error) {
      current = 0; // in an unknown state
      throw error;
    }
  };
  await (current = start());
  return ask;
};

const local = (ask) => async (method, target, { headers, body, signal } = {}) => {
  const { pathname, search } = new URL(target, "http://a");
  const bytes = new Uint8Array(await new Response(body).arrayBuffer());
  const { status, fields, parts } =
    await ask(method, pathname + search, [...new Headers(headers)], bytes, signal);
  return new Response(parts.length ? new Blob(parts) : null, { status, headers: fields });
};

export const connect = async (where, settings) => {
  const url = `${where}`.replace(/\/$/, ""), is = typeof where === "string" || where instanceof URL;
  const wasm = is && url.endsWith(".wasm");
  const request = is && !wasm ? (method, target, more) => fetch(url + target, { method, ...more })
    : local(await open(wasm ? await (await fetch(url)).arrayBuffer() : where, settings));

  const ask = async (method, path, params, more, type, body) => {
    const query = params ? `?${new URLSearchParams(params)}` : "";
    const headers = { accept: `${SAFETENSORS}, ${JSON_TYPE};q=0.5`, ...more?.headers };
    if (type) headers["content-type"] = type;
    return read(await request(method, path + query, { ...more, headers, body }));
  };
  const get = (view) => (name, params, more) =>
    ask("GET", `/v1/encodings/${name}/${view}`, params, more);
  const post = (path) => (params, tensors, more) =>
    tensors && !Object.values(params).some((one) => one?.constructor === Object)
      ? ask("POST", "/v1/" + path, params, more, SAFETENSORS, encode(tensors))
      : ask("POST", "/v1/" + path, 0, more, JSON_TYPE, JSON.stringify({ ...params, tensors },
        (_, one) => ArrayBuffer.isView(one) ? [...one] : one));
  return {
    request,
    encodings: (more) => ask("GET", "/v1/encodings", 0, more),
    view: (name, view, params, more) => get(view)(name, params, more),
    table: get("table"), frequencies: get("frequencies"), bias: get("bias"),
    rotate: post("rotation"), attention: post("attention"), embed: post("embedding"),
    layout: post("layout"), compare: post("comparison"), diagnose: post("diagnosis"),
    positions: post("positions"), config: (config, more) => post("config")(config, undefined, more),
  };
};
