// SPDX-License-Identifier: MIT
// Views by themselves: what each asks for, and what it says of the answers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import type { FakeElement } from "./fakes";
import { stand } from "./stand";
import type { Ask } from "../../../explorer/src/api";

declare const ROOT: string;

const plain = (text: string) => text.replaceAll("\u202f", "");
const paramsOf = ({ target }: Ask) => Object.fromEntries(new URLSearchParams(target.split("?")[1]));
const tensor = (shape: number[], at: (i: number) => number) => ({
    dtype: "f32",
    shape,
    data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => at(i)),
});
const texts = (element: FakeElement, name: string) =>
    element.find(name).map(({ textContent }) => plain(textContent));
/** A slider by the name that is read to those who do not see it. */
const slider = (element: FakeElement, label: string) =>
    element.find("input").find((one) => one.attributes["aria-label"] === label)!;

// ---- similarity over distance -------------------------------------------------------------------

const HALF = 37;
const decays = (ask: Ask) => {
    if (ask.target.includes("wavelengths")) return { shortest: 6.2831853, longest: 54410.4 };
    const { max_offset, heads, base } = paramsOf(ask),
        count = +max_offset + 1;
    // The first value below a half is at HALF, and exactly a half stands before it.
    const values = (i: number) =>
        i < HALF - 1 ? 0.75 : i === HALF - 1 ? 0.5 : +base === 7 ? 0.6 : 0.25;
    return {
        decay: tensor(heads ? [+heads, count] : [count], values),
        envelope: tensor([count], () => 1),
        offsets: {
            shape: [count],
            data: BigInt64Array.from({ length: count }, (_, i) => BigInt(i)),
        },
    };
};

test("distance: both bases are asked for as far as the slider goes, to both sides where wanted", async () => {
    for (const [params, least] of [
        [{}, undefined],
        [{ min_offset: "-" }, "-300"],
    ] as [Record<string, string>, string | undefined][]) {
        const own = stand(
            "distance",
            { dim: "64", base: "2000", max_offset: "300", ...params },
            decays,
        );
        await own.settled();
        const [first, usual, waves, near] = own.asks.map(paramsOf);
        assert.deepEqual(first, {
            ...{ dim: "64", base: "2000", normalize: "true", max_offset: "300", samples: "1201" },
            ...(least ? { min_offset: least } : {}),
        });
        assert.deepEqual(usual, { ...first, base: "10000" });
        assert.deepEqual(waves, { dim: "64", base: "2000", context: "8192", format: "json" });
        assert.deepEqual(near, { dim: "64", base: "2000", normalize: "true", max_offset: "8192" });
        const [{ ask }] = own.shown();
        assert.equal(paramsOf(ask).samples, undefined, "a file has every distance");
        assert.equal(paramsOf(ask).min_offset, least);
    }
    const own = stand("distance", { encoding: "alibi", max_offset: "50" }, decays);
    await own.settled();
    assert.deepEqual(
        own.asks.map(paramsOf),
        Array(2).fill({ heads: "8", max_offset: "50", samples: "1201" }),
    );
    assert.deepEqual(
        own.stage.find("li").map(({ textContent }) => textContent),
        Array.from({ length: 8 }, (_, i) => `head ${i + 1}`),
    );
    assert.match(own.stage.find("p.verdict")[0].textContent, /ALiBi has no waves/);
});

test("distance: half is gone at the first distance that has less, and the facts are the answer's", async () => {
    const { stage, settled } = stand("distance", { base: "2000" }, decays);
    await settled();
    const verdict = plain(stage.find("p.verdict")[0].textContent);
    assert.match(verdict, /^A neighbour is 75 % /);
    assert.match(verdict, new RegExp(`${HALF} tokens\\.$`));
    assert.deepEqual(
        stage
            .find("dd")
            .map(({ textContent }) => plain(textContent))
            .filter((_, i) => i % 2 === 0),
        ["6.283", "54410", "25 %"],
    );
    assert.equal(stage.find("li").length, 3, "beside the usual base");
    const never = stand("distance", { base: "7" }, (ask: Ask) => {
        const answer = decays(ask) as { decay?: { data: Float32Array } };
        answer.decay?.data.fill(0.9);
        return answer;
    });
    await never.settled();
    assert.match(
        plain(never.stage.find("p.verdict")[0].textContent),
        /not lost within 8192 tokens\.$/,
    );
    const usual = stand("distance", {}, decays);
    await usual.settled();
    assert.equal(usual.stage.find("li").length, 2, "the usual base stands once");
});

