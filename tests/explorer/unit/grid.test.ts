// SPDX-License-Identifier: MIT
// Tokens of images: the prompt of a link, its request, its ids as pictures and numbers, and what is
// said of each pair.
import { fake, type FakeElement } from "./fakes";
import assert from "node:assert/strict";
import test from "node:test";
import { h } from "../../../explorer/src/dom";
import { frameOf, idsDrawn, type Report } from "../../../explorer/src/views/grid/ids";
import { IMAGES } from "../../../explorer/src/views/grid/models";
import {
    idsAsk,
    similarityAsk,
    listOf,
    prompt,
    type Prompt,
} from "../../../explorer/src/views/grid/prompt";
import { turnsDrawn } from "../../../explorer/src/views/grid/turns";
import type { App } from "../../../explorer/src/view";
import { random } from "./random";

const of = (params: Record<string, string | number>): Prompt =>
    prompt({
        state: {
            params: Object.fromEntries(
                Object.entries(params).map(([name, one]) => [name, `${one}`]),
            ),
        },
    } as unknown as App);
const plain = (text: string) => text.replaceAll("\u202f", "");
/** A number as it stands in short texts of whole numbers. */
const shown = (value: number) => `${value}`.replace("-", "−");

test("a prompt has the numbers of the link, or what its model usually has, and reports the others", () => {
    for (const [type, { text, frames }] of Object.entries(IMAGES)) {
        const own = of({ model_type: type });
        assert.deepEqual([own.height, own.width, own.row, own.column], [24, 32, 12, 16], type);
        assert.deepEqual([own.frames, own.frame], [frames ?? 1, 0], type);
        assert.deepEqual(
            [own.before, own.after],
            { none: [0, 0], before: [8, 0], both: [8, 8] }[text],
            type,
        );
        assert.deepEqual(own.faults, []);
        const most = frames ? 16 : 1;
        for (const [name, value, accepts] of [
            ["frames", most + 1, [1, most, 1]],
            ["frames", 0, [1, most, 1]],
            ["frame", own.frames, [0, own.frames - 1, 1]],
            ["row", 24, [0, 23, 1]],
            ["column", 32, [0, 31, 1]],
            ["column", -1, [0, 31, 1]],
            ["text", 65, [0, text === "none" ? 0 : 64, 1]],
        ] as const) {
            const found = of({ model_type: type, [name]: value });
            assert.deepEqual(found.faults, [{ name, value: `${value}`, accepts }], type);
            assert.deepEqual({ ...found, faults: [] }, own, "the usual is shown");
        }
        const least = of({ model_type: type, row: 23, column: 0, frame: 0, frames: most });
        assert.deepEqual([least.row, least.column, least.frames], [23, 0, most]);
    }
    const small = of({ height: 1, width: 2, row: 0, theta: 5, pair: 3 });
    assert.deepEqual([small.row, small.column, small.pair, small.params.theta], [0, 1, 3, "5"]);
});

test("the request has a token for each place of the grid, between those of text", () => {
    for (const [type, { text, frames, merge = 1 }] of Object.entries(IMAGES)) {
        const own = of({ model_type: type, height: 3, width: 5, text: text === "none" ? 0 : 2 }),
            { target, json } = idsAsk(own),
            body = json as Record<string, unknown>;
        const [ids] = body.mm_token_type_ids as number[][],
            kind = frames ? 2 : 1,
            count = 15 * own.frames;
        assert.equal(target, `/v1/positions?model_type=${type}`);
        assert.deepEqual(body[frames ? "video_grid_thw" : "image_grid_thw"], [
            [own.frames, 3 * merge, 5 * merge],
        ]);
        const before = text === "none" ? 0 : 2,
            after = text === "both" ? 2 : 0;
        assert.deepEqual(ids, [
            ...Array(before).fill(0),
            ...Array(count).fill(kind),
            ...Array(after).fill(0),
        ]);
        assert.ok(
            !("position_ids" in body) && !(frames ? body.image_grid_thw : body.video_grid_thw),
        );
        assert.deepEqual((idsAsk(own, [[1]]).json as typeof body).position_ids, [[1]]);
        const { frame } = { frame: own.frames - 1 },
            tokens = ids.map((_, i) => i),
            own_ = frameOf({ ...own, frame }, tokens);
        assert.deepEqual([own_.length, own_[0]], [15, before + frame * 15]);
    }
    const ask = similarityAsk(
        of({ height: 2, width: 3, row: 1, column: 2 }),
        [[0, 0, 0, 1, 1, 1]],
        4,
    );
    const params = new URLSearchParams(ask.target.split("?")[1]);
    assert.deepEqual([params.get("scale"), params.get("layout")], ["0.25", "interleaved"]);
});

