// SPDX-License-Identifier: MIT
// Heat maps: what is drawn where, and what pointers and keys choose.
import assert from "node:assert/strict";
import test from "node:test";
import { fake, resized, type Call } from "./fakes";
import { heatmap, type Heat, type Part } from "../../../explorer/src/kit/heatmap";
import { random } from "./random";
import { shades } from "../../../explorer/src/kit/palette";

const ROWS = 20,
    COLUMNS = 10;

const heat = (more: Partial<Heat> = {}): Heat => ({
    rows: ROWS,
    columns: COLUMNS,
    values: Float64Array.from({ length: ROWS * COLUMNS }, (_, i) => i),
    low: -5,
    high: 300,
    palette: "viridis",
    rowName: "the row",
    columnName: "the column",
    valueName: "the value",
    rowAt: (row) => 100 + row,
    columnAt: (column) => 3 * column,
    label: "a picture",
    ...more,
});

function drawn(next: Heat, width = 800, height = 452) {
    const over: unknown[][] = [],
        chosen: unknown[][] = [],
        brushed: (Part | null)[] = [];
    const map = heatmap(
        (...at) => over.push(at),
        (...at) => chosen.push(at),
        (part) => (brushed.push(part), part !== null),
    );
    const canvas = fake(map.element);
    canvas.clientWidth = width;
    canvas.clientHeight = height;
    map.draw(next);
    const [left, top, wide, high] = canvas.dataset.room.split(",").map(Number);
    /** An event at a share of the picture. */
    const at = (type: string, x: number, y: number, more = {}) =>
        canvas.fire(type, { offsetX: left + x * wide, offsetY: top + y * high, ...more });
    return { map, canvas, over, chosen, brushed, left, top, wide, high, at };
}

const called = (calls: Call[], name: string) => calls.filter(([one]) => one === name);

/** Texts with where they stand, in the picture's own pixels. */
function texts(calls: Call[]) {
    const found: { text: string; x: number; y: number; align: unknown; turned: boolean }[] = [];
    let align: unknown,
        moved: number[] | null = null;
    for (const [name, ...given] of calls) {
        if (name === "=" && given[0] === "textAlign") align = given[1];
        if (name === "translate") moved = given as number[];
        if (name === "restore") moved = null;
        if (name === "fillText") {
            const [text, x, y] = given as [string, number, number];
            const [dx, dy] = moved ?? [0, 0];
            found.push({ text, x: x + dx, y: y + dy, align, turned: !!moved });
        }
    }
    return found;
}

test("a pixel for each value, as large as there is room", () => {
    const { canvas, left, top, wide, high } = drawn(heat());
    const { calls } = canvas.drawing;
    assert.deepEqual(called(calls, "scale"), [["scale", 2, 2]]);
    assert.deepEqual([canvas.width, canvas.height], [1600, 904]);
    const [[, image, ...where], [, bar, ...beside]] = called(calls, "drawImage");
    assert.deepEqual(where, [left, top, wide, high]);
    assert.deepEqual([top, high], [8, 400]);
    assert.ok(left >= 84 && left + wide <= 720);
    const pixels = (one: unknown) => {
        const [[, data]] = called(fake(one).drawing.calls, "putImageData");
        return [...new Uint32Array((data as ImageData).data.buffer)];
    };
    const source = heat();
    assert.deepEqual(pixels(image), [...shades(source.values, 200, -5, 300, "viridis")]);
    assert.deepEqual([fake(image).attributes.width, fake(image).attributes.height], ["10", "20"]);
    assert.deepEqual(beside, [left + wide + 16, top, 12, high]);
    const colours = pixels(bar);
    assert.equal(colours.length, 255);
    assert.deepEqual(colours, [
        ...shades(
            colours.map((_, i) => 254 - i),
            255,
            0,
            254,
            "viridis",
        ),
    ]);
});

test("only pixels that are smaller than the screen's are smooth", () => {
    for (const [columns, expected] of [
        [10, false],
        [2000, true],
    ] as const) {
        const { canvas } = drawn(heat({ columns, rows: 1, values: new Float64Array(columns) }));
        assert.ok(
            canvas.drawing.calls.some(
                (one) => one[1] === "imageSmoothingEnabled" && one[2] === expected,
            ),
        );
    }
});

