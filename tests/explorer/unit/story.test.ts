// SPDX-License-Identifier: MIT
// The story: chapters are left and come back, and each is drawn for the size that it has then.
import assert from "node:assert/strict";
import test from "node:test";
import { fake, framesRun, resized, type FakeElement } from "./fakes";
import type { Ask } from "../../../explorer/src/api";
import type { State } from "../../../explorer/src/state";
import type { App } from "../../../explorer/src/view";
import { h } from "../../../explorer/src/dom";
import { mount } from "../../../explorer/src/views/story";

const CHAPTERS = 6,
    LENGTH = 8;

/** Answers of the right shapes, whatever their numbers are. */
function answerOf({ target }: Ask): unknown {
    const params = new URLSearchParams(target.split("?")[1]);
    const tensor = (...shape: number[]) => ({
        dtype: "f32",
        shape,
        data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => i % 2),
    });
    const rows = +(params.get("length") ?? LENGTH);
    return {
        table: tensor(rows, +(params.get("dim") ?? 1)),
        positions: tensor(2),
        distance: tensor(1),
        scores: tensor(1, 1, rows, rows),
        never_turn: 3,
    };
}

function opened() {
    const steps: [unknown, unknown][] = [];
    const state = { params: { length: `${LENGTH}`, step: "1" } } as unknown as State;
    const app = {
        state,
        go: (changes: object, how?: string) => void steps.push([changes, how]),
        link: () => "",
        shows() {},
        fail: (_: object, error: unknown) => assert.equal(error, null),
        api: { ask: async (ask: Ask) => answerOf(ask) },
    } as unknown as App;
    const stage = h("div"),
        mounted = mount(stage, app);
    const to = async (step: number) => {
        state.params.step = `${step}`;
        mounted.update();
        await new Promise((done) => setTimeout(done));
    };
    const shown = () => fake(stage).find("div.idea")[0].firstElementChild;
    return { mounted, stage: fake(stage), steps, to, shown };
}

/** Every element takes a size, as it does where the window is another one. */
function sized(all: FakeElement, width: number): void {
    for (const one of all.all()) Object.assign(one, { clientWidth: width, clientHeight: 300 });
    for (const run of [...resized]) run();
    framesRun();
}

test("every chapter is drawn anew for another size, and so are those that came back", async () => {
    const { mounted, stage, to, shown } = opened();
    const drawn = () =>
        shown()
            .all()
            .filter(({ name }) => name === "canvas")
            .map(({ width }) => width);
    let width = 400;
    for (const round of ["first", "second"])
        for (let step = 1; step <= CHAPTERS; step++) {
            await to(step);
            for (let i = 0; i < 2; i++) {
                sized(stage, (width += 10));
                for (const one of drawn())
                    assert.equal(one, 2 * width, `chapter ${step}, ${round} time`);
            }
        }
    mounted.leave();
});

test("a story that is left watches no size of its curves", async () => {
    const before = resized.length,
        { mounted, to } = opened();
    const watched = resized.length;
    for (const step of [2, 1, 2, 5]) await to(step);
    assert.equal(resized.length, watched);
    mounted.leave();
    assert.equal(resized.length, watched - 2, "both chapters that have curves");
    assert.ok(resized.length >= before);
});

test("a chapter is a step back: by its number, and by the buttons below", async () => {
    const { stage, steps, to } = opened();
    for (let step = 1; step <= CHAPTERS; step++) {
        await to(step);
        const numbers = stage.find("ol.steps")[0].find("button"),
            current = numbers.map((one) => one.attributes["aria-current"]);
        assert.deepEqual(
            current,
            numbers.map((_, i) => (i + 1 === step ? "step" : undefined)),
        );
        const walk = stage.find("div.walk")[0].find("button");
        assert.deepEqual(
            walk.map(({ attributes }) => "disabled" in attributes),
            [step === 1, step === CHAPTERS],
        );
        [...numbers, ...walk].forEach((one) => one.fire("click"));
        assert.deepEqual(
            steps.splice(0),
            [...numbers.keys()]
                .map((i) => i + 1)
                .concat(step - 1, step + 1)
                .map((step) => [{ step }, "push"]),
        );
    }
});
