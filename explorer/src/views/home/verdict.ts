// SPDX-License-Identifier: MIT
// A model's treatment of position, in a sentence: counted from the frequencies that the API
// answered.
import { h, type Child } from "../../dom";
import type { Config, Frequencies, Kind } from "../../kit/model";
import { differ, kinds } from "../../kit/model";
import { short, whole } from "../../numbers";
import { t } from "../../words";

export interface Stretch {
    pairs: number;
    changed: number;
    /** Changed by the most, and by how much. */
    most: number;
    by: number;
}

const EPSILON = 1e-9; // of a factor: the last bits of a division

export function stretch({ factors }: Frequencies): Stretch {
    const finite = factors.filter(Number.isFinite),
        by = Math.max(...finite);
    return {
        pairs: factors.length,
        by,
        changed: finite.filter((one) => Math.abs(one - 1) > EPSILON).length,
        most: finite.filter((one) => Math.abs(one / by - 1) < EPSILON).length,
    };
}

const slow = (words: string) => h("em.slow", {}, words);
const times = (value: number) => `${short(value, 3)}×`;

function turned(who: string, { pairs, changed, most, by }: Stretch, base: number): Child[] {
    if (!changed)
        return [
            t(
                `${who} turns all ${pairs} pairs as base ${whole(base)} has them.`,
                `${who} 的全部 ${pairs} 个维度对都按基数 ${whole(base)} 转动，没有改动。`,
            ),
        ];
    const all = slow(
        changed === pairs
            ? t(`all ${pairs} pairs`, `全部 ${pairs} 个维度对`)
            : t(`${changed} of its ${pairs} pairs`, `${pairs} 个维度对中的 ${changed} 个`),
    );
    const head = t(`${who} slows `, `${who} 放慢了 `);
    if (changed === most) return [head, all, t(` ${times(by)}.`, `，慢 ${times(by)}。`)];
    return [
        head,
        all,
        most * 4 >= changed
            ? t(`, ${most} of them ${times(by)}.`, `，其中 ${most} 个慢 ${times(by)}。`)
            : t(`, up to ${times(by)}.`, `，最多慢 ${times(by)}。`),
    ];
}

function within(never: number, pairs: number, context: number): Child[] {
    const length = whole(context);
    if (!never)
        return [
            t(
                ` Within ${length} tokens every pair finishes a turn.`,
                `在 ${length} 个 token 内，每个维度对都转满一圈。`,
            ),
        ];
    if (never === pairs)
        return [
            t(
                ` Within ${length} tokens not one finishes a turn.`,
                `在 ${length} 个 token 内，没有一个转满一圈。`,
            ),
        ];
    return [
        t(` Within ${length} tokens `, `在 ${length} 个 token 内，有 `),
        h("em.still", {}, `${never}`),
        t(never === 1 ? " never finishes a turn." : " never finish a turn.", " 个转不满一圈。"),
    ];
}

/** The layers that the sentence is about, where others differ. */
function layersOf(config: Config, kind: Kind): string {
    const all = kinds(config),
        total = all.reduce((sum, one) => sum + one.layers.length, 0);
    const alike = all
        .filter((one) => JSON.stringify(one.encoding) === JSON.stringify(kind.encoding))
        .reduce((sum, one) => sum + one.layers.length, 0);
    if (!differ(config)) return "";
    if (!total) return t(`In ${kind.layer_type} layers `, `在 ${kind.layer_type} 层里，`);
    return t(`In ${alike} of ${total} layers `, `在 ${total} 层中的 ${alike} 层里，`);
}

const capital = (name: string) =>
    name === t("this model", "该模型") ? name[0].toUpperCase() + name.slice(1) : name;

export function verdict(
    name: string,
    config: Config,
    kind: Kind,
    frequencies: Frequencies,
    never: number,
    context: number,
): HTMLElement {
    const told = stretch(frequencies);
    const where = layersOf(config, kind);
    return h(
        "h2",
        {},
        where,
        ...turned(where ? name : capital(name), told, kind.encoding!.base ?? 10000),
        ...within(never, told.pairs, context),
    );
}

/** For models without pairs that turn. */
export function other(name: string, config: Config): HTMLElement {
    const { encoding } = config;
    name = capital(name);
    if (!encoding)
        return h(
            "h2",
            {},
            t(
                `This config does not say how positions are encoded.`,
                `这个 config 没有说明它怎样表示位置。`,
            ),
        );
    if (encoding.name === "alibi")
        return h(
            "h2",
            {},
            t(
                `${name} turns nothing: each of its ${encoding.heads} heads lowers the score of a key in a straight line, the farther the lower.`,
                `${name} 什么都不转：${encoding.heads} 个注意力头各自随距离按直线减分。`,
            ),
        );
    if (encoding.name === "t5")
        return h(
            "h2",
            {},
            t(
                `${name} turns nothing: it learned a bias for each of ${encoding.num_buckets} buckets of distances.`,
                `${name} 什么都不转：它为 ${encoding.num_buckets} 个距离桶各学了一个偏置。`,
            ),
        );
    return h(
        "h2",
        {},
        t(
            `${name} turns no pairs: its positions are ${encoding.name}.`,
            `${name} 没有转动的维度对：位置编码是 ${encoding.name}。`,
        ),
    );
}