test("a list of numbers is read as Python and JSON print it", () => {
    for (const text of [
        "[[0, 1], [2, 3]]",
        "tensor([[0, 1], [2, 3]])",
        "ids = [[0,1],\n[2,3]] # x",
    ])
        assert.deepEqual(listOf(text), [
            [0, 1],
            [2, 3],
        ]);
    for (const text of ["", "0, 1", "[0, 1", "[[0] [1]]"])
        assert.throws(() => listOf(text), /list of numbers/, text);
});

interface Drawn {
    figures: FakeElement[];
    text: string;
    cells: string[][];
}

function drawn(own: Prompt, ids: number[][], posted?: number[][], report?: Report): Drawn {
    const all = idsDrawn(own, ids, posted, report).map(fake),
        figures = all.flatMap((one) => one.find("figure"));
    return {
        figures,
        text: plain(all.map(({ textContent }) => textContent).join("\n")),
        cells: all
            .flatMap((one) => one.find("tr"))
            .map((row) => (row.children as FakeElement[]).map((one) => plain(one.textContent))),
    };
}

const NAMES = ["time", "height", "width", "text"];

test("ids of every axis have a picture of the frame, all tokens in a strip, and their ends in a table", () => {
    const next = random(3);
    for (let tries = 0; tries < 30; tries++) {
        const number = (least: number, most: number) =>
            least + Math.floor(next() * (most - least + 1));
        const own = {
            ...of({ model_type: tries % 2 ? "wan" : "qwen_image" }),
            ...{ height: number(1, 5), width: number(1, 6), before: number(0, 3) },
            ...{ after: number(0, 2), frames: tries % 2 ? number(1, 3) : 1 },
        };
        own.frame = number(0, own.frames - 1);
        const image = own.height * own.width * own.frames,
            count = own.before + image + own.after,
            ids = NAMES.slice(0, 3).map(() => Array.from({ length: count }, () => number(-9, 99)));
        const { figures, cells } = drawn(own, ids);
        assert.equal(figures.length, 3);
        figures.forEach((figure, axis) => {
            const list = ids[axis],
                frame = frameOf(own, list),
                [picture, strip] = figure.find("canvas");
            assert.deepEqual(
                [picture, strip].flatMap(({ attributes }) => [attributes.height, attributes.width]),
                [own.height, own.width, 1, count].map(String),
            );
            const texts = figure.find("span").map(({ textContent }) => plain(textContent));
            assert.deepEqual(texts, [
                `first ${shown(frame[0])}`,
                `last ${shown(frame.at(-1)!)}`,
                "all tokens in their order",
                `token 0: ${shown(list[0])}`,
                `${count - 1}: ${shown(list.at(-1)!)}`,
            ]);
            assert.equal(figure.find("b")[0].textContent, NAMES[axis]);
        });
        const spans = [
            ["text", 0, own.before],
            [own.frames > 1 ? "video" : "image", own.before, own.before + image],
            ["text", own.before + image, count],
        ].filter(([, from, to]) => to > from) as [string, number, number][];
        const ends = (from: number, to: number) =>
            from === to ? shown(from) : `${shown(from)} … ${shown(to)}`;
        assert.deepEqual(cells, [
            ["tokens", ...spans.map(([name, from, to]) => `${name} ${ends(from, to - 1)}`)],
            ...ids.map((list, axis) => [
                NAMES[axis],
                ...spans.map(([, from, to]) => ends(list[from], list[to - 1])),
            ]),
        ]);
    }
});

test("posted ids that differ are counted: in all, and in the frame that is seen", () => {
    const own = {
        ...of({ model_type: "wan" }),
        height: 2,
        width: 3,
        frames: 2,
        before: 2,
        frame: 1,
    };
    const count = 2 + 12,
        ids = [0, 1, 2].map((axis) => Array.from({ length: count }, (_, i) => 100 * axis + i));
    for (const changed of [[], [0], [13], [8, 9, 13], [0, 1, 5]]) {
        const posted = ids.map((list, axis) =>
            list.map((one, i) => (axis === 1 && changed.includes(i) ? one + 1 : one)),
        );
        const { figures } = drawn(own, ids, posted);
        const here = changed.filter((i) => i >= 8 && i < 14).length;
        figures.forEach((figure, axis) => {
            const text = plain(figure.textContent),
                many = axis === 1 ? changed.length : 0;
            assert.ok(
                text.includes(
                    many
                        ? `${many} of 14 ${many === 1 ? "differs" : "differ"}, ${here} in this picture`
                        : "none differs",
                ),
                text,
            );
            assert.equal(figure.find("span.differ").length, many ? 1 : 0);
            const marks = figure.find("canvas").at(-1)!.drawing.calls,
                red = marks.filter(
                    ([name, what, value]) =>
                        name === "=" && what === "fillStyle" && value === "bad",
                );
            assert.equal(red.length, axis === 1 ? here : 0);
            const places = marks.filter(([name]) => name === "fillRect").map(([, x, y]) => [x, y]);
            assert.deepEqual(places.slice(2, 5), [
                [2, 0],
                [0, 1],
                [1, 1],
            ]);
        });
    }
    // Of one list for all axes, each axis is that list.
    const { text } = drawn(own, ids, [ids[0]]);
    assert.ok(text.includes("none differs") && text.includes("14 of 14 differ, 6 in this picture"));
});

