// SPDX-License-Identifier: MIT
// The URL is the state, and what of it a view can take.
import "./fakes";
import assert from "node:assert/strict";
import test from "node:test";
import { checked, faultSaid, isAccepted, type Accepts } from "../../../explorer/src/checks";
import { changed, pageAccepts, pageParams, read, written } from "../../../explorer/src/state";

const url = (search: string) => new URL(`http://h/some/where/?${search}`);

test("what is written is read", () => {
    const values = { dim: "64", text: "a b&c=d", list: "1,2,3", config: '{"a": "é%"}' };
    const next = changed(url("view=table&lang=zh-CN&theme=dark&present=1"), values);
    const state = read(next);
    assert.deepEqual(state.params, values);
    assert.deepEqual(
        [state.view, state.lang, state.theme, state.present],
        ["table", "zh-CN", "dark", true],
    );
    assert.ok(next.search.includes("list=1,2,3"));
});

test("both sides of a comparison are read apart from each other", () => {
    const a = written({ dim: "64" }, { base: 2 }),
        b = written({ dim: "8" }, { dim: undefined });
    const { sides, params } = read(changed(url("view=table"), { a, b: b || " " }));
    assert.deepEqual(sides, { a: { dim: "64", base: "2" }, b: {} });
    assert.deepEqual(params, {});
});

test("another view keeps how the page is read, and nothing else", () => {
    const next = changed(url("view=table&lang=en&theme=dark&dim=3&a=x%3D1"), {
        view: "story",
        step: 2,
    });
    assert.equal(next.search, "?view=story&lang=en&theme=dark&step=2");
    assert.equal(changed(next, { view: "home" }).searchParams.has("view"), false);
    assert.equal(changed(next, { step: undefined }).searchParams.has("step"), false);
});

test("names of the page are reported where they mean nothing", () => {
    const accepts = pageAccepts(["home", "table"]);
    const faults = (search: string) =>
        checked(pageParams(url(search)), accepts, false).faults.map(
            ({ name, value }) => `${name}=${value}`,
        );
    assert.deepEqual(faults("view=table&lang=en&theme=auto&present=1&dim=x"), []);
    assert.deepEqual(faults("view=foo&lang=xx&theme=pink&present=2"), [
        "view=foo",
        "lang=xx",
        "theme=pink",
        "present=2",
    ]);
});

test("a view is given what it can take; all else is a fault, or a parameter of the API", () => {
    const accepts: Record<string, Accepts> = {
        kind: ["a", "b"],
        size: [1, 9, 1],
        share: [0, 1],
        form: /^\d+$/,
        name: "text",
    };
    const right = { kind: "b", size: "9", share: "0.5", form: "12", name: "any" };
    assert.deepEqual(checked(right, accepts, false), { params: right, faults: [] });
    const wrong = {
        kind: "c",
        size: "2.5",
        share: "-0.1",
        form: "1x",
        other: "1",
        constructor: "1",
    };
    const { params, faults } = checked({ ...wrong, name: "kept" }, accepts, false);
    assert.deepEqual(params, { name: "kept" });
    assert.deepEqual(
        faults.map(({ name }) => name),
        Object.keys(wrong),
    );
    for (const fault of faults)
        assert.ok([fault.name, fault.value].every((one) => faultSaid(fault).includes(one)));
    assert.deepEqual(checked({ other: "1" }, accepts, true).params, { other: "1" });
});

test("no number is outside of every range", () => {
    for (const value of ["", " ", "abc", "NaN", "1e999", "0x", "1 2"])
        assert.equal(isAccepted([-10, 10], value), false, value);
    for (const value of ["-10", "10", "1e0", "0.5"])
        assert.equal(isAccepted([-10, 10], value), true);
});
