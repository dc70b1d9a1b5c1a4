// SPDX-License-Identifier: MIT
// What the chapters of the story say of their answers.
import "./fakes";
import assert from "node:assert/strict";
import test from "node:test";
import type { FakeElement } from "./fakes";
import type { App } from "../../../explorer/src/view";
import { chapters } from "../../../explorer/src/views/story/chapters";

const tensor = (shape: number[], values: number[]) => ({
    dtype: "f32",
    shape,
    data: Float32Array.from(values),
});
const app = (params: Record<string, string> = {}) =>
    ({ state: { params }, link: () => "" }) as unknown as App;
const said = (step: number, answers: object[], length: number, params = {}) =>
    (
        chapters(app(params))[step - 1].draw(answers as never, length) as unknown as FakeElement
    ).textContent.replaceAll("\u202f", "");

test("positions come back where two that are no neighbours are near each other", () => {
    for (const frequency of [0.05, 0.5, 1, 1.9])
        for (const [apart, comesBack] of [
            [1, false],
            [2, true],
            [30, true],
        ] as const)
            for (const sign of [1, -1]) {
                const pair = [100, 100 + sign * apart].map((at) => at * frequency),
                    answer = { table: tensor([2, 3], [0, 0, 0, 1, 1, 1]) },
                    nearest = { positions: { data: pair }, distance: tensor([1], [0.0625]) };
                const words = said(4, [answer, nearest], 200, { frequency: `${frequency}` });
                assert.equal(
                    words.includes("The nearest two are"),
                    comesBack,
                    `${frequency} ${apart}`,
                );
                if (comesBack)
                    assert.match(
                        words,
                        new RegExp(`are 100 and ${100 + sign * apart}, only 0\\.0625 apart`),
                    );
            }
});

test("the last number, the steps, and the hands that never finish are those of the answers", () => {
    assert.match(
        said(1, [{ table: tensor([3, 1], [0, 7, 4321]) }], 3),
        /last word's number is 4321,/,
    );
    const share = [
        [0, 0.25, 1],
        [0, 0.125, 0.5, 1],
    ].map((all) => ({ table: tensor([all.length, 1], all) }));
    assert.match(said(2, share, 3), /next word is 0\.25 here and 0\.125 in a text/);
    const pairs = [{ table: tensor([1, 64], Array(64).fill(0)) }, { never_turn: 5 }];
    assert.match(said(5, pairs, 48), /at this length 5 of 32 hands never finish/);
    // 011 to 100 is the step at which most digits jump; of two such steps the first one.
    const bits = [0, 1, 2, 3, 4, 5].flatMap((i) => [4, 2, 1].map((bit) => Number(!!(i & bit))));
    assert.match(
        said(3, [{ table: tensor([6, 3], bits) }], 6),
        /from 3 to 4 all at once 3 digits jump/,
    );
    assert.match(
        said(3, [{ table: tensor([2, 1], [0, 1]) }], 2),
        /from 0 to 1 all at once 1 digit jumps/,
    );
});

test("what is requested has the length and the numbers of the chapter", () => {
    const asked = (step: number, length: number, params = {}) =>
        chapters(app(params))
            [step - 1].asks(length)
            .map(({ target, json }) => (json ? json : target));
    assert.deepEqual(asked(1, 9), ["/v1/encodings/index/table?length=9"]);
    assert.deepEqual(
        asked(2, 9),
        [9, 18].map((n) => `/v1/encodings/normalized/table?length=${n}`),
    );
    for (const [length, dim] of [
        [2, 1],
        [3, 2],
        [8, 3],
        [9, 4],
        [1024, 10],
    ])
        assert.deepEqual(asked(3, length), [
            `/v1/encodings/binary/table?length=${length}&dim=${dim}`,
        ]);
    assert.deepEqual(asked(4, 9, { frequency: "0.7" }), [
        "/v1/encodings/periodic/table?length=9&dim=3&step=0.7",
        "/v1/encodings/periodic/analysis/uniqueness?length=9&dim=3&step=0.7",
    ]);
    assert.deepEqual(asked(5, 700), [
        "/v1/encodings/sinusoidal/table?length=700&dim=64&pool=mean&rows=512",
        "/v1/encodings/sinusoidal/analysis/wavelengths?dim=64&context=700&format=json",
    ]);
    const [six] = asked(6, 2) as { tensors: Record<string, { shape: number[]; data: number[] }> }[];
    for (const { shape, data } of [six.tensors.q, six.tensors.k])
        assert.deepEqual([shape, data], [[1, 1, 2, 32], Array(64).fill(1)]);
});
