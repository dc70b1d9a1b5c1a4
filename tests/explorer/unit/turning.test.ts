// SPDX-License-Identifier: MIT
// Hands over their axis, and dials: what turns, what is pointed at, what is said of it.
import assert from "node:assert/strict";
import test from "node:test";
import { fake, resized } from "./fakes";
import { dials, handLegend } from "../../../explorer/src/kit/dials";
import { hands, said } from "../../../explorer/src/kit/hands";
import type { Hand } from "../../../explorer/src/kit/hands_layout";

const HANDS: Hand[] = Array.from({ length: 16 }, (_, i) => {
    const before = 7 * 4 ** i,
        wavelength = i < 8 ? before : 3 * before;
    return { frequency: (2 * Math.PI) / wavelength, wavelength, before };
});

function drawn(width = 900) {
    const own = hands(),
        element = fake(own.element);
    element.clientWidth = width;
    own.set(HANDS, ["before", "now"]);
    own.context(1000);
    const svg = element.find("svg")[0],
        tip = element.find("div.tip")[0];
    const groups = () => svg.find("g.hand");
    const place = (i: number) =>
        /translate\((\S+) (\S+)\)/.exec(groups()[i].attributes.transform)!.slice(1).map(Number);
    return { own, element, svg, tip, groups, place };
}

test("each hand has the angle of its position", () => {
    const { own, groups } = drawn();
    for (const position of [0, 3, 10, 12345]) {
        own.turn(position, 0);
        groups().forEach((one, i) => {
            const shown = +/rotate\((.*)\)/.exec(one.find("line")[0].attributes.transform)![1];
            const turns = (position / HANDS[i].wavelength) % 1;
            assert.ok(Math.abs(shown - 360 * turns) < 0.06, `${i} at ${position}: ${shown}`);
        });
    }
});

test("a hand that is too fast to be seen is blurred, and stays where it was", () => {
    const { own, groups } = drawn();
    own.turn(1, 0);
    const before = groups().map((one) => one.find("line")[0].attributes.transform);
    own.turn(50, 6);
    groups().forEach((one, i) => {
        const fast = HANDS[i].frequency * 6 > 1.2;
        assert.equal(one.classList.contains("fast"), fast, `${i}`);
        if (fast) assert.equal(one.find("line")[0].attributes.transform, before[i], `${i}`);
    });
    own.turn(50, -6);
    assert.ok(groups()[0].classList.contains("fast"));
    own.turn(50, 0);
    assert.ok(!groups().some((one) => one.classList.contains("fast")));
});

test("each hand is blurred from the speed on at which it turns by more than 1.2 radians", () => {
    const { own, groups } = drawn();
    for (const [i, { frequency }] of HANDS.entries())
        for (const [share, isFast] of [
            [0.97, false],
            [1.03, true],
            [0.97, false],
        ] as const) {
            own.turn(50, (share * 1.2) / frequency);
            assert.equal(groups()[i].classList.contains("fast"), isFast, `${i} ${share}`);
        }
});

test("a hand is within the reach of its circle and 8 pixels around it, and no further", () => {
    const { svg, groups, place } = drawn();
    svg.box = { left: 0, top: 0, width: 900, height: 300 };
    const radius = groups()[0].find("circle")[0].number("r"),
        last = HANDS.length - 1,
        [x, y] = place(last);
    const isHere = () => groups()[last].classList.contains("here");
    for (const [dx, dy] of [
        [1, 0],
        [0, 1],
        [0, -1],
    ])
        for (const [far, expected] of [
            [radius + 7.9, true],
            [radius + 8.1, false],
        ] as const) {
            svg.fire("pointermove", { clientX: x + dx * far, clientY: y + dy * far });
            assert.equal(isHere(), expected, `${dx} ${dy} ${far}`);
        }
});

test("hands that do not turn once in the context are still; slowed ones are named", () => {
    const { own, groups } = drawn();
    for (const length of [100, 50000]) {
        own.context(length);
        groups().forEach((one, i) => {
            assert.equal(one.classList.contains("still"), HANDS[i].wavelength > length);
            assert.equal(one.classList.contains("slow"), i >= 8);
            assert.equal(one.classList.contains("turn"), i < 8);
        });
    }
});

