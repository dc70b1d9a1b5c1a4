// SPDX-License-Identifier: MIT
// Views from one state to the next: nothing of the state before is left, and what a person opened
// or wrote is.
import assert from "node:assert/strict";
import test from "node:test";
import type { FakeElement } from "./fakes";
import { stand } from "./stand";
import type { Ask } from "../../../explorer/src/api";
import { engines } from "../../../explorer/src/views/extension/engines";
import { factList, type Fact } from "../../../explorer/src/views/home/facts";
import { other, stretch, verdict } from "../../../explorer/src/views/home/verdict";
import type { Config, Frequencies, Kind } from "../../../explorer/src/kit/model";
import type { App } from "../../../explorer/src/view";
import { h } from "../../../explorer/src/dom";
import { fake, settled } from "./fakes";
import { languageSet } from "../../../explorer/src/words";

const plain = (text: string) => text.replaceAll("\u202f", "");

// ---- the judgement of engines -------------------------------------------------------------------

const finding = (more: object = {}) => ({
    message: "a message",
    keys: ["rope_scaling.factor"],
    reads: "2",
    layer_types: [],
    ...more,
});
const judged = (engine: string, more: object = {}) => ({
    engine,
    version: "1.0",
    verdict: "same",
    findings: [],
    ...more,
});

function judging(params: Record<string, string> = {}) {
    const asks: Ask[] = [],
        found: string[] = [],
        place = h("div");
    let answer: unknown = { engines: [] };
    const app = {
        state: { params },
        api: {
            ask: async (ask: Ask) => {
                asks.push(ask);
                if (answer instanceof Error) throw answer;
                return answer;
            },
        },
    } as unknown as App;
    const own = engines(app, place, (key) => (found.push(key), true));
    const element = fake(place);
    return {
        own,
        asks,
        found,
        element,
        answers: (next: unknown) => (answer = next),
        items: () => element.find("li").map(({ textContent }) => plain(textContent)),
    };
}

test("engines stand by their verdict, those with one account together, in the order of what is worst", async () => {
    const { own, answers, items, element, found } = judging();
    const differs = {
        verdict: "differs",
        findings: [finding({ pairs: 3, of: 8, radians: 0.123456, at: 4096, line: 7 })],
    };
    answers({
        engines: [
            judged("a"),
            judged("b", { verdict: "not-measured", reason: "why not" }),
            judged("c", differs),
            judged("d", {
                verdict: "raises",
                findings: [finding({ message: "refused", line: 2 })],
            }),
            judged("e"),
            judged("f", { verdict: "no-such-model", reason: "left out" }),
            judged("g", differs),
            judged("i", {
                verdict: "differs",
                findings: [finding({ pairs: 3, of: 8, line: 9, message: "z" })],
            }),
        ],
    });
    own.update({ name: "", text: "{}" }, true);
    await settled();
    assert.deepEqual(items(), [
        "differs: c 1.0, g 1.0rope_scaling.factor is read as 2: 3 of 8 pairs, 0.1235 rad at position 4096 · line 7",
        "differs: i 1.0rope_scaling.factor is read as 2: 3 of 8 pairs · line 9",
        "refuses the config: d 1.0refused · line 2",
        "same: a 1.0, e 1.0",
        "no such model: f 1.0",
        "not measured: b 1.0why not",
    ]);
    element.find("button.link")[0].fire("click");
    assert.deepEqual(found, ["rope_scaling.factor"]);
});

test("the size of a finding has its parts in the order of the API's sentence, in both languages", async () => {
    const all = {
        pairs: 3,
        of: 8,
        radians: 12345.678,
        at: 131072,
        length: 65536,
        layers: 5,
        layer_types: ["x", "y"],
    };
    for (const [language, words] of [
        ["en", "3 of 8 pairs, 12346 rad at position 131072, at length 65536, 5 layers of x, y"],
        ["zh-CN", "8 个维度对中的 3 个，位置 131072 处相差 12346 rad，长度为 65536 时，5 层：x、y"],
    ] as const) {
        languageSet(language);
        const { own, answers, items } = judging();
        answers({
            engines: [
                judged("a", {
                    verdict: "differs",
                    findings: [finding({ ...all, keys: ["k", "l"] })],
                }),
            ],
        });
        own.update({ name: "", text: "{}" }, true);
        await settled();
        assert.ok(items()[0].endsWith(words) && /k, l/.test(items()[0]), items()[0]);
        languageSet("en");
    }
});

