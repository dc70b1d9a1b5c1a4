// SPDX-License-Identifier: MIT
// Styles of a state: under the pointer, with the focus, disabled. A browser at rest shows none of
// them, so that they are read from the sources.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import test from "node:test";

declare const ROOT: string;

interface Rule {
    file: string;
    selector: string;
    set: Record<string, string>;
}

const STATE = /:(hover|focus-visible|focus-within|focus|active|disabled|checked)/g;
const FOLDER = `${ROOT}/explorer/src/style`;

/** One for each selector of a list; conditions of media are left out. */
function rulesOf(file: string): Rule[] {
    const text = readFileSync(`${FOLDER}/${file}`, "utf8").replace(/\/\*[^]*?\*\//g, "");
    return [...text.matchAll(/([^{};]+)\{([^{}]*)\}/g)].flatMap(([, selectors, body]) => {
        const set = Object.fromEntries(
            body
                .split(";")
                .filter((one) => one.includes(":"))
                .map((one) => [one.split(":")[0].trim(), one.slice(one.indexOf(":") + 1).trim()]),
        );
        return selectors
            .split(/,(?![^(]*\))/)
            .map((selector) => ({ file, selector: selector.trim(), set }));
    });
}

const rules = readdirSync(FOLDER)
    .filter((name) => name.endsWith(".css"))
    .flatMap(rulesOf);
const states = rules.filter(({ selector }) => selector.search(STATE) >= 0);
const named = ({ file, selector }: Rule) => `${file}: ${selector}`;
const isFocus = ({ selector }: Rule) => /:focus/.test(selector);

test("the pointer over something changes its colours, and moves nothing", () => {
    const hovered = states.filter(({ selector }) => /:hover/.test(selector));
    assert.ok(hovered.length > 5);
    for (const one of hovered)
        for (const name of Object.keys(one.set))
            assert.match(
                name,
                /(^|-)(colou?r|background|opacity|stroke|fill)$|radius$/,
                named(one),
            );
});

test("a state has other values than what it is a state of, and colours by their tokens", () => {
    for (const one of states) {
        const plain = one.selector.replace(STATE, "");
        for (const other of rules.filter(({ selector }) => selector === plain))
            for (const [name, value] of Object.entries(one.set))
                assert.notEqual(other.set[name], value, `${named(one)} ${name}`);
        for (const [name, value] of Object.entries(one.set))
            if (/color$|^background$|^stroke$/.test(name))
                assert.match(value, /^(var\(--[\w-]+\)|currentcolor)$/, `${named(one)} ${name}`);
    }
});

test("the focus is seen: an outline, or where there is none another border", () => {
    const general = rules.filter(({ selector }) => selector === ":focus-visible");
    assert.equal(general.length, 1);
    assert.match(general[0].set.outline, /^[2-9]px solid var\(--turn\)$/);
    // The page moves the focus there itself, for readers of the screen.
    const moved = /^(main|\.docs :is\(h1, h2, h3\)):focus-visible$/;
    const without = rules.filter(({ set, selector }) => /^(none|0)\b/.test(set.outline ?? ""));
    assert.ok(without.length > 2);
    for (const one of without)
        assert.ok(
            moved.test(one.selector) ||
                states.some(
                    (other) =>
                        other.file === one.file &&
                        isFocus(other) &&
                        (other.set["border-color"] ?? other.set.stroke),
                ),
            named(one),
        );
});

test("what stands outside of the page comes into it with the focus", () => {
    const outside = rules.filter(({ set }) => /^-\d{3,}/.test(set.left ?? ""));
    assert.ok(outside.length);
    for (const one of outside)
        assert.ok(
            states.some(
                (other) =>
                    isFocus(other) &&
                    other.selector.replace(STATE, "") === one.selector &&
                    other.set.left?.startsWith("var(--s"),
            ),
            named(one),
        );
});

test("what is disabled is paler, and no pointer says otherwise", () => {
    const disabled = states.filter(({ selector }) => /:disabled/.test(selector));
    assert.ok(disabled.length);
    for (const { set } of disabled)
        assert.ok(+set.opacity > 0.2 && +set.opacity < 0.7 && set.cursor === "default");
});

test("what an engine reads otherwise, or refuses, is bad, and what it reads alike is good", () => {
    const colour = (verdict: string) => {
        const own = rules.filter(
            ({ selector }) => selector === `.engines li[data-verdict="${verdict}"] b`,
        );
        return own.map(({ set }) => set.color);
    };
    for (const verdict of ["differs", "raises"])
        assert.deepEqual(colour(verdict), ["var(--bad)"], verdict);
    assert.deepEqual(colour("same"), ["var(--good)"]);
});
