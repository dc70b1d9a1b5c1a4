// SPDX-License-Identifier: MIT
// The report of a diagnosis: the verdict, the mistake with its fix, the other candidates.
import { h } from "../../dom";
import { facts } from "../../kit/facts";
import { short, whole } from "../../numbers";
import { language, t } from "../../words";
import { chinese, said } from "./chinese";

export interface Candidate {
    encoding: Record<string, unknown> & { name: string };
    layout: string | null;
    fits: boolean;
    bug: string | null;
    explanation: string;
    fix: string | null;
    max_abs: number;
    max_ulp: number;
    rms: number;
}

export interface Report {
    verdict: "match" | "consistent" | "known-bug" | "other-scheme" | "unknown";
    ambiguous: boolean;
    identical_to: string[];
    rows: number;
    bad_rows: number;
    candidates: Candidate[];
    warnings: string[];
}

const verdicts = () =>
    ({
        match: [t("It is right", "正确"), "good", "✓"],
        consistent: [
            t("Consistent, but nothing was expected", "相符，但没有给出预期"),
            "slow",
            "≈",
        ],
        "known-bug": [t("A known mistake", "已知错误"), "bad", "✕"],
        "other-scheme": [t("Another scheme", "是另一种方案"), "slow", "≠"],
        unknown: [t("Nothing explains it", "无法解释"), "still", "?"],
    }) as Record<string, string[]>;

/** The encoding as it was found: a table that fits stands in the candidate's own order of columns.
 * */
export function found({ encoding, layout, fits, bug }: Candidate): Candidate["encoding"] {
    return fits && !bug && "layout" in encoding && /^(interleaved|concatenated)$/.test(layout ?? "")
        ? { ...encoding, layout }
        : encoding;
}

/** Parameters that say what a scheme is, without those at rest. */
export function scheme({ name, ...rest }: Candidate["encoding"]): string {
    const told = Object.entries(rest).filter(
        ([key, value]) =>
            !(key === "rope_type" && value === "default") &&
            !(key === "arithmetic" && value === "exact"),
    );
    return `${name} ${told.map(([key, value]) => `${key}=${value}`).join(" ")}`;
}

/** The cause of what was seen and how it is mended, in the language of the page. */
const told = (one: Candidate): [string, string | null] =>
    language() === "en" ? [one.explanation, one.fix] : chinese(one);

function best(report: Report): HTMLElement {
    const [first] = report.candidates,
        [words, colour, sign] = verdicts()[report.verdict];
    const mark = h("span.sign", { "aria-hidden": "true" }, sign);
    mark.style.background = `var(--${colour})`;
    const [why, fix] = first ? told(first) : [];
    return h(
        "section.panel.result",
        {},
        h(
            "h2",
            {},
            mark,
            words,
            report.verdict === "known-bug" && first?.bug && h("code", {}, first.bug),
        ),
        why && h("p.why", {}, why),
        fix && h("p.fix", {}, h("b", {}, t("Fix: ", "修正：")), fix),
        first && h("p", {}, h("code", {}, scheme(found(first)))),
        report.ambiguous &&
            h(
                "p",
                {},
                t("Others explain it as well: see below.", "还有其他解释同样成立，见下表。"),
            ),
    );
}

function tried({ candidates }: Report): HTMLElement {
    return h(
        "details.tried",
        {},
        h("summary", {}, t("other candidates", "还尝试过什么")),
        h(
            "div.wide",
            { tabindex: 0, role: "region", "aria-label": t("other candidates", "还尝试过什么") },
            h(
                "table",
                {},
                h(
                    "thead",
                    {},
                    h(
                        "tr",
                        {},
                        ...[
                            t("scheme", "方案"),
                            t("mistake", "错误"),
                            t("fits", "吻合"),
                            t("worst", "最大偏差"),
                            "rms",
                        ].map((one) => h("th", { scope: "col" }, one)),
                    ),
                ),
                h(
                    "tbody",
                    {},
                    ...candidates.map((one) =>
                        h(
                            "tr",
                            {},
                            h("td", {}, scheme(found(one))),
                            h("td", {}, one.bug ?? "–"),
                            h("td", {}, one.fits ? "✓" : "–"),
                            h("td", {}, short(one.max_abs, 3)),
                            h("td", {}, short(one.rms, 3)),
                        ),
                    ),
                ),
            ),
        ),
    );
}

export function report(all: Report): HTMLElement {
    const [first] = all.candidates;
    return h(
        "div",
        {},
        best(all),
        facts([
            {
                name: t("rows", "行数"),
                value: whole(all.rows),
                source: all.bad_rows
                    ? t(
                          `${whole(all.bad_rows)} of them are explained by nothing`,
                          `其中 ${whole(all.bad_rows)} 行无法解释`,
                      )
                    : t("each of them was looked at", "每一行都检查过"),
            },
            {
                name: t("farthest value", "最大偏差"),
                value: first ? short(first.max_abs, 3) : "–",
                source: t("from what the first explanation predicts", "与第一种解释的预测之差"),
            },
            {
                name: t("bit-exact match", "逐位等同"),
                value: all.identical_to.join(", ") || t("none", "无"),
                source: t(
                    "the arithmetic that gives every bit of it: exact, or float32 as in transformers (hf)",
                    "能逐位复现的算法：精确，或 transformers 的 float32（hf）",
                ),
            },
        ]),
        ...(all.warnings.length
            ? [h("ul.warnings", {}, ...all.warnings.map((one) => h("li", {}, t(one, said(one)))))]
            : []),
        tried(all),
    );
}
