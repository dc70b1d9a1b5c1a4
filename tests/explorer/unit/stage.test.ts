// SPDX-License-Identifier: MIT
// The view of tables from one state to the next: parts that are zoomed to, files, heads, the value
// itself of a cell that stands for many, curves, and the map of a shift.
import assert from "node:assert/strict";
import test from "node:test";
import { until, type FakeElement } from "./fakes";
import { stand } from "./stand";
import { encode } from "../../../clients/js/client.js";
import type { Ask } from "../../../explorer/src/api";

const plain = (text: string) => text.replaceAll("\u202f", "");
const paramsOf = ({ target }: Ask) => Object.fromEntries(new URLSearchParams(target.split("?")[1]));

const operation = (encoding: string, name: string, names: string[], example: string) => ({
    name,
    href: `/v1/encodings/${encoding}/${name === "shift" ? "analysis/shift" : name}`,
    parameters: {
        properties: Object.fromEntries(
            names.map((one) => [one, { type: "integer", description: "" }]),
        ),
        required: [],
    },
    example: `/v1/encodings/${encoding}/${name}?${example}`,
});
const entry = (
    name: string,
    operations: ReturnType<typeof operation>[],
    own = ["dim", "base"],
) => ({
    name,
    title: `title of ${name}`,
    formula: "f",
    parameters: {
        properties: Object.fromEntries(
            own.map((one) => [one, { type: "integer", description: "" }]),
        ),
        required: [],
    },
    operations,
});
const ENTRIES = [
    entry("sinusoidal", [
        operation("sinusoidal", "table", ["start", "length", "pool", "rows"], "dim=4&length=3"),
        operation("sinusoidal", "shift", [], "dim=4"),
    ]),
    entry(
        "alibi",
        [
            operation(
                "alibi",
                "bias",
                ["query_start", "query_length", "key_length", "pool"],
                "heads=2&query_length=3",
            ),
        ],
        ["heads"],
    ),
    entry("learned", [operation("learned", "table", ["start", "length"], "length=3")], ["table"]),
];

/** Each number is that of its row in the whole, and of its column. */
function answers(ask: Ask): unknown {
    const path = ask.target.split("?")[0],
        params = paramsOf(ask);
    const tensor = (shape: number[], at: (row: number, column: number) => number) => {
        const width = shape.at(-1)!;
        return {
            dtype: "f32",
            shape,
            data: Float64Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) =>
                at(Math.floor(i / width), i % width),
            ),
        };
    };
    if (path === "/v1/encodings") return { encodings: ENTRIES };
    if (path.endsWith("/shift"))
        return {
            blocks: tensor([2, 2, 2], (row, column) => row * 2 + column),
            left: tensor([4], (_, i) => i),
            right: tensor([4], (_, i) => i),
            residual: tensor([4], (_, i) => -i / 1000),
        };
    const start = +(params.start ?? params.query_start ?? 0);
    if (path.endsWith("/bias")) {
        const [rows, columns] = [params.query_length, params.key_length ?? params.query_length].map(
            Number,
        );
        return {
            bias: tensor(
                [2, rows, columns],
                (row, column) =>
                    1000 * Math.floor(row / rows) + (start + (row % rows)) + column / 100,
            ),
        };
    }
    const rows = +(params.pool ? params.rows : params.length),
        at = (row: number, column: number) => start + row + column / 100;
    if (params.dtype === "u8")
        return {
            scale: 1,
            offset: 0,
            tensors: { table: { shape: [rows, 4], base64: btoa("\0".repeat(4 * rows)) } },
        };
    return params.pool === "minmax"
        ? { table_min: tensor([rows, 4], at), table_max: tensor([rows, 4], at) }
        : { table: tensor([rows, 4], at) };
}

async function opened(params: Record<string, string>) {
    const own = stand("table", params, answers);
    await own.settled();
    await own.settled();
    assert.deepEqual(own.failed, []);
    const canvas = () => own.stage.find("canvas.heat")[0];
    const told = () => plain(own.stage.find("p.cell")[0].textContent);
    const notes = () => own.stage.find("p.note").map(({ textContent }) => plain(textContent));
    const select = (label: string) =>
        own.stage.find("select").find((one) => one.attributes["aria-label"] === label)!;
    const chip = (words: string) =>
        own.stage.find("button.chip").find((one) => one.textContent === words);
    return { ...own, canvas, told, notes, select, chip };
}

