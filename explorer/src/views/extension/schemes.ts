// SPDX-License-Identifier: MIT
// Ways of scaling side by side: the pairs of each as dots over one axis of wavelengths.
import { PosencError, type Ask } from "../../api";
import { h, s } from "../../dom";
import { slider } from "../../kit/controls";
import { failure } from "../../kit/failure";
import { Work } from "../../kit/work";
import { power } from "../../kit/hands_layout";
import {
    contextOf,
    frequencies,
    frequenciesAsk,
    linked,
    defaultAsk,
    type Encoding,
    type Frequencies,
    type Kind,
} from "../../kit/model";
import { short, whole } from "../../numbers";
import type { App } from "../../view";
import { t } from "../../words";

interface Scheme {
    name: string;
    own: boolean;
    /** null: a list of the config is wanted, which there is not. */
    ask: Ask | null;
}

const FACTOR = 8; // where the config names none
const HEIGHT = 22,
    PAD = 8, // px
    NAME = 72; // px of the name of a decade

/** Parameters of each type beside width and base. */
function given(
    { factor = FACTOR, ...encoding }: Encoding,
    times: number | undefined,
    context: number,
) {
    const original =
        encoding.original_max_position_embeddings ?? contextOf({ factor, ...encoding }) ?? 8192;
    const by = times ?? factor;
    return {
        default: {},
        linear: { factor: by },
        ntk: { factor: by },
        dynamic: { factor: by, max_position_embeddings: original, seq_len: context },
        yarn: { factor: by, original_max_position_embeddings: original },
        llama3: {
            factor: by,
            low_freq_factor: 1,
            high_freq_factor: 4,
            original_max_position_embeddings: original,
        },
        longrope: null,
    };
}

export function schemesOf(kind: Kind, times: number | undefined, context: number): Scheme[] {
    const types = given(kind.encoding!, times, context),
        { rope_type = "default" } = kind.encoding!;
    const plain = defaultAsk(kind);
    const all = Object.entries(types).map(([name, more]): Scheme => {
        const own = name === rope_type && times === undefined;
        if (own) return { name, own, ask: frequenciesAsk(kind, context) };
        return {
            name,
            own,
            ask:
                more &&
                linked(plain.target, name === "default" ? {} : { rope_type: name, ...more }),
        };
    });
    return rope_type in types
        ? all
        : [{ name: rope_type, own: true, ask: frequenciesAsk(kind, context) }, ...all];
}

interface Row extends Scheme {
    answer?: Frequencies;
    error?: unknown;
}

const ask = async (app: App, scheme: Scheme, signal: AbortSignal): Promise<Row> => {
    if (!scheme.ask) return scheme;
    try {
        return { ...scheme, answer: await frequencies(app, scheme.ask, signal) };
    } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof PosencError)) throw error; // no refusal of this scheme alone
        return { ...scheme, error };
    }
};

interface Scale {
    low: number;
    high: number;
    width: number;
}

const at = ({ low, high, width }: Scale, wave: number) =>
    PAD + Math.min(1, (Math.log10(wave) - low) / (high - low)) * (width - 2 * PAD);

function dots(answer: Frequencies, scale: Scale, context: number): SVGElement {
    const edge = at(scale, context),
        small = scale.width < 9 * answer.wavelengths.length;
    return s(
        `svg${small ? ".small" : ""}` as "svg",
        {
            viewBox: `0 0 ${scale.width} ${HEIGHT}`,
            height: HEIGHT,
            "aria-hidden": "true",
        },
        s("rect.beyond", { x: edge, width: Math.max(0, scale.width - edge), height: HEIGHT }),
        s("line.edge", { x1: edge, x2: edge, y2: HEIGHT }),
        ...answer.wavelengths.map((wave, i) => {
            const changed = Math.abs(answer.factors[i] - 1) > 1e-9,
                x = at(scale, wave);
            const look = `${changed ? "slow" : "turn"}${wave > context ? " still" : ""}`;
            return changed
                ? s("path", { class: look, d: `M${x} 5v12` })
                : s("circle", { class: look, cx: x, cy: HEIGHT / 2, r: small ? 1.8 : 3 });
        }),
    );
}

