// SPDX-License-Identifier: MIT
// What is said of a table's cells: places, waves, formulas, readings, notes; and a path that is
// turned.
import assert from "node:assert/strict";
import test from "node:test";
import { fake } from "./fakes";
import type { App } from "../../../explorer/src/view";
import { meant } from "../../../explorer/src/views/diagnosis/files";
import { loop } from "../../../explorer/src/views/story/loop";
import { pick, picked } from "../../../explorer/src/views/table/lines";
import { note, reading, type Seen } from "../../../explorer/src/views/table/seen";
import type { Entry, Source, Span } from "../../../explorer/src/views/table/source";
import {
    barName,
    columnName,
    formula,
    rowName,
    wave,
    waves,
} from "../../../explorer/src/views/table/words";
import { worded } from "../../../explorer/src/views/extension/parameters";

const source = (name: string, params: Record<string, string> = {}, operation = "table"): Source =>
    ({
        entry: {
            name,
            formula: `formula of ${name}`,
            parameters: { properties: { dim: {}, base: {}, start: {} } },
            operations: [
                { name: "wavelengths", href: "/w" },
                { name: "frequencies", href: "/f" },
            ],
        } as unknown as Entry,
        operation: { name: operation },
        params,
        most: 9,
    }) as Source;

test("columns of every encoding of waves are sines and cosines of their pairs", () => {
    const columns = (name: string, params: Record<string, string>, layer: string, count: number) =>
        Array.from({ length: count }, (_, i) => {
            const own = wave(source(name, params), layer, i);
            return own && `${own.fn} ${own.pair}`;
        });
    for (const [name, params, layer, expected] of [
        ["sinusoidal", { dim: "5" }, "table", ["sin 0", "cos 0", "sin 1", "cos 1", "sin 2"]],
        [
            "transformer-xl",
            { dim: "4", layout: "concatenated" },
            "table",
            ["sin 0", "sin 1", "cos 0", "cos 1"],
        ],
        ["all-sin", { dim: "3" }, "table", ["sin 0", "sin 1", "sin 2"]],
        ["periodic", { dim: "3" }, "table", ["sin 0", "sin 1", "sin 2"]],
        ["timestep", { dim: "5" }, "table", ["sin 0", "sin 1", "cos 0", "cos 1", undefined]],
        [
            "timestep",
            { dim: "4", flip_sin_to_cos: "true" },
            "table",
            ["cos 0", "cos 1", "sin 0", "sin 1"],
        ],
        [
            "timestep",
            { dim: "4", flip_sin_to_cos: "1" },
            "table",
            ["cos 0", "cos 1", "sin 0", "sin 1"],
        ],
        ["rope", { dim: "8" }, "cos", ["cos 0", "cos 1", "cos 2", "cos 3", "cos 0"]],
        ["rope", { dim: "8", rotary_dim: "4" }, "sin", ["sin 0", "sin 1", "sin 0"]],
        ["mrope", { dim: "8", partial_rotary_factor: "0.5" }, "sin", ["sin 0", "sin 1", "sin 0"]],
        ["xpos", { dim: "4" }, "cos_q", ["cos 0", "cos 1", "cos 0"]],
        ["rope-2d", { dim: "8" }, "sin", ["sin 0", "sin 1", "sin 2", "sin 3", "sin 0"]],
        ["rope-nd", { axes_dim: "4,2" }, "cos", ["cos 0", "cos 1", "cos 2", "cos 0"]],
        ["binary", { dim: "4" }, "table", [undefined]],
        ["rope", { dim: "8", cache: "true" }, "cos", [undefined]],
        ["rope", { dim: "8", part: "complex" }, "table", [undefined]],
    ] as const)
        assert.deepEqual(columns(name, params, layer, expected.length), expected, name);
    assert.equal(wave(source("sinusoidal", { dim: "4" }, "bias"), "bias", 0), undefined);
});

test("rows, columns and colours have their names", () => {
    for (const [name, operation, row, column] of [
        ["sinusoidal", "table", "position", "column"],
        ["alibi", "bias", "query", "key"],
        ["shaw", "table", "distance", "column"],
        ["transformer-xl", "table", "distance", "column"],
        ["sinusoidal-2d", "table", "point", "column"],
        ["rope-nd", "table", "point", "pair"],
        ["rope", "table", "position", "pair"],
        ["xpos", "table", "position", "pair"],
    ]) {
        const own = source(name, {}, operation);
        assert.deepEqual([rowName(own), columnName(own, {})], [row, column], name);
    }
    for (const params of [{ cache: "true" }, { duplicate: "true" }] as Record<string, string>[])
        assert.equal(columnName(source("rope"), params), "column");
    assert.deepEqual(
        [
            ["bias", "buckets"],
            ["bias", "bias"],
            ["scale", "x"],
            ["table", "x"],
        ].map(([operation, layer]) => barName(source("x", {}, operation), layer)),
        ["number of the bucket", "added to the score", "scale", "value"],
    );
});

