// SPDX-License-Identifier: MIT
// Controls: what they show, what they say when they are changed, and where the focus stays.
import assert from "node:assert/strict";
import test from "node:test";
import { fake, FakeElement } from "./fakes";
import { choice, of, renew, select, slider, type Range } from "../../../explorer/src/kit/controls";
import { play } from "../../../explorer/src/kit/play";
import { languageSet } from "../../../explorer/src/words";

function moved(more: Partial<Range> = {}) {
    const values: number[] = [];
    const own = slider({
        label: "length",
        min: 1,
        max: 1000,
        value: 64,
        show: (value) => `<${value}>`,
        change: (value) => values.push(value),
        ...more,
    });
    const [input] = fake(own).find("input"),
        [output] = fake(own).find("output");
    const set = (value: number) => {
        input.value = `${value}`;
        input.fire("input");
    };
    return { own, input, output, values, set };
}

test("a slider shows its value, and says the one that it is moved to", () => {
    const { own, input, output, values, set } = moved();
    assert.deepEqual(
        ["min", "max", "step", "value"].map((name) => input.attributes[name]),
        ["1", "1000", "1", "64"],
    );
    assert.equal(input.attributes["aria-label"], "length");
    assert.deepEqual([output.textContent, input.attributes["aria-valuetext"]], ["<64>", "<64>"]);
    set(100);
    assert.deepEqual([values, output.textContent], [[100], "<100>"]);
    own.move(7, 50);
    assert.deepEqual([values, output.textContent], [[100], "<7>"]);
    assert.deepEqual(
        [input.value, input.max, input.attributes["aria-valuetext"]],
        ["7", "50", "<7>"],
    );
    assert.equal(input.fire("keydown", { key: "ArrowRight" }), false, "left to the browser");
    assert.equal(moved({ step: 5 }).input.attributes.step, "5");
});

test("a slider over powers moves by a fiftieth, and by one at least", () => {
    const { own, input, output, values, set } = moved({ log: true });
    assert.equal(input.attributes.step, "any");
    assert.equal(+input.attributes.value, 6);
    assert.equal(+input.attributes.min, 0);
    assert.equal(+input.attributes.max, Math.log2(1000));
    set(7.2);
    assert.deepEqual([values.splice(0), output.textContent], [[147], "<147>"]);
    for (const [from, key, expected] of [
        [500, "ArrowRight", 510],
        [500, "ArrowUp", 510],
        [500, "ArrowLeft", 490],
        [500, "ArrowDown", 490],
        [10, "ArrowRight", 11],
        [1, "ArrowLeft", 1],
        [1000, "ArrowRight", 1000],
    ] as const) {
        own.move(from);
        assert.ok(input.fire("keydown", { key }));
        assert.deepEqual(values.splice(0), [expected], `${from} ${key}`);
        assert.deepEqual([2 ** +input.value, output.textContent].map(String)[1], `<${expected}>`);
        assert.ok(Math.abs(2 ** +input.value - expected) < 1e-6);
    }
    own.move(30, 32);
    input.fire("keydown", { key: "ArrowRight" });
    input.fire("keydown", { key: "ArrowRight" });
    input.fire("keydown", { key: "ArrowRight" });
    assert.deepEqual(values.splice(0), [31, 32, 32]);
    assert.equal(input.fire("keydown", { key: "Home" }), false);
});

test("of a few buttons the chosen one is pressed", () => {
    const chosen: string[] = [];
    const buttons = fake(
        choice("kind", { a: "A", b: "B", c: "C" }, "b", (one) => chosen.push(one)),
    );
    const pressed = () =>
        buttons
            .find("button")
            .filter((one) => one.attributes["aria-pressed"] === "true")
            .map((one) => one.textContent);
    assert.deepEqual(pressed(), ["B"]);
    assert.equal(buttons.attributes["aria-label"], "kind");
    buttons.find("button")[2].fire("click");
    assert.deepEqual([pressed(), chosen], [["C"], ["c"]]);
});

test("of a list the chosen value is said", () => {
    const chosen: string[] = [];
    const label = fake(select("kind", { a: "A", b: "B" }, "b", (one) => chosen.push(one))),
        [list] = label.find("select");
    assert.equal(list.value, "b");
    assert.deepEqual(
        label.find("option").map((one) => [one.attributes.value, one.textContent]),
        [
            ["a", "A"],
            ["b", "B"],
        ],
    );
    list.value = "a";
    list.fire("change");
    assert.deepEqual(chosen, ["a"]);
    assert.equal(fake(of("dim", label as never)).dataset.name, "dim");
});

test("the focus stays at its place where controls are put anew", () => {
    const box = new FakeElement("div"),
        focused: string[] = [];
    const make = (round: string) =>
        ["a", "b", "c"].map((name) =>
            Object.assign(new FakeElement("input"), { focus: () => focused.push(name + round) }),
        );
    const put = (all: FakeElement[]) => renew(box as never, () => all as never);
    Object.assign(box, { querySelectorAll: () => box.find("input") });
    const own = document as unknown as { activeElement: unknown };
    const first = make("1");
    put(first);
    assert.deepEqual([box.children, focused], [first, []]);
    own.activeElement = Object.assign(first[1], { matches: () => false });
    put(make("2"));
    assert.deepEqual(focused, ["b2"]);
    const sliding = Object.assign(box.children[2] as FakeElement, {
        matches: (what: string) => what === "[type=range]",
    });
    own.activeElement = sliding;
    put(make("3"));
    assert.ok(box.children.includes(sliding), "a slider that moves stays");
    own.activeElement = null;
    put(make("4"));
    assert.ok(!box.children.includes(sliding) && focused.length === 1);
});

test("a player steps until it is pressed again", (context) => {
    context.mock.timers.enable({ apis: ["setInterval"] });
    let steps = 0;
    const { element, stop } = play("positions", () => steps++, 10),
        [button] = fake(element).find("button");
    const look = () => [button.textContent, button.attributes["aria-label"]];
    assert.deepEqual(look(), ["▶", "play: positions"]);
    button.fire("click");
    assert.deepEqual(look(), ["❚❚", "stop: positions"]);
    context.mock.timers.tick(1000);
    assert.equal(steps, 10);
    button.fire("click");
    context.mock.timers.tick(1000);
    assert.deepEqual([steps, ...look()], [10, "▶", "play: positions"]);
    button.fire("click");
    stop();
    context.mock.timers.tick(1000);
    assert.equal(steps, 10);
    languageSet("zh-CN");
    assert.ok(
        fake(play("x", () => {}).element)
            .find("button")[0]
            .attributes["aria-label"].includes("播放"),
    );
    languageSet("en");
});
