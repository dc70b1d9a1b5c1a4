// SPDX-License-Identifier: MIT
// Numbers beside the pairs: factors of cosines and scores, and the jump of a model whose pairs turn
// otherwise beyond its original length.
import { facts } from "../../kit/facts";
import { frequencies, frequenciesAsk, type Frequencies, type Kind } from "../../kit/model";
import { short, whole } from "../../numbers";
import type { App } from "../../view";
import { t } from "../../words";

export interface Jump {
    /** The first length that is beyond, and the position whose pairs are counted. */
    length: number;
    position: number;
    /** Pairs, and those of them that shift by over half a turn. */
    pairs: number;
    half: number;
}

/** null: the pairs turn alike at every length. */
export async function jump(app: App, kind: Kind, signal: AbortSignal): Promise<Jump | null> {
    const { rope_type, original_max_position_embeddings: original } = kind.encoding ?? {};
    if (rope_type !== "longrope" || !original || !kind.links?.frequencies) return null;
    const [within, beyond] = await Promise.all(
        [original, original + 1].map((length) =>
            frequencies(app, frequenciesAsk(kind, length), signal),
        ),
    );
    const position = original - 1;
    const half = within.frequencies.filter(
        (one, i) => Math.abs(one - beyond.frequencies[i]) * position > Math.PI,
    ).length;
    return { length: original + 1, position, pairs: within.frequencies.length, half };
}

export function magnitudes(
    kind: Kind,
    { attention_factor, softmax_scale_multiplier }: Frequencies,
    jumped: Jump | null,
): HTMLElement {
    const list = [
        {
            name: t("attention factor", "注意力因子"),
            value: `${short(attention_factor ?? 1, 6)}×`,
            source: t("cos and sin are multiplied by it", "cos 和 sin 都乘以它"),
        },
    ];
    if (softmax_scale_multiplier)
        list.push({
            name: t("softmax scale", "softmax 缩放"),
            value: `${short(softmax_scale_multiplier, 6)}×`,
            source: t(
                "the model's own code multiplies the scale by it",
                "模型自己的代码把缩放乘以它",
            ),
        });
    if (kind.attention?.scale)
        list.push({
            name: t("scale of scores", "得分缩放"),
            value: short(kind.attention.scale, 6),
            source: t("before the softmax, multiplier included", "softmax 之前，已含上述倍数"),
        });
    if (jumped)
        list.push({
            name: t(
                `jump at token ${whole(jumped.length)}`,
                `第 ${whole(jumped.length)} 个 token 处的跳变`,
            ),
            value: t(`${jumped.half} of ${jumped.pairs}`, `${jumped.pairs} 中的 ${jumped.half}`),
            source: t(
                `pairs of a key at ${whole(jumped.position)} that shift by over half a turn`,
                `位置 ${whole(jumped.position)} 的键中跳变超过半圈的维度对`,
            ),
        });
    return facts(list);
}
