// SPDX-License-Identifier: MIT
// Curves: where they are drawn, and what pointers and keys choose.
import assert from "node:assert/strict";
import test from "node:test";
import { fake, framesRun, resized, type Call } from "./fakes";
import { curves, legend, type Curve, type Plot } from "../../../explorer/src/kit/curves";
import { random } from "./random";

const X = Array.from({ length: 41 }, (_, i) => i * 5);

const plot = (more: Partial<Plot> = {}): Plot => ({
    x: X,
    curves: [
        { name: "one", values: X.map((x) => x / 2), colour: "turn" },
        { name: "two", values: X.map((x) => 100 - x / 4), colour: "slow", dash: [6, 4], width: 3 },
    ],
    xName: "across",
    yName: "up",
    label: "two lines",
    ...more,
});

function drawn(next: Plot, width = 700, height = 420) {
    const over: number[] = [];
    const own = curves((index) => over.push(index)),
        element = fake(own.element),
        canvas = element.firstElementChild;
    element.clientWidth = width;
    element.clientHeight = height;
    own.draw(next);
    return { own, element, canvas, over };
}

interface Line {
    points: number[][];
    moves: number;
    style: unknown;
    dash: unknown;
    width: unknown;
}

/** Lines that are stroked, and dots that are filled. */
function marks(calls: Call[]) {
    const lines: Line[] = [],
        dots: { x: number; y: number; size: number; style: unknown }[] = [],
        now: Record<string, unknown> = {};
    let points: number[][] = [],
        moves = 0,
        dash: unknown = [],
        clipped = false;
    for (const [name, ...given] of calls) {
        if (name === "=") now[given[0] as string] = given[1];
        if (name === "beginPath") [points, moves] = [[], 0];
        if (name === "moveTo") moves++;
        if (name === "moveTo" || name === "lineTo") points.push(given as number[]);
        if (name === "setLineDash") dash = given[0];
        if (name === "clip") clipped = true;
        if (name === "restore" && clipped) clipped = false;
        if (name === "stroke")
            lines.push({ points, moves, style: now.strokeStyle, dash, width: now.lineWidth });
        if (name === "arc")
            dots.push({
                x: given[0] as number,
                y: given[1] as number,
                size: given[2] as number,
                style: now.fillStyle,
            });
    }
    return { lines, dots };
}

/** Numbers at both axes: [value, pixel]. */
function numbers(calls: Call[]) {
    const across: number[][] = [],
        up: number[][] = [];
    let align: unknown;
    for (const [name, ...given] of calls) {
        if (name === "=" && given[0] === "textAlign") align = given[1];
        const [text, x, y] = given as [string, number, number];
        if (name === "fillText" && /^[−\d.]+$/.test(text))
            (align === "right" ? up : across).push([
                +text.replace("−", "-"),
                align === "right" ? y - 4 : x,
            ]);
    }
    return { across, up };
}

