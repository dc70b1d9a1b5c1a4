// SPDX-License-Identifier: MIT
// Every option of client.js: the requests that it sends, recorded by a server that has its answers
// from a script, and the calls that it makes of the module, recorded by a module written in
// JavaScript.
//
//     node --test client_options.mjs
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { after, before, beforeEach, describe, it } from "node:test";

import { PosencError, connect, encode, open, read } from "../../clients/js/client.js";

const SAFETENSORS = "application/x-safetensors",
    JSON_TYPE = "application/json";
const ACCEPT = `${SAFETENSORS}, ${JSON_TYPE};q=0.5`;

// ---- a server with a script --------------------------------------------------------------------

let server, url, asked, answers;

const answer = async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    asked.push({
        method: request.method,
        target: request.url,
        headers: request.headers,
        body: Buffer.concat(parts),
    });
    const {
        status = 200,
        headers = { "content-type": JSON_TYPE },
        body = "{}",
        never,
        half,
    } = answers.shift() ?? {};
    if (never) return;
    response.writeHead(status, headers);
    if (half) response.write(body);
    else response.end(body);
};

before(async () => {
    server = createServer(answer);
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    url = `http://127.0.0.1:${server.address().port}`;
});
after(() => {
    server.closeAllConnections();
    server.close();
});
beforeEach(() => {
    asked = [];
    answers = [];
});
// A request that is still on its way when it is ended would take the next test's answer.
const arrived = async (count) => {
    for (const due = Date.now() + 2000; asked.length < count && Date.now() < due;)
        await new Promise((done) => setTimeout(done, 2));
};

const only = () => {
    assert.equal(asked.length, 1);
    return asked[0];
};
const query = () => Object.fromEntries(new URL(only().target, url).searchParams);
const path = () => new URL(only().target, url).pathname;

// What a safetensors file has, read without the code that is tested.
const unpacked = (body) => {
    const size = Number(body.readBigUInt64LE(0));
    return { head: JSON.parse(body.subarray(8, 8 + size)), data: body.subarray(8 + size), size };
};

const file = (head, data) => {
    const text = Buffer.from(JSON.stringify(head)),
        size = Buffer.alloc(8);
    size.writeBigUInt64LE(BigInt(text.length));
    return Buffer.concat([size, text, Buffer.from(data)]);
};

const q = { shape: [1, 1, 1, 2], data: Float32Array.of(0.5, -1.25) };
const MORE = { headers: { "x-more": "kept" } };

// ---- methods -----------------------------------------------------------------------------------

const VIEWS = { table: "table", frequencies: "frequencies", bias: "bias" };
const FUNCTIONS = {
    rotate: "rotation",
    attention: "attention",
    embed: "embedding",
    layout: "layout",
    compare: "comparison",
    diagnose: "diagnosis",
    positions: "positions",
    lint: "lint",
    extend: "extend",
    check: "check",
};

describe("methods", () => {
    for (const [method, view] of Object.entries(VIEWS))
        it(`${method} gets its view with parameters and fields`, async () => {
            await (await connect(url))[method]("rope", { dim: 4, length: 3 }, MORE);
            assert.equal(only().method, "GET");
            assert.equal(only().target, `/v1/encodings/rope/${view}?dim=4&length=3`);
            assert.equal(only().headers["x-more"], "kept");
            assert.equal(only().headers["content-type"], undefined);
        });

    it("view gets any view, with parameters and fields", async () => {
        await (await connect(url)).view("rope", "analysis/decay", { dim: 4 }, MORE);
        assert.equal(only().target, "/v1/encodings/rope/analysis/decay?dim=4");
        assert.equal(only().headers["x-more"], "kept");
    });

    it("the name of an encoding is one segment of the path", async () => {
        await (await connect(url)).table("a/b?c");
        assert.equal(only().target, "/v1/encodings/a%2Fb%3Fc/table");
    });

    it("encodings gets the catalogue with fields", async () => {
        await (await connect(url)).encodings(MORE);
        assert.deepEqual([only().method, only().target], ["GET", "/v1/encodings"]);
        assert.equal(only().headers["x-more"], "kept");
    });

    for (const [method, name] of Object.entries(FUNCTIONS)) {
        it(`${method} posts tensors with parameters and fields`, async () => {
            await (await connect(url))[method]({ layout: "half" }, { q }, MORE);
            assert.deepEqual([only().method, path()], ["POST", `/v1/${name}`]);
            assert.deepEqual(query(), { layout: "half" });
            assert.equal(only().headers["content-type"], SAFETENSORS);
            assert.equal(only().headers["x-more"], "kept");
            assert.deepEqual(unpacked(only().body).head.q.shape, [1, 1, 1, 2]);
        });

        it(`${method} posts an encoding object and its tensors as JSON`, async () => {
            const encoding = { name: "rope", base: 500 };
            await (await connect(url))[method]({ encoding, layout: "half" }, { q }, MORE);
            assert.equal(only().target, `/v1/${name}`);
            assert.equal(only().headers["content-type"], JSON_TYPE);
            assert.equal(only().headers["x-more"], "kept");
            const { tensors, ...params } = JSON.parse(only().body);
            assert.deepEqual(params, { encoding, layout: "half" });
            assert.deepEqual(
                { ...tensors.q, base64: 0 },
                { dtype: "f32", shape: q.shape, base64: 0 },
            );
            assert.deepEqual(Buffer.from(tensors.q.base64, "base64"), Buffer.from(q.data.buffer));
        });

        it(`${method} posts parameters alone as JSON`, async () => {
            await (await connect(url))[method]({ positions: Int32Array.of(1, 2) });
            assert.equal(only().headers["content-type"], JSON_TYPE);
            assert.deepEqual(JSON.parse(only().body), { positions: [1, 2] });
        });
    }

    it("config posts a config as it is, parsed or as text", async () => {
        const config = { model_type: "llama", rope_scaling: null };
        const posenc = await connect(url);
        await posenc.config(config, MORE);
        await posenc.config('{"model_type":  "llama"}');
        assert.deepEqual(
            asked.map(({ method, target }) => [method, target]),
            [
                ["POST", "/v1/config"],
                ["POST", "/v1/config"],
            ],
        );
        assert.deepEqual(JSON.parse(asked[0].body), config);
        assert.equal(asked[0].headers["x-more"], "kept");
        assert.equal(`${asked[1].body}`, '{"model_type":  "llama"}');
        assert.equal(asked[1].headers["content-type"], JSON_TYPE);
    });

    it("golden posts a config and reads the description beside the tensors", async () => {
        const description = { format: 1, kinds: [] },
            file = encode({ q }, { golden: JSON.stringify(description) }),
            bytes = Buffer.from(await file.arrayBuffer());
        answers = [{ status: 200, headers: { "content-type": SAFETENSORS }, body: bytes }];
        const found = await (
            await connect(url)
        ).golden({ config: { model_type: "llama" }, context: 9, layout: undefined }, MORE);
        assert.deepEqual([only().method, only().target], ["POST", "/v1/golden"]);
        assert.equal(only().headers["content-type"], JSON_TYPE);
        assert.equal(only().headers["x-more"], "kept");
        assert.deepEqual(JSON.parse(only().body), { config: { model_type: "llama" }, context: 9 });
        assert.deepEqual(found.golden, description);
        assert.deepEqual(found.tensors.q, { dtype: "f32", ...q });
    });

    it("request sends what it is given and reads nothing", async () => {
        answers = [{ status: 404, headers: { "content-type": "text/plain" }, body: "no" }];
        const response = await (
            await connect(url)
        ).request("PUT", "/v1/encodings/x?a=b", { body: "bytes", headers: { "x-more": "kept" } });
        assert.deepEqual([response.status, await response.text()], [404, "no"]);
        assert.deepEqual(
            [only().method, only().target, `${only().body}`],
            ["PUT", "/v1/encodings/x?a=b", "bytes"],
        );
        assert.equal(only().headers["x-more"], "kept");
    });
});

