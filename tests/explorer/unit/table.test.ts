// SPDX-License-Identifier: MIT
// The numbers of a picture, and what a cell of it stands for.
import { fake, FakeElement } from "./fakes";
import assert from "node:assert/strict";
import test from "node:test";
import type { App } from "../../../explorer/src/view";
import { lines } from "../../../explorer/src/views/table/lines";
import { ends, picture } from "../../../explorer/src/views/table/picture";
import { cell, isMany, type Seen } from "../../../explorer/src/views/table/seen";
import {
    positionsOf,
    type Entry,
    type Request,
    type Source,
    type Span,
} from "../../../explorer/src/views/table/source";
import { place, wave } from "../../../explorer/src/views/table/words";
import { random } from "./random";

const source = (operation: string, more: Partial<Source> = {}): Source => ({
    entry: { name: "sinusoidal" } as Entry,
    operation: { name: operation } as Source["operation"],
    params: {},
    most: 9,
    ...more,
});
const request = (cut: boolean) => ({ cut }) as Request;

/** A value that says where it is. */
const tensor = (...shape: number[]) => ({
    dtype: "f32",
    shape,
    data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => i),
});

test("a picture has the rows and columns that are seen, row by row", () => {
    const next = random(11);
    for (let i = 0; i < 200; i++) {
        const height = 1 + Math.floor(next() * 12),
            width = 1 + Math.floor(next() * 9);
        const part = (count: number): Span => {
            const from = Math.floor(next() * count);
            return [from, from + 1 + Math.floor(next() * (count - from))];
        };
        const rows = part(height),
            columns = part(width);
        const all = picture(
            source("table", { rows: height }),
            request(true),
            { table: tensor(height, width) as never },
            rows,
            columns,
            0,
        );
        assert.deepEqual([all.rows, all.columns], [rows[1] - rows[0], columns[1] - columns[0]]);
        assert.deepEqual([all.down, all.across], [rows, columns]);
        for (let row = 0; row < all.rows; row++)
            for (let column = 0; column < all.columns; column++)
                assert.equal(
                    all.layers[0].values[row * all.columns + column],
                    (rows[0] + row) * width + columns[0] + column,
                );
    }
});

test("of a bias one head is seen, and each of them is another", () => {
    for (let head = 0; head < 3; head++) {
        const all = picture(
            source("bias", { rows: 2, columns: 4 }),
            request(false),
            { bias: tensor(3, 2, 4) as never },
            null,
            null,
            head,
        );
        assert.deepEqual([all.heads, all.rows, all.columns], [3, 2, 4]);
        assert.deepEqual(
            [...(all.layers[0].values as Float32Array)],
            Array.from({ length: 8 }, (_, i) => head * 8 + i),
        );
    }
});

test("bytes stand for numbers", () => {
    const answer = {
        scale: 0.5,
        offset: -2,
        tensors: { table: { shape: [1, 3], base64: btoa("\x00\x04\xff") } },
    };
    const all = picture(source("table"), request(false), answer, null, null, 0);
    assert.deepEqual([...(all.layers[0].values as Float32Array)], [-2, 0, 125.5]);
});

test("ends of colours hold every number, alike on both sides of zero", () => {
    const of = (values: number[], signed = false) =>
        ends({ layers: [{ name: "", values }] } as never, signed);
    assert.deepEqual(of([-0.2, 0.9]), [-1, 1]);
    assert.deepEqual(of([-7, 2]), [-7, 7]);
    assert.deepEqual(of([0.1, 0.9]), [0, 1]);
    assert.deepEqual(of([3, 9]), [3, 9]);
    assert.deepEqual(of([-9, -3]), [-9, -3]);
    assert.deepEqual(of([0.1, 0.9], true), [-1, 1]);
    assert.deepEqual(of([-Infinity, -3, -1, NaN]), [-3, -1], "masked");
    assert.deepEqual(of([-Infinity, -Infinity]), [0, 1]);
});

