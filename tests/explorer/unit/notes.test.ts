// SPDX-License-Identifier: MIT
// What a config has beside its main kind: other kinds, towers, warnings, keys without a use.
import { fake } from "./fakes";
import assert from "node:assert/strict";
import test from "node:test";
import { hub, notes } from "../../../explorer/src/views/extension/notes";
import type { Config } from "../../../explorer/src/kit/model";

const words = (more: Partial<Config>) => {
    const all = fake(notes({ warnings: [], unused: [], ...more } as unknown as Config)).all();
    return all.filter(({ name }) => name === "li").map(({ textContent }) => textContent);
};

test("parts of a model have their place, their kind, and an encoding or a reason", () => {
    const rope = { name: "rope", dim: 64, base: 10000 } as unknown as Config["encoding"];
    assert.deepEqual(
        words({
            others: [{ where: "layers 3", layer_type: "sliding", encoding: rope! }],
            towers: [
                { part: "vision_config", model_type: "siglip", encoding: null, reason: "learned" },
                { part: "audio_config", encoding: rope! },
            ],
        }),
        [
            "layers 3 sliding: rope, dim 64, base 10000",
            "vision_config siglip: learned",
            "audio_config : rope, dim 64, base 10000",
        ],
    );
});

test("warnings are a list, and nothing is there without any", () => {
    assert.deepEqual(words({ warnings: ["one", "two"] }), ["one", "two"]);
    assert.deepEqual(words({}), []);
});

test("the link to a hub has each part of a name by itself, and that of the example without one", () => {
    const element = fake(hub()),
        [input] = element.find("input"),
        [link] = element.find("a");
    for (const [name, path] of [
        ["", "Qwen/Qwen2.5-7B"],
        ["  ", "Qwen/Qwen2.5-7B"],
        ["gpt2", "gpt2"],
        [" org/a model#1 ", "org/a%20model%231"],
    ]) {
        input.value = name;
        input.fire("input");
        assert.equal(link.href, `https://huggingface.co/${path}/raw/main/config.json`);
    }
});