test("numbers stand at the middle of their rows and columns", () => {
    const { canvas, left, top, wide, high } = drawn(heat());
    const all = texts(canvas.drawing.calls),
        below = all.filter(
            ({ align, turned, text }) => align === "center" && !turned && +text >= 0,
        ),
        beside = all.filter(({ align }) => align === "right");
    assert.ok(below.length >= 3 && beside.length >= 3);
    for (const { text, x, y } of below) {
        // Where a column stands for several, a round number among them.
        const column = ((x - left) / wide) * COLUMNS - 0.5;
        assert.ok(Math.abs(column - Math.round(column)) < 1e-6, text);
        const first = 3 * Math.round(column);
        assert.ok(+text >= first && +text < first + 3, text);
        assert.equal(y, top + high + 16);
    }
    for (const { text, x, y } of beside) {
        assert.ok(Math.abs(y - 4 - top - ((+text - 100 + 0.5) / ROWS) * high) < 1e-6, text);
        assert.equal(x, left - 8);
    }
    const [low, highest] = ["−5", "300"].map((one) => all.find(({ text }) => text === one)!);
    assert.ok(low.y > highest.y && low.align === "left" && low.x === left + wide + 32);
    const named = (text: string) => all.find((one) => one.text === text)!;
    assert.ok(named("the row").turned && named("the row").x < left);
    assert.equal(named("the row").y, top + high / 2);
    assert.ok(!named("the column").turned && named("the column").x === left + wide / 2);
    assert.ok(named("the value").turned && named("the value").x > left + wide + 28);
});

test("where a row stands for many, a round number is at the row that it is in", () => {
    const next = random(31);
    for (let tries = 0; tries < 40; tries++) {
        const rows = 16 + Math.floor(next() * 200),
            many = rows * (1 + next() * 400),
            start = Math.floor(next() * 5000) - 1000,
            rowAt = (row: number) => start + Math.floor((row * many) / rows);
        const { canvas, top, high } = drawn(
            heat({ rows, columns: 1, values: new Float64Array(rows), rowAt, columnAt: () => 0 }),
        );
        const beside = texts(canvas.drawing.calls).filter(({ align }) => align === "right"),
            numbers = beside.map(({ text }) => +text.replace("−", "-").replace(/\s/g, ""));
        assert.ok(beside.length >= 3 && beside.length < 20, `${numbers}`);
        const at = beside.map(({ y }) => Math.round(((y - 4 - top) / high) * rows - 0.5));
        assert.ok(at.every((row, i) => rowAt(row) <= numbers[i] && numbers[i] < rowAt(row + 1)));
        // But for the first, all multiples of one step.
        const [step] = numbers.slice(2).map((one, i) => one - numbers[i + 1]);
        assert.ok(
            [1, 2, 5].some((one) => Number.isInteger(Math.log10(step / one))),
            `${step}`,
        );
        assert.ok(
            numbers.slice(1).every((one) => one % step === 0),
            `${numbers}`,
        );
    }
});

test("where rows have steps, each number is of its row", () => {
    for (const [rowStep, start] of [
        [3, 4],
        [7, 4],
        [2.5, 4],
        [0.25, 131072],
        [0.01, 4096],
        [0.125, -0.5],
    ]) {
        const rowAt = (row: number) => start + rowStep * row;
        const { canvas, top, high } = drawn(heat({ rowAt, rowStep }));
        const beside = texts(canvas.drawing.calls).filter(({ align }) => align === "right");
        assert.ok(beside.length >= 3);
        for (const { text, y } of beside) {
            const value = +text.replace("−", "-").replace(/\s/g, "");
            const wanted = rowAt(Math.round(((y - 4 - top) / high) * ROWS - 0.5));
            assert.ok(Math.abs(value - wanted) < rowStep / 100, text);
        }
    }
});

test("no number is cut off by an edge, and none stands on the name of its side", () => {
    for (const [low, high] of [
        [0, 1],
        [-123456789, 123456789],
        [-0.000123456, 1e-7],
        [1e-30, 1e30],
    ])
        for (const start of [0, 131072, -4000000])
            for (const width of [390, 800]) {
                const { canvas, left, wide } = drawn(
                    heat({ low, high, rowAt: (row) => start + row }),
                    width,
                );
                const all = texts(canvas.drawing.calls),
                    end = ({ text, x }: (typeof all)[0]) => x + 7.2 * text.length,
                    begin = ({ text, x }: (typeof all)[0]) => x - 7.2 * text.length;
                const bar = all.filter(({ align, x }) => align === "left" && x > left + wide);
                const rows = all.filter(({ align }) => align === "right");
                assert.ok(bar.length === 2 && rows.length > 1);
                for (const one of bar) assert.ok(end(one) <= width + 1, `${one.text} in ${width}`);
                for (const one of rows) assert.ok(begin(one) >= 12, `${one.text} in ${width}`);
            }
});

