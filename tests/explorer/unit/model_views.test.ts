// SPDX-License-Identifier: MIT
// The views of one model, home and extension, when the config of the link changes.
import assert from "node:assert/strict";
import test from "node:test";
import { framesRun } from "./fakes";
import { stand } from "./stand";
import type { Ask } from "../../../explorer/src/api";

const plain = (text: string) => text.replaceAll("\u202f", "");
const paramsOf = ({ target }: Ask) => Object.fromEntries(new URLSearchParams(target.split("?")[1]));

Object.assign(globalThis, { matchMedia: () => ({ matches: true, addEventListener() {} }) });

type Encoding = Record<string, unknown>;

/** Wavelengths of four pairs; the factor scales the longer half. */
const wavelengths = (factor: number) => [10, 100, 1000 * factor, 10000 * factor];

/** A fake service. The members of a config are the parameters of its encoding. */
function answers({ target, text }: Ask): unknown {
    const path = target.split("?")[0];
    if (path === "/v1/config") {
        const given = JSON.parse(text!) as Encoding & { kinds?: Encoding[]; refused?: boolean };
        if (given.refused) throw new Error("refused");
        const kind = (encoding: Encoding, i: number) => ({
            layer_type: given.kinds ? `type${i}` : undefined,
            layers: [2 * i, 2 * i + 1],
            encoding: { name: "rope", dim: 8, base: 500, ...encoding },
            provenance: { base: "rope_theta", factor: "rope_scaling.factor" },
            links:
                encoding.name === "none"
                    ? {}
                    : {
                          frequencies: `/v1/encodings/rope/frequencies?dim=8&factor=${encoding.factor ?? 1}`,
                      },
        });
        const { kinds, ...own } = given,
            all = (kinds ?? [own]).map(kind);
        return { layers: all, encoding: all[0].encoding, unused: ["hidden_size"], warnings: [] };
    }
    const factor = +(paramsOf({ target } as Ask).factor ?? 1),
        list = (data: number[]) => ({ data });
    if (path.endsWith("/frequencies"))
        return {
            encoding: {},
            attention_factor: factor > 1 ? 1.25 : 1,
            tensors: {
                inv_freq: list(wavelengths(factor).map((length) => (2 * Math.PI) / length)),
                wavelengths: list(wavelengths(factor)),
                freq_factors: list([1, 1, factor, factor]),
            },
        };
    if (path.endsWith("/wavelengths"))
        return {
            never_turn: wavelengths(factor).filter(
                (length) => length > +paramsOf({ target } as Ask).context,
            ).length,
        };
    return { engines: [] };
}

const configTexts = (all: Record<string, Encoding>) =>
    Object.fromEntries(Object.entries(all).map(([name, config]) => [name, JSON.stringify(config)]));
const { unscaled, scaled, empty, refused, mixed, none } = configTexts({
    unscaled: { max_position_embeddings: 5000 },
    scaled: { factor: 8, max_position_embeddings: 40000 },
    empty: {},
    refused: { refused: true },
    mixed: {
        kinds: [
            { base: 7, max_position_embeddings: 900 },
            { base: 9, max_position_embeddings: 900 },
        ],
    },
    none: { name: "none" },
});

function opened(name: string, params: Record<string, string>) {
    const own = stand(name, params, answers);
    for (const one of own.stage.find("div.hands")) Object.assign(one, { clientWidth: 900 });
    /** Changes the parameters of the link, and waits for the view. */
    const to = async (next: Record<string, string>) => {
        for (const key of Object.keys(own.app.state.params)) delete own.app.state.params[key];
        Object.assign(own.app.state.params, next);
        own.mounted.update();
        await own.settled();
        await own.settled();
    };
    /** Counts requests that post a config; those of small pictures come later and vary. */
    const configReads = () => own.asks.filter(({ text }) => text !== undefined).length;
    return { ...own, to, configReads };
}

