// SPDX-License-Identifier: MIT
// Where hands stand: by their wavelengths, none on top of another.
import "./fakes";
import type { FakeElement } from "./fakes";
import assert from "node:assert/strict";
import test from "node:test";
import { laid, power, stretched, type Hand } from "../../../explorer/src/kit/hands_layout";

const hands = (count: number, base: number, slowed: number): Hand[] =>
    Array.from({ length: count }, (_, i) => {
        const before = 2 * Math.PI * base ** (i / count),
            wavelength = i * 2 > count ? before * slowed : before;
        return { frequency: (2 * Math.PI) / wavelength, wavelength, before };
    });

const spread = (all: SVGElement[]): FakeElement[] => all as unknown as FakeElement[];

for (const [count, base, slowed] of [
    [32, 1e4, 1],
    [64, 5e5, 8],
    [16, 100, 3],
])
    test(`${count} hands of base ${base} stand on a logarithmic axis`, () => {
        const all = hands(count, base, slowed),
            { places, radius, height, behind } = laid(all, 1000, ["", ""], true);
        const logs = all.map(({ wavelength }) => Math.log10(wavelength));
        const last = logs.indexOf(Math.max(...logs)),
            first = logs.indexOf(Math.min(...logs));
        const slope = (places[last].x - places[first].x) / (logs[last] - logs[first]);
        assert.ok(slope > 50);
        places.forEach(({ x, y }, i) => {
            assert.ok(Math.abs(x - places[first].x - slope * (logs[i] - logs[first])) < 1e-6);
            assert.ok(x >= 0 && x <= 1000 && y >= radius && y <= height - radius);
            for (let k = 0; k < i; k++)
                assert.ok(
                    Math.hypot(x - places[k].x, y - places[k].y) >= 2 * radius - 0.01,
                    `${k} and ${i}`,
                );
        });
        // Numbers under the axis are where hands of that wavelength would be.
        for (const text of spread(behind).filter(
            (one) => one.attributes["text-anchor"] === "middle",
        )) {
            const decade = Array.from({ length: 12 }, (_, i) => i).find(
                (i) => power(i) === text.textContent,
            )!;
            assert.ok(
                Math.abs(text.number("x") - places[first].x - slope * (decade - logs[first])) <
                    0.01,
                text.textContent,
            );
        }
    });

test("the context ends where a hand of its length would stand", () => {
    const all = hands(32, 1e4, 1),
        { edge, behind, places } = laid(all, 800, ["", ""], true);
    edge(all[20].wavelength);
    const line = spread(behind).find((one) => one.attributes.class === "edge")!;
    const shade = spread(behind).find((one) => one.attributes.class === "beyond")!;
    assert.ok(Math.abs(line.number("x1") - places[20].x) < 1e-6);
    assert.ok(Math.abs(shade.number("x") + shade.number("width") - 800) < 1e-6);
});

test("on a narrow screen every hand stands under its decade", () => {
    const all = hands(48, 1e5, 4),
        { places, behind, radius } = laid(all, 320, ["", ""], false);
    const names = spread(behind)
        .filter((one) => one.name === "text")
        .slice(1);
    all.forEach(({ wavelength }, i) => {
        const above = names.filter((one) => one.number("y") < places[i].y).at(-1)!;
        assert.ok(
            above.textContent.startsWith(`${power(Math.floor(Math.log10(wavelength)))} to `),
            `${wavelength}: ${above.textContent}`,
        );
        assert.ok(places[i].x >= radius && places[i].x <= 320 - radius);
    });
});

test("what never turns stands somewhere, and is not called stretched", () => {
    const all = [...hands(8, 100, 1), { frequency: 0, wavelength: Infinity, before: Infinity }];
    for (const wide of [true, false])
        for (const { x, y } of laid(all, 600, ["", ""], wide).places)
            assert.ok(Number.isFinite(x) && Number.isFinite(y));
    assert.equal(stretched(all.at(-1)!), false);
    assert.ok(stretched({ frequency: 1, wavelength: 2, before: 1 }));
});