test("words stand at all rows and columns, in their width", () => {
    const names = ["one", "two", "three"];
    const { canvas, wide } = drawn(
        heat({ rows: 3, columns: 3, values: new Float64Array(9), names, aspect: 1 }),
        600,
    );
    const all = texts(canvas.drawing.calls);
    for (const name of names) assert.equal(all.filter(({ text }) => text === name).length, 2);
    const most = called(canvas.drawing.calls, "fillText").map((one) => one[4]);
    assert.ok(most.includes(wide / 3 - 4));
});

test("a picture with an aspect decides how high it is, at most so much", () => {
    for (const aspect of [1, 0.4, 2.5])
        for (const [width, most] of [
            [400, false],
            [2000, true],
        ] as const) {
            const { canvas, wide, high } = drawn(heat({ aspect }), width, 1600);
            const asked = parseFloat(canvas.style.height) - 52;
            assert.ok(most ? asked === 440 : asked < width * aspect, `${asked}`);
            assert.ok(Math.abs(wide * aspect - high) < 1e-9);
        }
    // Where the page gives it less height than it asks for, it keeps its aspect.
    const { wide, high } = drawn(heat({ aspect: 0.5 }), 2000, 152);
    assert.ok(high <= 100 && Math.abs(wide / 2 - high) < 1e-9);
});

test("the cross is at the cell under the pointer", () => {
    const { at, over, canvas } = drawn(heat());
    for (let row = 0; row < ROWS; row += 3)
        for (let column = 0; column < COLUMNS; column += 2)
            for (const off of [0.02, 0.98]) {
                at("pointermove", (column + off) / COLUMNS, (row + off) / ROWS);
                assert.deepEqual(over.at(-1), [row, column, false]);
                assert.equal(canvas.dataset.value, `${row * COLUMNS + column}`);
                assert.deepEqual([canvas.dataset.row, canvas.dataset.column].map(Number), [
                    row,
                    column,
                ]);
            }
    at("pointermove", -1, 2);
    assert.deepEqual(over.at(-1), [ROWS - 1, 0, false], "the nearest one");
});

test("keys move the cross, by ten with Shift, and no further than the picture", () => {
    const { canvas, over, chosen } = drawn(heat());
    const press = (key: string, shiftKey = false) => canvas.fire("keydown", { key, shiftKey });
    assert.ok(press("ArrowRight"));
    assert.deepEqual(over.at(-1), [0, 0, true], "the first cell is not passed over");
    assert.ok(press("ArrowDown"));
    assert.deepEqual(over.at(-1), [1, 0, true]);
    press("ArrowRight");
    press("ArrowRight");
    assert.deepEqual(over.at(-1), [1, 2, true]);
    assert.ok(press("End"));
    assert.deepEqual(over.at(-1), [1, 9, true]);
    assert.ok(press("Home"));
    assert.deepEqual(over.at(-1), [1, 0, true]);
    press("ArrowRight");
    press("ArrowUp");
    press("ArrowUp");
    assert.deepEqual(over.at(-1), [0, 1, true]);
    press("Enter");
    press("Enter", true);
    assert.deepEqual(chosen, [
        [0, 1, false],
        [0, 1, true],
    ]);
    assert.equal(press("x"), false);
});

test("without a brush Shift moves by ten", () => {
    const over: unknown[][] = [];
    const map = heatmap((...at) => over.push(at)),
        canvas = fake(map.element);
    canvas.clientWidth = canvas.clientHeight = 600;
    map.draw(heat());
    for (const key of ["ArrowDown", "ArrowDown", "ArrowRight"])
        canvas.fire("keydown", { key, shiftKey: true });
    assert.deepEqual(over.at(-1), [10, 9, true]);
    canvas.fire("pointerdown", { offsetX: 100, offsetY: 100 });
    assert.deepEqual(canvas.captured, []);
});