test("keys go from hand to hand, to both ends, and no further", () => {
    const { element, groups, tip } = drawn();
    const press = (key: string) => element.fire("keydown", { key });
    const at = () => groups().findIndex((one) => one.classList.contains("here"));
    assert.equal(tip.hidden === (false as boolean), false);
    for (const [key, expected] of [
        ["Home", 0],
        ["ArrowRight", 1],
        ["ArrowUp", 2],
        ["ArrowLeft", 1],
        ["ArrowDown", 0],
        ["ArrowDown", 0],
        ["PageUp", 10],
        ["PageDown", 0],
        ["End", 15],
        ["ArrowRight", 15],
        ["PageDown", 5],
    ] as const) {
        assert.ok(press(key));
        assert.equal(at(), expected, key);
        assert.equal(element.attributes["aria-valuenow"], `${expected}`);
        assert.equal(groups().filter((one) => one.classList.contains("here")).length, 1);
    }
    assert.equal(press("x"), false);
    assert.equal(tip.hidden, false);
    element.fire("blur");
    assert.deepEqual([at(), tip.hidden], [-1, true]);
});

test("the hand that is nearest to the pointer is pointed at, within its reach", () => {
    const { svg, groups, tip, place, element } = drawn();
    svg.box = { left: 30, top: 50, width: 900, height: 300 };
    const radius = groups()[0].find("circle")[0].number("r");
    for (const type of ["pointermove", "pointerdown"])
        for (const i of [0, 5, 15]) {
            const [x, y] = place(i);
            svg.fire(type, { clientX: 30 + x + 2, clientY: 50 + y - 2 });
            assert.ok(groups()[i].classList.contains("here"), `${i}`);
            assert.equal(element.attributes["aria-valuenow"], `${i}`);
            assert.equal(tip.style.top, `${y - radius - 8}px`);
            assert.equal(tip.style.left, `${Math.max(50, Math.min(850, x))}px`);
            svg.fire(type, { clientX: 30 + x, clientY: 50 + 290 });
            assert.ok(!groups().some((one) => one.classList.contains("here")) && tip.hidden);
        }
    svg.fire("pointermove", { clientX: 30 + place(3)[0], clientY: 50 + place(3)[1] });
    svg.fire("pointerleave");
    assert.ok(tip.hidden);
});

test("what is said of a hand has its pair, its wavelength, its turns and its angle", () => {
    assert.deepEqual(said(HANDS[0], 0, 70, 9), [
        "pair 0",
        "one turn in 7 positions",
        "10 turns in the context",
        "at 9: 103°",
    ]);
    assert.deepEqual(said(HANDS[9], 9, 1000, 0).slice(1, 3), [
        `one turn in 5\u202f505\u202f024 positions`,
        `as trained: 1\u202f835\u202f008`,
    ]);
    const never = { frequency: 0, wavelength: Infinity, before: Infinity };
    assert.deepEqual(said(never, 3, 100, 5), [
        "pair 3",
        "does not turn",
        "0 turns in the context",
        "at 5: 0°",
    ]);
});

test("other hands and another width are drawn anew", () => {
    const { own, element, groups, svg } = drawn();
    element.fire("keydown", { key: "End" });
    own.set(HANDS.slice(0, 4), ["a", "b"]);
    assert.deepEqual([groups().length, element.attributes["aria-valuemax"]], [4, "3"]);
    assert.ok(element.attributes["aria-label"].startsWith("4 "));
    assert.equal(element.attributes["aria-valuenow"], "3");
    element.clientWidth = 400;
    resized.at(-1)!();
    assert.ok(svg.attributes.viewBox.startsWith("0 0 400 "));
    assert.equal(svg.attributes.height, svg.attributes.viewBox.split(" ")[3]);
});

// ---- dials --------------------------------------------------------------------------------------

const unit = (degrees: number) => [Math.cos, Math.sin].map((f) => f((degrees / 180) * Math.PI));

