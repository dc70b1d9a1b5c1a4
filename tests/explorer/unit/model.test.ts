// SPDX-License-Identifier: MIT
// The config of a link and of a file: where it comes from, how it is sent, and which of its layers
// are meant.
import "./fakes";
import assert from "node:assert/strict";
import test from "node:test";
import {
    CHIPS,
    configAsk,
    contextOf,
    defaultAsk,
    frequenciesAsk,
    goldenAsk,
    inLines,
    kindOf,
    layerFaults,
    layersNamed,
    lintAsk,
    MODELS,
    overrides,
    source,
    turnsAsk,
    type Config,
    type Encoding,
    type Kind,
} from "../../../explorer/src/kit/model";
import { rule } from "../../../explorer/src/kit/provenance";
import { languageSet } from "../../../explorer/src/words";
import type { App } from "../../../explorer/src/view";

const app = (params: Record<string, string>, held: File | null = null) =>
    ({ state: { params }, held }) as unknown as App;
const paramsOf = (target: string) => Object.fromEntries(new URLSearchParams(target.split("?")[1]));

test("the config of the link goes before its file, and that before its model", () => {
    const held = new File(["{}"], "a.json");
    assert.deepEqual(source(app({ config: "{1}", file: "a.json", model: "x" }, held)), {
        name: "this model",
        text: "{1}",
    });
    assert.deepEqual(source(app({ file: "a.json", model: "x" }, held)), {
        name: "a.json",
        file: held,
    });
    assert.deepEqual(source(app({ file: "b.json" }, held)), { name: "b.json", missing: true });
    assert.deepEqual(source(app({ file: "b.json" })), { name: "b.json", missing: true });
    for (const [params, id] of [
        [{}, CHIPS[0]],
        [{ model: CHIPS[2] }, CHIPS[2]],
        [{ model: "nonesuch" }, CHIPS[0]],
    ] as [Record<string, string>, string][]) {
        const { name, text } = source(app(params));
        assert.equal(name, MODELS[id].name);
        assert.deepEqual(JSON.parse(text!), MODELS[id].config);
    }
});

test("a file is sent as JSON by its name in any case, and of a GGUF file its head", () => {
    const limit = 32 << 20,
        parts: number[][] = [];
    const file = (name: string) =>
        ({
            name,
            slice: (...ends: number[]) => (parts.push(ends), `head of ${name}`),
        }) as never as File;
    for (const name of ["config.json", "CONFIG.JSON", "a.gguf.json", "m.Json"])
        for (const make of [
            (from: File) => configAsk(app({}), { name, file: from }),
            (from: File) => lintAsk({ name, file: from }),
            (from: File) => goldenAsk({ name, file: from }),
        ]) {
            const own = file(name),
                { type, bytes, method } = make(own);
            assert.deepEqual([method, type], ["POST", "application/json"], name);
            assert.equal(bytes, own as never);
        }
    assert.equal(parts.length, 0);
    for (const name of ["m.gguf", "M.GGUF", "json.gguf"]) {
        const { type, bytes } = configAsk(app({}), { name, file: file(name) });
        assert.deepEqual([type, bytes], ["application/x-gguf", `head of ${name}`]);
    }
    assert.deepEqual(parts, Array(3).fill([0, limit]));
});

test("parameters of the link that are not the page's own go along with the config", () => {
    const own = { model: "m", context: "1", position: "2", layer_type: "x", show: "y", times: "3" };
    assert.deepEqual(overrides(app({ ...own, config: "{}", file: "f" })), {});
    const params = { ...own, base: "7", rope_type: "yarn", dim: "9" };
    assert.deepEqual(overrides(app(params)), { base: "7", rope_type: "yarn", dim: "9" });
    assert.equal(
        configAsk(app(params), { name: "", text: "{}" }).target,
        "/v1/config?base=7&rope_type=yarn&dim=9",
    );
    // Engines and kernels are judged by the config alone, in the lines of its box.
    assert.deepEqual(lintAsk({ name: "", text: '{"a":[1,2],"b":3}' }), {
        method: "POST",
        target: "/v1/lint",
        text: '{\n "a": [ 1, 2 ],\n "b": 3\n}',
        bytes: undefined,
        type: "application/json",
    });
    assert.equal(goldenAsk({ name: "", text: "x" }).target, "/v1/golden");
    for (const text of ['{\n"a":1}', "{bad", ""]) assert.equal(inLines(text), text);
});

const rope = (more: Partial<Encoding> = {}): Encoding => ({ name: "rope", dim: 8, ...more });
const LINKS = { frequencies: "/v1/encodings/rope/frequencies?dim=8&factor=4&base=7&alpha=2" };
const kind = (more: Partial<Encoding> = {}, layers = [0], layer_type?: string): Kind => ({
    layers,
    layer_type,
    encoding: rope(more),
    links: LINKS,
});

