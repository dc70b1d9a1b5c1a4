// SPDX-License-Identifier: MIT
// The parameters of an encoding as controls, by their schema in the catalogue.
import { h } from "../../dom";
import { of, select, slider } from "../../kit/controls";
import { whole } from "../../numbers";
import type { App } from "../../view";
import { t } from "../../words";
import { first, FORM, shown, type Parameter, type Source } from "./source";

/** Beside those of the example. */
const FRONT = ["base", "layout", "part", "rope_type", "variant", "causal"];

function typed(
    name: string,
    schema: Parameter,
    value: string,
    change: (value: string) => void,
): HTMLElement {
    const number = /number|integer/.test(`${schema.type}`) && !Array.isArray(schema.type);
    const input = h("input", {
        type: number ? "number" : "text",
        value,
        "aria-label": name,
        placeholder: `${schema.default ?? ""}`,
        ...(number
            ? {
                  min: schema.minimum ?? schema.exclusiveMinimum,
                  max: schema.maximum,
                  step: schema.type === "integer" ? 1 : "any",
              }
            : {}),
        onchange: () => input.reportValidity() && change(input.value),
    });
    return h("label.number", {}, h("span", {}, name), input);
}

function control(app: App, source: Source, name: string, schema: Parameter): HTMLElement {
    const value = source.params[name] ?? "",
        choices = schema.type === "boolean" ? ["false", "true"] : schema.enum;
    const change = (value: string) =>
        app.go({ [name]: value, rows: undefined, columns: undefined }, "push");
    const shownValue = value || `${schema.default ?? ""}`;
    const element = choices
        ? select(
              name,
              Object.fromEntries(
                  [...(shownValue ? [] : [""]), ...choices].map((one) => [one, one || "–"]),
              ),
              shownValue,
              change,
          )
        : typed(name, schema, value, change);
    element.title = schema.description;
    return of(name, element);
}

/** Makers of controls. `front`: those that are seen at once; `more`: the others, each with what it
 * means. */
export function controls(
    app: App,
    source: Source,
): { front: () => HTMLElement[]; more: (() => HTMLElement)[] } {
    const { entry, operation, params } = source,
        ops = shown(entry);
    const all = { ...entry.parameters.properties, ...operation.parameters.properties };
    const names = Object.keys(all).filter((name) => !FORM.includes(name) && name !== "length");
    const example = first(entry, operation);
    const isFront = (name: string) => name in example || FRONT.includes(name);
    const list = (front: boolean) => names.filter((name) => isFront(name) === front);
    const one = (name: string) => control(app, source, name, all[name]);
    return {
        front: () => [
            ...(ops.length > 1
                ? [
                      of(
                          "operation",
                          select(
                              t("shown", "显示"),
                              Object.fromEntries(ops.map(({ name }) => [name, name])),
                              operation.name,
                              (operation) =>
                                  app.go(
                                      { operation, rows: undefined, columns: undefined },
                                      "push",
                                  ),
                          ),
                      ),
                  ]
                : []),
            ...list(true).map(one),
            ...("length" in all && params.length
                ? [
                      of(
                          "length",
                          slider({
                              label: t("length", "长度"),
                              min: 1,
                              max: source.most,
                              log: true,
                              value: +params.length,
                              show: whole,
                              change: (length) => app.go({ length, rows: undefined }),
                          }),
                      ),
                  ]
                : []),
        ],
        more: list(false).map(
            (name) => () => h("div", {}, one(name), h("p", { lang: "en" }, all[name].description)),
        ),
    };
}