test("frequencies are requested with the parameters that they take", () => {
    const { target } = waves(
        source("rope", { dim: "8", foo: "1", config: "{}", layer_type: "x" }),
    )!;
    assert.equal(target, "/f?dim=8&config=%7B%7D&layer_type=x&format=json");
    const only = source("rope", { dim: "8" });
    only.entry.operations.splice(1);
    assert.equal(waves(only)!.target, "/w?dim=8&format=json&context=1");
    only.entry.operations.length = 0;
    assert.equal(waves(only), undefined);
});

test("the formula of a cell has its position, frequency and length of a turn", () => {
    const told = {
        tensors: { inv_freq: { data: [1, 0.01] }, wavelengths: { data: [6.2831853, 628.31853] } },
    };
    const params = { dim: "4", start: "10", step: "2", length: "9" };
    const of = (name: string, column: number, more = {}, layer = "table") =>
        formula(source(name, { ...params, ...more }), told, layer, 3, column);
    assert.equal(of("sinusoidal", 3), "cos(16 · 0.01), one turn in 628.3 positions");
    assert.equal(of("sinusoidal", 0), "sin(16 · 1), one turn in 6.283 positions");
    assert.equal(of("sinusoidal", 0, { positions: "1,2" }).slice(0, 8), "sin(t · ");
    assert.equal(of("xpos", 0, {}, "cos").slice(0, 10), "ζᵖ · cos(1");
    assert.equal(of("rope-2d", 0, {}, "sin").slice(0, 6), "sin(t ");
    assert.equal(of("index", 0), "p(16) = 16");
    assert.equal(of("normalized", 0), "16 / 8");
    assert.equal(of("binary", 1), "bit 2 of 16");
    assert.equal(of("binary", 1, { bit_order: "lsb" }), "bit 1 of 16");
    assert.equal(of("binary", 1, { positions: "4" }), "formula of binary");
    assert.equal(of("learned", 1), "formula of learned");
    const factor = { ...told, attention_factor: 1.5 };
    assert.ok(
        formula(source("rope", params), factor, "cos", 0, 0).startsWith("1.5 · cos(10 · 1), "),
    );
    const still = { tensors: { wavelengths: { data: [Infinity, 200] } } };
    assert.equal(formula(source("rope", params), still, "sin", 0, 0), "sin(10 · 0), never turns");
    assert.equal(
        formula(source("rope", params), still, "sin", 0, 1),
        "sin(10 · 0.0314159), one turn in 200 positions",
    );
});

const seen = (more: Partial<Seen>, down: Span = [4, 8], across: Span = [0, 3]): Seen =>
    ({
        source: source("sinusoidal", { start: "100" }),
        request: { bytewise: false, pooled: false },
        pool: "max",
        own: null,
        picture: {
            layers: [
                { name: "cos", values: [1, 2, 3, 4, 5, 6.25] },
                { name: "sin", values: [0, 0, -7.5, 0, 0, 0] },
            ],
            rows: 2,
            columns: 3,
            down,
            across,
            heads: 1,
        },
        ...more,
    }) as unknown as Seen;

test("the reading of a cell has its rows, columns and value", () => {
    assert.equal(reading(seen({}), 0, 1, 2), "cos: position 106 … 107, column 2: largest 6.25");
    assert.equal(reading(seen({}, [4, 6]), 1, 0, 2), "sin: position 104, column 2: −7.5");
    assert.equal(
        reading(seen({ request: { bytewise: true } } as never, [0, 2], [0, 9]), 0, 0, 1),
        "cos: position 100, column 3 … 5: largest ≈ 2",
    );
    const single = seen({}, [4, 6]);
    single.picture.layers.splice(1);
    assert.equal(reading(single, 0, 0, 0), "position 104, column 0: 1");
});

test("what was pooled, and whose file it is, is noted", () => {
    assert.equal(note(seen({})), "");
    const pooled = { request: { pooled: true } } as never;
    assert.equal(
        note(seen(pooled, [0, 9])),
        " Each cell stands for 4.5 rows: their largest. Zoom in for every number.",
    );
    assert.ok(note(seen(pooled, [0, 9], [0, 6])).includes("4.5 rows and 2 columns: their largest"));
    const posted = {
        source: { ...source("learned"), bytes: new Blob() },
    } as never as Partial<Seen>;
    assert.ok(note(seen(posted), "t.npy").startsWith("The link names t.npy, which is not in it"));
    assert.ok(note(seen(posted)).startsWith("Drop a .npy"));
    assert.ok(note(seen(posted)).endsWith("stands in."));
    assert.equal(
        note(seen({ ...posted, own: { name: "t.npy", tensors: {} } })),
        "t.npy is posted for this picture and stored nowhere.",
    );
});

