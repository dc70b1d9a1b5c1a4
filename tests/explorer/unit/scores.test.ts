// SPDX-License-Identifier: MIT
// What is added to scores: biases of a model and of a scheme by distance, and the attention over a
// sentence.
import { fake, resized, settled, type FakeElement } from "./fakes";
import assert from "node:assert/strict";
import test from "node:test";
import type { Ask } from "../../../explorer/src/api";
import type { Kind } from "../../../explorer/src/kit/model";
import { from } from "../../../explorer/src/kit/provenance";
import { broken, h } from "../../../explorer/src/dom";
import type { App } from "../../../explorer/src/view";
import { shuffled, tokens } from "../../../explorer/src/views/attention/tokens";
import { biases } from "../../../explorer/src/views/biases";
import { stand } from "./stand";

const plain = (text: string) => text.replaceAll("\u202f", "");

test("a text is cut into at most 24 words, or Chinese characters", () => {
    for (const [text, expected] of [
        ["the dog  bit\nme.", ["the", "dog", "bit", "me."]],
        ["狗咬了 man人", ["狗", "咬", "了", "man", "人"]],
        ["", ["…"]],
        ["  ", ["…"]],
    ] as const)
        assert.deepEqual(tokens(text), expected);
    const words = Array.from({ length: 30 }, (_, i) => `w${i}`);
    assert.deepEqual(tokens(words.join(" ")), words.slice(0, 24));
    assert.equal(tokens("是".repeat(40)).length, 24);
    for (const [list, joint] of [
        [words, " "],
        [[..."狗咬了人"], ""],
        [["狗", "a"], " "],
    ] as [string[], string][]) {
        const before = [...list],
            other = shuffled(list);
        assert.deepEqual(other.split(joint).sort(), [...list].sort());
        assert.deepEqual(list, before);
    }
});

test("a parameter has the keys that it came from, each a button, or words", () => {
    for (const [origin, keys] of [
        ["rope_theta", ["rope_theta"]],
        ["a.b / c_d", ["a.b", "c_d"]],
        ["a.b * c_d", ["a.b", "c_d"]],
        ["a/b*c", ["a", "b", "c"]],
    ] as const) {
        const found: string[] = [],
            element = fake(from(origin, (key) => (found.push(key), true)));
        const buttons = element.find("button");
        assert.deepEqual(
            buttons.map(({ textContent }) => textContent),
            keys,
        );
        buttons.forEach((one) => one.fire("click"));
        assert.deepEqual(found, keys);
        assert.equal(element.textContent, keys.join(" / "));
    }
    for (const [origin, words] of [
        ["default", "default"],
        ["model_type", "model's class"],
        ["request", "you"],
    ]) {
        const element = fake(from(origin, () => true));
        assert.deepEqual([element.textContent, element.find("button").length], [words, 0]);
        assert.ok(element.attributes.title.length > 9 && element.classList.contains(origin));
    }
});

test("a line may be broken behind every part of a name", () => {
    for (const [name, parts] of [
        ["rope_scaling.factor", ["rope_", "scaling.", "factor"]],
        ["dim", ["dim"]],
        ["a.b", ["a.", "b"]],
    ] as [string, string[]][]) {
        const all = h("code", {}, ...broken(name)) as unknown as FakeElement;
        assert.deepEqual(
            all.children.filter((one) => typeof one === "string"),
            parts,
        );
        assert.equal(all.find("wbr").length, parts.length);
    }
});

function biased(kind: object, tensors: object) {
    const asks: Ask[] = [];
    const app = {
        state: { params: {} },
        fail() {},
        api: { ask: async (ask: Ask) => (asks.push(ask), { tensors }) },
    } as unknown as App;
    const own = biases(app),
        element = fake(own.element);
    Object.assign(element.find("div.curves")[0], { clientWidth: 600, clientHeight: 300 });
    own.draw(kind as Kind);
    return { own, asks, element };
}

test("the curves of a model's heads are six at most and the steepest, which stands first", async () => {
    const offsets = { shape: [4], data: [-3, -2, -1, 0] };
    for (const heads of [1, 2, 5, 6, 7, 12, 32])
        for (const steepest of new Set([0, 1 % heads, heads - 1])) {
            const slopes = Array.from({ length: heads }, (_, i) =>
                i === steepest ? 9 : 1 + i / 100,
            );
            const data = slopes.flatMap((slope) => offsets.data.map((at) => at * slope));
            const { element, own } = biased(
                {
                    links: { bias: "/v1/encodings/alibi/bias?heads=4" },
                    attention: { causal: true },
                },
                { decay: { shape: [heads, 4], data }, offsets },
            );
            await settled();
            const names = element.find("li").map(({ textContent }) => textContent);
            assert.equal(names[0], `head ${steepest + 1}, the steepest`);
            assert.equal(new Set(names).size, names.length);
            const every = Math.max(1, Math.floor(heads / 6)),
                shown = Array.from({ length: Math.min(6, heads) }, (_, i) => i * every);
            assert.deepEqual(
                names.slice(1),
                shown.filter((i) => i !== steepest).map((i) => `head ${i + 1}`),
            );
            // Under the cross each has its own values.
            element.find("div.curves")[0].fire("keydown", { key: "Home" });
            const values = element
                .find("output")
                .map(({ textContent }) => plain(textContent).replace("−", "-"));
            assert.deepEqual(
                values.map(Number),
                [steepest, ...shown.filter((i) => i !== steepest)].map(
                    (i) => +(-3 * slopes[i]).toPrecision(6),
                ),
            );
            own.leave();
        }
});