test("cells stand for parts that cover the whole, each of them once at least", () => {
    for (const [count, rows] of [
        [100, 7],
        [512, 512],
        [5, 5],
        [1000, 333],
    ]) {
        const seen = {
            picture: { down: [3, 3 + count], across: [0, 1], rows, columns: 1 },
        } as Seen;
        let last = 3;
        for (let row = 0; row < rows; row++) {
            const at = cell(seen, row, 0);
            assert.ok(at.down[0] <= last && at.down[1] > at.down[0]);
            assert.equal(isMany(at), at.down[1] - at.down[0] > 1);
            // All that it has a part of, and no other.
            const first = Math.floor((row * count) / rows),
                end = Math.ceil(((row + 1) * count) / rows);
            assert.deepEqual(at.down, [3 + first, 3 + end]);
            last = at.down[1];
        }
        assert.equal(last, 3 + count);
    }
});

test("rows stand at their positions", () => {
    const params = {
        start: "10",
        step: "2",
        length: "5",
        query_start: "7",
        max_relative_position: "3",
    };
    const named = (name: string, operation = "table") =>
        source(operation, { params, entry: { name } as Entry });
    assert.equal(place(named("sinusoidal"), 3), 16);
    assert.equal(place(named("transformer-xl"), 0), 4);
    assert.equal(place(named("shaw"), 0), -3);
    assert.equal(place(named("alibi", "bias"), 2), 9);
    for (const [start, step, row, position] of [
        ["-0.3", "0.1", 3, 0],
        ["-0.7", "0.1", 7, 0],
        ["0.5", "0.25", 4, 1.5],
        ["-3", "1.5", 1, -1.5],
        ["0", "0.001", 1, 0.001],
    ] as const)
        assert.equal(
            place(
                source("table", { params: { start, step }, entry: { name: "rope" } as Entry }),
                row,
            ),
            position,
        );
});

test("a column of an interleaved or concatenated table is the sine or cosine of its pair", () => {
    const of = (layout: string, column: number) =>
        wave(source("table", { params: { dim: "8", layout } }), "table", column);
    assert.deepEqual(
        [0, 1, 6, 7].map((one) => of("interleaved", one)),
        [
            { fn: "sin", pair: 0 },
            { fn: "cos", pair: 0 },
            { fn: "sin", pair: 3 },
            { fn: "cos", pair: 3 },
        ],
    );
    assert.deepEqual(
        [0, 3, 4, 7].map((one) => of("concatenated", one)),
        [
            { fn: "sin", pair: 0 },
            { fn: "sin", pair: 3 },
            { fn: "cos", pair: 0 },
            { fn: "cos", pair: 3 },
        ],
    );
});

test("a posted table has as many positions as its encoding makes of it", () => {
    const learned = { name: "learned" } as Entry;
    assert.equal(positionsOf({ name: "hierarchical" } as Entry, {}, 12), 144);
    assert.equal(positionsOf(learned, {}, 12), 12);
    assert.equal(positionsOf(learned, { grid: "3,4", to: "5,6" }, 12), 30);
    assert.equal(positionsOf(learned, { grid: "3,4", to: "2,2", prefix: "1" }, 13), 5);
    assert.equal(positionsOf(learned, { grid: "3,4", to: "5," }, 12), 12);
});

/** Of a chart: the value of each curve at each of its points, by the x of the point. */
function curvesOf(box: FakeElement): Map<string, string> {
    const [plot] = box.find("div.curves"),
        found = new Map<string, string>();
    plot.fire("keydown", { key: "ArrowLeft" }); // to the first point
    for (let before = ""; plot.dataset.index !== before;) {
        before = plot.dataset.index;
        found.set(box.find("p.cell")[0].textContent.split(" ").at(-1)!, plot.dataset.values);
        plot.fire("keydown", { key: "ArrowRight" });
    }
    return found;
}

