// SPDX-License-Identifier: MIT
// Every parameter of an encoding and of its attention, with the key that it came from; numbers can
// be changed, which puts them beside the config.
import { broken, h, type Child } from "../../dom";
import { overrides, type Kind } from "../../kit/model";
import { from } from "../../kit/provenance";
import { short } from "../../numbers";
import type { App } from "../../view";
import { t } from "../../words";

type Find = (key: string) => boolean;

const DIGITS = 9;

export function worded(value: unknown): string {
    if (typeof value === "number") return short(value, DIGITS);
    if (Array.isArray(value)) {
        const some = [value[0], value[1], value.at(-1)].map((one) =>
            typeof one === "number" ? short(one) : `${one}`,
        );
        return t(
            `${value.length}: ${some[0]}, ${some[1]} … ${some[2]}`,
            `${value.length} 个：${some[0]}, ${some[1]} … ${some[2]}`,
        );
    }
    if (value && typeof value === "object")
        return Object.entries(value)
            .map(([name, one]) => `${name}: ${worded(one)}`)
            .join(", ");
    return `${value}`;
}

/** A number that can be changed, and what was changed can be left out again. */
function edited(app: App, name: string, value: unknown): Child[] {
    if (typeof value !== "number" && !(name in overrides(app)))
        return [h("code", {}, worded(value))];
    const input = h("input", {
        type: "text",
        inputmode: "decimal",
        value: `${value}`,
        "aria-label": name,
        "data-name": name,
        onchange: () => app.go({ [name]: input.value.trim() || undefined }, "push"),
    });
    return [
        input,
        name in overrides(app) &&
            h(
                "button.link",
                {
                    type: "button",
                    "aria-label": t(`${name} as the config has it`, `${name} 恢复为 config 的值`),
                    onclick: () => app.go({ [name]: undefined }, "push"),
                },
                t("undo", "还原"),
            ),
    ];
}

const row = (name: string, value: Child[], origin: Child) =>
    h(
        "tr",
        {},
        h("th", { scope: "row" }, h("code", {}, ...broken(name))),
        h("td", {}, ...value),
        h("td", {}, origin),
    );

const table = (caption: string, rows: HTMLElement[]) =>
    h(
        "table.parameters",
        {},
        h("caption", {}, caption),
        h(
            "thead",
            {},
            h(
                "tr",
                {},
                h("th", { scope: "col" }, t("parameter", "参数")),
                h("th", { scope: "col" }, t("value", "值")),
                h("th", { scope: "col" }, t("from", "来自")),
            ),
        ),
        h("tbody", {}, ...rows),
    );

/** What the link gives beside a config that was refused with it. */
export function beside(app: App): HTMLElement | null {
    const all = Object.entries(overrides(app));
    return all.length
        ? table(
              t("given beside the config", "在 config 之外给出"),
              all.map(([name, value]) => row(name, edited(app, name, value), "")),
          )
        : null;
}

export function parameters(
    app: App,
    { encoding, provenance = {}, attention }: Kind,
    find: Find,
): HTMLElement {
    const { name: _, ...values } = encoding ?? { name: "" };
    const { provenance: origins = {}, ...rest } = attention ?? {};
    const own = Object.entries(values).map(([name, value]) =>
        row(name, edited(app, name, value), provenance[name] ? from(provenance[name], find) : "—"),
    );
    const other = Object.entries(rest).map(([name, value]) =>
        row(
            name,
            [h("code", {}, worded(value))],
            origins[name] ? from(origins[name], find) : h("span.origin", {}, t("derived", "推得")),
        ),
    );
    return h(
        "div.twotables",
        {},
        own.length > 0 && table(t(`positions: ${encoding!.name}`, `位置：${encoding!.name}`), own),
        other.length > 0 && table(t("attention", "注意力"), other),
    );
}
