// SPDX-License-Identifier: MIT
// The kinds of layers that differ, to choose among.
import { h } from "../../dom";
import { differ, kinds, layersNamed } from "../../kit/model";
import type { App } from "../../view";
import { t } from "../../words";
import type { Read } from "./read";

/** null: all layers have the same positions. */
export function layerChoice(app: App, { config, kind }: Read): HTMLElement | null {
    if (!differ(config)) return null;
    return h(
        "div.choice",
        { role: "group", "aria-label": t("layers", "层") },
        ...kinds(config).map((one) =>
            h(
                "button.chip",
                {
                    type: "button",
                    "aria-pressed": `${one === kind}`,
                    onclick: () => app.go({ layer_type: one.layer_type }, "push"),
                },
                layersNamed(one),
            ),
        ),
    );
}