test("curves of rows and columns have the numbers of the whole, whichever part is seen", () => {
    const next = random(5),
        height = 24,
        width = 16;
    for (let i = 0; i < 30; i++) {
        const part = (count: number): Span => {
            const from = Math.floor(next() * (count - 4));
            return [from, from + 4 + Math.floor(next() * (count - from - 4))];
        };
        const down = part(height),
            across = part(width),
            row = down[0] + Math.floor(next() * (down[1] - down[0])),
            column = across[0] + Math.floor(next() * (across[1] - across[0]));
        const whole = source("table", { rows: height, columns: width });
        const params = { plot_rows: `${row},${height}`, plot_columns: `${column},${width}` };
        const charts = lines({ state: { params } } as unknown as App),
            boxes = charts.elements.map(fake);
        for (const box of boxes)
            Object.assign(box.find("div.curves")[0], { clientWidth: 500, clientHeight: 300 });
        const seen = picture(
            whole,
            request(true),
            { table: tensor(height, width) as never },
            down,
            across,
            0,
        );
        charts.draw(whole, seen, "");
        const [ofColumns, ofRows] = boxes.map(curvesOf);
        const from = ([begin, end]: Span) =>
            Array.from({ length: end - begin }, (_, k) => begin + k);
        assert.deepEqual(
            [...ofRows],
            from(across).map((at) => [`${at}`, `${row * width + at}`]),
        );
        assert.deepEqual(
            [...ofColumns],
            from(down).map((at) => [`${at}`, `${at * width + column}`]),
        );
        charts.leave();
    }
});

test("a picked row is named by its position, and positions run from left to right", () => {
    for (const [params, name, positions, places] of [
        [{ start: "10", step: "2" }, "sinusoidal", ["position 14"], [10, 12, 14, 16]],
        [{ start: "10", step: "-2" }, "sinusoidal", ["position 6"], [4, 6, 8, 10]],
        [{ start: "-9", step: "3" }, "sinusoidal", ["position \u22123"], [-9, -6, -3, 0]],
        [{ length: "4" }, "transformer-xl", ["distance 1"], [0, 1, 2, 3]],
        [{ max_relative_position: "2" }, "shaw", ["distance 0"], [-2, -1, 0, 1]],
    ] as [Record<string, string>, string, string[], number[]][]) {
        const own = source("table", { params, rows: 4, columns: 3, entry: { name } as Entry });
        const gone: unknown[] = [],
            app = {
                state: { params: { plot_rows: "2", plot_columns: "1" } },
                go: (...all: unknown[]) => gone.push(all),
            } as unknown as App;
        const charts = lines(app),
            boxes = charts.elements.map(fake);
        for (const box of boxes)
            Object.assign(box.find("div.curves")[0], { clientWidth: 500, clientHeight: 300 });
        const seen = picture(own, request(false), { table: tensor(4, 3) as never }, null, null, 0);
        charts.draw(own, seen, "the note");
        const chips = boxes[1].find("button.chip").filter(({ attributes }) => attributes.title);
        assert.deepEqual(
            chips.map(({ textContent }) => textContent),
            positions.map((one) => `${one} \u2715`),
        );
        chips[0].fire("click");
        assert.deepEqual(gone, [[{ plot_rows: undefined }, "push"]]);
        assert.ok(boxes[1].find("div.picked")[0].textContent.endsWith("the note"));
        const found = [...curvesOf(boxes[0])].map(([at, value]) => [
            +at.replace("\u2212", "-"),
            +value,
        ]);
        assert.deepEqual(
            found.map(([at]) => at),
            places,
            name,
        );
        // Each value is still that of its own row.
        const rows = found.map(([, value]) => (value - 1) / 3);
        assert.deepEqual(
            rows.map((row) => place(own, row)),
            places,
            name,
        );
        charts.leave();
    }
});