function dialed(query: number[], key: number[]) {
    const turns: [string, number][] = [];
    const own = dials((which, by) => turns.push([which, +by.toFixed(6)])),
        element = fake(own.element);
    own.draw(query.flatMap(unit), key.flatMap(unit));
    const hand = (pair: number, which: string) =>
        element
            .find("svg.dial")
            [pair].find("g.hand")
            .find((one) => one.dataset.hand === which)!;
    return { own, element, hand, turns };
}

test("hands of a dial point where the vector does, counter-clockwise", () => {
    const { hand, element, own } = dialed([0, 90, -135], [45, 180, 10]);
    for (const [which, all] of [
        ["q", [0, 90, -135]],
        ["k", [45, 180, 10]],
    ] as const)
        all.forEach((degrees, pair) => {
            const one = hand(pair, which),
                [x, y] = unit(degrees).map((part) => 90 * part);
            const [line] = one.find("line");
            assert.ok(Math.abs(line.number("x2") - x) < 1e-9);
            assert.ok(Math.abs(line.number("y2") + y) < 1e-9);
            for (const circle of one.find("circle")) {
                assert.equal(circle.attributes.cx, line.attributes.x2);
                assert.equal(circle.attributes.cy, line.attributes.y2);
            }
            assert.equal(one.attributes["aria-valuenow"], `${degrees}`);
            assert.equal(one.attributes["aria-valuetext"], `${degrees}°`);
            assert.equal(
                one.attributes["aria-label"].startsWith(which === "q" ? "query" : "key"),
                true,
            );
            assert.equal("stroke-dasharray" in line.attributes, which === "k");
        });
    const figures = element.find("figure");
    assert.deepEqual(
        figures.map((one) => one.find("figcaption")[0].textContent),
        ["pair 0", "pair 1", "pair 2"],
    );
    own.draw(unit(0), unit(0));
    assert.equal(element.find("figure").length, 1);
    const [q, k] = fake(handLegend()).find("li");
    assert.ok(q.textContent.startsWith("query") && k.textContent.startsWith("key"));
    assert.ok(k.find("i")[0].classList.contains("dashed"));
});

test("the arc goes from the key to the query the shorter way", () => {
    for (const [q, k] of [
        [30, 80],
        [80, 30],
        [170, -170],
        [-100, 20],
    ]) {
        const { element } = dialed([q], [k]);
        const { d } = element.find("path.between")[0].attributes;
        const [, x, y, large, sweep, toX, toY] = /^M(\S+) (\S+)A34 34 0 (\d) (\d) (\S+) (\S+)$/
            .exec(d)!
            .map(Number);
        for (const [px, py, degrees] of [
            [x, y, k],
            [toX, toY, q],
        ]) {
            const [ux, uy] = unit(degrees);
            assert.ok(Math.hypot(px - 34 * ux, py + 34 * uy) < 1e-9, d);
        }
        const way = ((q - k + 540) % 360) - 180; // counter-clockwise: above zero
        assert.deepEqual([large, sweep], [0, way > 0 ? 0 : 1], `${q} ${k}`);
    }
});

test("a hand is dragged by the angle that the pointer goes, and by keys", () => {
    const { element, hand, turns } = dialed([0, 0], [90, 90]);
    element.find("svg.dial")[1].box = { left: 100, top: 200, width: 220, height: 220 };
    const at = (degrees: number) => {
        const [x, y] = unit(degrees);
        return { clientX: 210 + 80 * x, clientY: 310 - 80 * y };
    };
    const query = hand(1, "q"),
        key = hand(1, "k");
    query.fire("pointermove", at(50));
    query.fire("pointerdown", at(10));
    query.fire("pointermove", at(40));
    key.fire("pointermove", at(70));
    query.fire("pointermove", at(25));
    query.fire("pointerup", at(25));
    query.fire("pointermove", at(90));
    assert.deepEqual(turns.splice(0), [
        ["q", 30],
        ["q", -15],
    ]);
    assert.deepEqual(query.captured, [1]);
    for (const [name, by] of [
        ["ArrowLeft", 5],
        ["ArrowUp", 5],
        ["ArrowRight", -5],
        ["ArrowDown", -5],
    ] as const) {
        assert.ok(key.fire("keydown", { key: name }));
        assert.deepEqual(turns.splice(0), [["k", by]]);
    }
    assert.equal(key.fire("keydown", { key: "Enter" }), false);
});
