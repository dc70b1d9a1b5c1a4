// SPDX-License-Identifier: MIT
// A client of a posencd server, or of the service as WebAssembly: client.d.ts documents it.

const PIECE = 1 << 20; // bytes that the module takes at once
const TURN = 50; // ms of work, after which the page has its turn
const ARRAYS = {
    f64: Float64Array,
    f32: Float32Array,
    f16: globalThis.Float16Array ?? Uint16Array,
    bf16: Uint16Array,
    i64: BigInt64Array,
    i32: Int32Array,
    u32: Uint32Array,
    u8: Uint8Array,
    bool: Uint8Array,
};
const NPY = {
    f8: "f64",
    f4: "f32",
    f2: "f16",
    i8: "i64",
    i4: "i32",
    u4: "u32",
    u1: "u8",
    b1: "bool",
};
const JSON_TYPE = "application/json",
    SAFETENSORS = "application/x-safetensors";

export class PosencError extends Error {
    constructor(status, problem) {
        super(problem.detail ?? `status ${status}`);
        Object.assign(this, { name: "PosencError", status, problem });
    }
}

const tensor = (dtype, shape, buffer, begin, end) => {
    const Kind = ARRAYS[dtype],
        size = shape.reduce((all, one) => all * one, 1) * (Kind?.BYTES_PER_ELEMENT ?? NaN),
        bytes = buffer.slice(begin, end);
    if (bytes.byteLength !== size)
        throw new Error(`the answer has ${bytes.byteLength} bytes of ${dtype} [${shape}]`);
    return { dtype, shape, data: new Kind(bytes) };
};
const text = (buffer, begin, size) => new TextDecoder().decode(new Uint8Array(buffer, begin, size));

const safetensors = (buffer) => {
    const [size] = new Uint32Array(buffer, 0, 1),
        begin = 8 + size;
    const { __metadata__: metadata, ...tensors } = JSON.parse(text(buffer, 8, size));
    for (const name in tensors) {
        const {
            dtype,
            shape,
            data_offsets: [from, to],
        } = tensors[name];
        tensors[name] = tensor(dtype.toLowerCase(), shape, buffer, begin + from, begin + to);
    }
    return { metadata, tensors };
};

const npy = (buffer) => {
    const [size] = new Uint16Array(buffer, 8, 1);
    const [, dtype, shape] = text(buffer, 10, size).match(/'[<|](..)'.*\((.*)\)/);
    return tensor(NPY[dtype], shape.match(/\d+/g)?.map(Number) ?? [], buffer, 10 + size);
};

// The bits of f16 and of bf16 are both a Uint16Array, so that its dtype has to be given.
const dtypeOf = (name, { data, dtype }) => {
    if (dtype) return dtype;
    const found = Object.keys(ARRAYS).find((one) => data instanceof ARRAYS[one]);
    if (!found || data instanceof Uint16Array)
        throw new TypeError(`tensor ${name}: dtype is required for ${data.constructor.name}`);
    return found;
};

export const encode = (tensors, metadata) => {
    const head = metadata ? { __metadata__: metadata } : {},
        parts = [],
        encoder = new TextEncoder();
    let end = 0;
    for (const name in tensors) {
        const { data, shape = [data.length] } = tensors[name];
        const dtype = dtypeOf(name, tensors[name]).toUpperCase();
        head[name] = { dtype, shape, data_offsets: [end, (end += data.byteLength)] };
        parts.push(data);
    }
    const json = JSON.stringify(head);
    const bytes = encoder.encode(json + " ".repeat(-encoder.encode(json).length & 7));
    return new Blob([new Uint32Array([bytes.length, 0]), bytes, ...parts]);
};

const base64 = ({ buffer, byteOffset, byteLength }) => {
    const bytes = new Uint8Array(buffer, byteOffset, byteLength);
    let chars = "";
    for (let at = 0; at < bytes.length; at += 1 << 14)
        chars += String.fromCharCode(...bytes.subarray(at, at + (1 << 14)));
    return btoa(chars);
};

