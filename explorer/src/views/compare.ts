// SPDX-License-Identifier: MIT
// Two models: whether they agree about position, the numbers in which they do not, and the pairs of
// both over each other.
import { Part } from "../compare";
import { h, type Child } from "../dom";
import { configBox, type ConfigBox } from "../kit/configbox";
import { renew, select } from "../kit/controls";
import { curves, legend, type Curve } from "../kit/curves";
import { chosen, configAsk, differ, MODELS, source, turnsAsk } from "../kit/model";
import { Work } from "../kit/work";
import { short, whole } from "../numbers";
import { written, type Side } from "../state";
import type { App, Mounted, Shown } from "../view";
import { t } from "../words";
import { agreement, drift, rows, subjects, type Row, type Subject } from "./compare/difference";
import { worded } from "./extension/parameters";
import { layerChoice } from "./home/layers";
import { read, type Read } from "./home/read";
import { other, verdict } from "./home/verdict";

/** What stands where the link names no model: a target, and a drafter for it. */
const USUAL: Record<Side, string> = { a: "llama-3.1", b: "llama-3.2-1b" };
/** Lines of the contexts, which differ by nothing else. */
const CONTEXTS = [
    [2, 4],
    [8, 4, 2, 4],
];
const LINES: Record<Side, { colour: string; dash?: number[] }> = {
    a: { colour: "query" },
    b: { colour: "key", dash: [6, 4] },
};

const subjectWords = (): Record<Subject, string> => ({
    encoding: t("the encoding", "编码方案"),
    base: t("the base", "基数"),
    pairs: t("the number of pairs", "维度对数"),
    scaling: t("the scaling", "缩放"),
    layout: t("the order of pairs", "维度对的排列"),
    context: t("the context", "上下文长度"),
    other: t("other parameters", "其他参数"),
});

function listed(all: Subject[]): string {
    const words = all.map((one) => subjectWords()[one]);
    return words.length < 2
        ? words.join("")
        : words.slice(0, -1).join(t(", ", "、")) + t(" and ", "和") + words.at(-1);
}

function sentence(a: Read, b: Read): HTMLElement {
    const found = agreement(a, b),
        all = listed(subjects(a, b)),
        apart = drift(a, b);
    const words: Child[] =
        found === "same"
            ? [h("b", {}, t("Same positions.", "位置编码相同。"))]
            : found === "alike"
              ? [
                    h("b", {}, t("Same positions.", "位置编码相同。")),
                    t(
                        ` Every pair turns alike; only ${all} differs.`,
                        `每个维度对转动一致，只有${all}不同。`,
                    ),
                ]
              : [
                    h("em", {}, t("Different positions.", "位置编码不同。")),
                    all && t(` They differ in ${all}.`, `不同之处：${all}。`),
                ];
    if (found === "different" && apart)
        words.push(
            t(
                ` ${apart.pairs} of ${a.now!.frequencies.length} pairs turn at another speed; pair ${apart.pair} is half a turn off at token ${whole(apart.position)}.`,
                `${a.now!.frequencies.length} 个维度对中有 ${apart.pairs} 个转速不同；维度对 ${apart.pair} 在第 ${whole(apart.position)} 个 token 处相差半圈。`,
            ),
        );
    return h("h2", {}, ...words);
}

/** Numbers that the parameters lead to. */
function derived({ now, never, context, kind }: Read): Record<string, unknown> {
    const { provenance: _, ...attention } = kind.attention ?? {};
    return {
        ...(now
            ? {
                  [t("pairs", "维度对")]: now.frequencies.length,
                  [t("slowest pair, positions a turn", "最慢的维度对，一圈的位置数")]: Math.max(
                      ...now.wavelengths.filter(Number.isFinite),
                  ),
                  [t("pairs that never finish a turn", "转不满一圈的维度对")]: t(
                      `${never} in ${whole(context)}`,
                      `${whole(context)} 内有 ${never} 个`,
                  ),
                  [t("factor of cos and sin", "cos 和 sin 的倍数")]: now.attention_factor ?? 1,
              }
            : {}),
        ...Object.fromEntries(
            Object.entries(attention).map(([name, value]) => [`attention.${name}`, value]),
        ),
    };
}

const cell = (value: unknown): string =>
    value === undefined ? "–" : typeof value === "number" ? short(value, 6) : worded(value);