test("a part that is drawn is the one that is chosen, whatever its first corner", () => {
    for (const [from, to] of [
        [
            [0.2, 0.3],
            [0.6, 0.9],
        ],
        [
            [0.6, 0.9],
            [0.2, 0.3],
        ],
        [
            [0.6, 0.3],
            [0.2, 0.9],
        ],
    ]) {
        const { at, brushed, chosen, over, canvas } = drawn(heat());
        at("pointerdown", from[0], from[1]);
        at("pointermove", to[0], to[1]);
        const seen = over.length;
        at("pointermove", to[0], to[1]);
        assert.equal(over.length, seen, "the cross stays while a part is drawn");
        assert.ok(called(canvas.drawing.calls, "strokeRect").length);
        at("pointerup", to[0], to[1]);
        const [part] = brushed as Part[];
        assert.deepEqual(
            [part.left, part.right, part.top, part.bottom].map((one) => +one.toFixed(9)),
            [0.2, 0.6, 0.3, 0.9],
        );
        assert.deepEqual([chosen, canvas.captured], [[], [1]]);
        canvas.drawing.calls.length = 0;
        at("pointermove", 0.5, 0.5);
        assert.equal(over.length, seen + 1, "it has ended");
    }
});

test("a part ends where the picture ends; one that is cancelled is none", () => {
    const { at, brushed, chosen } = drawn(heat());
    at("pointerdown", 0.5, 0.5);
    at("pointermove", 3, -2);
    at("pointerup", 3, -2);
    assert.deepEqual(brushed, [{ left: 0.5, right: 1, top: 0, bottom: 0.5 }]);
    at("pointerdown", 0.5, 0.5);
    at("pointermove", 0.9, 0.9);
    at("pointercancel", 0.9, 0.9);
    assert.deepEqual([brushed.length, chosen.length], [1, 0]);
});

test("a short way is a click at its cell", () => {
    const { at, brushed, chosen, wide } = drawn(heat());
    const near = 0.45 + 7 / wide;
    at("pointermove", 0.45, 0.52);
    at("pointerdown", 0.45, 0.52);
    at("pointermove", near, 0.52);
    at("pointerup", near, 0.52, { shiftKey: true });
    assert.deepEqual([brushed, chosen], [[], [[10, 4, true]]]);
    at("dblclick", 0.5, 0.5);
    assert.deepEqual(brushed, [null]);
});

test("keys zoom beside the cross, out, and to all sides", () => {
    const { canvas, brushed } = drawn(heat());
    const press = (key: string, shiftKey = false) => canvas.fire("keydown", { key, shiftKey });
    const last = () => {
        const { top, bottom, left, right } = brushed.at(-1)!;
        return [top, bottom, left, right].map((one) => +one.toFixed(6));
    };
    assert.ok(press("+"));
    assert.deepEqual(last(), [0, 0.5, 0, 0.5]);
    for (let i = 0; i < 13; i++) press("ArrowDown"); // the first one shows the first cell
    for (let i = 0; i < 5; i++) press("ArrowRight");
    press("=");
    assert.deepEqual(last(), [0.375, 0.875, 0.3, 0.8]);
    press("-");
    assert.deepEqual(last(), [-0.5, 1.5, -0.5, 1.5]);
    for (const [key, expected] of [
        ["ArrowUp", [-0.25, 0.75, 0, 1]],
        ["ArrowDown", [0.25, 1.25, 0, 1]],
        ["ArrowLeft", [0, 1, -0.25, 0.75]],
        ["ArrowRight", [0, 1, 0.25, 1.25]],
    ] as const) {
        assert.ok(press(key, true));
        assert.deepEqual(last(), expected, key);
    }
    assert.equal(press("Escape"), false, "all is seen already");
    assert.equal(brushed.at(-1), null);
});

test("another picture writes of the cell under the cross; none is empty", () => {
    const { map, canvas, over, at } = drawn(heat());
    map.draw(heat());
    assert.equal(over.length, 0);
    at("pointermove", 0.55, 0.42);
    map.draw(heat({ values: new Float64Array(200).fill(7), label: "another" }));
    assert.deepEqual([over.at(-1), canvas.dataset.value], [[8, 5, false], "7"]);
    assert.equal(canvas.attributes["aria-label"], "another");
    canvas.drawing.calls.length = 0;
    const seen = over.length;
    map.draw(heat({ rows: 0, values: [] }));
    assert.deepEqual(canvas.drawing.calls, [["clearRect", 0, 0, canvas.width, canvas.height]]);
    at("pointermove", 0.1, 0.1);
    assert.equal(over.length, seen);
});

test("another size is another picture, the same one is not drawn again", () => {
    const { canvas } = drawn(heat());
    const watch = resized.at(-1)!;
    canvas.drawing.calls.length = 0;
    watch();
    assert.equal(canvas.drawing.calls.length, 0);
    canvas.clientWidth = 500;
    watch();
    assert.equal(canvas.width, 1000);
    assert.ok(called(canvas.drawing.calls, "drawImage").length);
});
