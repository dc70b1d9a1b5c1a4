// SPDX-License-Identifier: MIT
// Where a parameter came from, in words, and what a type of scaling does, in a line.
import { broken, h } from "../dom";
import { short, whole } from "../numbers";
import { t } from "../words";
import type { Encoding } from "./model";

const SOURCES: Record<string, () => [string, string]> = {
    default: () => [
        t("default", "默认值"),
        t("no key says it: what the encoding has without", "没有对应的键：编码自己的默认值"),
    ],
    model_type: () => [
        t("model's class", "模型类"),
        t(
            "no key says it: the code of this model_type does",
            "没有对应的键：该 model_type 的代码如此规定",
        ),
    ],
    request: () => [
        t("you", "你"),
        t("given beside the config, in this page's link", "由本页链接给出，优先于 config"),
    ],
};

/** A badge; of a key a button that shows it in the config. */
export function from(origin: string, find: (key: string) => boolean): HTMLElement {
    const known = SOURCES[origin]?.();
    if (known) return h(`span.origin.${origin}`, { title: known[1] }, known[0]);
    const keys = origin.split(/\s*[/*]\s*/);
    return h(
        "span.origin.key",
        {},
        ...keys.flatMap((key, i) => [
            i ? " / " : "",
            h(
                "button.link",
                {
                    type: "button",
                    title: t("show it in the config", "在 config 中显示"),
                    onclick: () => find(key),
                },
                h("code", {}, ...broken(key)),
            ),
        ]),
    );
}

/** How a rope_type changes the frequency w of a pair. */
export function rule({ rope_type, factor = 1, ...encoding }: Encoding): string {
    const f = short(factor, 5),
        original = encoding.original_max_position_embeddings ?? 0;
    const low = Number(encoding.low_freq_factor ?? 1),
        high = Number(encoding.high_freq_factor ?? 4);
    const fast = Number(encoding.beta_fast ?? 32),
        slow = Number(encoding.beta_slow ?? 1);
    switch (rope_type) {
        case "linear":
            return t(`w / ${f}, every pair alike`, `w / ${f}，每个维度对都一样`);
        case "llama3":
            return t(
                `w / ${f} where a turn takes more than ${whole(original / low)} positions, w below ${whole(original / high)}, smooth between`,
                `一圈超过 ${whole(original / low)} 个位置时 w / ${f}，不到 ${whole(original / high)} 时为 w，中间平滑过渡`,
            );
        case "yarn":
            return t(
                `w / ${f} for fewer than ${slow} turns in ${whole(original)} positions, w for more than ${fast}, a ramp between`,
                `${whole(original)} 个位置内不到 ${slow} 圈时 w / ${f}，超过 ${fast} 圈时为 w，中间线性过渡`,
            );
        case "ntk":
        case "dynamic":
            return t(
                "a larger base: the slower a pair, the more it is slowed",
                "增大基数：越慢的维度对放慢得越多",
            );
        case "longrope":
            return t(
                "w divided by a list of the config, one number a pair",
                "w 除以 config 中的列表，每个维度对一个数",
            );
        case "custom":
            return t(
                "w divided by what the file says of each pair",
                "w 除以文件为每个维度对给出的数",
            );
        case "proportional":
            return t("the first pairs turn, the others stand still", "前面的维度对转动，其余不动");
        case "ntk_fixed":
            return t(
                `w / ${f} to the power of 2i/d: the slower, the more`,
                `w / ${f}^(2i/d)：越慢放慢得越多`,
            );
        default:
            return t("w, as base and width have it", "w，只由基数和维数决定");
    }
}