// Tensors of a JSON body, exact in every dtype.
const jsonTensors = (tensors) =>
    Object.fromEntries(
        Object.entries(tensors).map(([name, one]) => {
            const { data, shape = [data.length] } = one;
            const exact = () => ({ dtype: dtypeOf(name, one), shape, base64: base64(data) });
            return [name, isView(data) ? exact() : one];
        }),
    );

// Without parameters, in lower case.
const mediaType = ({ headers }) =>
    (headers.get("content-type") ?? "").split(";")[0].trim().toLowerCase();

export const read = async (response) => {
    const { headers, ok, status } = response,
        type = mediaType(response);
    const json = /json/.test(type);
    if (!ok) throw new PosencError(status, json ? await response.json() : {});
    if (json) return response.json();
    if (/text|yaml/.test(type)) return response.text();
    const buffer = await response.arrayBuffer(),
        dtype = headers.get("tensor-dtype");
    if (type === SAFETENSORS) return safetensors(buffer).tensors;
    if (/npy/.test(type)) return npy(buffer);
    // Several arrays as raw bytes, or a part of one, stay as they are.
    return dtype && !dtype.includes(";") && status !== 206
        ? tensor(dtype, headers.get("tensor-shape").split(",").map(Number), buffer)
        : buffer;
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
    const module =
        source instanceof WebAssembly.Module ? source : await WebAssembly.compile(source);
    const crypto = globalThis.crypto ?? (await import("node:crypto")).webcrypto;
    let current;

    const start = async () => {
        const posenc = {
            now: () => performance.now(),
            random: (at, size) =>
                crypto.getRandomValues(new Uint8Array(own.memory.buffer, at, size)),
            leave: () => {
                throw 0;
            },
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
        const text = put(own, latin(lines(Object.entries(settings)))),
            wrong = own.posenc_start(text);
        own.posenc_free(text);
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
                const bytes = body.subarray(at, at + PIECE),
                    piece = put(own, bytes);
                more = own.posenc_feed(request, piece, bytes.length);
                own.posenc_free(piece);
            }
            const [status, ...told] = take(own, had(own.posenc_finish(request)))
                .trim()
                .split("\n");
            const parts = [];
            for (let at; (at = own.posenc_next(request)); await turn())
                parts.push(new Uint8Array(own.memory.buffer).slice(at, at + own.posenc_size()));
            if (own.posenc_size()) throw new Error("broke off");
            own.posenc_end(request);
            return { status: +status, fields: told.map((line) => line.split(/: (.*)/s, 2)), parts };
        } catch (error) {
            current = undefined; // its state is not known: the next request starts a new one
            throw error;
        }
    };
    await (current = start());
    return ask;
};

const local =
    (ask) =>
    async (method, target, { headers, body, signal } = {}) => {
        const { pathname, search } = new URL(target, "http://a");
        const bytes = new Uint8Array(await new Response(body).arrayBuffer());
        const { status, fields, parts } = await ask(
            method,
            pathname + search,
            [...new Headers(headers)],
            bytes,
            signal,
        );
        return new Response(parts.length ? new Blob(parts) : null, { status, headers: fields });
    };

const isView = (value) => ArrayBuffer.isView(value);
const list = (value) => (isView(value) ? [...value] : value);
const isList = (value) => Array.isArray(value) || isView(value);
const hasObject = (value) =>
    Array.isArray(value)
        ? value.some(hasObject)
        : typeof value === "object" && value !== null && !isView(value);

// A value in a query: rows are separated by semicolons, an object is JSON.
const queryText = (value) => {
    if (hasObject(value)) return JSON.stringify(value);
    return isList(value)
        ? list(value)
              .map(queryText)
              .join(list(value).some(isList) ? ";" : ",")
        : `${value}`;
};

