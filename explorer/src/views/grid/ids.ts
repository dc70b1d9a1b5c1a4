// SPDX-License-Identifier: MIT
// Position ids as pictures, one for each axis: of the tokens of an image, of all tokens of the
// prompt, and where posted ids differ.
import { h, set, token } from "../../dom";
import { pixels } from "../../kit/heatmap";
import { extent } from "../../kit/scales";
import { short, whole } from "../../numbers";
import { language, t } from "../../words";
import { MISTAKES } from "./chinese";
import { imageTokens, type Prompt } from "./prompt";

const SMALL_MOST = 200; // px: the height of a picture

export interface Report {
    verdict: "match" | "known-bug" | "unknown";
    bug: string | null;
    explanation: string | null;
    fix: string | null;
    compared: number;
    unequal: number;
    first: { axis: string | null; token: number; expected: number; given: number } | null;
}

/** Names of axes, in the order of their ids. */
export const axisNames = (): string[] => [
    t("time", "时间"),
    t("height", "高"),
    t("width", "宽"),
    t("text", "文本"),
];

/** The tokens of a frame, within those of the prompt. */
export const frameOf = <T>(own: Prompt, all: T[], frame = own.frame): T[] =>
    all.slice(
        own.before + frame * own.height * own.width,
        own.before + (frame + 1) * own.height * own.width,
    );

const ends = (from: number, to: number) =>
    from === to ? short(from) : `${short(from)} … ${short(to)}`;

function small(canvas: HTMLCanvasElement, label: string, ...below: HTMLElement[]): HTMLElement {
    set(canvas, { class: "small", role: "img", "aria-label": label });
    const box = h("div", {}, canvas, ...below);
    box.style.width = `min(100%, ${Math.ceil((SMALL_MOST * canvas.width) / canvas.height)}px)`;
    return box;
}

/** Red where a token differs. */
function marks(own: Prompt, differs: boolean[]): HTMLCanvasElement {
    const { width, height } = own,
        canvas = h("canvas", { width, height }),
        context = canvas.getContext("2d")!;
    differs.forEach((one, i) => {
        context.fillStyle = token(one ? "bad" : "faint");
        context.fillRect(i % width, Math.floor(i / width), 1, 1);
    });
    return canvas;
}

const between = (left: string, right: string) =>
    h("div.ends", {}, h("span", {}, left), h("span", {}, right));

/** The ids of an axis: `posted` beside them, where there are some. */
function figure(own: Prompt, axis: number, ids: number[], posted?: number[]): HTMLElement {
    const { height: rows, width: columns } = own,
        name = axisNames()[axis],
        [low, high] = extent([ids], false),
        image = frameOf(own, ids);
    const shade = (values: number[], rows: number, columns: number) =>
        pixels({ rows, columns, values, low, high, palette: "viridis" });
    const picture = (what: string, values: number[]) =>
        small(
            shade(values, rows, columns),
            t(
                `${name}, ${what}: ${values[0]} in the first corner, ${values.at(-1)} in the last`,
                `${name}，${what}：首角 ${values[0]}，末角 ${values.at(-1)}`,
            ),
            between(
                t(`first ${short(values[0])}`, `首 ${short(values[0])}`),
                t(`last ${short(values.at(-1)!)}`, `末 ${short(values.at(-1)!)}`),
            ),
        );
    const strip = shade(ids, 1, ids.length),
        given = posted && frameOf(own, posted),
        differs = posted && ids.map((one, i) => one !== posted[i]),
        here = differs && frameOf(own, differs),
        [count, inFrame] = [differs, here].map((all) => all?.filter(Boolean).length ?? 0);
    set(strip, { class: "tokens", "aria-hidden": "true" });
    return h(
        "figure",
        {},
        h("figcaption", {}, h("b", {}, name), given && ` ${t("as it should be", "应有的")}`),
        picture(t("as it should be", "应有的"), image),
        ...(given && here
            ? [
                  h("span", {}, t("posted", "提交的")),
                  picture(t("posted", "提交的"), given),
                  h(
                      `span${count ? ".differ" : ""}` as "span",
                      {},
                      count
                          ? t(
                                `${whole(count)} of ${whole(ids.length)} ${count === 1 ? "differs" : "differ"}, ${whole(inFrame)} in this picture`,
                                `${whole(ids.length)} 个中 ${whole(count)} 个不同，本图中 ${whole(inFrame)} 个`,
                            )
                          : t("none differs", "全部相同"),
                  ),
                  small(marks(own, here), t(`${name}: where ids differ`, `${name}：不同之处`)),
              ]
            : [
                  h("span", {}, t("all tokens in their order", "全部 token，按顺序")),
                  strip,
                  between(
                      t(`token 0: ${short(ids[0])}`, `token 0：${short(ids[0])}`),
                      `${whole(ids.length - 1)}: ${short(ids.at(-1)!)}`,
                  ),
              ]),
    );
}

