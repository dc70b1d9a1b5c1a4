// SPDX-License-Identifier: MIT
// Models that turn nothing: what is added to the score of a key, by its distance.
import { h } from "../dom";
import { curves, legend, type Curve } from "../kit/curves";
import { linked, type Kind } from "../kit/model";
import { Work } from "../kit/work";
import type { App } from "../view";
import { t } from "../words";

const FAR = 160,
    SHOWN = 6; // positions; heads
const DASHES = [undefined, [10, 4], [6, 3], [3, 3], [1, 3], [10, 3, 2, 3], [6, 3, 2, 3]];

interface Decay {
    tensors: Record<string, { shape: number[]; data: number[] }>;
}

export interface Biases {
    element: HTMLElement;
    /** null: nothing, and nothing is seen. */
    draw(kind: Kind | null): void;
    leave(): void;
}

function lines({ tensors: { decay, buckets, offsets } }: Decay): { x: number[]; curves: Curve[] } {
    const x = offsets.data;
    if (buckets)
        return {
            x,
            curves: [
                { name: t("bucket", "桶"), values: buckets.data, colour: "turn", steps: true },
            ],
        };
    const [heads] = decay.shape,
        every = Math.max(1, Math.floor(heads / SHOWN));
    const far = Array.from({ length: heads }, (_, head) => decay.data[head * x.length]);
    const steepest = far.indexOf(Math.min(...far));
    const shown = Array.from({ length: Math.min(SHOWN, heads) }, (_, i) => i * every);
    return {
        x,
        curves: [steepest, ...shown.filter((head) => head !== steepest)].map((head, i) => ({
            name: t(
                `head ${head + 1}${i ? "" : ", the steepest"}`,
                `注意力头 ${head + 1}${i ? "" : "（最陡）"}`,
            ),
            colour: i ? "soft" : "turn",
            width: i ? 1.2 : 2.4,
            dash: DASHES[i % DASHES.length],
            values: decay.data.slice(head * x.length, (head + 1) * x.length),
        })),
    };
}

export function biases(app: App): Biases {
    let drawn: Curve[] = [];
    const key = legend(),
        plot = curves((index) => key.draw(drawn, index));
    const element = h("div.biases", { hidden: true }, plot.element, key.element);
    const work = new Work(app, { pictures: [plot.element, key.element] });
    return {
        element,
        draw(kind) {
            const link = kind?.links?.bias;
            element.hidden = !link;
            if (!link) return work.stop();
            const path = link.replace("/bias", "/analysis/decay").replace(/query_length=\d+&?/, "");
            const ask = linked(path, {
                min_offset: -FAR,
                max_offset: kind.attention?.causal ? 0 : FAR,
                format: "json",
                flat: true,
            });
            work.run(
                (signal) => app.api.ask<Decay>(ask, signal),
                (answer) => {
                    const { x, curves } = lines(answer);
                    drawn = curves;
                    key.draw(drawn, -1);
                    plot.draw({
                        x,
                        curves,
                        xName: t("key minus query, positions", "键减查询（位置）"),
                        yName: answer.tensors.buckets
                            ? t("bucket", "桶")
                            : t("added to the score", "加到得分上"),
                        label: t("what is added, by distance", "随距离加上的量"),
                    });
                },
            );
        },
        leave() {
            work.stop();
            plot.leave();
        },
    };
}
