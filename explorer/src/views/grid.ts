// SPDX-License-Identifier: MIT
// The tokens of an image: their position ids, and what each pair of a head turns by.
import type { Tensor } from "../api";
import { h } from "../dom";
import { of, renew, choice, select, slider } from "../kit/controls";
import { LINK_MAX, dense } from "../kit/model";
import { Work } from "../kit/work";
import { whole } from "../numbers";
import type { App, Mounted } from "../view";
import { t } from "../words";
import { axisNames, frameOf, idsDrawn, type Report } from "./grid/ids";
import { IMAGES } from "./grid/models";
import {
    byControl,
    cosinesAsk,
    frequenciesAsk,
    idsAsk,
    similarityAsk,
    listOf,
    prompt,
    type Prompt,
} from "./grid/prompt";
import { turnsDrawn, type Turns } from "./grid/turns";
import { IMAGE_MOST } from "./limits";

type Tensors = Record<string, Tensor>;

interface Answers {
    own: Prompt;
    ids: number[][];
    posted?: number[][];
    report?: Report;
    turns: Turns;
}

/** A list of numbers in `planes` parts of one length. */
const planes = (flat: number[], length: number): number[][] =>
    Array.from({ length: Math.floor(flat.length / length) }, (_, i) =>
        flat.slice(i * length, (i + 1) * length),
    );

const numbers = ({ data }: Tensor): number[] => Array.from(data as ArrayLike<number>, Number);

/** What is posted for the check: a list of one's own, or ids with a mistake. */
function postedOf(app: App, own: Prompt, ids: number[][], held: string): unknown {
    const { sample, position_ids = held } = app.state.params;
    if (position_ids) return listOf(position_ids);
    const [time, height, width, ...more] = ids;
    if (sample === "transposed") return [time, width, height, ...more];
    const at = own.before + (own.frame * own.height + own.row) * own.width + own.column;
    return sample === "edited" && [time, height, width.with(at, width[at] + 1), ...more];
}

async function checked(app: App, own: Prompt, ids: number[][], held: string, signal: AbortSignal) {
    const list = postedOf(app, own, ids, held);
    if (!list) return {};
    const report = await app.api.ask<Report>(idsAsk(own, list), signal).catch(byControl);
    const posted = planes([list].flat(9) as number[], ids[0].length);
    // Of four lists for three axes, the first one is text's.
    return { report, posted: posted.length > Math.max(3, ids.length) ? posted.slice(1) : posted };
}

async function turnsOf(app: App, own: Prompt, all: number[][], signal: AbortSignal) {
    const ids = all.map((list) => frameOf(own, list));
    const [{ axes, wavelengths }, { cos }] = await Promise.all([
        app.api.ask<Tensors>(frequenciesAsk(own), signal),
        app.api.ask<Tensors>(cosinesAsk(own, ids), signal).catch(byControl),
    ]);
    const pairs = axes.data.length;
    const { scores } = await app.api.ask<Tensors>(similarityAsk(own, ids, pairs), signal);
    return {
        ids,
        cosines: cos,
        similarity: scores,
        axes: numbers(axes),
        wavelengths: numbers(wavelengths),
    };
}

async function ask(app: App, held: string, signal: AbortSignal): Promise<Answers> {
    const own = prompt(app),
        { position_ids } = await app.api.ask<Tensors>(idsAsk(own), signal).catch(byControl),
        ids = planes(numbers(position_ids), position_ids.shape.at(-1)!);
    const [check, turns] = await Promise.all([
        checked(app, own, ids, held, signal),
        turnsOf(app, own, ids, signal),
    ]);
    return { own, ids, turns, ...check };
}

