// SPDX-License-Identifier: MIT
// Numbers as people read them stand for the numbers that they are made from.
import assert from "node:assert/strict";
import test from "node:test";
import { exact, short, whole } from "../../../explorer/src/numbers";
import { random } from "./random";

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** The number that a text says. */
function said(text: string): number {
    const plain = text.replace(/[\u202f ]/g, "").replace(/−/g, "-");
    const [, front, power] = /^(?:(-?[\d.]+)·)?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)$/.exec(plain) ?? [];
    if (!power) return Number(plain.replace("∞", "Infinity"));
    const exponent = [...power].map((one) => (one === "⁻" ? "-" : RAISED.indexOf(one))).join("");
    return Number(front ?? 1) * 10 ** Number(exponent);
}

test("short numbers are right to their digits", () => {
    const next = random(7);
    for (let i = 0; i < 4000; i++) {
        const value = (next() - 0.5) * 10 ** (next() * 36 - 18),
            digits = 2 + (i % 6);
        const text = short(value, digits),
            error = Math.abs(said(text) - value);
        const least = Math.abs(value) < 10 ** digits ? 0 : 0.5; // whole ones are written out
        assert.ok(
            error <= Math.max(least, Math.abs(value) * 10 ** (1 - digits) * 0.5001),
            `${value}: ${text}`,
        );
    }
});

test("short numbers of any kind", () => {
    assert.deepEqual(
        [0, 1, -1, 0.5, 131072, 1e-7, Infinity, -Infinity, NaN].map((one) => short(one)),
        ["0", "1", "−1", "0.5", "131\u202f072", "10⁻⁷", "∞", "−∞", "NaN"],
    );
});

test("whole numbers have their thousands apart, and every digit", () => {
    const next = random(3);
    for (let i = 0; i < 500; i++) {
        const value = Math.round((next() - 0.5) * 10 ** (i % 15)) || 0,
            text = whole(value);
        assert.equal(said(text), value);
        assert.ok(
            text
                .replace("−", "")
                .split("\u202f")
                .every((part, k) => (k ? part.length === 3 : part.length <= 3)),
        );
    }
});

test("exact numbers are read back as they were", () => {
    const next = random(5);
    for (let i = 0; i < 500; i++) {
        const value = Math.fround((next() - 0.5) * 10 ** (next() * 20 - 10));
        assert.equal(said(exact(value)), value);
    }
});
