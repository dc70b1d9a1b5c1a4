// SPDX-License-Identifier: MIT
// Three numbers, and where each comes from: its formula, the key of the config, the bytes.
import type { Tensor } from "../../api";
import { h } from "../../dom";
import { failure } from "../../kit/failure";
import { frequenciesAsk, type Frequencies, type Kind } from "../../kit/model";
import { from, rule } from "../../kit/provenance";
import { short, whole } from "../../numbers";
import type { App } from "../../view";
import { t } from "../../words";
import { stretch } from "./verdict";

export interface Fact {
    name: string;
    value: string;
    /** The parameter of the encoding that it is, or stands on. */
    parameter: string;
    formula: string;
    note: string;
    /** Which number of the API's answer, and where. */
    tensor: string;
    index: number;
}

export function facts(kind: Kind, now: Frequencies, before: Frequencies, context: number): Fact[] {
    const encoding = kind.encoding!,
        { base = 10000, dim = 2 * now.frequencies.length } = encoding;
    const { changed, by } = stretch(now),
        finite = now.wavelengths.filter(Number.isFinite);
    const longest = Math.max(...finite),
        last = now.wavelengths.indexOf(longest),
        width = 2 * now.frequencies.length;
    const most = changed ? now.factors.indexOf(by) : 0;
    return [
        {
            name: t("base", "基数"),
            value: short(base, 6),
            parameter: "base",
            tensor: "inv_freq",
            index: 1,
            formula: t(
                `pair i turns by base^(−2i/${width}) a position`,
                `维度对 i 每个位置转 base^(−2i/${width})`,
            ),
            note: t(
                `pair 1: ${short(base, 6)}^(−2/${width}) = ${short(before.frequencies[1], 6)} radians`,
                `维度对 1：${short(base, 6)}^(−2/${width}) = ${short(before.frequencies[1], 6)} 弧度`,
            ),
        },
        changed
            ? {
                  name: t("slowed by", "放慢"),
                  value: `${short(by, 4)}×`,
                  parameter: encoding.factor ? "factor" : "rope_type",
                  tensor: "freq_factors",
                  index: most,
                  formula: rule(encoding),
                  note: t(
                      `pair ${most}: ${short(before.wavelengths[most], 6)} becomes ${short(now.wavelengths[most], 6)} positions a turn`,
                      `维度对 ${most}：一圈由 ${short(before.wavelengths[most], 6)} 变为 ${short(now.wavelengths[most], 6)} 个位置`,
                  ),
              }
            : {
                  name: t("dimensions that turn", "转动的维数"),
                  value: t(`${width} of ${whole(dim)}`, `${whole(dim)} 中的 ${width}`),
                  parameter: encoding.partial_rotary_factor ? "partial_rotary_factor" : "dim",
                  tensor: "inv_freq",
                  index: 0,
                  formula: t("two dimensions are one pair", "每两维组成一个维度对"),
                  note: t(
                      `pair 0 turns by ${short(now.frequencies[0], 6)} radians a position`,
                      `维度对 0 每个位置转 ${short(now.frequencies[0], 6)} 弧度`,
                  ),
              },
        {
            name: t("slowest pair", "最慢的维度对"),
            value: short(longest, 6),
            parameter: "dim",
            tensor: "wavelengths",
            index: last,
            formula: t("positions for one turn: 2π / w", "转一圈的位置数：2π / w"),
            note: t(
                `pair ${last}: 2π / ${short(now.frequencies[last], 6)}; one turn is ${short(longest / context, 3)} contexts long`,
                `维度对 ${last}：2π / ${short(now.frequencies[last], 6)}；一圈有 ${short(longest / context, 3)} 个上下文长`,
            ),
        },
    ];
}

const hex = (byte: number) => byte.toString(16).padStart(2, "0");

async function bytes(
    app: App,
    kind: Kind,
    context: number,
    { tensor, index }: Fact,
): Promise<string> {
    const all = await app.api.ask<Record<string, Tensor>>(frequenciesAsk(kind, context));
    const { data } = all[tensor] ?? all.inv_freq,
        size = data.BYTES_PER_ELEMENT;
    const own = new Uint8Array(data.buffer, data.byteOffset + index * size, size);
    return `${tensor}[${index}] = ${data[index]} = ${[...own].map(hex).join(" ")}`;
}

function fact(
    app: App,
    one: Fact,
    kind: Kind,
    context: number,
    find: (key: string) => boolean,
): HTMLDetailsElement {
    const told = h("code", {}, "…"),
        key = kind.provenance?.[one.parameter];
    const element = h(
        "details.fact",
        {
            name: "fact",
            ontoggle: async () => {
                if (!element.open || told.textContent !== "…") return;
                try {
                    told.textContent = await bytes(app, kind, context, one);
                } catch (error) {
                    told.replaceWith(failure(error));
                }
            },
        },
        h("summary", {}, h("span", {}, one.name), h("strong", {}, one.value)),
        h(
            "dl",
            {},
            h("dt", {}, t("formula", "公式")),
            h("dd", {}, one.formula, h("br"), h("small", {}, one.note)),
            h("dt", {}, t("from", "来自")),
            h("dd", {}, key ? from(key, find) : "—"),
            h("dt", {}, t("bytes", "字节")),
            h(
                "dd",
                {},
                told,
                h("br"),
                h(
                    "small",
                    {},
                    t("float32, little-endian, as answered", "float32 小端，与回答一致"),
                ),
            ),
        ),
    );
    return element;
}

/** Those that were open stay open. */
export function factList(
    app: App,
    list: HTMLElement,
    all: Fact[],
    kind: Kind,
    context: number,
    find: (key: string) => boolean,
): void {
    const open = [...list.querySelectorAll("details")].map((one) => one.open);
    list.replaceChildren(
        ...all.map((one, i) => {
            const element = fact(app, one, kind, context, find);
            element.open = open[i] ?? false;
            return element;
        }),
    );
}
