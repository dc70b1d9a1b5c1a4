// SPDX-License-Identifier: MIT
// What a table is asked for: how many rows it has, the part of them that is seen, one row alone, and
// the difference of two.
import { fake } from "./fakes";
import assert from "node:assert/strict";
import test from "node:test";
import { h } from "../../../explorer/src/dom";
import { between } from "../../../explorer/src/views/table/between";
import type { Picture } from "../../../explorer/src/views/table/picture";
import {
    one,
    request,
    source,
    type Entry,
    type Source,
} from "../../../explorer/src/views/table/source";
import type { App } from "../../../explorer/src/view";

const tensor = (...shape: number[]) => ({
    dtype: "f32",
    shape,
    data: new Float32Array(shape.reduce((a, b) => a * b)),
});
const OWN = { name: "t", tensors: { t: tensor(12, 4) } };
const app = (params: Record<string, string>) => ({ state: { params } }) as unknown as App;
const paramsOf = (target: string) => Object.fromEntries(new URLSearchParams(target.split("?")[1]));

const entry = (
    name: string,
    operations: Record<string, string[]> = { table: ["start", "pool"] },
): Entry =>
    ({
        name,
        parameters: { properties: {}, required: [] },
        operations: Object.entries(operations).map(([operation, names]) => ({
            name: operation,
            href: `/v1/encodings/${name}/${operation}`,
            parameters: {
                properties: Object.fromEntries(names.map((one) => [one, {}])),
                required: [],
            },
            example: `/v1/encodings/${name}/${operation}?dim=8&length=4`,
        })),
    }) as unknown as Entry;
const made = (
    name: string,
    params: Record<string, string>,
    operations?: Record<string, string[]>,
) => source(app(params), entry(name, operations), { name: "", tensors: {} });

test("every encoding has as many rows as its parameters make of it", () => {
    for (const [name, params, rows] of [
        ["sinusoidal", { length: "30" }, 30],
        ["transformer-xl", { length: "30" }, 59],
        ["transformer-xl", { length: "30", direction: "past" }, 30],
        ["transformer-xl", { length: "30", direction: "both" }, 59],
        ["sinusoidal-2d", { height: "3", width: "5" }, 15],
        ["sinusoidal-2d", { height: "3", width: "5", class_token: "true" }, 16],
        ["sinusoidal-2d", { height: "3", width: "5", class_token: "1" }, 16],
        ["sinusoidal-2d", { height: "3", width: "5", class_token: "false" }, 15],
        ["sinusoidal-2d", { height: "3", width: "5", class_token: "0" }, 15],
        ["rope-2d", { height: "2", width: "7" }, 14],
        ["rope-nd", { shape: "2,3,4" }, 24],
        ["sinusoidal-nd", { shape: "5" }, 5],
        ["fourier", { shape: "4,4" }, 16],
        ["shaw", { max_relative_position: "9" }, 19],
        ["rope", { positions: "1,2,3" }, undefined],
        ["rope-nd", { coordinates: "1,2" }, undefined],
    ] as [string, Record<string, string>, number | undefined][])
        assert.equal(made(name, params).rows, rows, `${name} ${JSON.stringify(params)}`);
    const bias = made("alibi", { query_length: "9", key_length: "12" }, { bias: ["query_start"] });
    assert.deepEqual([bias.rows, bias.columns], [9, 12]);
    const square = made("alibi", { query_length: "9" }, { bias: [] });
    assert.deepEqual([square.rows, square.columns], [9, 9]);
});

test("the rows that are seen are all that is asked for, where the API can leave the others out", () => {
    const asked = (own: Source, rows: [number, number] | null) => {
        const found = request(own, rows, null, "mean", false);
        return { ...paramsOf(found.whole.target), cut: `${found.cut}` };
    };
    const plain = { dim: "8", length: "40" };
    for (const [params, start] of [
        [{}, "5"],
        [{ start: "100" }, "105"],
        [{ start: "100", step: "3" }, "115"],
        [{ step: "0.5" }, "2.5"],
        [{ start: "-2", step: "-1" }, "-7"],
    ] as const)
        assert.deepEqual(asked(made("rope", { ...plain, ...params }), [5, 9]), {
            ...{ dim: "8", ...params, start, length: "4" },
            cut: "false",
        });
    const bias = { bias: ["query_start"] };
    for (const [params, begin] of [
        [{}, "2"],
        [{ query_start: "10" }, "12"],
    ] as const) {
        const found = asked(
            made("alibi", { query_length: "9", key_length: "12", ...params }, bias),
            [2, 5],
        );
        assert.deepEqual(
            [found.query_start, found.query_length, found.key_length, found.cut],
            [begin, "3", "12", "false"],
        );
    }
    const other = made("rope", plain, { table: [] });
    assert.deepEqual(asked(other, [5, 9]), { dim: "8", length: "40", cut: "true" });
    assert.deepEqual(asked(other, null), { dim: "8", length: "40", cut: "false" });
    assert.equal(one(other, 3), undefined);
    assert.deepEqual(paramsOf(one(made("rope", { ...plain, start: "7", step: "2" }), 3)!.target), {
        ...{ dim: "8", start: "13", step: "2", length: "1" },
    });
});