// ---- fewer bits ---------------------------------------------------------------------------------

const errors = (at: Record<string, (row: number, pair: number) => number>) => (ask: Ask) => {
    const { positions, angle } = paramsOf(ask),
        rows = positions.split(",").length;
    return {
        error: tensor([rows, 4], (i) => (at[angle] ?? (() => 0.001))(Math.floor(i / 4), i % 4)),
    };
};

test("precision: positions are whole, each once, over all digits, with the powers of ten", async () => {
    for (const reach of [1024, 5000, 1e6, 1e8]) {
        const own = stand("precision", { reach: `${reach}`, dim: "8", base: "300" }, errors({}));
        await own.settled();
        assert.deepEqual(
            own.asks.map((one) => paramsOf(one).angle),
            ["f32", "f16", "bf16"],
        );
        const at = paramsOf(own.asks[0]).positions.split(",").map(Number);
        assert.ok(at.every((one, i) => Number.isInteger(one) && (!i || one > at[i - 1])));
        assert.deepEqual([at[0], at.at(-1)], [1, reach]);
        for (let power = 1; power <= reach; power *= 10) assert.ok(at.includes(power), `${power}`);
        assert.ok(at.length <= 96 + 9 && at.length >= 60);
        assert.ok(
            own.asks.every((one) => paramsOf(one).dim === "8" && paramsOf(one).base === "300"),
        );
    }
});

test("precision: the first position that is off, the worst pair, and no number where nothing is off", async () => {
    for (const first of [3, 40]) {
        const own = stand(
            "precision",
            { angle: "bf16", reach: "1000000" },
            errors({
                bf16: (row, pair) =>
                    row >= first ? (pair === 2 ? 0.02 + row / 1000 : 0.011) : pair / 400,
                f16: () => 0,
                f32: () => 0.01,
            }),
        );
        await own.settled();
        const at = paramsOf(own.asks[0]).positions.split(","),
            verdict = plain(own.stage.find("p.verdict")[0].textContent);
        assert.ok(verdict.includes(`at position ${at[first]}, the first one`), verdict);
        assert.ok(
            verdict.includes(`at 1000000 by ${+(0.02 + (at.length - 1) / 1000).toPrecision(3)}.`),
            verdict,
        );
        assert.ok(own.stage.textContent.includes(`of pair 2 at position 1\u202f000\u202f000`));
        // Under the cross: nothing is off by zero, which a logarithmic axis has not.
        const [curves] = own.stage.find("div.curves");
        Object.assign(curves, { clientWidth: 600, clientHeight: 300 });
        own.mounted.update();
        await own.settled();
        curves.fire("keydown", { key: "Home" });
        assert.deepEqual(texts(own.stage, "output").slice(-3), ["0.01", "NaN", "0.0075"]);
    }
    for (const [angle, name] of [
        ["f32", "float32"],
        ["f16", "float16"],
    ]) {
        const fine = stand("precision", { angle }, errors({ [angle]: () => 0.01 }));
        await fine.settled();
        assert.match(
            fine.stage.find("p.verdict")[0].textContent,
            new RegExp(`With angles in ${name} no cosine`),
        );
    }
});

// ---- turning ------------------------------------------------------------------------------------

const rotations = ({ target }: Ask) =>
    target.startsWith("/v1/layout")
        ? {
              permutation: {
                  shape: [8],
                  data: BigInt64Array.from([0, 2, 4, 6, 1, 3, 5, 7].map(BigInt)),
              },
          }
        : target.startsWith("/v1/attention")
          ? { scores: tensor([1, 1, 64, 64], (i) => i) }
          : {
                q: tensor([1, 1, 256, 8], (i) => Math.floor(i / 8)),
                k: tensor([1, 1, 256, 8], (i) => -Math.floor(i / 8)),
            };