/** What a number of an axis says: 131 072, −0.05, 3.2·10⁻⁹. */
function valueOf(text: string): number {
    const plain = text.replace(/\u202f/g, "").replace(/−/g, "-"),
        power = (digits: string) =>
            [...digits].map((one) => "-0123456789"["⁻⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(one)]).join("");
    return +plain.replace(
        /^(?:(-?[\d.]+)·|(-?))10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)$/,
        (_, front, sign, digits) => `${front ?? `${sign}1`}e${power(digits)}`,
    );
}

const place = ([[a, from], [b, to]]: number[][], value: number) =>
    from + ((value - a) / (b - a)) * (to - from);

test("every point stands where both axes have its numbers, in its curve's colour", () => {
    const { canvas } = drawn(plot());
    const { lines } = marks(canvas.drawing.calls),
        { across, up } = numbers(canvas.drawing.calls);
    assert.equal(lines.length, 3); // the grid is the first
    assert.deepEqual(
        lines.slice(1).map(({ style, dash, width, moves }) => [style, dash, width, moves]),
        [
            ["turn", [], 1.8, 1],
            ["slow", [6, 4], 3, 1],
        ],
    );
    plot().curves.forEach(({ values }, k) => {
        assert.equal(lines[k + 1].points.length, X.length);
        lines[k + 1].points.forEach(([x, y], i) => {
            assert.ok(Math.abs(x - place(across, X[i])) < 1e-6);
            assert.ok(Math.abs(y - place(up, values[i])) < 1e-6);
        });
    });
    assert.ok(up[0][1] > up[1][1] && across[0][1] < across[1][1]);
    assert.deepEqual([canvas.width, canvas.height], [1400, 840]);
});

test("every number of an axis is the value of its place, however narrow the range is", () => {
    const next = random(17);
    for (let tries = 0; tries < 60; tries++) {
        const size = 10 ** (6 * next() - 4),
            from = tries % 3 ? (next() - 0.5) * 40 * size : 0,
            width = size * (tries % 2 ? 1 : 0.05);
        const x = X.map((_, i) => from + (i / 40) * width);
        const { canvas } = drawn(
            plot({ x, curves: [{ name: "", values: x, colour: "turn" }], xName: "", yName: "" }),
        );
        const points = marks(canvas.drawing.calls).lines[1].points;
        let align: unknown;
        const seen = { center: 0, right: 0 } as Record<string, number>;
        for (const [name, ...given] of canvas.drawing.calls) {
            if (name === "=" && given[0] === "textAlign") align = given[1];
            if (name !== "fillText" || !given[0]) continue;
            const axis = align === "right" ? 1 : 0,
                [text, atX, atY] = given as [string, number, number],
                at = axis ? atY - 4 : atX;
            // The last one below may be moved to the left, where it has room.
            const wanted = place(
                [0, 40].map((i) => [x[i], points[i][axis]]),
                valueOf(text),
            );
            assert.ok(Math.abs(wanted - at) < (axis ? 0.1 : 30), `${text} of ${from}, ${width}`);
            seen[align as string]++;
            // As wide as its digits, it stands beside the name of the axis, within the canvas.
            const long = 7.2 * text.length;
            if (axis) assert.ok(atX - long >= 16, `${text} begins at ${atX - long}`);
            else assert.ok(atX + long / 2 <= 700, `${text} ends at ${atX + long / 2}`);
        }
        assert.ok(seen.center >= 2 && seen.right >= 3, `${from}, ${width}`);
    }
});

test("powers of ten are as far apart as each other", () => {
    const x = Array.from({ length: 7 }, (_, i) => 10 ** i);
    const { canvas } = drawn(
        plot({ x, xLog: true, yLog: true, curves: [{ name: "", values: x, colour: "turn" }] }),
    );
    const [, { points }] = marks(canvas.drawing.calls).lines;
    for (const axis of [0, 1]) {
        const steps = points.slice(1).map((one, i) => one[axis] - points[i][axis]);
        for (const step of steps) assert.ok(Math.abs(step - steps[0]) < 1e-6 && step);
    }
});

test("a line is broken where there is no number", () => {
    const values = X.map((x, i) => (i === 10 || i === 11 ? NaN : i === 20 ? Infinity : x));
    const { canvas } = drawn(plot({ curves: [{ name: "", values, colour: "turn" }] }));
    const [, line] = marks(canvas.drawing.calls).lines;
    assert.deepEqual([line.moves, line.points.length], [3, X.length - 3]);
});

test("steps stand at the value before, dots at their own", () => {
    const both: Curve[] = [
        { name: "", values: X, colour: "turn", steps: true },
        { name: "", values: X.map((x) => x / 2), colour: "key", dots: true },
    ];
    const { canvas } = drawn(plot({ curves: both }));
    const { lines, dots } = marks(canvas.drawing.calls),
        [, { points }] = lines,
        { across, up } = numbers(canvas.drawing.calls);
    assert.equal(lines.length, 2);
    assert.equal(points.length, 2 * X.length - 1);
    for (let i = 1; i < points.length; i += 2)
        assert.deepEqual(points[i], [points[i + 1][0], points[i - 1][1]]);
    assert.equal(dots.length, X.length);
    dots.forEach(({ x, y, size, style }, i) => {
        assert.ok(Math.abs(x - place(across, X[i])) < 1e-6);
        assert.ok(Math.abs(y - place(up, X[i] / 2)) < 1e-6);
        assert.deepEqual([size, style], [2.5, "key"]);
    });
});

test("the cross is at the point that is nearest to the pointer", () => {
    const { canvas, element, over } = drawn(plot()),
        { across, up } = numbers(canvas.drawing.calls);
    for (const i of [0, 1, 17, 39, 40])
        for (const off of [-2.4, 0, 2.4]) {
            canvas.fire("pointermove", { offsetX: place(across, X[i] + off), offsetY: 5 });
            assert.equal(over.at(-1), i, `${X[i] + off}`);
        }
    canvas.fire("pointermove", { offsetX: place(across, X[17]), offsetY: 5 });
    assert.equal(element.dataset.index, "17");
    assert.equal(element.dataset.values, `${X[17] / 2} ${100 - X[17] / 4}`);
    canvas.drawing.calls.length = 0;
    framesRun();
    const { dots, lines } = marks(canvas.drawing.calls);
    assert.deepEqual(
        dots.map(({ style, size }) => [style, size]),
        [
            ["turn", 3.5],
            ["slow", 3.5],
        ],
    );
    for (const [{ x, y }, value] of [
        [dots[0], X[17] / 2],
        [dots[1], 100 - X[17] / 4],
    ] as const) {
        assert.ok(Math.abs(x - place(across, X[17])) < 1e-6);
        assert.ok(Math.abs(y - place(up, value)) < 1e-6);
    }
    const cross = lines.at(-1)!;
    assert.deepEqual([cross.style, cross.dash, cross.points.length], ["soft", [3, 3], 2]);
    const [[x, from], [same, to]] = cross.points;
    assert.ok(Math.abs(x - place(across, X[17])) < 1e-6 && same === x);
    assert.ok(from === 8 && to > Math.max(...up.map(([, y]) => y)) - 1e-6, "over the whole height");
    canvas.fire("pointerleave");
    assert.equal(over.at(-1), -1);
});

test("keys move the cross, by twenty with Page, and no further than the curves", () => {
    const { element, over } = drawn(plot());
    const press = (key: string) => element.fire("keydown", { key });
    for (const [key, at] of [
        ["ArrowRight", 0],
        ["ArrowRight", 1],
        ["ArrowRight", 2],
        ["ArrowLeft", 1],
        ["PageUp", 21],
        ["PageUp", 40],
        ["PageDown", 20],
        ["Home", 0],
        ["ArrowLeft", 0],
        ["End", 40],
        ["ArrowRight", 40],
    ] as const) {
        assert.ok(press(key), key);
        assert.equal(over.at(-1), at, key);
    }
    assert.equal(press("Enter"), false);
});

test("the first key shows an end of the curves, and none is passed over", () => {
    const first = { ArrowRight: 0, ArrowLeft: 0, PageUp: 0, PageDown: 0, Home: 0, End: 40 };
    for (const [key, at] of Object.entries(first))
        for (const isLeft of [false, true]) {
            const { element, canvas, over } = drawn(plot());
            if (isLeft) {
                canvas.fire("pointermove", { offsetX: 300, offsetY: 9 });
                canvas.fire("pointerleave");
            }
            element.fire("keydown", { key });
            assert.equal(over.at(-1), at, key);
        }
});

test("a part that is dragged over is shown alone, until a double click or another axis", () => {
    for (const backwards of [false, true]) {
        const { own, canvas } = drawn(plot()),
            before = numbers(canvas.drawing.calls).across;
        const ends = [50, 100].map((value) => place(before, value));
        if (backwards) ends.reverse();
        canvas.fire("pointerdown", { offsetX: ends[0], offsetY: 9 });
        canvas.fire("pointermove", { offsetX: ends[1], offsetY: 9 });
        canvas.drawing.calls.length = 0;
        framesRun();
        const [[, from, , wide]] = canvas.drawing.calls.filter(([name]) => name === "fillRect");
        assert.ok(Math.abs((from as number) + (wide as number) - ends[1]) < 1e-6);
        canvas.fire("pointerup");
        const shown = () => {
            canvas.drawing.calls.length = 0;
            framesRun();
            return numbers(canvas.drawing.calls).across.map(([value]) => value);
        };
        const part = shown();
        assert.ok(Math.min(...part) === 50 && Math.max(...part) === 100, `${part}`);
        own.draw(plot());
        canvas.fire("pointermove", { offsetX: ends[0], offsetY: 9 });
        assert.deepEqual(shown(), part, "the same axis keeps it");
        if (backwards) canvas.fire("dblclick");
        else own.draw(plot({ x: X.map((x) => x + 1) }));
        canvas.fire("pointermove", { offsetX: ends[0], offsetY: 9 });
        assert.ok(Math.max(...shown()) >= 200);
    }
});

test("neither a finger nor a short way is a drag", () => {
    const { canvas } = drawn(plot()),
        before = numbers(canvas.drawing.calls).across;
    for (const [far, pointerType] of [
        [7, "mouse"],
        [200, "touch"],
    ] as const) {
        canvas.fire("pointerdown", { offsetX: 200, offsetY: 9, pointerType });
        canvas.fire("pointermove", { offsetX: 200 + far, offsetY: 9 });
        canvas.fire("pointerup");
        canvas.drawing.calls.length = 0;
        framesRun();
        assert.deepEqual(numbers(canvas.drawing.calls).across, before);
    }
});

test("other curves write of the point under the cross; a view that is left draws no more", () => {
    const { own, element, canvas, over } = drawn(plot());
    own.point(500);
    assert.equal(over.at(-1), 40);
    own.draw(plot({ curves: [{ name: "", values: X.map(() => 3), colour: "turn" }], label: "b" }));
    assert.deepEqual([over.length, element.dataset.values], [2, "3"]);
    assert.equal(element.attributes["aria-label"], "b");
    const watches = resized.length;
    own.leave();
    assert.equal(resized.length, watches - 1);
    canvas.drawing.calls.length = 0;
    framesRun();
    assert.equal(canvas.drawing.calls.length, 0);
});

test("a legend has each curve's line, and its value where the cross is", () => {
    const list = legend(),
        all: Curve[] = [
            ...plot().curves,
            { name: "dots", values: [1.23456789], colour: "key", dots: true },
        ];
    const rows = () => fake(list.element).find("li");
    list.draw(all, -1);
    assert.deepEqual(
        rows().map((one) => one.textContent),
        ["one", "two", "dots"],
    );
    assert.deepEqual(
        rows().map((one) => [one.find("i")[0].attributes.class, one.find("i")[0].style.color]),
        [
            [undefined, "var(--turn)"],
            ["dashed", "var(--slow)"],
            ["dotted", "var(--key)"],
        ],
    );
    assert.deepEqual(
        rows().map((one) => one.find("i")[0].style.backgroundImage),
        [
            undefined,
            "repeating-linear-gradient(90deg, currentcolor 0px 6px, transparent 6px 10px)",
            undefined,
        ],
        "as the line is broken",
    );
    list.draw(all, 0);
    assert.deepEqual(
        rows().map((one) => one.find("output")[0].textContent),
        ["0", "100", "1.23457"],
    );
});