describe("types", () => {
    it("client.d.ts declares what client.js has", async () => {
        const types = await readFile(
            new URL("../../clients/js/client.d.ts", import.meta.url),
            "utf8",
        );
        const methods = types.split("export interface Client {")[1].split("\n}")[0];
        assert.deepEqual(
            [...methods.matchAll(/^ +(\w+)\(/gm)].map(([, name]) => name).sort(),
            Object.keys(await connect(url)).sort(),
        );
        assert.deepEqual(
            [...types.matchAll(/^export (?:class|function) (\w+)/gm)]
                .map(([, name]) => name)
                .sort(),
            ["PosencError", "connect", "encode", "open", "read"],
        );
    });

    it("client.d.ts requires tensors where the contract does, and params where a path has none", async () => {
        const here = (path) => readFile(new URL(`../../${path}`, import.meta.url), "utf8");
        const types = await here("clients/js/client.d.ts"),
            contract = JSON.parse(await here("openapi.json"));
        const resolved = (one) =>
            one.$ref
                ? resolved(
                      one.$ref
                          .slice(2)
                          .split("/")
                          .reduce((found, key) => found[key], contract),
                  )
                : one;
        for (const [method, name] of Object.entries(FUNCTIONS)) {
            const { content } = resolved(contract.paths[`/v1/${name}`].post.requestBody);
            const { required = [] } = resolved(content[JSON_TYPE].schema);
            const [, mark] = types.match(
                new RegExp(`    ${method}\\(params: Params, tensors(\\??): Tensors, more\\?: More`),
            );
            assert.equal(mark, required.includes("tensors") ? "" : "?", method);
        }
        for (const method of ["engines", "view", "table", "frequencies", "bias"])
            assert.match(types, new RegExp(` ${method}\\(.*params\\?: Params, more\\?: More`));
    });
});

// ---- parameters, addresses, fields -------------------------------------------------------------

describe("parameters", () => {
    it("lists, rows, typed arrays, booleans and objects have their text in a query", async () => {
        await (
            await connect(url)
        ).table("rope", {
            positions: [1, 2],
            rows: [
                [1, 2],
                [3, 4],
            ],
            ids: Int32Array.of(-1, 7),
            large: BigInt64Array.of(2n ** 62n),
            both: [Int32Array.of(1, 2), Int32Array.of(3, 4)],
            causal: true,
            base: 1e6,
            nothing: null,
            absent: undefined,
            empty: "",
            config: { rope_theta: 5 },
            kinds: [{ a: 1 }],
        });
        assert.deepEqual(query(), {
            positions: "1,2",
            rows: "1,2;3,4",
            ids: "-1,7",
            large: "4611686018427387904",
            both: "1,2;3,4",
            causal: "true",
            base: "1000000",
            empty: "",
            config: '{"rope_theta":5}',
            kinds: '[{"a":1}]',
        });
    });

    it("any letters of a value arrive, in a query, in metadata and in JSON", async () => {
        const posenc = await connect(url);
        for (const text of [
            "a b",
            "a+b",
            "a&b=c",
            "#a?b",
            "100%25",
            "größe 位置",
            "a;b,c",
            '"\\',
            "/..",
        ]) {
            for (const long of ["", "x".repeat(3000)]) {
                asked = [];
                await posenc.table("rope", { a: text, b: long });
                const found = long ? unpacked(only().body).head.__metadata__ : query();
                assert.equal(found[long ? "posenc.a" : "a"], text);
            }
            asked = [];
            await posenc.rotate({ [text]: text }, { q });
            assert.deepEqual(query(), { [text]: text });
            asked = [];
            await posenc.diagnose({ a: text });
            assert.deepEqual(JSON.parse(only().body), { a: text });
        }
    });

    it("no parameters are no query", async () => {
        const posenc = await connect(url);
        await posenc.table("rope");
        await posenc.table("rope", { dim: undefined });
        assert.deepEqual(
            asked.map(({ target }) => target),
            Array(2).fill("/v1/encodings/rope/table"),
        );
    });

    it("a query of over 2000 characters is posted, on every way", async () => {
        const posenc = await connect(url);
        for (const [call, tensors] of [
            [(params) => posenc.table("n".repeat(300), params), false],
            [(params) => posenc.view("rope", "analysis/decay", params), false],
            [(params) => posenc.rotate(params, { q }), true],
        ])
            for (const size of [1999, 2000, 2001]) {
                asked = [];
                await call({ a: "x".repeat(size - 2) });
                const [, search] = only().target.split("?");
                assert.equal(only().method, tensors || size > 2000 ? "POST" : "GET");
                assert.equal(search?.length, size > 2000 ? undefined : size);
                if (size > 2000)
                    assert.deepEqual(unpacked(only().body).head.__metadata__, {
                        "posenc.a": "x".repeat(size - 2),
                    });
            }
    });

    it("JSON has numbers of 64 bits as numbers, and nothing that was not given", async () => {
        await (
            await connect(url)
        ).positions({
            ids: BigInt64Array.of(5n),
            no: null,
            also: undefined,
            encoding: { name: "rope" },
        });
        assert.deepEqual(JSON.parse(only().body), { ids: [5], encoding: { name: "rope" } });
    });

    it("JSON has the integers of 64 bits that it has exactly, and refuses others", async () => {
        const posenc = await connect(url);
        const edge = 2n ** 53n - 1n;
        await posenc.positions({ ids: BigInt64Array.of(edge, -edge) });
        assert.deepEqual(JSON.parse(only().body), { ids: [Number(edge), -Number(edge)] });
        for (const ids of [BigInt64Array.of(edge + 1n), [1n, -edge - 1n], 2n ** 62n])
            await assert.rejects(posenc.positions({ ids }), RangeError);
        assert.equal(asked.length, 1);
    });

    it("an object in a list makes the body JSON", async () => {
        await (await connect(url)).attention({ layers: [{ window: 3 }] }, { q });
        assert.equal(only().headers["content-type"], JSON_TYPE);
    });

    it("tensors in JSON are exact in every dtype, and may be views or lists", async () => {
        const whole = new Uint16Array([7, 0x3f80, 0xc000]);
        const long = new Uint8Array(50_000).map((_, at) => at * 31);
        await (
            await connect(url)
        ).rotate(
            { encoding: { name: "rope" } },
            {
                bits: { dtype: "bf16", shape: [1, 2], data: whole.subarray(1) },
                large: { data: BigInt64Array.of(-(2n ** 62n)) },
                list: { shape: [2], data: [1, 2] },
                long: { data: long },
            },
        );
        const { bits, large, list, long: sent } = JSON.parse(only().body).tensors;
        assert.deepEqual(bits, { dtype: "bf16", shape: [1, 2], base64: "gD8AwA==" });
        assert.deepEqual([large.dtype, large.shape], ["i64", [1]]);
        assert.equal(Buffer.from(large.base64, "base64").readBigInt64LE(), -(2n ** 62n));
        assert.deepEqual(list, { shape: [2], data: [1, 2] });
        assert.deepEqual(Buffer.from(sent.base64, "base64"), Buffer.from(long));
    });
});

describe("addresses", () => {
    for (const [where, expected] of [
        ["", ""],
        ["/", ""],
        ["/base", "/base"],
        ["/base/", "/base"],
    ])
        it(`"${where}" behind the host`, async () => {
            await (await connect(url + where)).encodings();
            assert.equal(only().target, `${expected}/v1/encodings`);
        });

    it("a URL is an address", async () => {
        await (await connect(new URL(`${url}/base/`))).encodings();
        assert.equal(only().target, "/base/v1/encodings");
    });
});

describe("fields", () => {
    it("binary answers are asked for before JSON", async () => {
        await (await connect(url)).table("rope");
        assert.equal(only().headers.accept, ACCEPT);
    });

    for (const [kind, headers] of [
        ["an object", { Accept: JSON_TYPE }],
        ["Headers", new Headers({ accept: JSON_TYPE })],
        ["pairs", [["ACCEPT", JSON_TYPE]]],
    ])
        it(`accept of ${kind} takes the place of the client's`, async () => {
            await (await connect(url)).table("rope", {}, { headers });
            assert.equal(only().headers.accept, JSON_TYPE);
        });

    it("a content-type takes the place of the body's", async () => {
        await (await connect(url)).rotate({}, { q }, { headers: { "Content-Type": "a/b" } });
        assert.equal(only().headers["content-type"], "a/b");
        assert.equal(only().headers.accept, ACCEPT);
    });

    it("a token and options of fetch go along", async () => {
        answers = [{ status: 302, headers: { location: "/elsewhere" } }];
        const posenc = await connect(url);
        await assert.rejects(
            posenc.table(
                "rope",
                {},
                { redirect: "error", headers: { authorization: "Bearer a-secret" } },
            ),
            TypeError,
        );
        assert.equal(only().headers.authorization, "Bearer a-secret");
    });
});

// The arguments of each method before `more`: of each way on which it sends its request.
const ARGUMENTS = {
    request: [["POST", "/v1/config"]],
    encodings: [[]],
    engines: [[{}], [{ engine: "e" }]],
    view: [
        ["rope", "bias", {}],
        ["rope", "bias", { positions: "1,".repeat(2000) }],
    ],
    config: [[{}], ["{}"]],
    golden: [[{ config: {} }]],
    ...Object.fromEntries(
        Object.keys(VIEWS).map((method) => [
            method,
            [
                ["rope", {}],
                ["rope", { positions: "1,".repeat(2000) }],
            ],
        ]),
    ),
    ...Object.fromEntries(
        Object.keys(FUNCTIONS).map((method) => [
            method,
            [
                [{}, undefined],
                [{}, { q }],
                [{ encoding: { name: "rope" } }, { q }],
                [{ positions: "1,".repeat(2000) }, { q }],
            ],
        ]),
    ),
};

describe("options of a call", () => {
    const { fetch } = globalThis;
    after(() => {
        globalThis.fetch = fetch;
    });

    it("every method passes all of them to fetch, on each way of sending", async () => {
        const posenc = await connect(url);
        assert.deepEqual(Object.keys(ARGUMENTS).sort(), Object.keys(posenc).sort());
        const { signal } = new AbortController(),
            more = { signal, redirect: "error", cache: "no-store", headers: { "x-more": "kept" } };
        for (const [method, ways] of Object.entries(ARGUMENTS))
            for (const args of ways) {
                let given;
                globalThis.fetch = async (_, options) => {
                    given = options;
                    return Response.json({});
                };
                await posenc[method](...args, more);
                const { headers, method: verb, body, ...others } = given;
                assert.deepEqual(
                    [others, others.signal === signal, new Headers(headers).get("x-more")],
                    [{ signal, redirect: "error", cache: "no-store" }, true, "kept"],
                    `${method} ${verb} ${body}`,
                );
            }
    });
});

// ---- ends --------------------------------------------------------------------------------------

const aborted = (promise, name = "AbortError") => assert.rejects(promise, { name });

describe("signals", () => {
    const calls = {
        table: (posenc, more) => posenc.table("rope", {}, more),
        view: (posenc, more) => posenc.view("rope", "bias", {}, more),
        encodings: (posenc, more) => posenc.encodings(more),
        config: (posenc, more) => posenc.config({}, more),
        request: (posenc, more) => posenc.request("GET", "/v1", more),
        rotate: (posenc, more) => posenc.rotate({}, { q }, more),
        diagnose: (posenc, more) => posenc.diagnose({ encoding: { name: "rope" } }, { q }, more),
    };

    for (const [name, call] of Object.entries(calls))
        it(`${name} that was ended before sends nothing`, async () => {
            await aborted(call(await connect(url), { signal: AbortSignal.abort() }));
            assert.equal(asked.length, 0);
        });

    it("a request is ended while it waits, and while its answer arrives", async () => {
        for (const [at, how] of [{ never: true }, { half: true, body: "{" }].entries()) {
            answers = [how];
            const end = new AbortController();
            const ended = aborted((await connect(url)).table("rope", {}, { signal: end.signal }));
            await arrived(at + 1);
            setTimeout(() => end.abort(), 50);
            await ended;
        }
        assert.equal(asked.length, 2);
    });

    it("a timeout is a TimeoutError, and a reason is thrown as it is", async () => {
        answers = [{ never: true }];
        const posenc = await connect(url);
        await aborted(
            posenc.table("rope", {}, { signal: AbortSignal.timeout(50) }),
            "TimeoutError",
        );
        await arrived(1);
        const reason = new RangeError("enough");
        await assert.rejects(
            posenc.table("rope", {}, { signal: AbortSignal.abort(reason) }),
            reason,
        );
    });
});

describe("refusals", () => {
    const refused = async (scripted) => {
        answers = [scripted];
        try {
            await (await connect(url)).table("rope");
        } catch (error) {
            assert.ok(error instanceof PosencError && error instanceof Error);
            assert.equal(error.name, "PosencError");
            return error;
        }
        assert.fail("no refusal");
    };

    it("a problem document is read", async () => {
        const problem = { title: "T", detail: "D", code: "c", errors: [{ detail: "E" }] };
        const error = await refused({
            status: 422,
            body: JSON.stringify(problem),
            headers: { "content-type": "application/problem+json" },
        });
        assert.deepEqual([error.status, error.message, error.problem], [422, "D", problem]);
    });

    it("a status without a document is a refusal too", async () => {
        const error = await refused({
            status: 502,
            body: "<html>",
            headers: { "content-type": "text/html" },
        });
        assert.deepEqual([error.status, error.message, error.problem], [502, "status 502", {}]);
        assert.equal((await refused({ status: 500, body: "", headers: {} })).message, "status 500");
    });

    it("every status from 400 on is one, whatever its body is, and none below", async () => {
        const problem = { detail: "D" };
        for (const [type, body, found] of [
            ["application/problem+json", JSON.stringify(problem), problem],
            [JSON_TYPE, JSON.stringify(problem), problem],
            ["text/html", "<html>", {}],
            ["application/octet-stream", "bytes", {}],
            [SAFETENSORS, "no", {}],
            ["application/x-npy", "no", {}],
            [undefined, "", {}],
        ]) {
            for (const status of [400, 401, 404, 413, 422, 429, 499, 500, 502, 503, 504, 599]) {
                const headers = type ? { "content-type": type } : {};
                const error = await refused({ status, body, headers });
                assert.deepEqual([error.status, error.problem], [status, found]);
                assert.equal(error.message, found.detail ?? `status ${status}`);
            }
        }
        for (const status of [200, 201, 203, 206]) {
            answers = [{ status, body: '{"a": 1}' }];
            answers[0].headers = { "content-type": JSON_TYPE };
            assert.deepEqual(await (await connect(url)).table("rope"), { a: 1 });
        }
    });

    it("a server that is not there is none", async () => {
        await assert.rejects((await connect("http://127.0.0.1:1")).encodings(), TypeError);
    });
});

// ---- tensors -----------------------------------------------------------------------------------

const ARRAYS = [
    ["f64", Float64Array, 8],
    ["f32", Float32Array, 4],
    ["i64", BigInt64Array, 8],
    ["i32", Int32Array, 4],
    ["u32", Uint32Array, 4],
    ["u8", Uint8Array, 1],
    ["bool", Uint8Array, 1],
    ["bf16", Uint16Array, 2],
    ["f16", globalThis.Float16Array ?? Uint16Array, 2],
];
const BYTES = Uint8Array.from({ length: 16 }, (_, at) => (at & 1 ? 0xf0 : at));
const response = (body, headers) => new Response(body, { headers });

describe("tensors of answers", () => {
    for (const [dtype, kind, size] of ARRAYS) {
        const expected = new kind(BYTES.buffer);
        const same = (one, shape) => {
            assert.deepEqual([one.dtype, one.shape], [dtype, shape]);
            assert.equal(one.data.constructor, kind);
            assert.deepEqual(one.data, expected);
        };

        it(`${dtype} of safetensors, beside others at any place`, async () => {
            const head = {
                __metadata__: { "posenc.x": "y" },
                b: { dtype: "U8", shape: [3], data_offsets: [16, 19] },
                a: { dtype: dtype.toUpperCase(), shape: [16 / size], data_offsets: [0, 16] },
            };
            const found = await read(
                response(file(head, [...BYTES, 1, 2, 3]), { "content-type": SAFETENSORS }),
            );
            assert.deepEqual(Object.keys(found).sort(), ["a", "b"]);
            same(found.a, [16 / size]);
            assert.deepEqual([...found.b.data], [1, 2, 3]);
        });

        it(`${dtype} of raw bytes`, async () => {
            same(
                await read(
                    response(BYTES, {
                        "content-type": "application/octet-stream",
                        "tensor-dtype": dtype,
                        "tensor-shape": `2,${8 / size}`,
                    }),
                ),
                [2, 8 / size],
            );
        });

        it(`${dtype} is sent from its own part of a memory, in each kind of body`, async () => {
            const whole = new Uint8Array(48).fill(0xaa);
            whole.set(BYTES, 16);
            const data = new kind(whole.buffer, 16, 16 / size),
                tensors = { a: { dtype, data }, b: { dtype, data: data.subarray(1) } };
            const posenc = await connect(url);
            await posenc.rotate({}, tensors);
            const { head, data: sent } = unpacked(only().body);
            assert.deepEqual(Buffer.from(sent), Buffer.from([...BYTES, ...BYTES.slice(size)]));
            assert.deepEqual(head.b.data_offsets, [16, 32 - size]);
            asked = [];
            await posenc.rotate({ encoding: { name: "rope" } }, tensors);
            const { a, b } = JSON.parse(only().body).tensors;
            assert.deepEqual(Buffer.from(a.base64, "base64"), Buffer.from(BYTES));
            assert.deepEqual(Buffer.from(b.base64, "base64"), Buffer.from(BYTES.slice(size)));
            assert.deepEqual([a.shape, b.shape], [[16 / size], [16 / size - 1]]);
        });

        it(`${dtype} is sent as it lies`, async () => {
            const sent = unpacked(
                Buffer.from(
                    await encode({
                        a: { dtype, shape: [1, 16 / size], data: expected },
                        b: { data: Int32Array.of(9) },
                    }).arrayBuffer(),
                ),
            );
            assert.deepEqual(sent.head, {
                a: { dtype: dtype.toUpperCase(), shape: [1, 16 / size], data_offsets: [0, 16] },
                b: { dtype: "I32", shape: [1], data_offsets: [16, 20] },
            });
            assert.deepEqual(Buffer.from(sent.data.subarray(0, 16)), Buffer.from(BYTES));
            assert.equal(sent.size % 8, 0);
        });
    }

    const NPY = [
        ["<f8", "f64"],
        ["<f4", "f32"],
        ["<f2", "f16"],
        ["<i8", "i64"],
        ["<i4", "i32"],
        ["<u4", "u32"],
        ["|u1", "u8"],
        ["|b1", "bool"],
    ];
    for (const [descr, dtype] of NPY)
        it(`${descr} of npy`, async () => {
            const [, kind, size] = ARRAYS.find(([name]) => name === dtype);
            for (const [shape, text] of [
                [[], "()"],
                [[0], "(0,)"],
                [[12, 0, 345], "(12, 0, 345)"],
                [[16 / size], `(${16 / size},)`],
                [[2, 8 / size], `(2, ${8 / size})`],
            ]) {
                const values = BYTES.slice(0, size * shape.reduce((all, one) => all * one, 1));
                const head = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${text}, }`;
                const padded = head + " ".repeat(-(head.length + 11) & 63) + "\n";
                const bytes = Buffer.concat([
                    Buffer.from("\x93NUMPY\x01\x00", "latin1"),
                    Buffer.from(Uint16Array.of(padded.length).buffer),
                    Buffer.from(padded),
                    values,
                ]);
                const found = await read(response(bytes, { "content-type": "application/x-npy" }));
                assert.deepEqual([found.dtype, found.shape], [dtype, shape]);
                assert.deepEqual(found.data, new kind(values.buffer));
            }
        });

    // Bytes of f32 [2, 2] in each form, cut off or with more behind them.
    const forms = (data) => {
        const shape = [2, 2],
            npy = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }".padEnd(117) + "\n",
            raw = { "tensor-dtype": "f32", "tensor-shape": "2,2" },
            end = data.length;
        return [
            [SAFETENSORS, file({ a: { dtype: "F32", shape, data_offsets: [0, end] } }, data)],
            ["application/x-npy", Buffer.from(`\x93NUMPY\x01\x00v\x00${npy}`, "latin1"), data],
            ["application/octet-stream", data, "", raw],
        ].map(([type, head, more = "", headers = {}]) => [
            type,
            Buffer.concat([Buffer.from(head), Buffer.from(more)]),
            headers,
        ]);
    };

    it("a media type has letters of any case, and parameters", async () => {
        for (const [type, body, headers] of forms(BYTES))
            for (const text of [type, type.toUpperCase(), `${type};a=b`, `${type} ; charset=x`]) {
                const found = await read(response(body, { "content-type": text, ...headers }));
                assert.deepEqual((found.a ?? found).data, new Float32Array(BYTES.buffer), text);
                if (type !== SAFETENSORS) continue;
                const metadata = { golden: '{"format":1}' };
                answers = [
                    {
                        headers: { "content-type": text },
                        body: Buffer.from(await encode({ q }, metadata).arrayBuffer()),
                    },
                ];
                const { golden } = await (await connect(url)).golden({ config: {} });
                assert.deepEqual(golden, { format: 1 }, text);
            }
    });

    it("an answer with fewer or more bytes than its shape has is an error", async () => {
        for (const size of [0, 4, 12, 15, 17, 20])
            for (const [type, body, headers] of forms(new Uint8Array(size)))
                await assert.rejects(
                    read(response(body, { "content-type": type, ...headers })),
                    { message: `the answer has ${size} bytes of f32 [2,2]` },
                    `${type} ${size}`,
                );
        const head = { a: { dtype: "F32", shape: [4], data_offsets: [0, 16] } };
        await assert.rejects(
            read(response(file(head, [1, 2, 3, 4]), { "content-type": SAFETENSORS })),
            { message: "the answer has 4 bytes of f32 [4]" },
        );
    });

    it("JSON, text, YAML and other bytes are what they are", async () => {
        const typed = (type, body = '{"a": 1}') => read(response(body, { "content-type": type }));
        assert.deepEqual(await typed("application/json; charset=utf-8"), { a: 1 });
        for (const type of ["text/csv", "application/yaml", "application/openapi+yaml;v=1"])
            assert.equal(await typed(type), '{"a": 1}');
        const found = await typed("image/png", BYTES);
        assert.deepEqual(new Uint8Array(found), BYTES);
    });
});

describe("tensors of requests", () => {
    it("the dtype and shape of an array are found, and those that are given count", async () => {
        for (const [dtype, kind] of ARRAYS.filter(
            ([name, of]) => !["bool", "bf16"].includes(name) && of !== Uint16Array,
        )) {
            const { head } = unpacked(
                Buffer.from(await encode({ x: { data: new kind(2) } }).arrayBuffer()),
            );
            assert.deepEqual([head.x.dtype, head.x.shape], [dtype.toUpperCase(), [2]]);
        }
        const { head } = unpacked(
            Buffer.from(
                await encode({
                    x: { dtype: "bool", shape: [1, 2], data: new Uint8Array(2) },
                }).arrayBuffer(),
            ),
        );
        assert.deepEqual([head.x.dtype, head.x.shape], ["BOOL", [1, 2]]);
    });

    it("names have any letters, and the length of the head is in bytes", async () => {
        const sent = unpacked(
            Buffer.from(
                await encode({
                    größe: { data: Uint8Array.of(5) },
                }).arrayBuffer(),
            ),
        );
        assert.deepEqual(Object.keys(sent.head), ["größe"]);
        assert.equal(sent.size % 8, 0);
        assert.deepEqual([...sent.data], [5]);
    });

    it("arrays whose dtype is not known are errors that name the tensor", async () => {
        const posenc = await connect(url);
        for (const data of [new Uint16Array(2), new Uint8ClampedArray(2), new Int16Array(2)]) {
            assert.throws(
                () => encode({ w: { data } }),
                /tensor w: dtype is required for \w+Array/,
            );
            await assert.rejects(posenc.rotate({}, { w: { data } }), TypeError);
            await assert.rejects(
                posenc.rotate({ encoding: { name: "rope" } }, { w: { data } }),
                TypeError,
            );
        }
        assert.equal(asked.length, 0);
    });
});

// ---- the module --------------------------------------------------------------------------------

// The exports of posenc.wasm, with a heap that counts and answers from a script.
class FakeModule {
    constructor(script = {}) {
        Object.assign(this, {
            memory: new WebAssembly.Memory({ initial: 64 }),
            script,
            top: 8,
            live: new Map(),
            fed: [],
            heads: [],
            begun: 0,
            ended: 0,
            initialized: 0,
            size: 0,
        });
    }

    _initialize() {
        this.initialized++;
    }
    posenc_alloc(size) {
        if (this.script.full) return 0;
        const at = this.top;
        this.top += size + 8;
        new Uint8Array(this.memory.buffer).fill(0, at, at + size);
        this.live.set(at, size);
        return at;
    }
    posenc_free(at) {
        assert.ok(this.live.delete(at), `${at} is not allocated`);
    }
    text(at) {
        const bytes = Buffer.from(this.memory.buffer);
        return bytes.toString("latin1", at, bytes.indexOf(0, at));
    }
    put(text) {
        const at = this.posenc_alloc(text.length + 1);
        Buffer.from(this.memory.buffer).write(text, at, "latin1");
        return at;
    }
    posenc_start(at) {
        this.settings = this.text(at);
        return this.script.wrong ? this.put(this.script.wrong) : 0;
    }
    posenc_begin(at, length) {
        if (this.script.short) return 0;
        this.heads.push(this.text(at));
        this.length = length;
        this.left = [...(this.script.parts ?? [])];
        return ++this.begun;
    }
    posenc_feed(request, at, size) {
        this.fed.push(Buffer.from(this.memory.buffer.slice(at, at + size)));
        return this.script.feed?.(this.fed.length) ?? 1;
    }
    posenc_finish() {
        if (this.script.fault) throw new WebAssembly.RuntimeError("unreachable");
        return this.put(this.script.head ?? "200\nContent-Type: application/json\n");
    }
    posenc_next() {
        const part = this.left.shift();
        this.size = part ? part.length : +Boolean(this.script.broken);
        return part ? this.put(part) : 0;
    }
    posenc_size() {
        return this.size;
    }
    posenc_end() {
        this.ended++;
    }
}

describe("the module", () => {
    const { compile, instantiate } = WebAssembly,
        EMPTY = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);
    let made, scripts, imports;
    beforeEach(() => {
        made = [];
        scripts = [];
        WebAssembly.instantiate = async (module, given) => {
            assert.ok(module instanceof WebAssembly.Module);
            imports = given.posenc;
            made.push(new FakeModule(scripts.shift()));
            return { exports: made.at(-1) };
        };
    });
    after(() => {
        Object.assign(WebAssembly, { compile, instantiate });
    });

    it("bytes, a compiled module and the URL of a file are sources", async () => {
        answers = [
            { headers: { "content-type": "application/wasm" }, body: EMPTY },
            { headers: { "content-type": "application/wasm" }, body: EMPTY },
        ];
        const compiled = await compile(EMPTY);
        WebAssembly.compile = (bytes) => {
            assert.ok(!(bytes instanceof WebAssembly.Module));
            return compile(bytes);
        };
        for (const source of [EMPTY, compiled, `${url}/other.wasm`, new URL(`${url}/posenc.wasm`)])
            assert.deepEqual(
                await (
                    await connect(source, { threads: 1 })
                )
                    .encodings(MORE)
                    .catch((error) => error instanceof SyntaxError),
                true,
            ); // an empty body is no JSON
        assert.equal(made.length, 4);
        for (const one of made) {
            assert.deepEqual([one.initialized, one.settings], [1, "threads: 1\n"]);
            assert.equal(one.heads[0], `GET /v1/encodings\naccept: ${ACCEPT}\nx-more: kept\n`);
        }
        assert.deepEqual(
            asked.map(({ target }) => target),
            ["/other.wasm", "/posenc.wasm"],
        );
        WebAssembly.compile = compile;
    });

    it("a file that is not there is named", async () => {
        answers = [{ status: 404, body: "<html>" }];
        await assert.rejects(connect(`${url}/posenc.wasm`), {
            message: `${url}/posenc.wasm: status 404`,
        });
    });

    it("settings that are wrong are refused with the module's sentence", async () => {
        scripts = [{ wrong: "no setting of that name" }];
        await assert.rejects(open(EMPTY, { nothing: "x", other: "y" }), {
            message: "no setting of that name",
        });
        assert.equal(made[0].settings, "nothing: x\nother: y\n");
    });

    it("a request has its path, query, fields and body, and all that it took is freed", async () => {
        scripts = [{ head: "201\nX-One: a: b\nContent-Type: text/plain\n", parts: ["one", "two"] }];
        const { request } = await connect(EMPTY),
            before = made[0].live.size;
        const found = await request("POST", "/v1/rotation?a=b%2C", { body: "body", ...MORE });
        assert.deepEqual(
            [found.status, found.headers.get("x-one"), await found.text()],
            [201, "a: b", "onetwo"],
        );
        assert.equal(made[0].heads[0].split("\n")[0], "POST /v1/rotation?a=b%2C");
        assert.match(made[0].heads[0], /\nx-more: kept\n/);
        assert.equal(made[0].length, 4);
        assert.equal(`${Buffer.concat(made[0].fed)}`, "body");
        assert.equal(made[0].live.size - before, 2); // the parts, which the module frees itself
        assert.equal(made[0].ended, 1);
    });

    it("an answer without a body has none", async () => {
        scripts = [{ head: "304\n" }];
        const found = await (await connect(EMPTY)).request("GET", "/v1");
        assert.deepEqual([found.status, found.body], [304, null]);
    });

    it("a large body goes in pieces, and stops where it is refused", async () => {
        const body = new Uint8Array(5 << 19).map((_, at) => at >> 8);
        scripts = [{}];
        const posenc = await connect(EMPTY);
        await posenc.request("POST", "/v1/rotation", { body });
        assert.deepEqual(
            made[0].fed.map((one) => one.length),
            [1 << 20, 1 << 20, 1 << 19],
        );
        assert.deepEqual(Buffer.concat(made[0].fed), Buffer.from(body));
        made[0].script.feed = (count) => +(count < 4);
        made[0].top = 8;
        await posenc.request("POST", "/v1/rotation", { body });
        assert.equal(made[0].fed.length, 4);
    });

    it("memory that is short and an answer that breaks off are errors", async () => {
        for (const [script, message] of [
            [{ short: true }, "no memory"],
            [{ broken: true }, "broke off"],
        ]) {
            scripts = [script];
            await assert.rejects((await connect(EMPTY)).request("GET", "/v1"), { message });
        }
        scripts = [{ full: true }];
        await assert.rejects(connect(EMPTY), { message: "no memory" });
    });

    it("after a failure the module starts again", async () => {
        scripts = [{ fault: true }, {}];
        const posenc = await connect(EMPTY, { threads: 2 });
        await assert.rejects(posenc.request("GET", "/v1"), WebAssembly.RuntimeError);
        assert.equal((await posenc.request("GET", "/v1")).status, 200);
        assert.equal((await posenc.request("GET", "/v1")).status, 200);
        assert.deepEqual([made.length, made[1].settings], [2, "threads: 2\n"]);
    });

    it("a signal ends a request between its pieces, and later ones are answered", async () => {
        const end = new AbortController(),
            body = new Uint8Array(5 << 20);
        scripts = [
            {
                feed: (count) => {
                    if (count === 2) end.abort();
                    return 1;
                },
            },
        ];
        const posenc = await connect(EMPTY);
        await aborted(posenc.request("POST", "/v1/rotation", { body, signal: end.signal }));
        assert.equal(made[0].fed.length, 2);
        await aborted(posenc.table("rope", {}, { signal: AbortSignal.abort() }));
        assert.equal((await posenc.request("GET", "/v1")).status, 200);
    });

    it("a signal ends a request at every step, of its body and of its answer", async () => {
        const body = new Uint8Array(3 << 20),
            parts = ["one", "two", "three"];
        const asking = async (last) => {
            const end = new AbortController();
            let steps = 0;
            const step = () => {
                if (++steps === last) end.abort();
            };
            scripts = [{ parts, feed: () => (step(), 1) }];
            const posenc = await connect(EMPTY),
                [module] = made.slice(-1),
                next = module.posenc_next;
            module.posenc_next = (...all) => {
                const at = next.apply(module, all);
                if (at) step();
                return at;
            };
            const asked = posenc.request("POST", "/v1/rotation", { body, signal: end.signal });
            return { asked, counted: () => steps };
        };
        const whole = await asking(0);
        await whole.asked;
        assert.equal(whole.counted(), 6);
        for (let last = 1; last <= 6; last++) {
            const { asked, counted } = await asking(last);
            await aborted(asked);
            assert.equal(counted(), last);
        }
    });

    it("work gives the page its turn at once, every 50 ms and not at each step", async () => {
        const slow = () => {
            for (const until = performance.now() + 60; performance.now() < until;);
        };
        scripts = [
            {
                feed: () => {
                    slow();
                    return 1;
                },
            },
        ];
        const posenc = await connect(EMPTY),
            turns = [];
        const { setTimeout: real } = globalThis;
        globalThis.setTimeout = (run, ms) => {
            turns.push(ms ?? 0);
            return real(run, ms);
        };
        try {
            await posenc.request("POST", "/v1/rotation", { body: new Uint8Array(3 << 20) });
            const slowly = turns.length;
            made[0].script.feed = () => 1;
            made[0].top = 8;
            await posenc.request("POST", "/v1/rotation", { body: new Uint8Array(3 << 20) });
            assert.ok(slowly >= 3 && turns.length - slowly <= 1, `${turns.length}`);
            assert.deepEqual(
                turns.filter((ms) => ms > 0),
                [],
            );
        } finally {
            globalThis.setTimeout = real;
        }
    });

    it("the module leaves a call by an exception, and other exceptions pass", async () => {
        await open(EMPTY);
        made[0].posenc_run = () => imports.leave();
        assert.equal(imports.attempt(1, 2), undefined);
        made[0].posenc_run = (run, at) => run + at;
        assert.equal(imports.attempt(1, 2), 3);
        made[0].posenc_run = () => {
            throw new RangeError("stack");
        };
        assert.throws(() => imports.attempt(1, 2), RangeError);
        assert.ok(imports.now() > 0);
        imports.random(16, 32);
        const bytes = new Uint8Array(made[0].memory.buffer);
        assert.ok(bytes.subarray(16, 48).some(Boolean) && !bytes.subarray(48, 80).some(Boolean));
    });
});