test("a model that looks back alone is asked for the past, others for both sides", async () => {
    for (const [attention, most] of [
        [{ causal: true }, "0"],
        [{ causal: false }, "160"],
        [{}, "160"],
        [undefined, "160"],
        [null, "160"],
    ] as const) {
        const { asks, own, element } = biased(
            { links: { bias: "/v1/encodings/t5/bias?query_length=64&num_buckets=8" }, attention },
            { buckets: { shape: [2], data: [0, 1] }, offsets: { shape: [2], data: [0, 1] } },
        );
        const { pathname, searchParams } = new URL(asks[0].target, "http://a");
        assert.equal(pathname, "/v1/encodings/t5/analysis/decay");
        assert.deepEqual(Object.fromEntries(searchParams), {
            ...{ num_buckets: "8", min_offset: "-160", max_offset: most },
            ...{ format: "json", flat: "true" },
        });
        await settled();
        assert.deepEqual(
            element.find("li").map(({ textContent }) => textContent),
            ["bucket"],
        );
        own.draw(null);
        assert.ok(element.hidden, "another model has none");
        const watches = resized.length;
        own.leave();
        assert.equal(resized.length, watches - 1);
    }
});

/** Answers of the attention: each weight has the place that it is of. */
function answerOf({ target, json }: Ask): unknown {
    const tensor = (shape: number[], at: (i: number) => number) => ({
        dtype: "f32",
        shape,
        data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => at(i)),
    });
    const body = json as {
        tokens?: string[];
        encoding?: string;
        tensors?: { q: { shape: number[] } };
    };
    if (target.startsWith("/v1/embedding"))
        return { x: tensor([1, body.tokens!.length, 32], (i) => i) };
    if (target.startsWith("/v1/attention")) {
        const [, heads, rows] = body.tensors!.q.shape,
            share = body.encoding === "none" ? 0 : 0.5;
        return {
            weights: tensor([1, heads, rows, rows], (i) => share + Math.floor(i / rows) / 100),
        };
    }
    return { bias: tensor([3, 4, 4], (i) => -i) };
}

test("two equal words are told apart by as much as their rows differ", async () => {
    for (const [text, words] of [
        [
            "a b a c",
            "The first two a attend with weights that differ by 0.02 without position, and by 0.02 with it.",
        ],
        ["x y z y", "The first two y attend with weights that differ by 0.02"],
        ["a b c", "Use a word twice"],
    ]) {
        const { stage, settled: done, asks, failed } = stand("attention", { text }, answerOf);
        await done();
        await done();
        assert.deepEqual(failed, []);
        const said = stage.find("p.verdict")[0].textContent;
        assert.ok(said.startsWith(words), said);
        assert.ok(asks.length >= 4);
    }
});

test("each scheme is asked for with its own parameters, and the head of another one is dropped", async () => {
    for (const [params, encoding, heads] of [
        [{}, { name: "rope", base: 100 }, 1],
        [{ encoding: "alibi", head: "3" }, "alibi", 4],
        [{ encoding: "sinusoidal" }, "none", 1],
    ] as [Record<string, string>, unknown, number][])
        for (const causal of [undefined, "true", "false"]) {
            const own = stand(
                "attention",
                { text: "a b", ...params, ...(causal ? { causal } : {}) },
                answerOf,
            );
            await own.settled();
            await own.settled();
            const bodies = own.asks
                .filter(({ target }) => target.startsWith("/v1/attention"))
                .map(({ json }) => json as Record<string, unknown>);
            const last = bodies.at(-1)!;
            assert.deepEqual(
                [last.encoding, last.causal, last.scale],
                [encoding, causal === "true", 0.15],
            );
            const { q } = last.tensors as { q: { shape: number[]; data: number[] } };
            assert.deepEqual(q.shape, [1, heads, 2, 16]);
            // Of the words, the first half of what an embedding of words and positions has.
            const row = Array.from({ length: 16 }, (_, i) => i);
            assert.deepEqual(q.data.slice(0, 32), [...row, ...row.map((one) => one + 32)]);
            const merged = own.asks
                .filter(({ target }) => target.startsWith("/v1/embedding"))
                .map(({ json }) => (json as Record<string, unknown>).merge_mode);
            assert.deepEqual(
                merged,
                params.encoding === "sinusoidal" ? ["concat", undefined] : ["concat"],
            );
        }
    const { stage, gone } = stand(
        "attention",
        { encoding: "alibi", head: "2", bias_head: "1" },
        answerOf,
    );
    const press = (words: string) => {
        stage
            .find("button.chip")
            .find((one) => one.textContent === words)!
            .fire("click");
        return gone.splice(0).at(-1);
    };
    assert.deepEqual(press("RoPE"), [{ encoding: "rope", head: undefined }, "push"]);
    assert.deepEqual(press("T5"), [{ bias: "t5", bias_head: undefined }, "push"]);
    assert.deepEqual(press("back only"), [{ causal: "true" }, "push"]);
    assert.deepEqual(press("both ways"), [{ causal: undefined }, "push"]);
});

test("a bias has the head that is chosen, at most the last one that there is", async () => {
    for (const [bias_head, head] of [
        [undefined, 0],
        ["1", 1],
        ["2", 2],
        ["9", 2],
    ] as const) {
        const { stage, settled: done } = stand(
            "attention",
            { text: "a b", heads: "3", query_length: "16", ...(bias_head ? { bias_head } : {}) },
            answerOf,
        );
        const map = stage.find("canvas").at(-1)!;
        await done();
        await done();
        map.fire("keydown", { key: "ArrowRight" });
        assert.equal(map.dataset.value, `${-16 * head}`);
        const told = stage.find("p.cell").at(-1)!.textContent;
        assert.equal(told, `query 0, key 0: ${head ? `−${16 * head}` : "0"}`);
        const slider = stage.find("section.biases")[0].find("input").at(-1)!;
        assert.deepEqual([slider.min, slider.max], ["1", "3"]);
    }
});
