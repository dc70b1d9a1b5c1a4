// SPDX-License-Identifier: MIT
// Problems of the API in words of the page, for every refusal that was recorded.
import "./fakes";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { PosencError } from "../../../clients/js/client.js";
import { told } from "../../../explorer/src/kit/problem";
import { languageSet } from "../../../explorer/src/words";

declare const ROOT: string;

interface Problem {
    code: string;
    detail: string;
    errors?: { parameter?: string; pointer?: string; detail: string }[];
}

const problems: Problem[] = readFileSync(`${ROOT}/tests/recorded/answers.jsonl`, "utf8")
    .split("\n")
    .flatMap((line) => (line.includes("application/problem+json") ? [JSON.parse(line)] : []))
    .flatMap(({ text }) => (text?.startsWith("{") ? [JSON.parse(text)] : []))
    .filter(({ status }) => [400, 413, 422, 503].includes(status));

/** Words of those who send requests. */
const REQUESTS = new RegExp(
    [
        "/v1|/openapi|\\b(GET|POST|PUT|DELETE|HEAD|HTTP)\\b|\\b[Pp]arameters?\\b|JSON pointer",
        "\\bheaders\\b|\\bheader [A-Z]|media type|in (a|the) query|\\bbody\\b|format=|--[a-z]",
        'Content-|Tensor-|\\{"',
    ].join("|"),
);

test("there are refusals to look at", () => assert.ok(problems.length > 100));

test("no sentence has words of HTTP, and each says something", () => {
    const wrong = problems.flatMap((problem) => {
        const { title, mistakes } = told(new PosencError(422, problem), "http://h");
        return [title, ...mistakes.map(({ words }) => words)].filter(
            (words) => words.length < 8 || REQUESTS.test(words),
        );
    });
    assert.deepEqual([...new Set(wrong)], []);
});

test("in Chinese, titles and frequent sentences have no English words but names", () => {
    languageSet("zh-CN");
    const said = (detail: string) =>
        told(
            new PosencError(422, { code: "out-of-range", errors: [{ parameter: "dim", detail }] }),
            "http://h",
        ).mistakes[0].words;
    assert.equal(said("dim must be even for rope; got 7"), "dim 必须是偶数；实际为 7");
    assert.equal(
        said("base must be above 0 and at most 1e+30, got -1"),
        "base 必须大于 0，且不超过 1e+30；实际为 -1",
    );
    assert.equal(
        said("there is no parameter 'x'; did you mean 'p'?"),
        "没有名为 x 的设置；是否指 p？",
    );
    const wrong = problems.flatMap((problem) => {
        const { title, mistakes } = told(new PosencError(422, problem), "http://h");
        return [
            ...(/[a-z]{3}/.test(title) ? [title] : []),
            ...mistakes.filter(({ words }) => words.length < 4).map(({ words }) => words),
        ];
    });
    languageSet("en");
    assert.deepEqual(wrong, []);
});

/** A JSON pointer as a path of keys, in which ~1 is a slash and ~0 a tilde. */
const keysOf = (pointer: string) =>
    pointer.slice(1).replace(/\//g, ".").replace(/~1/g, "/").replace(/~0/g, "~");

test("each mistake has its field", () => {
    for (const problem of problems.filter(({ errors }) => errors)) {
        const { mistakes } = told(new PosencError(422, problem), "http://h");
        assert.deepEqual(
            mistakes.map(({ field, key }) => key ?? field),
            problem.errors!.map(({ parameter, pointer }) =>
                pointer ? keysOf(pointer) : parameter,
            ),
        );
    }
});

test("a server that is gone is told apart from a refusal and from a fault of the page", () => {
    const gone = told(new TypeError("Failed to fetch"), "http://h:1");
    assert.ok(gone.again && gone.mistakes[0].words.includes("http://h:1"));
    assert.ok(!gone.mistakes[0].words.includes("fetch"));
    assert.notEqual(told(new Error("broke off"), null).title, gone.title);
    assert.ok(told(new PosencError(503, { code: "busy", detail: "later" }), "http://h").again);
    assert.ok(
        !told(new PosencError(422, { code: "out-of-range", detail: "low" }), "http://h").again,
    );
});
