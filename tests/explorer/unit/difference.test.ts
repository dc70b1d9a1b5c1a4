// SPDX-License-Identifier: MIT
// Whether two models agree about position, and in what they do not.
import "./fakes";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { agreement, drift, rows, subjects } from "../../../explorer/src/views/compare/difference";
import type { Read } from "../../../explorer/src/views/home/read";

declare const ROOT: string;

const rope = { name: "rope", dim: 4, base: 10000, layout: "half", max_position_embeddings: 2048 };

function model(encoding: Record<string, unknown>, frequencies: number[], factor?: number): Read {
    const kind = { encoding, layers: [0] } as Read["kind"];
    const now = { frequencies, attention_factor: factor } as Read["now"];
    return {
        config: { layers: [kind], unused: [], warnings: [] } as unknown as Read["config"],
        kind,
        context: 2048,
        never: 0,
        now,
    };
}

const plain = model(rope, [1, 0.01]);

test("equal parameters are the same positions, in any order", () => {
    const turned = Object.fromEntries(Object.entries(rope).reverse());
    assert.equal(agreement(plain, model(turned, [1, 0.01])), "same");
    assert.equal(drift(plain, plain), null);
});

test("another context alone changes no pair", () => {
    const longer = model({ ...rope, max_position_embeddings: 4096 }, [1, 0.01]);
    assert.equal(agreement(plain, longer), "alike");
    assert.deepEqual(subjects(plain, longer), ["context"]);
});

test("another frequency, factor, width or order of pairs is another position", () => {
    for (const other of [
        model({ ...rope, base: 10001 }, [1, 0.0099995]),
        model({ ...rope, rope_type: "yarn" }, [1, 0.01], 1.1),
        model({ ...rope, dim: 8, rotary_dim: 4 }, [1, 0.01]),
        model({ ...rope, layout: "interleaved" }, [1, 0.01]),
        model({ ...rope, name: "mrope" }, [1, 0.01]),
    ])
        assert.equal(agreement(plain, other), "different");
});

test("parameters are named by what a person calls them, each once", () => {
    const other = model(
        { ...rope, base: 5, rope_type: "yarn", factor: 4, layout: "interleaved", unheard_of: 1 },
        [1, 0.2],
    );
    assert.deepEqual(subjects(plain, other).sort(), ["base", "layout", "other", "scaling"]);
    const alibi = model({ name: "alibi", heads: 8 }, []);
    assert.deepEqual(subjects(plain, alibi), ["encoding"]);
});

test("every parameter of rope is named: those of frequencies alone as their scaling", () => {
    const { components } = JSON.parse(readFileSync(`${ROOT}/openapi.json`, "utf8"));
    const own = {
        base: "base",
        dim: "pairs",
        rotary_dim: "pairs",
        partial_rotary_factor: "pairs",
        layout: "layout",
        max_position_embeddings: "context",
    } as Record<string, string>;
    // Of requests, and of how angles are computed: no config has them.
    const absent = ["name", "arithmetic", "seq_len"];
    const names = Object.keys(components.schemas.rope.properties).filter(
        (name) => !absent.includes(name),
    );
    assert.ok(names.length > 15);
    for (const name of names) {
        const other = model({ ...rope, [name]: "another" }, [1, 0.02]);
        assert.deepEqual(subjects(plain, other), [own[name] ?? "scaling"], name);
    }
});

test("the first token at which a pair is half a turn off", () => {
    const other = model({ ...rope, base: 1 }, [1, 0.012]);
    assert.deepEqual(drift(plain, other), { pairs: 1, position: 1571, pair: 1 });
    assert.equal(drift(plain, model(rope, [1])), null, "not as many pairs");
});

test("all members of both are rows", () => {
    const found = rows({ a: 1, b: [1, 2] }, { b: [1, 2], c: null });
    assert.deepEqual(
        found.map(({ name, same }) => [name, same]),
        [
            ["a", false],
            ["b", true],
            ["c", false],
        ],
    );
});
