// SPDX-License-Identifier: MIT
// The box of a config: what is typed, chosen and dropped goes into the link or is held, and places
// of mistakes are found in the text.
import assert from "node:assert/strict";
import test from "node:test";
import { fake, settled, until } from "./fakes";
import { configBox } from "../../../explorer/src/kit/configbox";
import { CHIPS, MODELS, pretty } from "../../../explorer/src/kit/model";
import type { App } from "../../../explorer/src/view";

type Params = Record<string, string>;

function boxed(params: Params = {}, held: File | null = null) {
    const gone: [Record<string, unknown>, string | undefined][] = [],
        dropped: File[][] = [],
        selected: number[][] = [];
    const app = {
        state: { params: { ...params } },
        held,
        dropped: null as File[] | null,
        has: () => true,
        link: (changes: object) => JSON.stringify(changes),
        drop: (files: File[]) => dropped.push(files),
        go(changes: Params, how?: string) {
            gone.push([changes, how]);
            for (const [name, value] of Object.entries(changes))
                if (value === undefined) delete app.state.params[name];
                else app.state.params[name] = value;
        },
    };
    const box = configBox(app as unknown as App, 4),
        element = fake(box.element),
        [area] = element.find("textarea");
    Object.assign(area, {
        focus() {},
        setSelectionRange: (...at: number[]) => selected.push(at),
        scrollHeight: 0,
        scrollTop: 0,
    });
    const type = (text: string) => {
        area.value = text;
        area.fire("input");
    };
    const note = () => element.find("p.note")[0].textContent;
    return { app, box, element, area, gone, dropped, selected, type, note, settled };
}

test("what is typed is an entry once, and then replaced, 300 ms after the last key", (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const { type, gone } = boxed({ model: "qwen2.5-7b", base: "5" });
    type('{"a": 1');
    context.mock.timers.tick(250);
    type('{"a": 1}');
    context.mock.timers.tick(299);
    assert.deepEqual(gone, []);
    context.mock.timers.tick(1);
    const left = { model: undefined, base: undefined };
    assert.deepEqual(gone.splice(0), [[{ ...left, config: '{"a":1}' }, "push"]]);
    for (const [text, config] of [
        ['{"a": "b  c"}', '{"a":"b  c"}'],
        ["{damaged ", "{damaged "],
    ]) {
        type(text);
        context.mock.timers.tick(300);
        assert.deepEqual(gone.splice(0), [[{ config }, "replace"]]);
    }
    type("  ");
    context.mock.timers.tick(300);
    assert.deepEqual(gone, [], "an empty box is no config");
});

test("a text is in the link as long as it has room there, counted as the link has it", (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const long = (length: number, letter: string) => `{${letter.repeat(length - 1)}`;
    for (const [text, fits] of [
        [long(5998, "x"), true], // the brace is three characters
        [long(5999, "x"), false],
        [long(2000, "["), true],
        [long(2001, "["), false],
        [long(667, "是"), true],
        [long(668, "是"), false],
    ] as const) {
        const { type, gone, app } = boxed();
        type(text);
        context.mock.timers.tick(300);
        assert.deepEqual(gone.splice(0), [
            [fits ? { config: text } : { file: "config.json" }, "push"],
        ]);
        assert.equal(app.held?.size ?? 0, fits ? 0 : new TextEncoder().encode(text).length);
        if (fits) continue;
        // A file of the same name is another one: the link is changed for it, and back.
        type(`${text} `);
        context.mock.timers.tick(300);
        assert.deepEqual(gone, [
            [{ file: undefined }, undefined],
            [{ file: "config.json" }, "push"],
        ]);
        assert.match(app.held!.type, /json/);
    }
});

test("a small config is read, a large one or a GGUF is held, and all else is given away", async () => {
    const text = '{"a": 1}';
    for (const [name, size, what] of [
        ["a.json", 8, "config"],
        ["A.JSON", 8, "config"],
        ["b.json", 23999, "config"],
        ["c.json", 24000, "held"],
        ["m.gguf", 8, "held"],
        ["m.GGUF", 8, "held"],
        ["t.npy", 8, "dropped"],
        ["t.safetensors", 8, "dropped"],
    ] as const) {
        const { element, gone, dropped, app } = boxed({ dim: "8" }),
            file = new File([text.padEnd(size)], name),
            input = element.find("input")[0];
        Object.assign(input, { files: [file] });
        input.fire("change");
        await until(() => gone.length || dropped.length);
        const left = { dim: undefined };
        if (what === "dropped") assert.deepEqual([gone, dropped], [[], [[file]]], name);
        else
            assert.deepEqual(gone, [
                [
                    { ...left, ...(what === "held" ? { file: name } : { config: '{"a":1}' }) },
                    "push",
                ],
            ]);
        assert.equal(app.held, what === "held" ? file : null, name);
    }
});