// Parameters without those that were not given.
const given = (params) => Object.entries(params ?? {}).filter(([, value]) => value != null);
const textsOf = (params) => given(params).map(([name, value]) => [name, queryText(value)]);
const queryOf = (params) => {
    const pairs = textsOf(params);
    return pairs.length ? `?${new URLSearchParams(pairs)}` : "";
};
// A head with a longer query may be refused by servers and proxies: its parameters are posted as
// metadata of safetensors, where their texts are those of a query.
const QUERY_MAX = 2001; // with its "?"
const metadataOf = (params) =>
    Object.fromEntries(textsOf(params).map(([name, text]) => [`posenc.${name}`, text]));
// A number beyond 2^53 would be another integer than the bigint.
const exactNumber = (value) => {
    if (!Number.isSafeInteger(Number(value)))
        throw new RangeError(`${value} is beyond 2^53, where a number is not exact; post a tensor`);
    return Number(value);
};
const jsonOf = (params) =>
    JSON.stringify(Object.fromEntries(given(params)), (_, value) =>
        typeof value === "bigint" ? exactNumber(value) : list(value),
    );

const moduleBytes = async (url) => {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${url}: status ${response.status}`);
    return response.arrayBuffer();
};

export const connect = async (where, settings) => {
    const isUrl = typeof where === "string" || where instanceof URL;
    const url = isUrl ? `${where}`.replace(/\/$/, "") : "";
    const isModule = !isUrl || url.endsWith(".wasm");
    const request = isModule
        ? local(await open(isUrl ? await moduleBytes(url) : where, settings))
        : (method, target, more) => fetch(url + target, { method, ...more });

    // Fields of `more` take the place of those of the client, whatever the case of their names.
    const send = (method, target, more, type, body) => {
        const headers = new Headers({ accept: `${SAFETENSORS}, ${JSON_TYPE};q=0.5` });
        if (type) headers.set("content-type", type);
        for (const [name, value] of new Headers(more?.headers)) headers.set(name, value);
        return request(method, target, { ...more, headers, body });
    };
    const ask = async (...all) => read(await send(...all));
    const posted = (path, params, tensors, more) => {
        const query = queryOf(params);
        return query.length <= QUERY_MAX
            ? ask("POST", path + query, more, SAFETENSORS, encode(tensors))
            : ask("POST", path, more, SAFETENSORS, encode(tensors, metadataOf(params)));
    };
    const get = (view) => (name, params, more) => {
        const path = `/v1/encodings/${encodeURIComponent(name)}/${view}`,
            query = queryOf(params);
        return query.length <= QUERY_MAX
            ? ask("GET", path + query, more)
            : posted(path, params, {}, more);
    };
    const post = (path) => async (params, tensors, more) =>
        tensors && !given(params).some(([, value]) => hasObject(value))
            ? posted(`/v1/${path}`, params, tensors, more)
            : ask(
                  "POST",
                  `/v1/${path}`,
                  more,
                  JSON_TYPE,
                  jsonOf({ ...params, tensors: tensors && jsonTensors(tensors) }),
              );
    return {
        request,
        encodings: (more) => ask("GET", "/v1/encodings", more),
        engines: (params, more) => ask("GET", `/v1/engines${queryOf(params)}`, more),
        view: (name, view, params, more) => get(view)(name, params, more),
        table: get("table"),
        frequencies: get("frequencies"),
        bias: get("bias"),
        rotate: post("rotation"),
        attention: post("attention"),
        embed: post("embedding"),
        layout: post("layout"),
        compare: post("comparison"),
        diagnose: post("diagnosis"),
        positions: post("positions"),
        lint: post("lint"),
        extend: post("extend"),
        golden: async (params, more) => {
            const response = await send("POST", "/v1/golden", more, JSON_TYPE, jsonOf(params));
            if (!response.ok || mediaType(response) !== SAFETENSORS) return read(response);
            const { metadata, tensors } = safetensors(await response.arrayBuffer());
            return { golden: JSON.parse(metadata.golden), tensors };
        },
        check: post("check"),
        config: (config, more) =>
            ask(
                "POST",
                "/v1/config",
                more,
                JSON_TYPE,
                typeof config === "string" ? config : JSON.stringify(config),
            ),
    };
};
