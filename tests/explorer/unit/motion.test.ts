// SPDX-License-Identifier: MIT
// The position that moves on the first screen: how fast, how far, where it rests and begins again.
import assert from "node:assert/strict";
import test from "node:test";
import { fake } from "./fakes";
import { motion } from "../../../explorer/src/views/home/motion";

function moving(start = 1, length = 1000, playing = true) {
    const turns: [number, number][] = [],
        rests: number[] = [];
    let next: ((now: number) => void) | undefined,
        now = 1000;
    const own = globalThis as unknown as Record<string, unknown>,
        kept = [own.requestAnimationFrame, own.cancelAnimationFrame, performance.now];
    performance.now = () => now;
    own.requestAnimationFrame = (run: (now: number) => void) => ((next = run), 1);
    own.cancelAnimationFrame = () => (next = undefined);
    const bar = motion(
        start,
        length,
        playing,
        (at, speed) => turns.push([at, speed]),
        (at) => rests.push(at),
    );
    const element = fake(bar.element),
        [button] = element.find("button"),
        [input] = element.find("input"),
        [output] = element.find("output");
    /** Frames of so many milliseconds, until the last or until it stops. */
    const frames = (count: number, ms = 20) => {
        for (let i = 0; i < count && next; i++) {
            const run = next;
            next = undefined;
            run((now += ms));
        }
    };
    return {
        bar,
        button,
        input,
        output,
        turns,
        rests,
        frames,
        at: () => turns.at(-1)![0],
        isMoving: () => !!next,
        end() {
            [own.requestAnimationFrame, own.cancelAnimationFrame] = kept;
            performance.now = kept[2] as typeof performance.now;
        },
    };
}

test("a decade takes four seconds, and the first positions are six a second", () => {
    const { frames, at, turns, end } = moving(1, 1e6);
    frames(1);
    const begin = at();
    frames(10);
    assert.ok(Math.abs(at() - begin - 6 * 0.2) < 1e-9, `${at() - begin}`);
    for (const [from, to] of turns.slice(2).map(([now], i) => [turns[i + 1][0], now]))
        assert.ok(to > from);
    while (at() < 100) frames(1);
    const hundred = at();
    frames(200);
    assert.ok(Math.abs(at() / hundred - 10) < 0.3, `${at() / hundred}`);
    // What a hand turns by is known with each position.
    turns
        .slice(1)
        .forEach(([now, speed], i) => assert.ok(Math.abs(now - turns[i][0] - speed) < 1e-9));
    // A frame that took long is no leap.
    const before = at();
    frames(1, 5000);
    assert.ok(Math.abs(at() - before - before * (Math.LN10 / 4) * 0.1) < 1e-6);
    end();
});

test("at the end of the context it rests for a while, and begins again at 1", () => {
    const { frames, at, turns, output, end } = moving(990, 1000);
    frames(40);
    assert.equal(at(), 1000);
    const resting = turns.filter(([position]) => position === 1000).length;
    frames(200);
    const back = turns.findIndex(([position], i) => i && position < turns[i - 1][0]);
    const rested = turns.slice(0, back).filter(([position]) => position === 1000).length;
    assert.ok(turns[back][0] < 2 && resting > 0 && rested === 1, "no turn is made meanwhile");
    assert.equal(output.textContent.replace("\u202f", ""), `${Math.round(at())}`);
    end();
});

test("at a shorter context it stands at its end, at a longer one where it was", () => {
    const { bar, frames, at, input, output, turns, end } = moving(500, 1000);
    bar.context(100);
    assert.deepEqual(
        [+input.value, +input.max].map((one) => Math.round(2 ** one)),
        [100, 100],
    );
    assert.equal(output.textContent, "100");
    bar.context(100000);
    frames(1);
    assert.ok(at() >= 100 && at() < 130, `${at()}`);
    bar.context(2000);
    assert.ok(turns.every(([position]) => position <= 500));
    assert.equal(Math.round(2 ** +input.max), 2000);
    end();
});

test("the button stops it where it is, and has it go on", () => {
    const { button, frames, at, rests, turns, isMoving, bar, end } = moving(10, 1000);
    const look = () => [button.textContent, button.attributes["aria-label"]];
    assert.deepEqual(look(), ["❚❚", "stop the hands"]);
    frames(5);
    button.fire("click");
    assert.deepEqual([look(), isMoving()], [["▶", "turn the hands"], false]);
    assert.deepEqual([rests, turns.at(-1)![1]], [[at()], 0]);
    const rest = at();
    button.fire("click");
    frames(2);
    assert.ok(at() > rest && at() < rest + 20 && look()[0] === "❚❚");
    bar.leave();
    assert.ok(!isMoving());
    end();
});

test("a slider that is moved stops it there", () => {
    const { input, rests, turns, isMoving, end } = moving(10, 1000);
    input.value = `${Math.log2(700)}`;
    input.fire("input");
    assert.deepEqual([rests, turns.at(-1), isMoving()], [[700], [700, 0], false]);
    const still = moving(7, 1000, false);
    assert.deepEqual(
        [still.turns, still.isMoving(), still.button.textContent],
        [[[7, 0]], false, "▶"],
    );
    still.end();
    end();
});