test("the box has the config of the state, and keeps what a person writes", async () => {
    const { app, box, area, type, note, element, settled } = boxed({ model: CHIPS[1] });
    const update = async (params: Params) => {
        app.state.params = params;
        box.update();
        await settled();
    };
    const pressed = () =>
        element.find("button.chip").map((one) => one.attributes["aria-pressed"] === "true");
    await update({ model: CHIPS[1] });
    assert.equal(area.value, pretty(MODELS[CHIPS[1]].config));
    assert.deepEqual(
        pressed(),
        CHIPS.map((_, i) => i === 1),
    );
    await update({});
    assert.deepEqual(
        pressed(),
        CHIPS.map((_, i) => i === 0),
    );
    await update({ config: '{"b":[1,2]}' });
    assert.deepEqual([area.value, pressed().includes(true)], ['{\n "b": [ 1, 2 ]\n}', false]);
    type('{"b":  [1, 2]}');
    await update({ config: '{"b":[1,2]}' });
    assert.equal(area.value, '{"b":  [1, 2]}', "its own spaces stay");
    await update({ file: "gone.json" });
    assert.match(note(), /^The link names gone\.json, which is not in it/);
    assert.ok(!pressed().includes(true));
    app.held = new File(['{"c": 3}'], "held.json");
    await update({ file: "held.json" });
    await until(() => area.value.includes("c"));
    assert.deepEqual(
        [area.value, note().slice(0, 28)],
        ['{"c": 3}', "held.json stays in this page"],
    );
    app.held = new File(["GGUF"], "m.gguf");
    await update({ file: "m.gguf" });
    assert.equal(area.value, "");
    await update({ model: CHIPS[0] });
    assert.equal(note(), "");
});

test("the place of each key is found by its path, and of damage by its byte", () => {
    const text = [
        '{ "factor": 1, "a.b": 0, "x+y": 2,',
        '  "名": "模型", "rope_scaling": { "type": "factor",',
        '    "factor" : 8, "deep": { "factor": 9 } },',
        '  "last": 3 }',
    ].join("\n");
    const { box, area, selected } = boxed();
    area.value = text;
    for (const [key, at, length] of [
        ["factor", text.indexOf('"factor": 1'), 8],
        ["x+y", text.indexOf('"x+y"'), 5],
        ["rope_scaling", text.indexOf('"rope_scaling"'), 14],
        ["rope_scaling.factor", text.indexOf('"factor" : 8'), 8],
        ["rope_scaling.deep.factor", text.indexOf('"factor": 9'), 8],
        ["last", text.indexOf('"last"'), 6],
    ] as const) {
        assert.ok(box.find(key), key);
        assert.deepEqual(selected.splice(0), [[at, at + length]], key);
    }
    assert.ok(!box.find("nonesuch") && !box.find("last.factor") && !selected.length);
    // A byte is counted from 1, as it is encoded; a column by characters.
    const bytes = new TextEncoder().encode(text);
    for (let byte = 1; byte <= bytes.length; byte += 7) {
        const before = new TextDecoder().decode(bytes.slice(0, byte - 1));
        if (before.includes("\ufffd")) continue; // within a character
        const lines = before.split("\n"),
            [button] = box
                .places([{ words: `the text is not valid JSON: byte ${byte}` }])
                .map(fake);
        const column = lines.at(-1)!.length + 1;
        assert.equal(button.textContent, `show line ${lines.length}, column ${column}`);
        button.fire("click");
        assert.deepEqual(selected.splice(0), [[before.length, before.length + 1]]);
    }
    const shown = (mistakes: Parameters<typeof box.places>[0]) =>
        box.places(mistakes).map((one) => fake(one).textContent);
    assert.deepEqual(
        shown([
            { key: "last", words: "" },
            { key: "gone", words: "" },
            { words: "x" },
            { key: "factor", words: "" },
        ]),
        ["show last in the config", "show factor in the config"],
    );
    area.value = "";
    assert.deepEqual(shown([{ words: "byte 3" }]), []);
});