test("a row or column is picked, or one less; the last eight stay", () => {
    const gone: unknown[] = [];
    const app = (plot_columns?: string) =>
        ({
            state: { params: { plot_columns } },
            go: (...all: unknown[]) => gone.push(all),
        }) as never as App;
    assert.deepEqual(
        [picked(app("3,5"), "plot_columns"), picked(app(), "plot_columns")],
        [[3, 5], []],
    );
    for (const [before, index, after] of [
        ["3,5", 7, "3,5,7"],
        ["3,5", 3, "5"],
        ["3", 3, undefined],
        [undefined, 0, "0"],
        ["1,2,3,4,5,6,7,8", 9, "2,3,4,5,6,7,8,9"],
    ] as const) {
        pick(app(before), "plot_columns", index);
        assert.deepEqual(gone.pop(), [{ plot_columns: after }, "push"]);
    }
});

test("values of parameters are words", () => {
    for (const [value, words] of [
        [0.123456789012, "0.123456789"],
        [[1, 2, 3, 4.5], "4: 1, 2 … 4.5"],
        [["a", "b", "c"], "3: a, b … c"],
        [{ a: 1, b: [1, 2] }, "a: 1, b: 2: 1, 2 … 2"],
        [true, "true"],
        [null, "null"],
        ["text", "text"],
    ] as const)
        assert.equal(worded(value), words);
});

test("a path is turned by keys and by dragging, about the upright axis and to and fro", () => {
    const own = loop(),
        element = fake(own.element);
    own.draw([1, 0, 0, 0, 1, 0, 0, 0, 1], [2, 7]);
    const places = () =>
        element
            .find("g.dots")[0]
            .find("circle")
            .map((one) => [one.number("cx"), one.number("cy")]);
    const expected = (yaw: number, pitch: number) => [
        [Math.cos(yaw), -Math.sin(yaw) * Math.sin(pitch)],
        [0, -Math.cos(pitch)],
        [Math.sin(yaw), Math.cos(yaw) * Math.sin(pitch)],
    ];
    const same = (yaw: number, pitch: number) =>
        expected(yaw, pitch).forEach(([x, y], i) => {
            const [cx, cy] = places()[i];
            assert.ok(Math.abs(cx - 100 * x) < 0.006 && Math.abs(cy - 100 * y) < 0.006);
        });
    let yaw = 0.6,
        pitch = 0.45;
    same(yaw, pitch);
    const near = element.find("g.near")[0].find("circle");
    assert.deepEqual(
        near.map((one) => [one.number("cx"), one.number("cy")]),
        [places()[2]],
    );
    assert.ok(near[0].number("r") > element.find("g.dots")[0].find("circle")[0].number("r"));
    for (const [key, right, down] of [
        ["ArrowLeft", -0.1, 0],
        ["ArrowRight", 0.1, 0],
        ["ArrowRight", 0.1, 0],
        ["ArrowUp", 0, -0.1],
        ["ArrowDown", 0, 0.1],
        ["ArrowDown", 0, 0.1],
    ] as const) {
        assert.ok(element.fire("keydown", { key }));
        same((yaw += right), (pitch += down));
    }
    assert.equal(element.fire("keydown", { key: "x" }), false);
    element.fire("pointerdown");
    assert.deepEqual(element.captured, [1]);
    element.fire("pointermove", { buttons: 0, movementX: 60, movementY: 60 });
    same(yaw, pitch);
    element.fire("pointermove", { buttons: 1, movementX: 60, movementY: -24 });
    same((yaw += 0.5), (pitch -= 0.2));
    for (let i = 0; i < 40; i++) element.fire("keydown", { key: "ArrowDown" });
    same(yaw, 1.5);
    assert.equal(
        element.find("path")[0].attributes.d,
        `M${places()
            .map((one) => one.map((part) => part.toFixed(2)).join(" "))
            .join("L")}`,
    );
});

test("what was meant keeps the order of its words", () => {
    assert.equal(meant("rope base 500"), "encoding=rope&base=500");
    assert.equal(meant("base = 500, dim: 8"), "base=500&dim=8");
    assert.equal(meant("  "), "");
});