function told({ answer, error, ask }: Row, context: number): HTMLElement {
    if (!ask)
        return h(
            "p.scheme-note",
            {},
            t(
                "divides each pair by a list that this config does not have",
                "用列表逐对相除，此 config 没有该列表",
            ),
        );
    if (!answer) return failure(error);
    const never = answer.wavelengths.filter((one) => one > context).length;
    const changed = answer.factors.filter((one) => Math.abs(one - 1) > 1e-9).length;
    const parts = [
        t(
            `${changed} of ${answer.factors.length} changed`,
            `${answer.factors.length} 对中改动 ${changed} 对`,
        ),
        t(`${never} never turn`, `${never} 对转不满一圈`),
        t(
            `slowest ${short(Math.max(...answer.wavelengths.filter(Number.isFinite)), 5)}`,
            `最慢 ${short(Math.max(...answer.wavelengths.filter(Number.isFinite)), 5)}`,
        ),
    ];
    if (answer.attention_factor && answer.attention_factor !== 1)
        parts.push(
            t(
                `cos and sin × ${short(answer.attention_factor, 5)}`,
                `cos、sin × ${short(answer.attention_factor, 5)}`,
            ),
        );
    return h("p.scheme-note", {}, parts.join(" · "));
}

function axis(scale: Scale): SVGElement {
    const every = (scale.width - 2 * PAD) / (scale.high - scale.low) < 96 ? 2 : 1;
    const decades = Array.from({ length: Math.floor(scale.high) }, (_, i) => i + 1).filter(
        (one) => one > scale.low && one % every === 0,
    );
    return s(
        "svg.axis",
        { viewBox: `0 0 ${scale.width} 34`, height: 34, "aria-hidden": "true" },
        ...decades.map((one) => {
            const x = at(scale, 10 ** one),
                anchor = x > scale.width - NAME / 2 ? "end" : "middle";
            return s("text", { x, y: 14, "text-anchor": anchor }, power(one));
        }),
        s(
            "text",
            { x: scale.width, y: 31, "text-anchor": "end" },
            t("positions for one turn", "转一圈所需的位置数"),
        ),
    );
}

export interface Schemes {
    element: HTMLElement;
    draw(kind: Kind, context: number): void;
    leave(): void;
}

export function schemes(app: App): Schemes {
    const rows = h("div.rows"),
        work = new Work(app, { pictures: [rows] }),
        control = h("div.controls");
    const element = h(
        "section.schemes",
        {},
        h("h2", {}, t("Ways of scaling, side by side", "各种缩放方式对比")),
        control,
        rows,
    );
    let last: [Row[], number] | undefined;

    function paint(all: Row[], context: number): void {
        last = [all, context];
        const waves = all
            .flatMap(({ answer }) => answer?.wavelengths ?? [])
            .filter(Number.isFinite);
        if (!waves.length || !rows.clientWidth) return;
        const scale = {
            low: Math.log10(Math.min(...waves)) - 0.05,
            high: Math.log10(Math.max(...waves)) + 0.05,
            width: rows.clientWidth,
        };
        rows.replaceChildren(
            ...all.map((one) =>
                h(
                    "div",
                    { class: one.own ? "own" : undefined },
                    h(
                        "h3",
                        {},
                        h("code", {}, one.name),
                        one.own && h("small", {}, t("this config", "此 config")),
                    ),
                    told(one, context),
                    one.answer
                        ? (dots(one.answer, scale, context) as unknown as HTMLElement)
                        : null,
                ),
            ),
            axis(scale) as unknown as HTMLElement,
        );
    }
    const watch = new ResizeObserver(() => last && paint(...last));
    watch.observe(element);

    return {
        element,
        draw(kind, context) {
            const times = app.state.params.times ? +app.state.params.times : undefined,
                { factor = FACTOR } = kind.encoding!;
            if (!control.contains(document.activeElement))
                control.replaceChildren(
                    slider({
                        label: t("factor of all", "统一倍数"),
                        min: 1,
                        max: 128,
                        log: true,
                        value: Math.max(1, times ?? factor),
                        show: (value) => `${whole(value)}×`,
                        change: (value) => app.go({ times: value }),
                    }),
                );
            work.run(
                (signal) =>
                    Promise.all(
                        schemesOf(kind, times, context).map((one) => ask(app, one, signal)),
                    ),
                (all) => paint(all, context),
            );
        },
        leave() {
            work.stop();
            watch.disconnect();
        },
    };
}
