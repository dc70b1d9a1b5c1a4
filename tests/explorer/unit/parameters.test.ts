// SPDX-License-Identifier: MIT
// Controls of a table, by the schemas of its parameters.
import { fake, type FakeElement } from "./fakes";
import assert from "node:assert/strict";
import test from "node:test";
import type { App } from "../../../explorer/src/view";
import { controls } from "../../../explorer/src/views/table/parameters";
import { source, type Entry, type Parameter } from "../../../explorer/src/views/table/source";

const SCHEMAS: Record<string, Partial<Parameter>> = {
    dim: { type: "integer", minimum: 2, maximum: 99 },
    base: { type: "number", exclusiveMinimum: 0, maximum: 1e30, default: 10000 },
    layout: { type: "string", enum: ["half", "interleaved"], default: "half" },
    part: { type: "string", enum: ["cos", "sin"] },
    cache: { type: "boolean", default: false },
    factor: { type: "number" },
    positions: { type: ["array", "string"] },
    length: { type: "integer", minimum: 1 },
    format: { type: "string" },
};

const entry = (names = Object.keys(SCHEMAS)): Entry =>
    ({
        name: "rope",
        parameters: {
            properties: Object.fromEntries(
                names.map((name) => [name, { description: `what ${name} is`, ...SCHEMAS[name] }]),
            ),
            required: [],
        },
        operations: ["table", "scale", "frequencies"].map((name) => ({
            name,
            href: `/v1/encodings/rope/${name}`,
            parameters: { properties: {}, required: [] },
            example: "/v1/encodings/rope/table?dim=8&length=4",
        })),
    }) as unknown as Entry;

function made(params: Record<string, string> = {}) {
    const gone: unknown[] = [];
    const app = { state: { params }, go: (...all: unknown[]) => gone.push(all) } as unknown as App;
    const { front, more } = controls(app, source(app, entry(), { name: "", tensors: {} }));
    const lists = [front(), more.map((one) => one())].map((all) => all.map(fake));
    const found = (name: string) =>
        lists
            .flat()
            .flatMap((one) => one.all())
            .find((one) => one.dataset.name === name)!;
    return { gone, found, front: lists[0], more: lists[1] };
}

const fieldOf = (control: FakeElement) => control.find("input")[0] ?? control.find("select")[0];

test("a number has the ends of its schema, an open one too, and the step of its type", () => {
    const { found } = made();
    for (const [name, type, min, max, step] of [
        ["dim", "number", "2", "99", "1"],
        ["base", "number", "0", "1e+30", "any"],
        ["factor", "number", undefined, undefined, "any"],
        ["positions", "text", undefined, undefined, undefined],
    ] as const) {
        const { attributes } = fieldOf(found(name));
        assert.deepEqual(
            ["type", "min", "max", "step"].map((one) => attributes[one]),
            [type, min, max, step],
            name,
        );
        assert.equal(attributes["aria-label"], name);
        assert.equal(found(name).title, `what ${name} is`);
    }
    assert.equal(fieldOf(found("base")).attributes.placeholder, "10000");
    assert.equal(fieldOf(found("dim")).attributes.placeholder, "");
});

test("a choice has its words, and none where it has no default", () => {
    const { found } = made();
    const options = (name: string) =>
        found(name)
            .find("option")
            .map((one) => [one.attributes.value, one.textContent]);
    assert.deepEqual(options("layout"), [
        ["half", "half"],
        ["interleaved", "interleaved"],
    ]);
    assert.deepEqual(
        options("cache").map(([value]) => value),
        ["false", "true"],
    );
    assert.deepEqual(options("part")[0], ["", "–"]);
    assert.deepEqual([fieldOf(found("part")).value, fieldOf(found("layout")).value], ["", "half"]);
    const chosen = made({ part: "sin", layout: "interleaved", cache: "true" });
    assert.deepEqual(
        ["part", "layout", "cache"].map((name) => fieldOf(chosen.found(name)).value),
        ["sin", "interleaved", "true"],
    );
    assert.equal(chosen.found("part").find("option").length, 2);
});

test("what changes a table is a step, and shows all of it; what no table has is no control", () => {
    const { found, gone, front, more } = made({ rows: "1..2", base: "5" });
    const set = (name: string, value: string, type = "change") => {
        const field = fieldOf(found(name));
        Object.assign(field, { value, reportValidity: () => value !== "bad" });
        field.fire(type);
        return gone.splice(0);
    };
    const all = { rows: undefined, columns: undefined };
    assert.deepEqual(set("dim", "16"), [[{ dim: "16", ...all }, "push"]]);
    assert.deepEqual(set("layout", "interleaved"), [[{ layout: "interleaved", ...all }, "push"]]);
    assert.deepEqual(set("operation", "scale"), [[{ operation: "scale", ...all }, "push"]]);
    assert.deepEqual(set("base", "bad"), [], "which the field says itself");
    assert.deepEqual(set("length", `${Math.log2(64)}`, "input"), [
        [{ length: 64, rows: undefined }],
    ]);
    assert.equal(found("format"), undefined);
    const names = (list: FakeElement[]) =>
        list.flatMap((one) => one.all()).flatMap((one) => one.dataset.name ?? []);
    assert.deepEqual(names(front), ["operation", "dim", "base", "layout", "part", "length"]);
    assert.deepEqual(names(more), ["cache", "factor", "positions"]);
    for (const one of more) assert.match(one.find("p")[0].textContent, /^what \w+ is$/);
    assert.deepEqual(
        found("operation")
            .find("option")
            .map(({ textContent }) => textContent),
        ["table", "scale"],
    );
});