/** A drag over a part of a canvas, in shares of its picture. */
function drag(canvas: FakeElement, [left, top, right, bottom]: number[]): void {
    const [x, y, width, height] = canvas.dataset.room.split(",").map(Number),
        at = (across: number, down: number) => ({
            offsetX: x + across * width,
            offsetY: y + down * height,
        });
    canvas.fire("pointerdown", at(left, top));
    canvas.fire("pointermove", at(right, bottom));
    canvas.fire("pointerup", at(right, bottom));
}
const sized = (canvas: FakeElement) =>
    Object.assign(canvas, { clientWidth: 900, clientHeight: 500 });

test("a part that is dragged over is a step to its rows and columns, within those that are seen", async () => {
    for (const [params, expected] of [
        [{}, { rows: "10..19", columns: "1..2" }],
        [{ rows: "20..39" }, { rows: "25..29", columns: "1..2" }],
        [{ columns: "2..3" }, { rows: "10..19", columns: "2..2" }],
    ] as [Record<string, string>, Record<string, string>][]) {
        const { canvas, gone, mounted, settled, chip } = await opened({
            dim: "4",
            length: "40",
            ...params,
        });
        sized(canvas());
        mounted.update();
        await settled();
        drag(canvas(), [0.3, 0.25, 0.74, 0.5]);
        assert.deepEqual(gone.splice(0), [[expected, "push"]], JSON.stringify(params));
        await settled();
        assert.ok(canvas().fire("keydown", { key: "Escape" }));
        assert.deepEqual(gone.splice(0), [[{ rows: undefined, columns: undefined }, "push"]]);
        await settled();
        assert.ok(!chip("show all"));
        canvas().fire("dblclick");
        canvas().fire("keydown", { key: "Escape" });
        assert.deepEqual(gone, [], "all is seen already");
        canvas().fire("keydown", { key: "-" });
        assert.deepEqual(gone.splice(0), [[{ rows: undefined, columns: undefined }, "push"]]);
    }
});

test("the reading of a cell has the numbers of the whole, of the rows that are seen", async () => {
    for (const [params, row, words] of [
        [{}, 3, "position 3, column 1: 3.01"],
        [{ start: "100" }, 3, "position 103, column 1: 103.01"],
        [{ rows: "20..29" }, 3, "position 23, column 1: 23.01"],
        [{ rows: "20..29", start: "7" }, 0, "position 27, column 1: 27.01"],
    ] as [Record<string, string>, number, string][]) {
        const { canvas, told } = await opened({ dim: "4", length: "40", ...params });
        for (const key of ["ArrowRight", "ArrowRight", ...Array<string>(row).fill("ArrowDown")])
            canvas().fire("keydown", { key });
        assert.equal(told(), words);
    }
    const { canvas, told, select, gone } = await opened({
        encoding: "alibi",
        query_length: "8",
        key_length: "9",
        head: "1",
    });
    canvas().fire("keydown", { key: "ArrowRight" });
    assert.equal(told(), "query 0, key 0: 1000");
    assert.equal(select("head").value, "1");
    select("head").value = "0";
    select("head").fire("change");
    assert.deepEqual(gone.at(-1), [{ head: "0" }, "push"]);
});

test("the value itself is that of the row in the middle of a cell, and of the tensor's own name", async () => {
    for (const pool of ["mean", "minmax"])
        for (const start of [0, 1000]) {
            const { canvas, told, asks } = await opened({
                dim: "4",
                length: "5120",
                pool,
                start: `${start}`,
                plot_rows: "1",
            });
            canvas().fire("keydown", { key: "ArrowRight" });
            canvas().fire("keydown", { key: "ArrowDown" });
            canvas().fire("keydown", { key: "ArrowRight" });
            asks.length = 0;
            await new Promise((done) => setTimeout(done, 260));
            // Ten rows in each of 512: those of the second are 10 to 19.
            assert.deepEqual(
                asks.map(paramsOf).map(({ start, length }) => [start, length]),
                [[`${start + 15}`, "1"]],
            );
            assert.ok(told().endsWith(`; position ${start + 15} itself: ${start + 15}.01`), told());
        }
    const many = await opened({ dim: "4", length: "5120" });
    many.canvas().fire("keydown", { key: "ArrowRight" });
    many.mounted.leave();
    many.asks.length = 0;
    await new Promise((done) => setTimeout(done, 260));
    assert.deepEqual(many.asks, [], "a view that is left asks for nothing");
});

