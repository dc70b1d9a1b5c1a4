// SPDX-License-Identifier: MIT
// Ten things that one can see here: sentences of gallery.json, which a test checks against the API,
// each with a small picture of the numbers that it is about.
import { get, Lane, post, type Ask } from "../../api";
import { h, s } from "../../dom";
import all from "../../gallery.json";
import { MODELS } from "../../kit/model";
import type { App } from "../../view";
import { t } from "../../words";

interface Asked {
    target: string;
    json?: Record<string, unknown>;
    model?: string;
}

interface Draw {
    data: string | string[];
    form: string;
    log?: boolean;
    above?: number;
    first?: number;
    of?: number;
}

interface Entry {
    name: string;
    link: Record<string, string | number>;
    en: string;
    zh: string;
    asks: Record<string, Asked>;
    draw: Draw;
}

const WIDTH = 220,
    HEIGHT = 56;
const LATER = 80; // ms that what stands above has for its first frames

function ask({ target, json, model }: Asked): Ask {
    if (!json && !model)
        return get(
            target.split("?")[0],
            Object.fromEntries(new URLSearchParams(target.split("?")[1])),
        );
    if (target === "/v1/config") return post(target, MODELS[model!].config);
    return post(target, { ...json, ...(model ? { config: MODELS[model].config } : {}) });
}

/** JSON, whose lists of numbers are flat. */
function flat(one: Ask): Ask {
    if (one.method === "GET") return { ...one, target: `${one.target}&format=json&flat=true` };
    return one.target === "/v1/config"
        ? one
        : {
              ...one,
              target: `${one.target}?format=json`,
              json: { ...(one.json as object), flat: true },
          };
}

const at = (tree: unknown, path: string): number[] =>
    path.split(".").reduce((one, name) => (one as Record<string, unknown>)[name], tree) as number[];

const bar = (i: number, n: number, height: number, slow: boolean) =>
    s(`rect.${slow ? "slow" : "turn"}`, {
        x: (i * WIDTH) / n,
        y: HEIGHT - height,
        width: Math.max(slow ? 2.5 : 0.8, WIDTH / n - 1),
        height,
    });

const FORMS: Record<string, (lists: number[][], draw: Draw) => SVGElement[]> = {
    bars([values], { log, above = Infinity }) {
        const size = values.map((one) =>
            log ? Math.log10(Math.max(one, 1)) + 0.15 : Math.max(one, 0),
        );
        const most = Math.max(...size);
        return size.map((one, i) =>
            bar(i, values.length, Math.max(1, (one / most) * (HEIGHT - 4)), values[i] > above),
        );
    },
    steps([values], { first = values.length }) {
        const shown = values.slice(0, first),
            low = Math.min(...shown),
            high = Math.max(...shown);
        const y = (value: number) => HEIGHT - 3 - ((value - low) / (high - low)) * (HEIGHT - 8);
        return [
            s("path.turn", {
                d:
                    "M" +
                    shown
                        .map((one, i) => {
                            const left = (i * WIDTH) / shown.length;
                            return `${left.toFixed(1)} ${y(one).toFixed(1)}H${(left + WIDTH / shown.length).toFixed(1)}`;
                        })
                        .join("V")
                        .replace(/V[\d.]+ /g, "V"),
            }),
        ];
    },
    marks([members], { of = 1 }) {
        return Array.from({ length: of }, (_, i) =>
            bar(i, of, members.includes(i) ? HEIGHT - 4 : 16, members.includes(i)),
        );
    },
    rows([one, two], { of = 1 }) {
        const rows = one.length / of,
            size = HEIGHT / rows;
        return one.map((value, i) =>
            s(`rect.${value === two[i] ? "turn" : "slow"}`, {
                x: ((i % of) * WIDTH) / of,
                y: Math.floor(i / of) * size,
                width: WIDTH / of - 2,
                height: size - 2,
                opacity:
                    value === two[i] ? 1 : 0.25 + Math.min(0.75, Math.abs(value - two[i]) / 10),
            }),
        );
    },
};

async function drawn(app: App, entry: Entry, signal: AbortSignal): Promise<SVGElement[]> {
    const paths = [entry.draw.data].flat(),
        answers: Record<string, unknown> = {};
    for (const name of new Set(paths.map((path) => path.split(".")[0])))
        answers[name] = await app.api.ask(flat(ask(entry.asks[name])), signal);
    return FORMS[entry.draw.form](
        paths.map((path) => at(answers, path)),
        entry.draw,
    );
}

export interface Gallery {
    element: HTMLElement;
    /** Has the cards stand there and their small pictures drawn, once: after what stands above them.
     * */
    draw(): void;
    leave(): void;
}

export function gallery(app: App): Gallery {
    const lane = new Lane(),
        entries = all as unknown as Entry[];
    const pictures = entries.map(() =>
        s("svg", {
            viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
            preserveAspectRatio: "none",
            "aria-hidden": "true",
        }),
    );
    const cards = h("div");
    let begun = false;
    return {
        element: h(
            "section.gallery",
            {},
            h("h2", {}, t("Ten things to see here", "在这里能看到的十件事")),
            cards,
        ),
        draw() {
            if (begun) return;
            begun = true;
            lane.run(
                async (signal) => {
                    await new Promise((done) => setTimeout(done, LATER));
                    cards.replaceChildren(
                        ...entries.map((entry, i) =>
                            h(
                                "a.card",
                                { href: app.link(entry.link) },
                                pictures[i],
                                t(entry.en, entry.zh),
                            ),
                        ),
                    );
                    return Promise.all(entries.map((entry) => drawn(app, entry, signal)));
                },
                (shapes) => shapes.forEach((one, i) => pictures[i].replaceChildren(...one)),
                () => pictures.forEach((one) => one.remove()),
            );
        },
        leave: () => lane.stop(),
    };
}