test("the first screen has only names and numbers of the new config", async () => {
    const { stage, to, configReads, shown } = opened("home", { config: unscaled });
    const words = () =>
        stage
            .find("div.hands")[0]
            .find("text")
            .map(({ textContent }) => plain(textContent));
    const verdict = () => plain(stage.find("aside")[0].find("h2")[0].textContent);
    await to({ config: unscaled });
    assert.ok(
        words().includes("as base 500 has them") && words().includes("as this model turns them"),
    );
    assert.equal(
        verdict(),
        "This model turns all 4 pairs as base 500 has them. Within 5000 tokens 1 never finishes a turn.",
    );
    assert.deepEqual(
        shown().map(({ title }) => title),
        ["config", "wavelengths"],
    );
    await to({ config: scaled });
    assert.equal(
        verdict(),
        "This model slows 2 of its 4 pairs 8×. Within 40000 tokens 1 never finishes a turn.",
    );
    assert.ok(words().some((one) => one.includes("context 40000")));
    // The fake service gives both models equal frequencies, and only the name changes.
    await to({ model: "llama-3.1" });
    const llama = words();
    await to({ model: "qwen2.5-7b" });
    assert.ok(
        words().includes("as Qwen 2.5 turns them") && !words().some((one) => one.includes("Llama")),
        words().join(),
    );
    assert.ok(llama.some((one) => one.includes("Llama")));
    const before = configReads();
    await to({ model: "qwen2.5-7b", position: "70" });
    assert.equal(configReads(), before, "a new position reads no config");
});

test("the context is of the link, else of the config, else assumed with a note", async () => {
    const { stage, to, gone } = opened("home", { config: empty });
    const note = () => stage.find("div.bars")[0].find("small")[0],
        slider = () => stage.find("div.bars")[0].find("input").at(-1)!;
    for (const [params, context, isAssumed] of [
        [{ config: empty }, 131072, true],
        [{ config: empty, context: "700" }, 700, false],
        [{ config: unscaled }, 5000, false],
        [{ config: unscaled, context: "70" }, 70, false],
    ] as [Record<string, string>, number, boolean][]) {
        await to(params);
        assert.equal(!note().hidden, isAssumed, JSON.stringify(params));
        assert.equal(Math.round(2 ** +slider().value), context);
    }
    slider().value = `${Math.log2(1000)}`;
    slider().fire("input");
    assert.deepEqual(gone.at(-1), [{ context: 1000 }, "replace"]);
    const [edge] = stage.find("text.name").map(({ textContent }) => plain(textContent));
    assert.equal(edge, "↑ context 1000", "drawn before the answer");
});

test("a refused config is requested again, and no request of the last one is shown", async () => {
    for (const view of ["home", "extension"]) {
        const { to, configReads, failed, shown } = opened(view, { config: unscaled });
        await to({ config: unscaled });
        assert.ok(shown().length > 1);
        await to({ config: refused });
        assert.equal(failed.length, 1);
        assert.ok(
            shown().every(({ title }) => title === "config"),
            view,
        );
        const before = configReads();
        await to({ config: refused });
        assert.equal(configReads(), before + 1, view);
    }
});

test("a file that is not loaded shows nothing of the previous model", async () => {
    for (const view of ["home", "extension"]) {
        const { stage, to, shown, app } = opened(view, { config: unscaled });
        const results = () => stage.find(view === "home" ? "div.stage" : "div.answer")[0];
        await to({ config: unscaled });
        assert.ok(!results().hidden);
        await to({ file: "gone.json" });
        assert.deepEqual([results().hidden, shown()], [true, []], view);
        Object.assign(app, { held: new File([scaled], "gone.json") });
        await to({ config: scaled });
        assert.ok(!results().hidden && shown().length > 1);
    }
});

