// SPDX-License-Identifier: MIT
// Small pictures of the first screen: bars, steps, marks and cells of the numbers that are answered.
import { fake } from "./fakes";
import assert from "node:assert/strict";
import test from "node:test";
import type { Ask } from "../../../explorer/src/api";
import type { App } from "../../../explorer/src/view";
import all from "../../../explorer/src/gallery.json";
import { gallery } from "../../../explorer/src/views/home/gallery";

const WIDTH = 220,
    HEIGHT = 56,
    VALUES = [1, 4, -2, 0, 1e6, 0.5, 2, 8],
    APART = [0, 0.01, 1, 100];

/** The same numbers for every request, but for the second of two that are compared. */
function service() {
    const asks: Ask[] = [];
    const ask = async (one: Ask) => {
        asks.push(one);
        const isOther =
            one.target.startsWith("/v1/rotation") &&
            asks.filter(({ target }) => target === one.target).length > 1;
        const data = VALUES.map((value, i) => value + (isOther ? APART[i % 4] : 0));
        return {
            tensors: new Proxy({}, { get: () => ({ data }) }),
            layers: [{}, { layers: [0, 5, 61] }],
        };
    };
    return {
        asks,
        app: { api: { ask }, link: (link: object) => JSON.stringify(link) } as unknown as App,
    };
}

test("each card is a link with its sentence and a picture of its numbers", async () => {
    const { asks, app } = service(),
        own = gallery(app),
        element = fake(own.element);
    assert.equal(element.find("a").length, 0, "what stands above comes first");
    own.draw();
    own.draw();
    await new Promise((done) => setTimeout(done, 200));
    const cards = element.find("a.card");
    assert.deepEqual(
        cards.map(({ attributes, textContent }) => [attributes.href, textContent]),
        all.map(({ link, en }) => [JSON.stringify(link), en]),
    );
    assert.ok(
        asks.every(
            ({ target, json }) =>
                json || target === "/v1/config" || target.endsWith("&format=json&flat=true"),
        ),
    );
    all.forEach((entry, i) => {
        const draw = entry.draw as {
                form: string;
                log?: boolean;
                above?: number;
                first?: number;
                of?: number;
            },
            shapes = cards[i].find("rect"),
            number = (name: string) => shapes.map((one) => one.number(name)),
            slow = shapes.map((one) => one.classList.contains("slow"));
        if (draw.form === "bars") {
            const sizes = VALUES.map((one) =>
                    draw.log ? Math.log10(Math.max(one, 1)) + 0.15 : Math.max(one, 0),
                ),
                most = Math.max(...sizes);
            assert.deepEqual(
                number("height"),
                sizes.map((one) => Math.max(1, (one / most) * (HEIGHT - 4))),
            );
            assert.deepEqual(
                number("x"),
                VALUES.map((_, k) => (k * WIDTH) / VALUES.length),
            );
            assert.deepEqual(
                slow,
                VALUES.map((one) => one > (draw.above ?? Infinity)),
            );
        } else if (draw.form === "marks") {
            assert.equal(shapes.length, draw.of);
            assert.deepEqual(
                slow.flatMap((one, k) => (one ? [k] : [])),
                [0, 5, 61],
            );
            assert.deepEqual(new Set(number("height")), new Set([HEIGHT - 4, 16]));
        } else if (draw.form === "rows") {
            assert.deepEqual(
                slow,
                VALUES.map((_, k) => k % 4 > 0),
            );
            assert.deepEqual(
                number("opacity").map((one) => +one.toFixed(6)),
                VALUES.map((_, k) => [1, 0.251, 0.35, 1][k % 4]),
            );
        } else {
            const { d } = cards[i].find("path")[0].attributes,
                shown = VALUES.slice(0, draw.first),
                [low, high] = [Math.min(...shown), Math.max(...shown)];
            const heights = [...d.matchAll(/(?:M[\d.]+ |V)([\d.]+)/g)].map(([, y]) => +y);
            heights.forEach((y, k) =>
                assert.ok(
                    Math.abs(y - (HEIGHT - 3 - ((shown[k] - low) / (high - low)) * (HEIGHT - 8))) <
                        0.06,
                    d,
                ),
            );
            assert.equal(heights.length, shown.length);
        }
    });
    own.leave();
});

test("pictures that do not come leave the sentences", async () => {
    const app = {
        api: { ask: () => Promise.reject(new Error("broke off")) },
        link: () => "",
    } as unknown as App;
    const own = gallery(app),
        element = fake(own.element);
    own.draw();
    await new Promise((done) => setTimeout(done, 150));
    assert.deepEqual(
        element.find("a.card").map(({ textContent }) => textContent),
        all.map(({ en }) => en),
    );
    own.leave();
});
