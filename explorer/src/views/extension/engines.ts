// SPDX-License-Identifier: MIT
// How engines read the config, by what was measured of them, and the files that check a kernel.
import { Lane } from "../../api";
import { h, type Child } from "../../dom";
import { saver } from "../../kit/actions";
import { failure } from "../../kit/failure";
import { goldenAsk, lintAsk, overrides, type Source } from "../../kit/model";
import { short, whole } from "../../numbers";
import type { App } from "../../view";
import { t } from "../../words";

interface Finding {
    message: string;
    keys: string[];
    reads: string;
    layer_types: string[];
    layers?: number;
    pairs?: number;
    of?: number;
    radians?: number;
    at?: number;
    length?: number;
    line?: number;
}

interface Engine {
    engine: string;
    version: string;
    verdict: string;
    reason?: string;
    findings: Finding[];
}

export interface Engines {
    /** `rotary`: some layers rotate, so that a kernel can be checked. */
    update(from: Source, rotary: boolean): void;
    leave(): void;
}

/** Verdicts in the order in which they are shown. */
const verdicts = (): Record<string, string> => ({
    differs: t("differs", "读法不同"),
    raises: t("refuses the config", "拒绝该 config"),
    same: t("same", "相同"),
    "no-such-model": t("no such model", "没有该模型"),
    "not-measured": t("not measured", "未测量"),
});

/** Engines with one verdict and one account of it, together. */
function grouped(all: Engine[]): Engine[][] {
    const groups = new Map<string, Engine[]>(),
        order = Object.keys(verdicts());
    for (const one of all) {
        const account = one.findings.map(({ message, line }) => [message, line]);
        const key = JSON.stringify([one.verdict, one.reason, account]);
        groups.set(key, [...(groups.get(key) ?? []), one]);
    }
    const rank = ([{ verdict }]: Engine[]) => order.indexOf(verdict);
    return [...groups.values()].sort((a, b) => rank(a) - rank(b));
}

/** How far the angles are off, in the order of the API's own sentence. */
function size({ pairs, of, radians, at, length, layers, layer_types }: Finding): string {
    const parts = [
        pairs !== undefined && t(`${pairs} of ${of} pairs`, `${of} 个维度对中的 ${pairs} 个`),
        radians !== undefined &&
            t(
                `${short(radians)} rad at position ${whole(at!)}`,
                `位置 ${whole(at!)} 处相差 ${short(radians)} rad`,
            ),
        length !== undefined && t(`at length ${whole(length)}`, `长度为 ${whole(length)} 时`),
        layers !== undefined &&
            layer_types.length > 0 &&
            t(
                `${layers} layers of ${layer_types.join(", ")}`,
                `${layers} 层：${layer_types.join("、")}`,
            ),
    ];
    return parts.filter(Boolean).join(t(", ", "，"));
}

function finding(one: Finding, find: (key: string) => boolean): HTMLElement {
    const [key] = one.keys;
    const words: Child[] =
        one.pairs === undefined || !key
            ? [h("span", { lang: "en" }, one.message)]
            : [
                  ...one.keys.flatMap((name, i) => [i > 0 && ", ", h("code", {}, name)]),
                  t(" is read as ", " 被读作 "),
                  h("code", { lang: "en" }, one.reads),
                  t(": ", "："),
                  size(one),
              ];
    return h(
        "p",
        {},
        ...words,
        one.line !== undefined && " · ",
        one.line !== undefined &&
            h(
                "button.link",
                { type: "button", onclick: () => find(key) },
                t(`line ${one.line}`, `第 ${one.line} 行`),
            ),
    );
}

function group(engines: Engine[], find: (key: string) => boolean): HTMLElement {
    const [{ verdict, reason, findings }] = engines;
    return h(
        "li",
        { "data-verdict": verdict },
        h(
            "p",
            {},
            h("b", {}, verdicts()[verdict]),
            ": ",
            engines.map(({ engine, version }) => `${engine} ${version}`).join(", "),
            reason && verdict !== "no-such-model" && h("small", { lang: "en" }, reason),
        ),
        ...findings.map((one) => finding(one, find)),
    );
}

/** Why nothing is asked of engines for this config. */
function unmeasured(from: Source, rotary: boolean): string {
    if (!rotary)
        return t(
            "engines were measured with rotary encodings along one axis, and this config has none.",
            "各引擎只测过单轴旋转编码，而此 config 没有。",
        );
    return from.file && !/\.json$/i.test(from.file.name)
        ? t("engines were given config.json files.", "各引擎只测过 config.json。")
        : "";
}

/** Parameters of the link are beside the config, which is judged as it is written. */
function unchanged(app: App): HTMLElement | false {
    const names = Object.keys(overrides(app)).join(", ");
    return (
        names !== "" &&
        h(
            "p.note",
            {},
            t(
                `Of the config as it is written, without what was changed on this page: ${names}.`,
                `按 config 原文，不含本页的改动：${names}。`,
            ),
        )
    );
}

function checks(app: App, from: Source): HTMLElement {
    const wrong = h("div"),
        save = saver(app, "golden", () => goldenAsk(from), "safetensors", wrong);
    save.classList.add("chip");
    return h(
        "section.golden",
        {},
        h("h2", {}, t("Check a kernel against this config", "按此 config 检查内核")),
        h(
            "p",
            {},
            t("Golden file, inputs and their exact outputs: ", "标准文件（输入与精确输出）："),
            save,
        ),
        wrong,
        h("pre", {}, "posenc check mine.safetensors golden.safetensors"),
        h(
            "p",
            {},
            t(
                "Or in Python, any function rotate(x, positions):",
                "或在 Python 中检查任意函数 rotate(x, positions)：",
            ),
        ),
        h("pre", {}, 'print(posenc.probe(rotate, config="config.json"))'),
    );
}

export function engines(app: App, place: HTMLElement, find: (key: string) => boolean): Engines {
    const lane = new Lane(),
        judged = h("div", { "aria-live": "polite" }),
        notes = h("div"),
        golden = h("div");
    let shown: string | File | undefined;
    place.replaceChildren(
        h(
            "section.engines",
            {},
            h("h2", {}, t("How engines read this config", "各推理引擎如何读取此 config")),
            judged,
            notes,
        ),
        golden,
    );

    function draw(all: Engine[]): void {
        judged.replaceChildren(
            h("ul", {}, ...grouped(all).map((one) => group(one, find))),
            h(
                "p.note",
                {},
                t(
                    "By what each engine, run in the named version, was measured to read.",
                    "依据：实际运行各引擎的所列版本测得的读法。",
                ),
            ),
        );
    }

    function update(from: Source, rotary: boolean): void {
        const note = unchanged(app);
        notes.replaceChildren(...(note ? [note] : []));
        const next = from.text ?? from.file;
        if (next === shown) return;
        shown = next;
        golden.replaceChildren(...(rotary ? [checks(app, from)] : []));
        const reason = unmeasured(from, rotary);
        if (reason) {
            lane.stop();
            return judged.replaceChildren(
                h("p", {}, h("b", {}, verdicts()["not-measured"]), ": ", reason),
            );
        }
        lane.run(
            (signal) => app.api.ask<{ engines: Engine[] }>(lintAsk(from), signal),
            (answer) => draw(answer.engines),
            (error) => {
                shown = undefined;
                judged.replaceChildren(failure(error));
            },
        );
    }

    return { update, leave: () => lane.stop() };
}