test("another encoding begins anew, with the file and its tensor", async () => {
    const { select, gone, app, settled, notes, mounted, stage, shown } = await opened({
        ...{ dim: "8", rows: "1..2", plot_rows: "3", pool: "max" },
    });
    const left = { dim: undefined, rows: undefined, plot_rows: undefined, pool: undefined };
    select("encoding").value = "alibi";
    select("encoding").fire("change");
    assert.deepEqual(gone.splice(0), [
        [{ ...left, encoding: "alibi", file: undefined, tensor: undefined }, "push"],
    ]);
    await settled();
    const two = {
        one: { dtype: "f32", shape: [6, 4], data: new Float32Array(24) },
        two: { dtype: "f32", shape: [9, 4], data: new Float32Array(36) },
    };
    const file = new File([encode(two)], "t.safetensors");
    app.dropped = [file];
    mounted.update();
    app.dropped = null;
    await until(() => gone.length);
    await until(() => notes()[0].includes("posted for this picture"));
    assert.deepEqual(gone.splice(0), [[{ encoding: "learned", file: "t.safetensors" }, "push"]]);
    assert.ok(notes()[0].includes("t.safetensors is posted for this picture and stored nowhere."));
    assert.deepEqual(shown().at(0)!.ask.method, "POST");
    const tensor = stage.find("select").find((one) => one.attributes["aria-label"] === "tensor")!;
    assert.deepEqual(
        tensor.find("option").map(({ textContent }) => textContent),
        ["one", "two"],
    );
    tensor.value = "two";
    tensor.fire("change");
    assert.deepEqual(gone.splice(0), [
        [{ tensor: "two", length: undefined, rows: undefined, columns: undefined }, "push"],
    ]);
    await settled();
    assert.equal(paramsOf(shown()[0].ask).length, "9");
    select("encoding").value = "sinusoidal";
    select("encoding").fire("change");
    const [[changes]] = gone.splice(0);
    assert.deepEqual(
        [changes.encoding, changes.file, changes.tensor],
        ["sinusoidal", "t.safetensors", "two"],
    );
});

test("a click draws the curve that is chosen, with Shift the other one, and another click takes it away", async () => {
    const { canvas, gone, chip, settled } = await opened({
        dim: "4",
        length: "40",
        rows: "20..39",
    });
    const enter = async (shiftKey = false) => {
        canvas().fire("keydown", { key: "Enter", shiftKey });
        await settled();
        return gone.splice(0).at(-1);
    };
    for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown"])
        canvas().fire("keydown", { key });
    assert.deepEqual(await enter(), [{ plot_columns: "1" }, "push"]);
    assert.deepEqual(await enter(true), [{ plot_rows: "22" }, "push"]);
    assert.deepEqual(await enter(), [{ plot_columns: undefined }, "push"]);
    chip("its row")!.fire("click");
    assert.deepEqual(await enter(), [{ plot_rows: undefined }, "push"]);
    assert.deepEqual(await enter(true), [{ plot_columns: "1" }, "push"]);
});

test("the map of a shift is asked for with the encoding's own parameters, and taken away whole", async () => {
    const { stage, gone, asks, shown, chip, settled } = await opened({
        dim: "4",
        length: "9",
        base: "7",
        rows: "1..3",
    });
    const box = () => stage.find("section.shift")[0];
    assert.ok(box().hidden && shown().length === 1);
    asks.length = 0;
    chip("T_Δ: what a shift does")!.fire("click");
    assert.deepEqual(gone.splice(0), [[{ position: 3, delta: 5 }, "push"]]);
    await settled();
    await settled();
    const asked = asks.find(({ target }) => target.includes("shift"))!;
    assert.deepEqual(paramsOf(asked), { dim: "4", base: "7", position: "3", delta: "5" });
    const verdict = plain(box().find("p.verdict")[0].textContent);
    assert.ok(verdict.startsWith("PE(8) = T · PE(3): pair 0 goes by [0 1; 2 3]"), verdict);
    assert.ok(verdict.endsWith("differ by at most 0.003."));
    assert.deepEqual(
        shown().map(({ title }) => title),
        ["table", "T_Δ"],
    );
    const map = box().find("canvas.heat")[0];
    for (const key of ["ArrowRight", "ArrowRight", "ArrowDown"]) map.fire("keydown", { key });
    assert.equal(box().find("p.cell")[0].textContent, "T[1, 1] = 3");
    map.fire("keydown", { key: "ArrowRight" });
    assert.equal(box().find("p.cell")[0].textContent, "T[1, 2] = 0", "beside the blocks are zeros");
    const sliders = box()
        .find("input")
        .map(({ min, max }) => [min, max]);
    assert.deepEqual(sliders, [
        ["0", "1024"],
        ["-1024", "1024"],
    ]);
    chip("close")!.fire("click");
    assert.deepEqual(gone.splice(0), [[{ position: undefined, delta: undefined }, "push"]]);
    await settled();
    assert.ok(box().hidden && shown().length === 1);
});
