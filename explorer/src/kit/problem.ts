// SPDX-License-Identifier: MIT
// What went wrong, in the words of the page: the API's problems are written for those who send
// requests, and name routes, headers and formats that a reader of the page has never seen.
import { PosencError } from "../../../clients/js/client.js";
import { language, t } from "../words";
import { problemInChinese } from "./problem_chinese";

export interface Mistake {
    /** The control at fault, by the name of its parameter, or "config". */
    field?: string;
    /** The key of a config: "rope_scaling.factor". */
    key?: string;
    words: string;
}

export interface Told {
    title: string;
    mistakes: Mistake[];
    /** Another attempt may succeed. */
    again: boolean;
}

export interface Problem {
    code?: string;
    detail?: string;
    errors?: { parameter?: string; pointer?: string; header?: string; detail: string }[];
}

const titles = (): Record<string, string> => ({
    malformed: t("This cannot be read", "无法读取"),
    "invalid-parameter": t("A value cannot be read", "有一个值无法读取"),
    "out-of-range": t("A value is out of range", "有一个值超出范围"),
    "unknown-parameter": t("A name is not known", "有一个名称无法识别"),
    "missing-parameter": t("A value is missing", "缺少一个值"),
    "not-found": t("There is no such thing", "没有这一项"),
    "conflicting-parameters": t("Two values contradict each other", "两个值互相矛盾"),
    "shape-mismatch": t("Shapes do not fit each other", "形状不匹配"),
    unsupported: t("This combination does not exist", "没有这种组合"),
    unauthorized: t(
        "This server requires a token, which this page does not have",
        "此服务器需要令牌",
    ),
    "too-large": t("This is too large to compute here", "数据太大，无法在此计算"),
    busy: t("The server is busy", "服务器繁忙"),
    "out-of-memory": t("The server is busy", "服务器繁忙"),
    timeout: t("This takes too long", "计算时间过长"),
    cancelled: t("This takes too long", "计算时间过长"),
    internal: t("The server failed", "服务器出错"),
});

const AGAIN = ["busy", "out-of-memory", "timeout", "cancelled", "internal"];

/** A part of a sentence that is about requests. */
const OF_REQUESTS = new RegExp(
    [
        "/v1|/openapi|/docs|/problems",
        "\\b(GET|POST|PUT|DELETE|HEAD|HTTP|raw bytes)\\b",
        'format=|data_format|\\{\\s*"|--[a-z]',
        "Content-|Accept|Tensor-|\\b(headers|header [A-Z]|media type|in (a|the) query)",
        "^known: ",
        '"tensor:',
    ].join("|"),
);

/** Words of requests, and what they are on the page. */
const WORDS: [RegExp, string][] = [
    [/\bTensor-Shape\b/g, "the shape"],
    [/the body is not JSON at byte/, "the text is not valid JSON: byte"],
    [/the body must be a JSON object.*/, "the text must be a JSON object: { … }"],
    [/the body/g, "what was given"],
    [/\bbody\b/g, "text"],
    [/there is no parameter /g, "there is no setting "],
    [/\bparameters\b/g, "settings"],
    [/\bparameter\b/g, "setting"],
    [/the (value|setting) of --[a-z-]+/g, "the limit of this server"],
    [/--[a-z-]+/g, "a limit of this server"],
    [/\ba JSON answer\b/g, "an answer"],
    [/\bthe request\b/gi, "this"],
    [/\brequest\b/g, "picture"],
];

const inWords = (text: string): string =>
    WORDS.reduce((words, [from, to]) => words.replace(from, to), text);

/** A detail without what is about requests; the first part stays in any case. */
export function pageWords(detail: string): string {
    const [first, ...more] = detail.split(/;\s+/).map((part, i) => (i ? part : inWords(part)));
    const begin = OF_REQUESTS.test(first)
        ? first
              .split(/[,:(]\s*/)
              .filter((part) => !OF_REQUESTS.test(part))
              .join(", ") || first.replace(/[:(].*/, "")
        : first;
    const words = [begin, ...more.filter((part) => !OF_REQUESTS.test(part)).map(inWords)].join(
        "; ",
    );
    return language() === "en" ? words : problemInChinese(words);
}

/** "/rope_scaling/factor" as people write it. */
const dotted = (pointer: string): string =>
    pointer
        .slice(1)
        .split("/")
        .map((part) => part.replace(/~1/g, "/").replace(/~0/g, "~"))
        .join(".");

function mistakesOf({ detail = "", errors = [] }: Problem): Mistake[] {
    if (!errors.length)
        return detail
            ? [{ words: pageWords(detail), field: /JSON/.test(detail) ? "config" : undefined }]
            : [];
    return errors.map((one) =>
        one.pointer
            ? { field: "config", key: dotted(one.pointer), words: pageWords(one.detail) }
            : { field: one.parameter, words: pageWords(one.detail) },
    );
}

/** `origin`: the server of the page; null: it computes by itself. */
export function told(error: unknown, origin: string | null): Told {
    if (error instanceof PosencError) {
        const problem = error.problem as Problem,
            { code = "" } = problem;
        return {
            title: titles()[code] ?? t("This cannot be shown", "无法显示"),
            mistakes: mistakesOf(problem),
            again: AGAIN.includes(code),
        };
    }
    const words = error instanceof Error ? error.message : `${error}`;
    if (origin === null || !(error instanceof TypeError))
        return {
            title: t("This could not be computed", "计算失败"),
            mistakes: [{ words }],
            again: true,
        };
    return {
        title: t("The server does not answer", "服务器没有回应"),
        again: true,
        mistakes: [
            {
                words: t(
                    `posencd at ${origin} cannot be reached. Start it, then try again.`,
                    `无法连接 ${origin} 上的 posencd。请启动后重试。`,
                ),
            },
        ],
    };
}