test("a config is judged once, another one anew, and one whose judgement failed again", async () => {
    const { own, asks, answers, element } = judging(),
        from = { name: "", text: '{"a":1}' };
    own.update(from, true);
    own.update(from, true);
    await settled();
    assert.equal(asks.length, 1);
    answers(new Error("broke off"));
    own.update({ name: "", text: '{"a":2}' }, true);
    await settled();
    assert.ok(element.textContent.includes("broke off"));
    answers({ engines: [judged("a")] });
    own.update({ name: "", text: '{"a":2}' }, true);
    await settled();
    assert.ok(asks.length === 3 && !element.textContent.includes("broke off"));
    assert.ok(element.find("section.golden").length === 1);
    own.update({ name: "", text: '{"a":3}' }, false);
    await settled();
    assert.ok(asks.length === 3 && element.find("section.golden").length === 0);
    assert.ok(element.textContent.includes("not measured: engines were measured with rotary"));
    own.update({ name: "m.gguf", file: new File([], "m.gguf") }, true);
    assert.ok(element.textContent.includes("engines were given config.json files"));
    own.update({ name: "m.JSON", file: new File([], "m.JSON") }, true);
    await settled();
    assert.equal(asks.length, 4);
});

test("what the page changed beside the config is named where engines judge the config alone", () => {
    const changed = judging({ base: "5", rope_type: "yarn", model: "x", context: "9" });
    changed.own.update({ name: "", text: "{}" }, true);
    assert.ok(changed.element.textContent.includes("changed on this page: base, rope_type."));
    const same = judging({ model: "x", context: "9" });
    same.own.update({ name: "", text: "{}" }, true);
    assert.equal(same.element.find("p.note").length, 0);
});

// ---- facts and sentences of a model -------------------------------------------------------------

test("facts that are open stay open where their numbers are others", () => {
    const list = h("div"),
        all = ["base", "factor", "dim"].map((parameter) => ({
            ...{ name: parameter, value: "1", parameter, formula: "", note: "" },
            ...{ tensor: "inv_freq", index: 0 },
        })) as Fact[];
    const kind = { layers: [], provenance: { base: "rope_theta" } } as unknown as Kind;
    const put = () => factList({} as App, list, all, kind, 9, () => true);
    put();
    const open = () => (fake(list).children as FakeElement[]).map((one) => !!one.open);
    assert.deepEqual(open(), [false, false, false]);
    Object.assign(fake(list).children[1] as FakeElement, { open: true });
    put();
    assert.deepEqual(open(), [false, true, false]);
    const origins = fake(list)
        .find("dl")
        .map((one) => one.find("dd")[1].textContent);
    assert.deepEqual(origins, ["rope_theta", "—", "—"]);
});

const turned = (factors: number[]) => ({ factors }) as unknown as Frequencies;