test("each type of layers has a button, and results are of the chosen type", async () => {
    for (const view of ["home", "extension"]) {
        const { stage, to, gone } = opened(view, { config: mixed });
        await to({ config: mixed, layer_type: "type1" });
        const chips = () =>
            stage
                .find("button.chip")
                .filter((one) => one.textContent.includes("2 layers"))
                .map((one) => [
                    plain(one.textContent).replace(/^\S (?=2)/, ""),
                    one.attributes["aria-pressed"],
                ]);
        const names =
            view === "home"
                ? ["2 layers: type0", "2 layers: type1"]
                : ["2 layers: type0, rope base 7", "2 layers: type1, rope base 9"];
        assert.deepEqual(
            chips().map(([name]) => (name as string).replace(/^[●○]\s/, "")),
            names,
        );
        assert.deepEqual(
            chips().map(([, pressed]) => pressed),
            ["false", "true"],
        );
        assert.match(
            plain(stage.textContent),
            /In 2 of 4 layers this model turns all 4 pairs as base 9 has them/,
        );
        stage
            .find("button.chip")
            .find((one) => one.textContent.includes("type0"))!
            .fire("click");
        assert.deepEqual(gone.at(-1), [{ layer_type: "type0" }, "push"]);
    }
});

test("a changed parameter is in the link, without spaces, until it is undone", async () => {
    const { stage, to, gone } = opened("extension", { config: scaled });
    await to({ config: scaled });
    const field = (name: string) => stage.find("input").find((one) => one.dataset.name === name)!;
    const undo = () => stage.find("button.link").filter((one) => one.textContent === "undo");
    assert.equal(undo().length, 0);
    for (const [text, value] of [
        [" 700 ", "700"],
        ["x", "x"],
        ["  ", undefined],
        ["", undefined],
    ] as const) {
        const one = field("base");
        one.value = text;
        one.fire("change");
        assert.deepEqual(gone.splice(0), [[{ base: value }, "push"]]);
    }
    await to({ config: scaled, base: "700" });
    assert.equal(undo().length, 1);
    undo()[0].fire("click");
    assert.deepEqual(gone.splice(0), [[{ base: undefined }, "push"]]);
    // Changed parameters can be undone after a refusal too.
    await to({ config: refused, base: "700", dim: "x" });
    assert.deepEqual(
        stage
            .find("tbody")
            .flatMap((one) => one.find("input"))
            .map(({ value }) => value),
        ["700", "x"],
    );
    assert.equal(undo().length, 2);
});

test("bands of pairs and scaling methods are those of the chosen factor", async () => {
    const { stage, to, gone, asks } = opened("extension", { config: scaled });
    const [rows] = stage.find("div.rows");
    rows.clientWidth = 900;
    await to({ config: scaled });
    framesRun();
    const methods = () =>
        stage
            .find("div.rows")[0]
            .find("code")
            .map(({ textContent }) => textContent);
    assert.deepEqual(methods(), [
        "default",
        "linear",
        "ntk",
        "dynamic",
        "yarn",
        "llama3",
        "longrope",
    ]);
    const bands = () =>
        stage
            .find("ul.bands")[0]
            .find("li")
            .map(({ textContent }) => plain(textContent));
    assert.deepEqual(bands(), [
        "2 as they were",
        "0 between",
        "2 slowed 8×",
        "1 never finish a turn",
        "0 did not before it was stretched",
    ]);
    const slider = () => stage.find("section.schemes")[0].find("input")[0];
    assert.deepEqual(
        [slider().min, slider().max].map((one) => Math.round(2 ** +one)),
        [1, 128],
    );
    slider().value = `${Math.log2(64)}`;
    slider().fire("input");
    assert.deepEqual(gone.splice(0), [[{ times: 64 }, "replace"]]);
    asks.length = 0;
    await to({ config: scaled, times: "128" });
    const yarn = asks.map(paramsOf).filter(({ rope_type }) => rope_type === "yarn");
    assert.deepEqual([...new Set(yarn.map(({ factor }) => factor))], ["128"]);
    await to({ config: unscaled });
    assert.deepEqual(bands().slice(0, 3), ["4 as they were", "0 between", "0 slowed"]);
    const chip = stage.find("button.chip").find((one) => one.textContent === "slowed by")!;
    chip.fire("click");
    assert.deepEqual(gone.at(-1), [{ show: "freq_factors" }, "push"]);
    await to({ config: none });
    assert.ok(stage.find("div.turning")[0].hidden && stage.find("section.schemes")[0].hidden);
});