test("the verdict on ids has its mistake, its first place, and a plural where there are several", () => {
    const own = of({ model_type: "flux" }),
        ids = [[0], [0], [0]].map(() => Array<number>(8 + 24 * 32 + 8).fill(0));
    const report = (more: Partial<Report>): Report => ({
        ...{ verdict: "unknown", bug: null, explanation: null, fix: null, compared: 2400 },
        ...{ unequal: 0, first: null, ...more },
    });
    const place = { axis: "height", token: 1234, expected: 5, given: -7 };
    for (const [one, words, colour] of [
        [report({ verdict: "match" }), "✓They are right\n", "good"],
        [
            report({ unequal: 1, first: place }),
            "1 of 2400 ids differs. The first is the height of token 1234: −7 instead of 5.",
            "still",
        ],
        [
            report({ unequal: 2, first: { ...place, axis: "text" } }),
            "2 of 2400 ids differ. The first is the text of token 1234",
            "still",
        ],
        [
            report({ verdict: "known-bug", bug: "a-b", explanation: "why", fix: "do so" }),
            "✕A known mistakea-bwhy.→ do so.",
            "bad",
        ],
    ] as const) {
        const { text } = drawn(own, ids, undefined, one);
        assert.ok(text.includes(words), text.slice(0, 200));
        const [sign] = idsDrawn(own, ids, undefined, one).map(fake)[0].find("span.sign");
        assert.equal(sign.style.background, `var(--${colour})`);
    }
});

test("each pair is said to turn with its axis, as far as the ids of the picture go", () => {
    const own = { ...of({ model_type: "flux" }), height: 2, width: 3 },
        gone: unknown[] = [];
    const ids = [Array(6).fill(4), [0, 0, 0, 7, 7, 7], [10, 11, 12, 10, 11, 30]] as number[][],
        axes = [0, 1, 1, 2, 2],
        wavelengths = [6.5, 3, 14000, 20.01, 2e6];
    const turns = {
        ids,
        axes,
        wavelengths,
        cosines: { dtype: "f32", shape: [6, 5], data: new Float32Array(30) },
        similarity: { dtype: "f32", shape: [6], data: new Float32Array(6) },
    };
    const made = turnsDrawn({ go: (...all: unknown[]) => gone.push(all) } as unknown as App),
        stage = h("div");
    stage.append(...made.elements);
    const element = fake(stage);
    for (const [pair, words] of [
        [
            0,
            "Pair 0 turns with time: once in 6.5 ids. All ids of this image are 4: its angle is the same everywhere.",
        ],
        [
            1,
            "Pair 1 turns with height: once in 3 ids. The ids of this image go from 0 to 7: 2.33 turns.",
        ],
        [
            4,
            "Pair 4 turns with width: once in 2000000 ids. The ids of this image go from 10 to 30: 10⁻⁵ turns.",
        ],
    ] as const) {
        made.draw({ ...own, pair }, turns as never);
        assert.equal(plain(element.find("p.verdict")[0].textContent), words);
        const here = element.find("div.here");
        assert.deepEqual(
            here.map(({ attributes }) => attributes.title),
            [`pair ${pair}`],
        );
    }
    const texts = element.find("h3").map(({ textContent }) => plain(textContent));
    assert.deepEqual(texts, [
        "time 1 pairs, one turn in 6.5 to 6.5 ids; 1 finish none in this picture",
        "height 2 pairs, one turn in 3 to 14000 ids; 1 finish none in this picture",
        "width 2 pairs, one turn in 20 to 2000000 ids; 2 finish none in this picture",
    ]);
    const sheet = element.find("div.sheet").flatMap((one) => one.find("span"));
    assert.deepEqual(
        sheet.map(({ textContent }) => textContent),
        ["6.5", "3", "14k", "20", "2M"],
    );
    element
        .find("div.sheet")[2]
        .find("div")
        .find((one) => one.attributes.title === "pair 3")!
        .fire("click");
    assert.deepEqual(gone, [[{ pair: 3 }]]);
});
