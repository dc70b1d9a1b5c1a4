// SPDX-License-Identifier: MIT
// Values of links: a view takes each that its own controls write, and one without any is the same
// view for as long as there are links to it.
import assert from "node:assert/strict";
import test from "node:test";
import { fake, FakeElement } from "./fakes";
import type { Ask } from "../../../explorer/src/api";
import { isAccepted } from "../../../explorer/src/checks";
import { h } from "../../../explorer/src/dom";
import { mounts } from "../../../explorer/src/second";
import type { App } from "../../../explorer/src/view";
import { views } from "../../../explorer/src/views";

/** Those of the second script without waiting for it. */
const mountOf = (name: string) =>
    (mounts as Record<string, (typeof mounts)["story"]>)[name] ??
    views.find((one) => one.name === name)!.mount;

/** A view that waits for its answers: its controls, and what it requests. */
function opened(name: string, params: Record<string, string>) {
    const asks: Ask[] = [],
        written: Record<string, unknown>[] = [];
    const app = {
        state: { params, lang: "en", theme: "auto", view: name, sides: null },
        go: (changes: Record<string, unknown>) => void written.push(changes),
        link: () => "",
        has: () => true,
        shows() {},
        say() {},
        report() {},
        fail: (_: object, error: unknown) => assert.equal(error, null),
        api: { ask: (ask: Ask) => (asks.push(ask), new Promise(() => {})) },
    } as unknown as App;
    const stage = h("div"),
        mounted = mountOf(name)(stage, app);
    return { stage: fake(stage), asks, written, mounted };
}

const sliders = (stage: FakeElement) =>
    stage.find("input").filter((one) => one.attributes.type === "range");

for (const [name, links] of Object.entries({
    story: [1, 2, 3, 4, 5, 6].map((step) => ({ step: `${step}` })),
    distance: [{}, { encoding: "alibi" }],
    precision: [{}],
}) as [string, Record<string, string>[]][])
    test(`${name}: both ends of each slider are values of its links`, () => {
        const accepts = views.find((one) => one.name === name)!.accepts();
        let count = 0;
        for (const link of links) {
            const { stage, written, mounted } = opened(name, link);
            for (const one of sliders(stage))
                for (const end of [one.min, one.max]) {
                    one.value = end;
                    written.length = 0;
                    one.fire("input");
                    for (const [key, value] of Object.entries(written[0])) {
                        assert.ok(isAccepted(accepts[key], `${value}`), `${key}=${value}`);
                        count++;
                    }
                }
            mounted.leave();
        }
        assert.ok(count >= 2 * links.length);
    });

test("rows, columns and all else that is counted is counted from 0", () => {
    const counted = /^(head|bias_head|row|column|frame|pair)$/;
    let count = 0;
    for (const { name, accepts } of views)
        for (const [key, one] of Object.entries(accepts()))
            if (counted.test(key) && Array.isArray(one)) {
                assert.equal(one[0], 0, `${name} ${key}`);
                count++;
            }
    assert.ok(count > 3);
});

test("a link without values is of the same numbers as ever", () => {
    const asked = (name: string) => {
        const { asks, mounted } = opened(name, {});
        mounted.leave();
        return asks.map(({ target }) => target);
    };
    assert.deepEqual(asked("distance").slice(0, 2), [
        "/v1/encodings/rope/analysis/decay?dim=128&base=10000&normalize=true&max_offset=512&samples=1201",
        "/v1/encodings/rope/analysis/decay?dim=128&base=10000&normalize=true&max_offset=512&samples=1201",
    ]);
    assert.deepEqual(asked("story"), ["/v1/encodings/index/table?length=16"]);
    for (const target of asked("precision"))
        assert.match(target, /^\/v1\/encodings\/rope\/analysis\/error\?dim=128&base=500000&/);
});
