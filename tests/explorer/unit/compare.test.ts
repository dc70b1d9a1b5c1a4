// SPDX-License-Identifier: MIT
// Two models side by side: the verdict, the numbers that differ, and the view when one model is
// refused.
import assert from "node:assert/strict";
import test from "node:test";
import type { FakeElement } from "./fakes";
import { stand } from "./stand";
import type { Ask } from "../../../explorer/src/api";

const plain = (text: string) => text.replaceAll("\u202f", "");
const paramsOf = ({ target }: Ask) => Object.fromEntries(new URLSearchParams(target.split("?")[1]));

/** A fake service. A config is its own encoding, and the wavelengths follow from its base. */
function answers(ask: Ask): unknown {
    const { target, text } = ask,
        path = target.split("?")[0];
    if (path === "/v1/config") {
        const given = JSON.parse(text!) as Record<string, unknown>;
        if (given.refused) throw new Error("refused");
        const encoding = { name: "rope", dim: 4, ...given };
        const links = given.name
            ? {}
            : { frequencies: `/v1/encodings/rope/frequencies?base=${given.base ?? 100}` };
        return {
            layers: [{ layers: [0], encoding, links, attention: { scale: given.scale ?? 0.5 } }],
            encoding,
            unused: [],
            warnings: [],
        };
    }
    if (path.endsWith("/wavelengths")) return { never_turn: 1 };
    const base = +paramsOf(ask).base;
    return {
        encoding: {},
        tensors: {
            inv_freq: { data: [1, 1 / base] },
            wavelengths: { data: [2 * Math.PI, 2 * Math.PI * base] },
            freq_factors: { data: [1, 1] },
        },
    };
}

async function compared(a: object, b: object) {
    const own = stand("compare", {}, answers);
    /** Sets both configs, and waits for the view. */
    const to = async (a: object, b: object) => {
        (own.app.state as { sides: unknown }).sides = {
            a: { config: JSON.stringify(a) },
            b: { config: JSON.stringify(b) },
        };
        own.mounted.update();
        await own.settled();
        await own.settled();
    };
    await to(a, b);
    const [verdict] = own.stage.find("div.verdict"),
        [results] = own.stage.find("div.results-of-two");
    const rows = (table: number) =>
        (own.stage.find("table.parameters")[table]?.find("tbody")[0].children ?? []).map((row) =>
            ((row as FakeElement).children as FakeElement[]).map(({ textContent }) =>
                plain(textContent),
            ),
        );
    return {
        ...own,
        to,
        rows,
        areHidden: () => [verdict.hidden, results.hidden],
        verdictText: () => plain(verdict.textContent),
        legend: () => own.stage.find("li").map(({ textContent }) => plain(textContent)),
    };
}

const LONG = { max_position_embeddings: 5000 };

test("the verdict is equal positions, equal rotation, or a list of the differences", async () => {
    for (const [a, b, words] of [
        [LONG, LONG, "Same positions."],
        [
            LONG,
            { max_position_embeddings: 900 },
            "Same positions. Every pair turns alike; only the context differs.",
        ],
        [
            { base: 100 },
            { base: 200, ...LONG },
            "Different positions. They differ in the base and the context. 1 of 2 pairs turn at another speed; pair 1 is half a turn off at token 629.",
        ],
        [
            { base: 100, factor: 1, layout: "half" },
            { base: 50, factor: 2, layout: "interleaved" },
            "Different positions. They differ in the base, the scaling and the order of pairs. 1 of 2 pairs",
        ],
        [LONG, { name: "alibi", heads: 8 }, "Different positions. They differ in the encoding."],
    ] as const) {
        const { verdictText, areHidden } = await compared(a, b);
        assert.ok(verdictText().startsWith(words), verdictText());
        assert.deepEqual(areHidden(), [false, false]);
    }
});

test("numbers that differ come first, with all digits, and equal ones follow", async () => {
    const { rows } = await compared(
        { base: 123456, factor: 1.00001, ...LONG },
        { base: 123457, factor: 1.00002, ...LONG, scale: 0.25 },
    );
    const [differ, equal] = [rows(0), rows(1)].map((all) =>
        Object.fromEntries(all.map(([name, ...cells]) => [name, cells])),
    );
    assert.deepEqual(differ.base, ["123456", "123457"]);
    assert.deepEqual(differ.factor, ["1.00001", "1.00002"]);
    assert.deepEqual(differ["attention.scale"], ["0.5", "0.25"]);
    assert.deepEqual(differ.scale, ["–", "0.25"], "a parameter of one model");
    assert.deepEqual(equal.dim, ["4", "4"]);
    assert.deepEqual(equal.encoding, ["rope", "rope"]);
    assert.deepEqual(equal.pairs, ["2", "2"]);
    assert.deepEqual(equal["pairs that never finish a turn"], ["1 in 5000", "1 in 5000"]);
    assert.ok(!("provenance" in differ) && !("provenance" in equal));
});

test("the legend has one line for an equal context, else one line a model", async () => {
    const { legend, to } = await compared(LONG, LONG);
    assert.deepEqual(legend().slice(-3), ["A · this model", "B · this model", "context 5000"]);
    await to(LONG, { max_position_embeddings: 900 });
    assert.deepEqual(legend().slice(-2), ["A: context 5000", "B: context 900"]);
    await to(LONG, { name: "alibi", heads: 8 });
    assert.deepEqual(legend().slice(-2), ["A · this model", "A: context 5000"]);
});

test("a refused model hides verdict and results, and is requested again", async () => {
    const { to, areHidden, asks, stage, shown } = await compared(LONG, LONG);
    assert.equal(shown().length, 4);
    const refused = { refused: true };
    const refusedReads = () =>
        asks.splice(0).filter(({ text }) => text?.includes("refused")).length;
    await to(LONG, refused);
    assert.deepEqual([areHidden(), refusedReads()], [[true, true], 1]);
    assert.deepEqual(
        shown().map(({ title }) => title),
        ["A · config", "A · wavelengths"],
    );
    assert.deepEqual(
        stage.find("section.side").map((one) => one.find("div.failure").length),
        [0, 1],
    );
    await to(LONG, refused);
    assert.equal(refusedReads(), 1, "the same config again");
    await to(LONG, LONG);
    assert.deepEqual(areHidden(), [false, false]);
    assert.equal(stage.find("div.failure").length, 0);
});