test("rotation: the score, both hands and the order of elements are of the positions in the link", async () => {
    for (const [position, delta] of [
        [12, 5],
        [63, 0],
        [9, 9],
    ]) {
        const { stage, settled } = stand(
            "rotation",
            { position: `${position}`, delta: `${delta}` },
            rotations,
        );
        await settled();
        const n = position - delta,
            verdict = plain(stage.find("p.verdict")[0].textContent);
        assert.ok(
            verdict.startsWith(`R(${position})q · R(${n})k = ${position * 64 + n} and`),
            verdict,
        );
        assert.ok(verdict.endsWith(`m − n = ${delta}.`));
        for (const one of stage.find("g.hand")) {
            const value = one.find("line")[0].number("x2") / 90;
            assert.equal(value, one.dataset.hand === "q" ? position : n ? -n : 0);
        }
        const orders = stage
            .find("ol")
            .map((one) => one.find("li").map(({ textContent }) => textContent));
        assert.deepEqual(orders, [
            ["0x", "0y", "1x", "1y", "2x", "2y", "3x", "3y"],
            ["0x", "1x", "2x", "3x", "0y", "1y", "2y", "3y"],
        ]);
    }
    // A distance beyond the position moves the query.
    const far = stand("rotation", { position: "2", delta: "7" }, rotations);
    await far.settled();
    assert.ok(plain(far.stage.find("p.verdict")[0].textContent).startsWith("R(7)q · R(0)k"));
    const move = (label: string, value: number) => {
        const one = slider(far.stage, label);
        one.value = `${value}`;
        one.fire("input");
        return far.gone.splice(0).at(-1);
    };
    assert.deepEqual(move("distance m − n", 20), [{ delta: 20, position: 20 }, "replace"]);
    assert.deepEqual(move("distance m − n", 3), [{ delta: 3, position: 20 }, "replace"]);
    assert.deepEqual(move("position m", 30), [{ position: 30 }, "replace"]);
    assert.deepEqual(
        [slider(far.stage, "position m").min, slider(far.stage, "position m").max],
        ["3", "63"],
    );
});

test("rotation: moving both goes on to the last position, and begins again at the distance", (context) => {
    context.mock.timers.enable({ apis: ["setInterval"] });
    const { stage, gone, app, mounted } = stand(
        "rotation",
        { position: "61", delta: "5" },
        rotations,
    );
    const [button] = stage.find("button.play");
    button.fire("click");
    context.mock.timers.tick(1000 / 3 + 5);
    assert.deepEqual(
        gone.map(([changes]) => changes.position),
        [62, 63, 5, 6],
    );
    assert.equal(app.state.params.delta, "5");
    mounted.leave();
    context.mock.timers.tick(1000);
    assert.equal(gone.length, 4);
});

test("rotation: one request for the same hands, and the picture of an earlier one is not drawn", async () => {
    let isGone = false;
    const { app, mounted, asks, settled, failed } = stand("rotation", {}, (ask: Ask) => {
        if (isGone) throw new Error("broke off");
        return rotations(ask);
    });
    await settled();
    assert.equal(asks.length, 3);
    const change = async (params: Record<string, string>) => {
        Object.assign(app.state.params, params);
        mounted.update();
        await settled();
    };
    await change({ position: "30" });
    assert.equal(asks.length, 3, "positions are those of the same answer");
    for (const params of [{ q: "21" }, { k: "81" }, { base: "50" }, { dim: "8", base: "60" }]) {
        const before = asks.length;
        await change(params as Record<string, string>);
        assert.equal(asks.length, before + 3);
    }
    isGone = true;
    await change({ base: "9" });
    assert.equal(failed.length, 1);
    isGone = false;
    const before = asks.length;
    mounted.update();
    await settled();
    assert.equal(asks.length, before + 3, "what failed before is asked for again");
});

// ---- published models ---------------------------------------------------------------------------

