// SPDX-License-Identifier: MIT
// Colours of values: the same as in the pictures of the API.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { colours, LAST, shades, type Palette } from "../../../explorer/src/kit/palette";

declare const ROOT: string;

const SOURCE = readFileSync(`${ROOT}/api/pictures/canvas.c`, "utf8");
const parts = (colour: number) => [
    colour & 255,
    (colour >> 8) & 255,
    (colour >> 16) & 255,
    colour >>> 24,
];

/** The stops of a palette in the C source, and the colour at a share of the way along them. */
function expected(name: Palette, share: number): number[] {
    const [, list] = new RegExp(`API_${name.toUpperCase()}\\] = \\{\\d+,\\s*\\{([^}]*)\\}`).exec(
        SOURCE,
    )!;
    const stops = list.split(",").map((one) => parseInt(one.trim(), 16));
    const at = share * (stops.length - 1),
        low = Math.min(Math.floor(at), stops.length - 2);
    return [16, 8, 0].map(
        (shift) =>
            ((stops[low] >> shift) & 255) * (1 - at + low) +
            ((stops[low + 1] >> shift) & 255) * (at - low),
    );
}

for (const name of ["rdbu", "viridis"] as const)
    test(`${name} is that of the API`, () => {
        const all = colours(name);
        assert.equal(all.length, 255);
        all.forEach((colour, i) => {
            const [r, g, b, opaque] = parts(colour),
                other = expected(name, i / LAST);
            assert.equal(opaque, 255);
            [r, g, b].forEach((part, k) =>
                assert.ok(
                    Math.abs(part - other[k]) <= 0.5 + 1e-9,
                    `${name} ${i}: ${[r, g, b]} and ${other}`,
                ),
            );
        });
    });

test("above zero is red, below it blue, zero nearly white", () => {
    const [minus, zero, plus] = [...shades([-1, 0, 1], 3, -1, 1, "rdbu")].map(parts);
    assert.ok(plus[0] > 2 * plus[2] && minus[2] > 2 * minus[0]);
    assert.ok(Math.min(...zero.slice(0, 3)) > 240);
});

test("values have the colour of their share of the range, in order", () => {
    for (const [low, high] of [
        [-3, 3],
        [0, 1],
        [-40, -2],
        [1e-9, 2e-9],
    ]) {
        const count = 1000,
            values = Float64Array.from(
                { length: count },
                (_, i) => low + ((high - low) * i) / (count - 1),
            );
        const drawn = shades(values, count, low, high, "viridis"),
            all = [...colours("viridis")];
        drawn.forEach((colour, i) => {
            const at = (i / (count - 1)) * LAST; // a border of two colours may be rounded either way
            assert.ok(
                [at - 1e-6, at + 1e-6].some((one) => all[Math.round(one)] === colour),
                `${i}`,
            );
        });
    }
});

test("values beyond the range have the colours of its ends, and no number is clear", () => {
    const all = colours("viridis");
    assert.deepEqual(
        [...shades([-9, 9, NaN, Infinity, -Infinity], 5, 0, 1, "viridis")],
        [all[0], all[LAST], 0, 0, 0],
    );
});
