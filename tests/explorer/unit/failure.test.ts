// SPDX-License-Identifier: MIT
// Failures: what is said of each, once, which controls are marked, and the ways out of it.
import assert from "node:assert/strict";
import test from "node:test";
import { fake, FakeElement, settled } from "./fakes";
import { PosencError } from "../../../clients/js/client.js";
import { Failures } from "../../../explorer/src/kit/failure";
import { told } from "../../../explorer/src/kit/problem";
import { Work } from "../../../explorer/src/kit/work";
import type { App } from "../../../explorer/src/view";

function failing(params: Record<string, string> = {}, names: string[] = []) {
    const gone: unknown[] = [];
    let again = 0;
    const root = new FakeElement("main"),
        controls = names.map((name) => {
            const label = new FakeElement("label");
            label.dataset.name = name;
            label.append(new FakeElement("input"), new FakeElement("select"));
            return label;
        });
    root.append(...controls);
    const app = { state: { params }, go: (...all: unknown[]) => gone.push(all) };
    const failures = new Failures(
        app as never,
        () => root as never,
        () => again++,
    );
    const element = fake(failures.element);
    const boxes = () => element.find("div.failure").map(({ textContent }) => textContent);
    return { failures, element, boxes, gone, controls, attempts: () => again };
}

const refusal = (code: string, errors: object[] = [], detail = "") =>
    new PosencError(422, { code, detail, errors });

test("the name of a mistake stands before a sentence that has it not, and once", () => {
    const { failures, element } = failing();
    const errors = [
        { parameter: "dim", detail: "dim must be even" },
        { parameter: "base", detail: "it must be above 0" },
        { pointer: "/rope_scaling/factor", detail: "it must be a number" },
        { parameter: "config", detail: "it cannot be read" },
        { pointer: "/a", detail: "a is no number" },
    ];
    failures.set({}, refusal("out-of-range", errors));
    assert.deepEqual(
        element.find("p").map(({ textContent }) => textContent),
        [
            "dim must be even",
            "base: it must be above 0",
            "rope_scaling.factor: it must be a number",
            "it cannot be read",
            "a is no number",
        ],
    );
});

test("one failure of several sources stands once, and goes with the last of them", () => {
    const { failures, boxes } = failing(),
        [one, two, three] = [{}, {}, {}];
    failures.set(one, new TypeError("Failed to fetch"));
    failures.set(two, new TypeError("Failed to fetch"));
    failures.set(three, refusal("busy", [], "later"));
    assert.equal(boxes().length, 2);
    failures.set(one, null);
    assert.equal(boxes().length, 2);
    failures.set(two, null);
    assert.ok(boxes().length === 1 && boxes()[0].includes("busy"));
    failures.set(three, refusal("busy", [], "much later"));
    assert.ok(
        boxes().length === 1 && boxes()[0].includes("much later"),
        "the last one of a source",
    );
    failures.clear();
    assert.deepEqual(boxes(), []);
});

/** Codes of the service, and whether the same request may succeed later. */
const CODES: Record<string, boolean> = {
    busy: true,
    "out-of-memory": true,
    timeout: true,
    cancelled: true,
    internal: true,
    malformed: false,
    "invalid-parameter": false,
    "out-of-range": false,
    "unknown-parameter": false,
    "missing-parameter": false,
    "not-found": false,
    "conflicting-parameters": false,
    "shape-mismatch": false,
    unsupported: false,
    unauthorized: false,
    "too-large": false,
};

test("what may succeed later has a button for another attempt, and nothing else has one", () => {
    for (const [code, isLater] of Object.entries(CODES)) {
        const { failures, element, attempts } = failing();
        failures.set({}, refusal(code, [], "a sentence"));
        const buttons = element.find("button");
        assert.equal(told(refusal(code), "http://h").again, isLater, code);
        assert.deepEqual(
            buttons.map(({ textContent }) => textContent),
            isLater ? ["try again"] : [],
        );
        buttons.forEach((one) => one.fire("click"));
        assert.equal(attempts(), buttons.length);
    }
    const titles = Object.keys(CODES).map((code) => told(refusal(code), null).title);
    assert.ok(!titles.includes("This cannot be shown"));
    assert.equal(told(refusal("nonesuch"), null).title, "This cannot be shown");
});

test("controls at fault are marked until they are not, and what has none can be left out", () => {
    const { failures, element, controls, gone } = failing({ dim: "7", base: "x" }, ["dim", "head"]),
        source = {};
    const errors = [
        { parameter: "dim", detail: "it is odd" },
        { parameter: "base", detail: "no number" },
    ];
    failures.set(source, refusal("out-of-range", errors));
    const marked = () =>
        controls.map((one) => [
            one.classList.contains("wrong"),
            ...one.children.map((inner) => (inner as FakeElement).attributes["aria-invalid"]),
        ]);
    const right = [false, undefined, undefined];
    assert.deepEqual(marked(), [[true, "true", "true"], right]);
    const buttons = element.find("button");
    assert.deepEqual(
        buttons.map(({ textContent }) => textContent),
        ["leave base out"],
    );
    buttons[0].fire("click");
    assert.deepEqual(gone, [[{ base: undefined }, "push"]]);
    failures.set(
        source,
        refusal("out-of-range", [{ parameter: "foo", detail: "not of the link" }]),
    );
    assert.deepEqual([marked(), element.find("button").length], [[right, right], 0]);
});

test("pictures are seen with the last answer alone, and a job that is stopped leaves nothing", async () => {
    const said: unknown[] = [],
        app = { fail: (source: object, error: unknown) => said.push(error) } as unknown as App;
    const [picture, room] = [new FakeElement("div"), new FakeElement("div")];
    let failed = 0;
    const work = new Work(app, {
        pictures: [picture] as never,
        waiting: [room] as never,
        failed: () => failed++,
    });
    const look = () => [
        room.classList.contains("waiting"),
        picture.classList.contains("unanswered"),
    ];
    const drawn: number[] = [],
        run = async (job: () => Promise<number>) => {
            work.run(job, (value) => drawn.push(value));
            await settled();
        };
    assert.deepEqual(look(), [true, false]);
    await run(async () => 1);
    assert.deepEqual([look(), drawn, said.splice(0)], [[false, false], [1], [null]]);
    const error = new Error("x");
    await run(() => Promise.reject(error));
    assert.deepEqual([look(), failed, said.splice(0)], [[false, true], 1, [error]]);
    await run(async () => 2);
    assert.deepEqual([look(), said.splice(0)], [[false, false], [null]]);
    await run(() => Promise.reject(error));
    said.length = 0;
    work.stop();
    assert.deepEqual(said, [null], "its failure goes with it");
    const other = new FakeElement("div");
    new Work(app, { pictures: [other] as never });
    assert.ok(other.classList.contains("waiting"));
});
