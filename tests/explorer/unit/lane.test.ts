// SPDX-License-Identifier: MIT
// Requests of a slider: what is drawn is the last answer, and requests that were ended are no
// failures.
import "./fakes";
import assert from "node:assert/strict";
import test from "node:test";
import { Lane } from "../../../explorer/src/api";

const wait = (ms: number, signal?: AbortSignal) =>
    new Promise<void>((done, failed) => {
        const timer = setTimeout(done, ms);
        signal?.addEventListener("abort", () => {
            clearTimeout(timer);
            failed(signal.reason);
        });
    });

function watched() {
    const lane = new Lane(),
        drawn: number[] = [],
        failed: unknown[] = [];
    const run = (value: number, ms: number, wrong?: Error) =>
        lane.run(
            async (signal) => {
                await wait(ms, signal);
                if (wrong) throw wrong;
                return value;
            },
            (one) => drawn.push(one),
            (error) => failed.push(error),
        );
    return { lane, drawn, failed, run };
}

test("of jobs that come quickly the last one is drawn, and none is a failure", async () => {
    const { drawn, failed, run } = watched();
    for (let i = 0; i < 20; i++) {
        run(i, 60);
        await wait(15);
    }
    await wait(300);
    assert.equal(drawn.at(-1), 19);
    assert.ok(drawn.length < 20 && drawn.every((one, i) => !i || one > drawn[i - 1]));
    assert.deepEqual(failed, []);
});

test("a job that takes long is ended by the next one, silently", async () => {
    const { drawn, failed, run } = watched();
    run(1, 5000);
    await wait(150);
    run(2, 5);
    await wait(100);
    assert.deepEqual([drawn, failed], [[2], []]);
});

test("another choice ends a job at once, and a lane that stops draws nothing", async () => {
    const { lane, drawn, failed, run } = watched();
    run(1, 50);
    Lane.choices++;
    run(2, 5);
    await wait(30);
    assert.deepEqual(drawn, [2]);
    run(3, 20);
    lane.stop();
    await wait(60);
    assert.deepEqual([drawn, failed], [[2], []]);
});

test("the answer of a job that was ended is not drawn, though it came", async () => {
    const { lane, drawn, failed } = watched();
    const deaf = (value: number, ms: number) =>
        lane.run(
            async () => {
                await wait(ms);
                return value;
            },
            (one) => drawn.push(one),
            (error) => failed.push(error),
        );
    deaf(1, 60);
    Lane.choices++;
    deaf(2, 5);
    await wait(120);
    assert.deepEqual([drawn, failed], [[2], []]);
});

test("a failure is one, and the next job runs", async () => {
    const { drawn, failed, run } = watched(),
        error = new Error("refused");
    run(1, 5, error);
    await wait(30);
    run(2, 5);
    await wait(30);
    assert.deepEqual([drawn, failed], [[2], [error]]);
});

test("each job that takes long is ended by the one behind it, however often", async () => {
    const { drawn, failed, run } = watched();
    for (let i = 0; i < 3; i++) {
        run(2 * i, 5);
        run(2 * i + 1, 5); // waits, and begins when the first one is done
        await wait(60);
        run(100, 5000);
        run(101 + i, 5); // ends the long one after a while
        await wait(250);
        assert.equal(drawn.at(-1), 101 + i);
    }
    assert.deepEqual(failed, []);
});