test("more rows than there are pixels are pooled, as bytes where colours alone are read", () => {
    for (const [length, dim, columns, rows, expected] of [
        [512, 512, null, null, false],
        [513, 8, null, null, true],
        [5000, 8, null, [0, 512], false],
        [5000, 8, null, [0, 513], true],
        [300, 1024, null, null, true], // of which there are 2^18 cells at most
        [256, 1024, null, null, false],
    ] as const) {
        const own = made("rope", { dim: `${dim}`, length: `${length}` });
        for (const fine of [false, true]) {
            const span = rows ? ([...rows] as [number, number]) : null,
                found = request(own, span, columns, "max", fine);
            assert.deepEqual(
                [found.pooled, found.bytewise],
                [expected, expected && !fine],
                `${length}`,
            );
            const params = paramsOf(found.ask.target);
            assert.equal(params.pool, expected ? "max" : undefined);
            assert.equal(params.dtype, expected && !fine ? "u8" : undefined);
            if (expected) assert.ok(+params.rows * dim <= 1 << 18 && +params.rows <= 512);
            assert.equal(paramsOf(found.whole.target).pool, undefined);
        }
    }
    const wide = made("alibi", { query_length: "8", key_length: "600" }, { bias: ["pool"] });
    assert.equal(paramsOf(request(wide, null, null, "mean", true).ask.target).columns, "512");
    assert.ok(!request(wide, null, [0, 9], "mean", true).pooled);
    const none = made("rope", { dim: "8", length: "9000" }, { table: [] });
    assert.ok(!request(none, null, null, "mean", false).pooled, "which the API cannot do");
});

test("a posted table is asked for with its bytes, at most as many rows as it has", () => {
    const learned = {
        ...entry("learned", { table: ["start"] }),
        parameters: { properties: { table: {} }, required: [] },
    } as unknown as Entry;
    for (const [params, length, most] of [
        [{}, "12", 12],
        [{ length: "5" }, "5", 12],
        [{ length: "99" }, "12", 12],
        [{ length: "0" }, "1", 12],
    ] as [Record<string, string>, string, number][]) {
        const own = source(app(params), learned, OWN);
        assert.deepEqual(
            [own.params.length, own.most, own.params.table],
            [length, most, "tensor:table"],
        );
        const { ask } = request(own, null, null, "mean", false);
        assert.deepEqual([ask.method, ask.type], ["POST", "application/octet-stream"]);
        assert.ok(ask.bytes === own.bytes && own.bytes!.size > 12 * 4 * 4);
    }
    const stored = source(app({ table: "mine" }), learned, OWN);
    assert.equal(stored.bytes, undefined);
});

const seen = (layers: number[][], rows: number, columns: number): Picture => ({
    layers: layers.map((values, i) => ({ name: ["cos", "sin"][i], values })),
    rows,
    columns,
    down: [0, rows],
    across: [0, columns],
    all: { rows, columns },
    heads: 1,
});

function differing(a: Picture | undefined, b: Picture | undefined) {
    const place = h("div");
    between(place, [a, b]);
    const element = fake(place);
    return {
        text: element.textContent.replaceAll("\u202f", ""),
        maps: element.find("canvas").length,
    };
}

test("the difference of two tables has its place, its size and the number of equal cells", () => {
    const zero = Array<number>(12).fill(0);
    for (const layer of [0, 1])
        for (let at = 0; at < 12; at++)
            for (const size of [0.5, -0.5]) {
                const other = [[...zero], [...zero]];
                other[layer][at] = size;
                const { text, maps } = differing(seen([zero, zero], 4, 3), seen(other, 4, 3));
                assert.equal(maps, 2);
                assert.ok(
                    text.includes(
                        `Farthest apart by 0.5, at row ${Math.floor(at / 3)}, column ${at % 3}; 23 of 24 cells are equal.`,
                    ),
                    text,
                );
            }
    assert.ok(
        differing(seen([zero], 4, 3), seen([zero], 4, 3)).text.includes("equal, number by number"),
    );
    for (const other of [seen([zero], 3, 4), seen([zero, zero], 4, 3)])
        assert.deepEqual(differing(seen([zero], 4, 3), other), {
            text: "The two have not as many rows and columns: there is no difference to draw.",
            maps: 0,
        });
    assert.deepEqual(differing(undefined, seen([zero], 4, 3)), { text: "", maps: 0 });
});
