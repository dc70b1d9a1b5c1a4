// SPDX-License-Identifier: MIT
// What the page asks with, and how a person asks the same.
import "./fakes";
import assert from "node:assert/strict";
import test from "node:test";
import { Api, get, query, sent } from "../../../explorer/src/api";
import { curl, python, quoted } from "../../../explorer/src/kit/actions";
import { dense, kinds, linked, pretty, type Config } from "../../../explorer/src/kit/model";
import { shuffled, tokens } from "../../../explorer/src/views/attention/tokens";
import { meant } from "../../../explorer/src/views/diagnosis/files";
import type { App } from "../../../explorer/src/view";

const app = { api: { origin: "http://h:1/base" } } as App;

test("parameters are written once, and those that are absent not at all", () => {
    assert.equal(
        query("/v1/x", { a: 1, b: "", c: undefined, d: "1,2", e: false, f: 0 }),
        "/v1/x?a=1&d=1,2&e=false&f=0",
    );
    assert.equal(query("/v1/x", {}), "/v1/x");
    assert.equal(linked("/v1/x?a=1&b=2", { b: 3, a: undefined }).target, "/v1/x?b=3");
});

test("a request as curl and as Python has its parameters", () => {
    const ask = get("/v1/encodings/rope/table", { dim: 8, cache: true, rope_type: "o'k" });
    assert.equal(
        curl(app, ask, true),
        `curl 'http://h:1/base/v1/encodings/rope/table?dim=8&cache=true&rope_type=o%27k'`,
    );
    assert.ok(
        python(app, ask).includes(`.view("rope", "table", dim=8, cache=True, rope_type="o'k")`),
    );
    assert.equal(quoted("it's"), `'it'\\''s'`);
    // The package chooses the format of its answers itself.
    const formatted = get("/v1/encodings/rope/analysis/decay", { dim: 8, format: "json" });
    assert.ok(python(app, formatted).includes(`.view("rope", "decay", dim=8)`));
    assert.ok(curl(app, formatted, true).includes("?dim=8&format=json'"));
});

test("the GET of a view is posted where its target is long", async () => {
    const positions = Array.from({ length: 900 }, (_, i) => i).join(",");
    const short = get("/v1/encodings/rope/table", { dim: 8, positions: "1,2" }),
        long = get("/v1/encodings/rope/table", { dim: 8, positions, rope_type: "o'k +%" }),
        other = get("/v1/layout", { positions });
    assert.equal(sent(short), short);
    assert.equal(sent(other), other);
    const { method, target, type, bytes } = sent(long);
    assert.deepEqual(
        [method, target, type],
        ["POST", "/v1/encodings/rope/table", "application/x-safetensors"],
    );
    const buffer = await bytes!.arrayBuffer(),
        size = Number(new DataView(buffer).getBigUint64(0, true));
    assert.deepEqual(JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size))), {
        __metadata__: {
            "posenc.dim": "8",
            "posenc.positions": positions,
            "posenc.rope_type": "o'k +%",
        },
    });
});

test("of a file that arrives the share and the bytes are reported", async () => {
    const sizes = [10, 30, 60],
        reports: [number, number][] = [];
    const answer = (fields: Record<string, string>) =>
        new Response(
            new ReadableStream({
                start(stream) {
                    for (const size of sizes) stream.enqueue(new Uint8Array(size));
                    stream.close();
                },
            }),
            { headers: fields },
        );
    const fetched = globalThis.fetch;
    try {
        globalThis.fetch = async () =>
            answer({ "content-length": "100", "content-disposition": 'a; filename="t.npy"' });
        const api = await Api.open(new URL("http://h:1/"));
        const { bytes, name } = await api.file(get("/v1/x", {}), undefined, (share, size) =>
            reports.push([share, size]),
        );
        assert.deepEqual([bytes.size, name], [100, "t.npy"]);
        globalThis.fetch = async () => answer({});
        await api.file(get("/v1/x", {}), undefined, (share, size) => reports.push([share, size]));
    } finally {
        globalThis.fetch = fetched;
    }
    const shares = [
        [0.1, 10],
        [0.4, 40],
        [1, 100],
    ];
    assert.deepEqual(reports, [...shares, ...shares.map(([, size]) => [0, size])]);
});

test("a config is the same with and without its white space", () => {
    const config = { a: [1, 2, [3]], "b c": 'x  y\n"', d: { e: null } };
    assert.deepEqual(JSON.parse(pretty(config)), config);
    assert.equal(dense(pretty(config)), JSON.stringify(config));
});

test("a config without layers is of one kind", () => {
    assert.equal(kinds({ encoding: null, unused: [], warnings: [] } as Config).length, 1);
    const layers = [
        { layers: [0], encoding: null },
        { layers: [1], encoding: null },
    ];
    assert.deepEqual(kinds({ layers } as Config), layers);
});

test("what a table should be may be written in several ways", () => {
    const wanted = "encoding=rope&base=500000&rope_type=yarn";
    for (const text of [
        "rope base 500000 rope_type yarn",
        "rope base=500000 rope_type=yarn",
        "encoding=rope&base=500000&rope_type=yarn",
        "rope, base: 500000, rope_type: yarn",
    ])
        assert.deepEqual(
            [...new URLSearchParams(meant(text))].sort(),
            [...new URLSearchParams(wanted)].sort(),
            text,
        );
});

test("a sentence is cut into words, Chinese into characters, and shuffled", () => {
    assert.deepEqual(tokens("the dog  ran"), ["the", "dog", "ran"]);
    assert.deepEqual(tokens("狗咬 man"), ["狗", "咬", "man"]);
    assert.equal(tokens("").length, 1);
    const words = tokens("a b c d e f");
    assert.deepEqual(tokens(shuffled(words)).sort(), words);
});