test("a model is said to slow as many pairs as it does, by as much", () => {
    for (const [factors, words] of [
        [[1, 1, 1, 1], "X turns all 4 pairs as base 500 has them."],
        [[1, 1 + 1e-12, 1, 1], "X turns all 4 pairs as base 500 has them."],
        [[8, 8, 8, 8], "X slows all 4 pairs 8×."],
        [[1, 1, 8, 8], "X slows 2 of its 4 pairs 8×."],
        [[1, 2, 4, 8], "X slows 3 of its 4 pairs, 1 of them 8×."],
        [[1.5, 2, 3, 4, 5, 6, 7, 8], "X slows all 8 pairs, up to 8×."],
        [[1, 2, 3, 8, 8, 8, 8, 8], "X slows 7 of its 8 pairs, 5 of them 8×."],
        [[2, 3, 4, 8], "X slows all 4 pairs, 1 of them 8×."],
        [[2, 3, 4, 5, 8], "X slows all 5 pairs, up to 8×."],
        [[1, 2, Infinity, 2], "X slows 2 of its 4 pairs 2×."],
    ] as [number[], string][]) {
        const kind = { layers: [], encoding: { name: "rope", base: 500 } } as unknown as Kind;
        const config = { layers: [kind], unused: [], warnings: [] } as unknown as Config;
        assert.ok(factors.length > 2);
        for (const [never, more] of [
            [0, "Within 1000 tokens every pair finishes a turn."],
            [factors.length, "Within 1000 tokens not one finishes a turn."],
            [1, "Within 1000 tokens 1 never finishes a turn."],
            [2, "Within 1000 tokens 2 never finish a turn."],
        ] as const) {
            const element = verdict("x", config, { ...kind }, turned(factors), never, 1000);
            const said = plain(fake(element).textContent).replace(/^x/, "X");
            assert.equal(said, `${words} ${more}`);
        }
    }
    assert.deepEqual(stretch(turned([1, 2, Infinity])), { pairs: 3, by: 2, changed: 1, most: 1 });
});

test("layers that differ are counted, and named where the config counts none", () => {
    const kind = (base: number, layers: number[], layer_type: string) =>
        ({ layers, layer_type, encoding: { name: "rope", base } }) as unknown as Kind;
    const said = (all: Kind[], own: Kind) =>
        fake(verdict("This model", { layers: all } as unknown as Config, own, turned([1]), 0, 9))
            .textContent;
    const [one, two, three] = [kind(1, [0, 1], "a"), kind(2, [2], "b"), kind(1, [3], "c")];
    assert.ok(said([one, two, three], one).startsWith("In 3 of 4 layers This model turns"));
    assert.ok(said([one, two, three], two).startsWith("In 1 of 4 layers "));
    assert.ok(said([one, three], one).startsWith("This model turns"));
    const none = [kind(1, [], "a"), kind(2, [], "b")];
    assert.ok(said(none, none[1]).startsWith("In b layers This model turns"));
});

test("models that turn nothing have a sentence each", () => {
    for (const [encoding, words] of [
        [null, "This config does not say how positions are encoded."],
        [{ name: "alibi", heads: 12 }, "each of its 12 heads"],
        [{ name: "t5", num_buckets: 32 }, "each of 32 buckets"],
        [{ name: "learned" }, "its positions are learned"],
    ] as const) {
        const said = fake(other("this model", { encoding } as unknown as Config)).textContent;
        assert.ok(said.includes(words), said);
        assert.ok(said.startsWith("This "), "a sentence begins with a capital");
    }
});

// ---- ids of one's own ---------------------------------------------------------------------------

test("ids too long for a link are held until there are others", () => {
    const { stage, gone } = stand("grid", { model_type: "flux", height: "4", width: "4" });
    const [field] = stage.find("textarea"),
        note = () => stage.find("p.note")[0].textContent,
        long = `[${"[0, 1], ".repeat(900)}[0, 1]]`;
    const fill = (text: string) => {
        field.value = text;
        field.fire("change");
        return gone.splice(0).at(-1);
    };
    assert.deepEqual(fill(" [[0, 1]] "), [{ position_ids: "[[0,1]]", sample: undefined }, "push"]);
    assert.equal(note(), "");
    assert.deepEqual(fill(long), [{ position_ids: undefined, sample: undefined }, "push"]);
    assert.match(note(), /too long for a link/);
    assert.equal(field.value, long.replace(/\s/g, ""));
    assert.deepEqual(fill("[[2, 3]]"), [{ position_ids: "[[2,3]]", sample: undefined }, "push"]);
    assert.deepEqual([note(), field.value], ["", "[[2,3]]"]);
    fill(long);
    assert.deepEqual(fill(""), [{ position_ids: undefined, sample: undefined }, "push"]);
    assert.deepEqual([note(), field.value], ["", ""]);
    fill(long);
    const none = stage.find("button.chip").find((one) => one.textContent === "one id changed")!;
    none.fire("click");
    assert.deepEqual([note(), field.value], ["", ""], "a sample takes their place");
});
