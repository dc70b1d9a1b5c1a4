// SPDX-License-Identifier: MIT
// Axes: the pixel of a value, and the positions of ticks.
import assert from "node:assert/strict";
import test from "node:test";
import { scaleOf, ticksOf } from "../../../explorer/src/kit/scales";
import { random } from "./random";

const close = (one: number, other: number, tolerance = 1e-9) =>
    assert.ok(
        Math.abs(one - other) <= tolerance * Math.max(1, Math.abs(one), Math.abs(other)),
        `${one} and ${other}`,
    );

function lists(seed: number, log: boolean): number[][] {
    const next = random(seed);
    return Array.from({ length: 3 }, () =>
        Array.from({ length: 20 }, () =>
            log ? 10 ** (next() * 12 - 6) : (next() - 0.5) * 10 ** (next() * 8),
        ),
    );
}

for (const log of [false, true])
    for (const roomy of [false, true])
        test(`values map linearly to pixels and back (log ${log}, roomy ${roomy})`, () => {
            for (let seed = 1; seed < 60; seed++) {
                const all = lists(seed, log),
                    scale = scaleOf(all, log, [40, 400], undefined, roomy);
                const way = (value: number) => (log ? Math.log10(value) : value);
                const [low, high] = [scale.low, scale.high].map(way),
                    sorted = all.flat().sort((a, b) => a - b);
                assert.ok(scale.low <= sorted[0]);
                assert.ok(scale.high >= sorted.at(-1)!);
                if (!roomy) {
                    close(scale.at(sorted[0]), 40);
                    close(scale.at(sorted.at(-1)!), 400);
                }
                for (const value of sorted) {
                    close(scale.at(value), 40 + (360 * (way(value) - low)) / (high - low), 1e-6);
                    close(scale.from(scale.at(value)), value, 1e-6);
                }
            }
        });

test("an axis may run upwards, which is downwards in pixels", () => {
    const scale = scaleOf([[0, 10]], false, [300, 20]);
    assert.deepEqual([scale.at(0), scale.at(5), scale.at(10)], [300, 160, 20]);
});

test("values without a place on a logarithmic axis map to NaN and leave the axis as it is", () => {
    const values = [1e-3, 0.1, 10],
        none = [0, -1, -0, NaN, Infinity, -Infinity];
    const plain = scaleOf([values], true, [0, 100]);
    const mixed = scaleOf([[...none, ...values, ...none]], true, [0, 100]);
    for (const value of values) assert.equal(mixed.at(value), plain.at(value));
    for (const value of [0, -0, -1, NaN, -Infinity]) assert.ok(Number.isNaN(mixed.at(value)));
    assert.ok(Number.isFinite(scaleOf([[0, 0]], true, [0, 100]).at(1)));
});

test("a roomy axis adds less than a step at each end, and keeps zero as an end", () => {
    for (let seed = 1; seed < 60; seed++)
        for (const sign of [1, -1]) {
            const values = lists(seed, false)[0].map((one) => sign * Math.abs(one)),
                most = Math.max(...values.map(Math.abs)),
                { low, high } = scaleOf([[0, ...values]], false, [0, 1], undefined, true);
            assert.ok(Math.abs(sign > 0 ? low : high) === 0, `${[low, high]}`);
            assert.ok(high - low >= most && high - low < 1.4 * most, `${[low, high, most]}`);
        }
    for (const value of [0, 3, -3]) {
        const { low, high } = scaleOf([[value]], false, [0, 1], undefined, true);
        assert.ok(low <= value && high >= value && low < high);
    }
});

test("a range that is given overrides the data", () => {
    const scale = scaleOf([[0, 1000]], false, [0, 10], [-0.5, 1.5], true);
    assert.deepEqual([scale.low, scale.high, scale.at(0.5)], [-0.5, 1.5, 5]);
});

for (const log of [false, true])
    test(`ticks are round, inside, in order and apart (log ${log})`, () => {
        for (let seed = 1; seed < 200; seed++) {
            const scale = scaleOf(lists(seed, log), log, [0, 600]),
                ticks = ticksOf(scale, 60);
            assert.ok(ticks.length >= 1);
            ticks.forEach((tick, i) => {
                const pixel = scale.at(tick);
                assert.ok(
                    pixel >= -1e-6 && pixel <= 600 + 1e-6,
                    `${tick} of ${scale.low}..${scale.high}`,
                );
                if (i) assert.ok(pixel - scale.at(ticks[i - 1]) > 59.9);
                assert.ok(
                    tick.toExponential().split("e")[0].replace(/[-.]/g, "").length < 6,
                    `${tick}`,
                );
            });
        }
    });
