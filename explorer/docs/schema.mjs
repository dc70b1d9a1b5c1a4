// SPDX-License-Identifier: MIT
// Schemas of the contract as text for people.
import { code, escaped, link, markdown } from "./html.mjs";

/** A document whose references are followed; words beside a reference go before those behind it. */
export const resolver = (document) =>
    function resolve(one) {
        if (!one?.$ref) return one ?? {};
        const { $ref, ...beside } = one;
        const there = $ref
            .split("/")
            .slice(1)
            .reduce((at, name) => at[name], document);
        return { ...resolve(there), ...beside };
    };

const RANGES = { minimum: "≥", exclusiveMinimum: ">", maximum: "≤", exclusiveMaximum: "<" };
/** Whole numbers that a double tells apart end here. */
const exactly = (number) =>
    Math.abs(number) === Number.MAX_SAFE_INTEGER ? `${number < 0 ? "−" : ""}(2⁵³ − 1)` : number;
const CHOICES_MAX = 16,
    DEPTH_MAX = 3;

/** What a value may be, in a few words of HTML. */
export function typeOf(schema, resolve, depth = 0) {
    const found = resolve(schema),
        any = found.anyOf ?? found.oneOf;
    if (found.const !== undefined) return code(JSON.stringify(found.const));
    if (found.enum?.length > CHOICES_MAX) return "the name of one";
    if (found.enum) return found.enum.map(code).join(" · ");
    if (any && depth < DEPTH_MAX)
        return [...new Set(any.map((one) => typeOf(one, resolve, depth + 1)))].join(" or ");
    if (found.type === "array")
        return `list of ${
            found.items && Object.keys(found.items).length && depth < DEPTH_MAX
                ? typeOf(found.items, resolve, depth + 1)
                : "values"
        }`;
    const range = Object.entries(RANGES)
        .filter(([name]) => found[name] !== undefined)
        .map(([name, sign]) => `${sign} ${exactly(found[name])}`)
        .join(", ");
    const type = Array.isArray(found.type) ? found.type.join(" or ") : (found.type ?? "any");
    return escaped(range ? `${type} ${range}` : type);
}

/** One line of a list of parameters or members. */
function entry({ name, schema, description, required, where, encodings }, resolve) {
    const found = resolve(schema),
        told = description ?? found.description ?? "";
    const facts = [typeOf(schema, resolve)];
    if (found.default !== undefined) facts.push(`default ${code(JSON.stringify(found.default))}`);
    if (where && where !== "query") facts.push(`in the ${where}`);
    if (found["x-unit"]) facts.push(`unit: ${escaped(found["x-unit"])}`);
    if (found["x-aliases"]) facts.push(`also ${found["x-aliases"].map(code).join(" ")}`);
    const takers = (encodings ?? []).map((one) => link(`#encoding-${one}`, one)).join(", ");
    const of = takers ? `<p class="of">of ${takers}</p>` : "";
    return (
        `<div><dt>${code(name)}${required ? ' <span class="must">required</span>' : ""}</dt>` +
        `<dd><p class="type">${facts.join('<span class="dot"> · </span>')}</p>` +
        `${markdown(told, "")}${of}</dd></div>\n`
    );
}

export const entries = (all, resolve) =>
    all.length
        ? `<dl class="entries">\n${all.map((one) => entry(one, resolve)).join("")}</dl>\n`
        : "";

/** Members of an object as entries. */
export const members = (schema, resolve) => {
    const found = resolve(schema);
    return Object.entries(found.properties ?? {}).map(([name, one]) => ({
        name,
        schema: one,
        required: found.required?.includes(name),
    }));
};