function table(caption: string, all: Row[]): HTMLElement | null {
    if (!all.length) return null;
    const head = (words: string) => h("th", { scope: "col" }, words);
    return h(
        "table.parameters.beside",
        {},
        h("caption", {}, caption),
        h("thead", {}, h("tr", {}, head(t("number", "数值")), head("A"), head("B"))),
        h(
            "tbody",
            {},
            ...all.map(({ name, a, b }) =>
                h(
                    "tr",
                    {},
                    h("th", { scope: "row" }, /^[a-z_.]+$/.test(name) ? h("code", {}, name) : name),
                    h("td", { "data-side": "A" }, h("code", {}, cell(a))),
                    h("td", { "data-side": "B" }, h("code", {}, cell(b))),
                ),
            ),
        ),
    );
}

function tables(a: Read, b: Read): HTMLElement[] {
    const all = [
        ...rows(a.kind.encoding ?? {}, b.kind.encoding ?? {}).map((one) =>
            one.name === "name" ? { ...one, name: t("encoding", "编码") } : one,
        ),
        ...rows(derived(a), derived(b)),
    ];
    const equal = table(
        t("equal", "相同的"),
        all.filter(({ same }) => same),
    );
    return [
        table(
            t("what differs", "不同的数值"),
            all.filter(({ same }) => !same),
        ) ?? h("p.note", {}, t("No number differs.", "没有不同的数值。")),
        ...(equal
            ? [h("details.more", {}, h("summary", {}, t("what is equal", "相同的数值")), equal)]
            : []),
    ];
}

/** One of the two: its config and what the page says of it. */
interface Half {
    part: Part;
    box: ConfigBox;
    picked: HTMLElement;
    said: HTMLElement;
    work: Work;
    element: HTMLElement;
    /** The state that was asked for. */
    asked?: string;
    got?: Read;
}

class Comparison implements Mounted {
    private halves: Record<Side, Half>;
    private verdict = h("div.verdict", { "aria-live": "polite" });
    private numbers = h("section.panel");
    private pairs = h("section.panel");
    private key = legend();
    private at = h("p.cell");
    private drawn: Curve[] = [];
    private plot = curves((index) => {
        this.key.draw(this.drawn, index);
        this.at.textContent = index < 0 ? "" : t(`pair ${index}`, `维度对 ${index}`);
    });
    private results = h("div.results-of-two", {}, this.numbers, this.pairs);

    constructor(
        stage: HTMLElement,
        private app: App,
    ) {
        this.halves = { a: this.half("a"), b: this.half("b") };
        this.pairs.append(
            h("h2", {}, t("The pairs of both", "两者的维度对")),
            this.key.element,
            this.plot.element,
            this.at,
        );
        stage.append(
            this.verdict,
            h("div.compare", {}, this.halves.a.element, this.halves.b.element),
            this.results,
        );
        this.hide();
        this.update();
    }

    private half(side: Side): Half {
        const part = new Part(this.app, side, () => this.shows(), { model: USUAL[side] });
        const box = configBox(part, 4),
            said = h("div"),
            picked = h("div"),
            name = side.toUpperCase();
        const work = new Work(part, {
            pictures: [said],
            failed: () => this.failed(side),
            shows: (_, mistakes) => box.places(mistakes),
        });
        part.again = () => this.ask(side);
        const element = h(
            "section.side",
            {
                "aria-label": name,
                ondrop: (event: DragEvent) => {
                    event.preventDefault();
                    event.stopPropagation();
                    part.files = [...(event.dataTransfer?.files ?? [])];
                    void box.update();
                    part.files = null;
                },
            },
            h("header", {}, h("h2", {}, name), picked),
            part.failures.element,
            part.place,
        );
        part.place.append(box.element, said);
        return { part, box, picked, said, work, element };
    }

    update(): void {
        for (const side of ["a", "b"] as const) {
            const { part, asked } = this.halves[side];
            if (part.dropped) void this.halves[side].box.update();
            else if (written(part.state.params) !== asked || part.state.params.file) this.ask(side);
        }
    }

    private ask(side: Side): void {
        const half = this.halves[side],
            { part } = half;
        half.asked = written(part.state.params);
        void half.box.update();
        renew(half.picked, () => [this.models(half)]);
        half.work.run(
            (signal) => read(part, signal),
            (got) => this.answered(side, got),
        );
    }

    /** Every model of the catalogue; a config of one's own is none of them. */
    private models({ part }: Half): HTMLElement {
        const { model, config, file } = part.state.params,
            own = config === undefined && file === undefined ? (model ?? "") : "";
        const names = Object.entries(MODELS)
            .map(([id, { name }]) => [id, name] as const)
            .sort(([, a], [, b]) => a.localeCompare(b));
        return select(
            t("model", "模型"),
            {
                ...(own ? {} : { "": t("the config below", "下方的 config") }),
                ...Object.fromEntries(names),
            },
            own,
            (next) => next && part.go(chosen(part, { model: next }), "push"),
        );
    }

