// SPDX-License-Identifier: MIT
// The state of the page is its URL: a link shows what its sender saw. Names that are not the page's
// are parameters of the API, under the API's own names.
import type { Accepts } from "./checks";
import { LANGUAGES, languageWanted, type Language } from "./words";

export type Params = Record<string, string>;
export type Theme = "light" | "dark" | "auto";

/** Two states of a view beside each other. */
export type Side = "a" | "b";

export interface State {
    view: string;
    lang: Language;
    theme: Theme;
    /** Large type and one view, for a projector. */
    present: boolean;
    params: Params;
    /** The parameters of both sides of a comparison; null: the view stands alone. */
    sides: Record<Side, Params> | null;
}

/** undefined takes a parameter out. */
export type Changes = Record<string, string | number | boolean | undefined>;

const OWN = ["view", "lang", "theme", "present"],
    SIDES = ["a", "b"];

/** What the page's own names may be; `views` are those that there are. */
export const pageAccepts = (views: readonly string[]): Record<string, Accepts> => ({
    view: views,
    lang: Object.keys(LANGUAGES),
    theme: ["light", "dark", "auto"],
    present: ["1"],
});

/** The values of the page's own names. */
export const pageParams = (url: URL): Params =>
    Object.fromEntries(
        [...url.searchParams].filter(([name, value]) => OWN.includes(name) && value !== ""),
    );

/** Parameters as one value of the URL, behind changes of them. */
export function written(params: Params, changes: Changes = {}): string {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries({ ...params, ...changes }))
        if (value !== undefined && value !== "" && value !== false)
            search.set(name, value === true ? "1" : `${value}`);
    return `${search}`.replace(/%2C/g, ",");
}

const side = (url: URL, name: Side): Params =>
    Object.fromEntries(new URLSearchParams((url.searchParams.get(name) ?? "").trim()));

export function read(url: URL): State {
    const own = (name: string) => url.searchParams.get(name) ?? "";
    const params: Params = {};
    for (const [name, value] of url.searchParams)
        if (!OWN.includes(name) && !SIDES.includes(name)) params[name] = value;
    return {
        view: own("view") || "home",
        lang: own("lang") in LANGUAGES ? (own("lang") as Language) : languageWanted(),
        theme:
            own("theme") === "dark" || own("theme") === "light" ? (own("theme") as Theme) : "auto",
        present: own("present") === "1",
        params,
        sides: SIDES.some((one) => url.searchParams.has(one))
            ? { a: side(url, "a"), b: side(url, "b") }
            : null,
    };
}

/** The URL behind the changes. Another view keeps how the page is read, and drops its parameters.
 * */
export function changed(url: URL, changes: Changes): URL {
    const next = new URL(url);
    if (changes.view !== undefined && changes.view !== read(url).view)
        for (const name of [...next.searchParams.keys()])
            if (!OWN.includes(name)) next.searchParams.delete(name);
    for (const [name, value] of Object.entries(changes)) {
        if (value === undefined || value === "" || value === false) next.searchParams.delete(name);
        else next.searchParams.set(name, value === true ? "1" : `${value}`);
    }
    if (next.searchParams.get("view") === "home") next.searchParams.delete("view");
    next.search = next.search.replace(/%2C/g, ",");
    return next;
}
