// SPDX-License-Identifier: MIT
// The forms of /docs: the command of a form, and answers as people read them.
import { fake } from "./fakes";
import assert from "node:assert/strict";
import test from "node:test";
import { told, trial } from "../../../explorer/src/docs/trial";
import { random } from "./random";

test("JSON is the same value on several lines, lists of numbers on one each", () => {
    const next = random(9);
    const value = (deep: number): unknown => {
        const kind = Math.floor(next() * (deep ? 6 : 4));
        if (kind === 0) return Math.floor(next() * 1e6) / 8;
        if (kind === 1) return "x".repeat(next() * 30) + '"\n';
        if (kind === 2) return next() < 0.5 ? null : next() < 0.5;
        if (kind === 3) return Array.from({ length: next() * 40 }, () => Math.floor(next() * 1000));
        const all = Array.from({ length: 1 + next() * 5 }, () => value(deep - 1));
        return kind === 4 ? all : Object.fromEntries(all.map((one, i) => [`name${i}`, one]));
    };
    for (let tries = 0; tries < 300; tries++) {
        const own = value(4),
            text = told(JSON.stringify(own));
        assert.equal(JSON.stringify(JSON.parse(text)), JSON.stringify(own));
        // A line is broken only where its value is long, and never within a list of numbers.
        if (JSON.stringify(own).length < 60) assert.ok(!text.includes("\n"), text);
        for (const line of text.split("\n"))
            assert.ok(line.length < 140 || !/[[{]\s*[[{"]/.test(line), line);
    }
    assert.equal(
        told(`{"a":[${"1,".repeat(40)}1],"b":{"c":"${"x".repeat(50)}","d":2}}`),
        `{\n  "a": [${"1,".repeat(40)}1],\n  "b": {\n    "c": "${"x".repeat(50)}",\n    "d": 2\n  }\n}`,
    );
    const length = (size: number) => `{"a":"${"x".repeat(size - 8)}"}`;
    assert.deepEqual(
        [told(length(59)).includes("\n"), told(length(60)).includes("\n")],
        [false, true],
    );
});

test("what is no JSON, or has numbers that a double would not keep, stays as it came", () => {
    for (const text of ["", "plain", "{bad", '{"a": 9007199254740993}', '{"a":1.0}', "[1e400]"])
        assert.equal(told(text), text);
});

function formed(given: object) {
    const place = { dataset: { try: JSON.stringify(given) } } as unknown as HTMLElement,
        form = fake(trial(place));
    return { form, command: () => form.find("pre")[0].textContent };
}

test("the command is the request of the form, as it is changed", () => {
    const { form, command } = formed({
        ...{ method: "GET", path: "/v1/encodings/{name}/table", query: [], known: ["dim", "base"] },
        ...{ name: "rope", names: ["rope", "a/b"] },
    });
    const [name, more] = form.find("select");
    assert.deepEqual(
        name.find("option").map((one) => [one.textContent, "selected" in one.attributes]),
        [
            ["rope", true],
            ["a/b", false],
        ],
    );
    name.value = "a/b";
    form.fire("input");
    assert.match(command(), /^curl '\S*\/v1\/encodings\/a%2Fb\/table'$/);
    const options = more.find("option").map((one) => one.attributes.value ?? one.textContent);
    assert.deepEqual(options, ["", "dim", "base"]);
});

test("a body is shown on several lines, and is sent as short as it stands there", () => {
    const body = JSON.stringify({
        model_type: "llama",
        numbers: Array(20).fill(7),
        text: "it's",
        more: "x".repeat(40),
    });
    const { form, command } = formed({
        method: "POST",
        path: "/v1/config",
        query: [],
        known: [],
        body,
    });
    const [area] = form.find("textarea");
    assert.equal(area.value, told(body));
    assert.ok(area.value.split("\n").length > 4);
    assert.ok(command().startsWith(`curl --json '${body.replace("'", `'\\''`)}' '`), command());
    area.value = '{"a": 1}';
    form.fire("input");
    assert.ok(command().startsWith(`curl --json '{"a": 1}' '`), command());
    assert.equal(form.find("select").length, 0, "there is nothing to name or to add");
});