const MODELS = Object.entries(
    JSON.parse(readFileSync(`${ROOT}/explorer/src/models.json`, "utf8")) as Record<
        string,
        { name: string; row: Record<string, unknown> & { kinds: object[] } }
    >,
).map(([id, one]) => ({ id, ...one }));
const COLUMNS = ["name", "encoding", "base", "pairs", "scaling", "factor", "context"];

test("models: sorted by each column both ways, with those that have no value behind all others", () => {
    for (const column of COLUMNS)
        for (const way of [1, -1]) {
            const { stage } = stand("models", { sort: `${way < 0 ? "-" : ""}${column}` }),
                shown = stage
                    .find("tbody")[0]
                    .find("a")
                    .map(({ textContent }) => textContent);
            const rows = shown.map((name) => MODELS.find((one) => one.name === name)!),
                value = (one: (typeof rows)[0]) => (column === "name" ? one.name : one.row[column]);
            assert.equal(new Set(shown).size, MODELS.length);
            const values = rows.map(value),
                there = values.filter((one) => one !== undefined);
            assert.deepEqual(
                values.slice(there.length),
                values.slice(there.length).fill(undefined),
                column,
            );
            there.slice(1).forEach((one, i) => {
                const before = there[i],
                    order =
                        typeof one === "number"
                            ? one - (before as number)
                            : `${one}`.localeCompare(`${before}`, "en", { numeric: true });
                assert.ok(order * way >= 0, `${column}: ${before} before ${one}`);
                if (one === before)
                    assert.ok(
                        rows[i].name.localeCompare(rows[i + 1].name) < 0,
                        "equal ones by their names",
                    );
            });
            const heads = stage.find("th").filter((one) => one.attributes.scope === "col"),
                sorted = heads.filter((one) => "aria-sort" in one.attributes);
            assert.deepEqual(
                sorted.map((one) => [
                    one.find("button")[0].dataset.sort,
                    one.attributes["aria-sort"],
                ]),
                [[column, way > 0 ? "ascending" : "descending"]],
            );
        }
});

test("models: a heading sorts by its column, and the other way where it does already", () => {
    const { stage, gone } = stand("models", { sort: "base" });
    const press = (column: string) => {
        stage
            .find("button")
            .find((one) => one.dataset.sort === column)!
            .fire("click");
        return gone.splice(0).at(-1);
    };
    assert.deepEqual(press("base"), [{ sort: "-base" }, "replace"]);
    assert.deepEqual(press("base"), [{ sort: "base" }, "replace"]);
    assert.deepEqual(press("pairs"), [{ sort: "pairs" }, "replace"]);
    assert.deepEqual(press("name"), [{ sort: undefined }, "replace"]);
    assert.deepEqual(press("name"), [{ sort: "-name" }, "replace"]);
});

test("models: every word is to be found, in any case and order, and what is found is counted", () => {
    const all = (find: string) => {
        const own = stand("models", { find });
        return {
            names: own.stage
                .find("tbody")[0]
                .find("a")
                .map(({ attributes }) => JSON.parse(attributes.href.slice(1)).model as string),
            note: own.stage.find("p.note")[0].textContent,
            shown: own.shown(),
            value: own.stage.find("input")[0].value,
        };
    };
    const yarn = all("yarn").names;
    assert.ok(yarn.length > 1 && yarn.length < MODELS.length);
    assert.deepEqual(
        new Set(yarn),
        new Set(MODELS.filter(({ row }) => row.scaling === "yarn").map(({ id }) => id)),
    );
    for (const [one, other] of [
        ["deepseek yarn", "YARN  DeepSeek"],
        ["sliding gemma", "Gemma sliding"],
    ])
        assert.deepEqual([all(one).names, all(one).names.length > 0], [all(other).names, true]);
    const { names, note, shown, value } = all("qwen2.5");
    assert.equal(note, `${names.length} of ${MODELS.length} models`);
    assert.deepEqual([value, shown.length], ["qwen2.5", 1]);
    assert.equal(shown[0].title, `config: ${MODELS.find(({ id }) => id === names[0])!.name}`);
    const none = all("nonesuch");
    assert.deepEqual([none.names, none.note, none.shown], [[], `0 of ${MODELS.length} models`, []]);
});