    private answered(side: Side, got: Read | null): void {
        const { part, said } = this.halves[side],
            { name } = source(part);
        this.halves[side].got = got ?? undefined;
        if (!got) {
            said.replaceChildren();
            return this.draw();
        }
        const choice = layerChoice(part, got);
        said.replaceChildren(
            got.now
                ? verdict(name, got.config, got.kind, got.now, got.never, got.context)
                : other(name, got.config),
            ...(choice ? [choice] : []),
            h(
                "p.next",
                {},
                h(
                    "a",
                    { href: part.link({ view: "extension", ...part.state.params }) },
                    t("Every parameter, and where it comes from →", "每个参数及其来源 →"),
                ),
            ),
        );
        part.shows([
            { title: "config", ask: configAsk(part, source(part)), formats: [] },
            ...(got.now
                ? [
                      {
                          title: t("wavelengths", "波长"),
                          ask: turnsAsk(got.kind, got.context),
                          formats: ["svg", "safetensors"],
                      },
                  ]
                : []),
        ]);
        this.draw();
    }

    private failed(side: Side): void {
        Object.assign(this.halves[side], { got: undefined, asked: undefined });
        this.halves[side].part.shows([]);
        this.draw();
    }

    private hide(): void {
        this.verdict.hidden = this.results.hidden = true;
    }

    private draw(): void {
        const { a, b } = this.halves;
        if (!a.got || !b.got) return this.hide();
        this.verdict.hidden = this.results.hidden = false;
        this.verdict.replaceChildren(sentence(a.got, b.got));
        this.numbers.replaceChildren(
            h("h2", {}, t("Number by number", "逐个数值")),
            ...this.aboutLayers(a.got, b.got),
            ...tables(a.got, b.got),
        );
        this.over(a.got, b.got);
    }

    private aboutLayers(a: Read, b: Read): HTMLElement[] {
        const named = [a, b].flatMap(({ config, kind }, i) =>
            differ(config) && kind.layer_type ? `${"AB"[i]}: ${kind.layer_type}` : [],
        );
        return named.length
            ? [
                  h(
                      "p.note",
                      {},
                      t(`Of the layers ${named.join(", ")}.`, `所示层：${named.join("，")}。`),
                  ),
              ]
            : [];
    }

    private over(a: Read, b: Read): void {
        const both = [a, b].map(({ now }) => now?.wavelengths ?? []),
            count = Math.max(...both.map(({ length }) => length));
        this.pairs.hidden = !count;
        if (!count) return;
        const filled = (values: number[]) =>
            Array.from({ length: count }, (_, i) => values[i] ?? NaN);
        const contexts = [
            ...new Set([a, b].filter(({ now }) => now).map(({ context }) => context)),
        ];
        this.drawn = [
            ...(["a", "b"] as const)
                .filter((_, i) => both[i].length)
                .map((side) => ({
                    name: `${side.toUpperCase()} · ${source(this.halves[side].part).name}`,
                    values: filled(both[side === "a" ? 0 : 1]),
                    ...LINES[side],
                })),
            ...contexts.map((context, i) => ({
                name: this.contextName(context, a, b),
                values: filled(Array<number>(count).fill(context)),
                colour: "ink",
                dash: CONTEXTS[i],
                width: 1.2,
            })),
        ];
        this.key.draw(this.drawn, -1);
        this.plot.draw({
            x: Array.from({ length: count }, (_, i) => i),
            curves: this.drawn,
            yLog: true,
            xName: t("pair", "维度对"),
            yName: t("positions a turn", "一圈的位置数"),
            label: t("Positions for one turn, pair by pair, of both", "两者逐对的一圈位置数"),
        });
    }

    /** Of one side, where the other has another. */
    private contextName(context: number, a: Read, b: Read): string {
        const side = a.context === b.context ? "" : context === a.context ? "A: " : "B: ";
        return side + t(`context ${whole(context)}`, `上下文 ${whole(context)}`);
    }

    private shows(): void {
        const all: Shown[] = (["a", "b"] as const).flatMap((side) => this.halves[side].part.shown);
        this.app.shows(all);
    }

    leave(): void {
        for (const { work } of Object.values(this.halves)) work.stop();
        this.plot.leave();
    }
}

export const mount = (stage: HTMLElement, app: App): Mounted => new Comparison(stage, app);
