// SPDX-License-Identifier: MIT
// Ways of scaling side by side, and verdicts of a diagnosis: marks by what they stand for.
import assert from "node:assert/strict";
import test from "node:test";
import { fake, FakeElement, resized } from "./fakes";
import type { Ask } from "../../../explorer/src/api";
import type { Kind } from "../../../explorer/src/kit/model";
import type { App } from "../../../explorer/src/view";
import { report, type Report } from "../../../explorer/src/views/diagnosis/report";
import { schemes } from "../../../explorer/src/views/extension/schemes";

const WAVES = [6, 60, 600, 6000, 60000],
    CONTEXT = 1000;
const TARGET = "/v1/encodings/rope/frequencies?dim=10&rope_type=yarn&factor=4";

/** The second half of the pairs is stretched by the factor of the request. */
function answerOf({ target }: Ask) {
    const factor = +(new URLSearchParams(target.split("?")[1]).get("factor") ?? 1),
        factors = WAVES.map((_, i) => (i > 2 ? factor : 1)),
        wavelengths = WAVES.map((wave, i) => wave * factors[i]);
    return {
        encoding: { name: "rope" },
        tensors: {
            inv_freq: { data: wavelengths.map((wave) => (2 * Math.PI) / wave) },
            wavelengths: { data: wavelengths },
            freq_factors: { data: factors },
        },
    };
}

async function drawn(width: number, params: Record<string, string> = {}) {
    const asks: Ask[] = [];
    const app = {
        state: { params },
        go() {},
        fail: (_: object, error: unknown) => assert.equal(error, null),
        api: { ask: async (ask: Ask) => (asks.push(ask), answerOf(ask)) },
    } as unknown as App;
    const own = schemes(app),
        element = fake(own.element);
    element.find("div.rows")[0].clientWidth = width;
    const kind = {
        encoding: { name: "rope", dim: 10, base: 10000, rope_type: "yarn", factor: 4 },
        links: { frequencies: TARGET },
        layers: [0],
    } as unknown as Kind;
    own.draw(kind, CONTEXT);
    await new Promise((done) => setTimeout(done));
    return { own, element, asks };
}

const widths = (element: FakeElement) =>
    element.find("svg").map((one) => +one.attributes.viewBox.split(" ")[2]);

test("each way has a dot for every pair: where its wave is, changed or not, turning or not", async () => {
    const { element, own } = await drawn(800);
    const pictures = element
        .find("svg")
        .filter((one) => !one.classList.contains("axis"))
        .map((one) => one.all().filter(({ name }) => name === "path" || name === "circle"));
    assert.ok(pictures.length > 4);
    const places = pictures.map((dots) =>
        dots.map(({ attributes: { d, cx } }) => +(cx ?? /^M([\d.]+)/.exec(d)![1])),
    );
    // The first picture is of no scaling: equal steps from wave to wave.
    const step = places[0][1] - places[0][0];
    for (const [i, dots] of pictures.entries()) {
        const changed = dots.map((one) => one.name === "path"),
            last = places[i][4] - places[i][3];
        assert.deepEqual(changed, i ? [false, false, false, true, true] : Array(5).fill(false));
        assert.ok(Math.abs(last - step) < 1e-9, "both last ones by one factor");
        for (const [k, one] of dots.entries()) {
            assert.equal(one.classList.contains("slow"), changed[k]);
            assert.equal(one.classList.contains("still"), k > 2, `${i} ${k}`);
            assert.ok(k < 3 ? places[i][k] === places[0][k] : places[i][k] >= places[0][k]);
        }
    }
    assert.equal(element.find("div.own").length, 1, "that of the config");
    assert.equal(element.find("div.own")[0].find("code")[0].textContent, "yarn");
    own.leave();
});

test("a factor of all is that of each way, and none of them is the config's", async () => {
    const { element, asks, own } = await drawn(800, { times: "16" });
    for (const { target } of asks.filter((one) => /rope_type=/.test(one.target)))
        assert.match(target, /[?&]factor=16(&|$)/);
    assert.ok(asks.some(({ target }) => /rope_type=yarn/.test(target)));
    assert.equal(element.find("div.own").length, 0);
    own.leave();
});

test("it is drawn anew for another width, until it is left", async () => {
    const before = resized.length,
        { element, own } = await drawn(800);
    assert.ok(widths(element).length && widths(element).every((one) => one === 800));
    element.find("div.rows")[0].clientWidth = 333;
    [...resized].forEach((run) => run());
    assert.ok(widths(element).every((one) => one === 333));
    own.leave();
    assert.equal(resized.length, before);
});

test("of verdicts one is good, one is bad, and each has its own sign and words", () => {
    const verdicts = ["match", "consistent", "known-bug", "other-scheme", "unknown"] as const;
    const shown = verdicts.map((verdict) => {
        const all: Report = {
            verdict,
            ambiguous: false,
            identical_to: [],
            rows: 3,
            bad_rows: 0,
            candidates: [],
            warnings: [],
        };
        const [title] = fake(report(all)).find("h2"),
            [sign] = title.find("span.sign");
        return [sign.textContent, title.textContent, sign.style.background];
    });
    for (const column of [0, 1]) assert.equal(new Set(shown.map((one) => one[column])).size, 5);
    // What is an explanation, but not the one that was expected, is neither.
    assert.deepEqual(
        shown.map(([, , colour]) => colour),
        ["good", "slow", "bad", "slow", "still"].map((name) => `var(--${name})`),
    );
});
