// SPDX-License-Identifier: MIT
// The layers of a model, one square each, by the kinds that they are of.
import { h } from "../../dom";
import { kinds, layersNamed, type Config, type Kind } from "../../kit/model";
import { short } from "../../numbers";
import type { App } from "../../view";
import { t } from "../../words";

const MARKS = ["●", "○", "◆", "□", "▲", "△"];

function worded({ encoding, attention }: Kind): string {
    const parts = [
        encoding
            ? [
                  encoding.name,
                  encoding.rope_type && encoding.rope_type !== "default" ? encoding.rope_type : "",
                  encoding.base
                      ? t(`base ${short(encoding.base, 6)}`, `基数 ${short(encoding.base, 6)}`)
                      : "",
                  encoding.factor ? `${short(encoding.factor)}×` : "",
              ]
                  .filter(Boolean)
                  .join(" ")
            : t("no positions", "没有位置编码"),
        typeof attention?.window === "number"
            ? t(`window ${short(attention.window, 6)}`, `窗口 ${short(attention.window, 6)}`)
            : "",
    ];
    return parts.filter(Boolean).join(t(", ", "，"));
}

/** null: the config does not say how many there are. */
export function layers(app: App, config: Config, kind: Kind): HTMLElement | null {
    const all = kinds(config),
        total = all.reduce((sum, one) => sum + one.layers.length, 0);
    if (!total && all.length < 2) return null;
    const of: number[] = [];
    all.forEach((one, i) =>
        one.layers.forEach((layer) => {
            of[layer] = i;
        }),
    );
    const strip = h(
        "div.strip",
        { role: "img", "aria-label": t(`${total} layers`, `${total} 层`) },
        ...of.map((i, layer) =>
            h(
                `i.kind${i}`,
                { title: t(`layer ${layer}`, `第 ${layer} 层`) },
                MARKS[i % MARKS.length],
            ),
        ),
    );
    return h(
        "section",
        {},
        h("h2", {}, total ? t(`${total} layers`, `${total} 层`) : t("Layers", "层")),
        strip,
        h(
            "div.kinds",
            {},
            ...all.map((one, i) =>
                h(
                    "button.chip",
                    {
                        type: "button",
                        "aria-pressed": `${one === kind}`,
                        disabled: !one.layer_type && all.length > 1,
                        onclick: () => app.go({ layer_type: one.layer_type }, "push"),
                    },
                    h(`i.kind${i}`, {}, MARKS[i % MARKS.length]),
                    ` ${layersNamed(one)}${t(", ", "，")}${worded(one)}`,
                ),
            ),
        ),
    );
}