function sizes(app: App, axes?: number[]): HTMLElement[] {
    const own = prompt(app);
    const one = (name: string, label: string, value: number, max: number, min = 1, show = whole) =>
        of(name, slider({ label, min, max, value, show, change: (to) => app.go({ [name]: to }) }));
    const { side, frames, text } = IMAGE_MOST;
    return [
        select(
            t("model", "模型"),
            Object.fromEntries(Object.entries(IMAGES).map(([id, { name }]) => [id, name])),
            own.type,
            (model_type) =>
                app.go(
                    Object.fromEntries([
                        ...Object.keys(app.state.params).map((name) => [name, undefined]),
                        ["model_type", model_type],
                    ]),
                    "push",
                ),
        ),
        one("height", t("rows", "行数"), own.height, side),
        one("width", t("columns", "列数"), own.width, side),
        ...(own.model.frames ? [one("frames", t("frames", "帧数"), own.frames, frames)] : []),
        ...(own.model.text === "none"
            ? []
            : [one("text", t("tokens of text", "文本 token"), own.before, text, 0)]),
        ...(own.frames > 1 ? [one("frame", t("frame", "帧"), own.frame, own.frames - 1, 0)] : []),
        one(
            "pair",
            t("pair", "维度对"),
            own.pair,
            axes ? axes.length - 1 : Math.max(own.pair, 63),
            0,
            (pair) => (axes ? `${pair} · ${axisNames()[axes[pair]]}` : ""),
        ),
    ];
}

const schemeKey = ({ type, params }: Prompt): string => JSON.stringify([type, params]);

const samples = (): Record<string, string> => ({
    "": t("none", "无"),
    transposed: t("rows and columns exchanged", "行列互换"),
    edited: t("one id changed", "改动一个 id"),
});

export function mount(stage: HTMLElement, app: App): Mounted {
    const knobs = h("div.controls"),
        tries = h("div.controls"),
        pictures = h("div"),
        note = h("p.note"),
        turns = turnsDrawn(app);
    let held = "", // a list too long for a link
        /** Axes of pairs, and the scheme that they are of. */
        last: { key: string; axes: number[] } | undefined;
    const field = h("textarea.expected", {
        rows: 2,
        spellcheck: "false",
        placeholder: "[[0, 0, 0], [0, 0, 1], [0, 1, 0]]",
        "aria-label": t("ids of one's own", "自己的 id"),
        "data-name": "position_ids",
        onchange: () => post(field.value),
    });
    const ids = h(
        "section.panel.ids",
        {},
        h("h2", {}, t("Position ids", "位置 id")),
        pictures,
        tries,
        h("label.should", {}, h("span", {}, t("or ids of your own", "或自己的 id")), field),
        note,
    );
    const work = new Work(app, { pictures: [...turns.elements, pictures] });
    const [words, both, all] = turns.elements;
    stage.append(knobs, words, both, all, ids);

    function post(text: string): void {
        const list = dense(text),
            long = encodeURIComponent(list).length > LINK_MAX;
        held = long ? list : "";
        note.textContent = long
            ? t(
                  "These ids are too long for a link: they stay while this page is open.",
                  "这些 id 太长，无法放进链接：仅在本页打开期间保留。",
              )
            : "";
        app.go({ position_ids: long ? undefined : list || undefined, sample: undefined }, "push");
        if (long) update();
    }

    function draw(next: Answers): void {
        const { axes } = next.turns,
            { pair } = next.own,
            known = Number.isInteger(pair) && pair >= 0 && pair < axes.length;
        const own = { ...next.own, pair: known ? pair : 0 };
        last = { key: schemeKey(next.own), axes };
        app.report(
            work,
            known
                ? []
                : [
                      {
                          name: "pair",
                          value: `${app.state.params.pair}`,
                          accepts: [0, axes.length - 1, 1],
                      },
                  ],
        );
        renew(knobs, () => sizes(app, axes));
        turns.draw(own, next.turns);
        pictures.replaceChildren(...idsDrawn(own, next.ids, next.posted, next.report));
        app.shows([
            { title: t("position ids", "位置 id"), ask: idsAsk(own), formats: ["safetensors"] },
            {
                title: t("rotation", "旋转"),
                ask: cosinesAsk(own, next.turns.ids),
                formats: ["png", "svg", "npy"],
            },
        ]);
    }

    function update(): void {
        const { sample = "", position_ids = held } = app.state.params;
        const own = prompt(app);
        app.report(knobs, own.faults);
        renew(knobs, () => sizes(app, last?.key === schemeKey(own) ? last.axes : undefined));
        renew(tries, () => [
            choice(t("check ids with a mistake", "检查有错的 id"), samples(), sample, (sample) => {
                held = note.textContent = "";
                app.go({ sample: sample || undefined, position_ids: undefined }, "push");
            }),
        ]);
        if (document.activeElement !== field) field.value = position_ids;
        work.run((signal) => ask(app, held, signal), draw);
    }
    update();
    return { update, leave: () => work.stop() };
}