/** First and last ids of each part of the prompt. */
function table(own: Prompt, ids: number[][]): HTMLElement {
    const { before, after, frames } = own,
        count = imageTokens(own),
        named = frames > 1 ? t("video", "视频") : t("image", "图像");
    const parts = [
        [t("text", "文本"), 0, before],
        [named, before, before + count],
        [t("text", "文本"), before + count, before + count + after],
    ] as [string, number, number][];
    const seen = parts.filter(([, from, to]) => to > from);
    return h(
        "table.parts",
        {},
        h(
            "thead",
            {},
            h(
                "tr",
                {},
                h("th", { scope: "col" }, t("tokens", "token")),
                ...seen.map(([name, from, to]) =>
                    h("th", { scope: "col" }, `${name} ${ends(from, to - 1)}`),
                ),
            ),
        ),
        h(
            "tbody",
            {},
            ...ids.map((list, axis) =>
                h(
                    "tr",
                    {},
                    h("th", { scope: "row" }, axisNames()[axis]),
                    ...seen.map(([, from, to]) => h("td", {}, ends(list[from], list[to - 1]))),
                ),
            ),
        ),
    );
}

function verdict(report: Report): HTMLElement {
    const { compared, unequal, first } = report,
        words = {
            match: [t("They are right", "正确"), "good", "✓"],
            "known-bug": [t("A known mistake", "已知错误"), "bad", "✕"],
            unknown: [t("No known mistake explains them", "没有已知错误能解释"), "still", "?"],
        }[report.verdict];
    const sign = h("span.sign", { "aria-hidden": "true" }, words[2]);
    sign.style.background = `var(--${words[1]})`;
    const { bug, explanation, fix } = report,
        [cause, remedy] = (language() === "zh-CN" && MISTAKES[bug ?? ""]) || [explanation, fix];
    const axis = ["time", "height", "width", "text"].indexOf(first?.axis ?? "");
    return h(
        "div.result",
        { role: "status" },
        h("h2", {}, sign, words[0], report.bug && h("code", {}, report.bug)),
        cause && h("p.why", {}, `${cause}${t(".", "。")}`),
        remedy && h("p.fix", {}, `→ ${remedy}${t(".", "。")}`),
        first &&
            h(
                "p",
                {},
                t(
                    `${whole(unequal)} of ${whole(compared)} ids ${unequal === 1 ? "differs" : "differ"}. The first is the ${axisNames()[axis] ?? ""} of token ${whole(first.token)}: ${short(first.given)} instead of ${short(first.expected)}.`,
                    `${whole(compared)} 个 id 中 ${whole(unequal)} 个不同。第一个是 token ${whole(first.token)} 的${axisNames()[axis] ?? ""}：${short(first.given)}，应为 ${short(first.expected)}。`,
                ),
            ),
    );
}

export function idsDrawn(
    own: Prompt,
    ids: number[][],
    posted?: number[][],
    report?: Report,
): HTMLElement[] {
    return [
        ...(report ? [verdict(report)] : []),
        h(
            "div.axes",
            {},
            ...ids.map((list, axis) =>
                figure(own, axis, list, posted && (posted[axis] ?? posted[0])),
            ),
        ),
        h("div.scroll", { tabindex: 0 }, table(own, ids)),
    ];
}