test("the layers are those that the link names, else those that the config begins with", () => {
    const all = [kind({ base: 1 }, [0, 2], "sliding"), kind({ base: 2 }, [1, 3, 4], "full")],
        config = { layers: all, encoding: all[1].encoding } as unknown as Config;
    assert.equal(kindOf(app({}), config), all[1]);
    assert.equal(kindOf(app({ layer_type: "sliding" }), config), all[0]);
    assert.equal(kindOf(app({ layer_type: "nonesuch" }), config), all[1]);
    assert.equal(kindOf(app({}), { ...config, encoding: rope({ base: 9 }) }), all[0]);
    assert.deepEqual(layerFaults(app({ layer_type: "sliding" }), config), []);
    assert.deepEqual(layerFaults(app({}), config), []);
    assert.deepEqual(layerFaults(app({ layer_type: "x" }), config), [
        { name: "layer_type", value: "x", accepts: ["sliding", "full"] },
    ]);
    const plain = { layers: [kind()] } as unknown as Config;
    assert.deepEqual(layerFaults(app({ layer_type: "x" }), plain), [
        { name: "layer_type", value: "x", accepts: undefined },
    ]);
    assert.deepEqual(
        [all[1], kind({}, [0, 1]), { ...all[0], layers: [] }, kind({}, [])].map(layersNamed),
        ["3 layers: full", "2 layers: alike", "sliding", ""],
    );
});

test("the context is what the config goes up to, else what it was trained with", () => {
    const [max, original] = [
        { max_position_embeddings: 9 },
        { original_max_position_embeddings: 4 },
    ];
    for (const [encoding, context] of [
        [{ ...max, ...original }, 9],
        [max, 9],
        [original, 4],
        [{}, null],
    ] as const)
        assert.equal(contextOf(rope(encoding)), context);
    assert.equal(contextOf(null), null);
});

test("frequencies depend on the length for two types alone, and without scaling on none of them", () => {
    for (const [rope_type, length] of [
        ["dynamic", "77"],
        ["longrope", "77"],
        ["yarn", undefined],
        [undefined, undefined],
    ]) {
        const own = kind({ rope_type });
        assert.equal(paramsOf(frequenciesAsk(own, 77).target).seq_len, length, rope_type);
        const turns = turnsAsk(own, 77).target;
        assert.match(turns, /^\/v1\/encodings\/rope\/analysis\/wavelengths\?/);
        assert.deepEqual([paramsOf(turns).context, paramsOf(turns).seq_len], ["77", length]);
        assert.deepEqual(paramsOf(defaultAsk(own).target), { dim: "8", base: "7" });
    }
    // Which pairs turn at all is no scaling.
    const own = defaultAsk(kind({ rope_type: "proportional" }));
    assert.deepEqual(paramsOf(own.target), { dim: "8", factor: "4", base: "7", alpha: "2" });
});

test("every way of scaling has a rule of its own, with its numbers, in both languages", () => {
    const numbers = {
        factor: 8,
        original_max_position_embeddings: 4096,
        low_freq_factor: 2,
        high_freq_factor: 16,
        beta_fast: 33,
        beta_slow: 3,
    };
    const types: Record<string, string[]> = {
        linear: ["8"],
        llama3: ["8", "2048", "256"],
        yarn: ["8", "3", "4096", "33"],
        ntk: [],
        longrope: [],
        custom: [],
        proportional: [],
        ntk_fixed: ["8"],
        default: [],
    };
    for (const language of ["en", "zh-CN"] as const) {
        languageSet(language);
        const met = new Set<string>();
        for (const [rope_type, values] of Object.entries(types)) {
            const words = rule(rope({ ...numbers, rope_type })).replaceAll("\u202f", "");
            const found = words.replace("2i", "").match(/\d+/g) ?? [];
            assert.deepEqual(found.sort(), [...values].sort(), words);
            met.add(words);
        }
        assert.equal(met.size, 9);
        assert.equal(rule(rope({ rope_type: "dynamic" })), rule(rope({ rope_type: "ntk" })));
        // Absent numbers are those of the types themselves.
        const absent = rule(
            rope({ rope_type: "llama3", factor: 2, original_max_position_embeddings: 80 }),
        );
        assert.deepEqual(
            absent.match(/\d+/g),
            ["2", "80", "20"].sort((a, b) => absent.indexOf(a) - absent.indexOf(b)),
        );
        assert.ok(/\b1\b.*\b32\b/.test(rule(rope({ rope_type: "yarn" })).replace("1 圈", "1 ")));
    }
    languageSet("en");
});
