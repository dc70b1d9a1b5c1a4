// SPDX-License-Identifier: MIT
// The state of the page is its URL: a link shows what its sender saw. Names that are not of the page
// are parameters of the API, under the API's own names.
import { LANGUAGES, languageWanted, type Language } from "./words";

export type Params = Record<string, string>;
export type Theme = "light" | "dark" | "auto";

export interface State {
  view: string;
  lang: Language;
  theme: Theme;
  /** Large type and one view, for a projector. */
  present: boolean;
  params: Params;
}

/** undefined takes a parameter out. */
export type Changes = Record<string, string | number | boolean | undefined>;

const OWN = ["view", "lang", "theme", "present"];

export function read(url: URL): State {
  const own = (name: string) => url.searchParams.get(name) ?? "";
  const params: Params = {};
  for (const [name, value] of url.searchParams) if (!OWN.includes(name)) params[name] = value;
  return {
    view: own("view") || "home",
    lang: own("lang") in LANGUAGES ? own("lang") as Language : languageWanted(),
    theme: own("theme") === "dark" || own("theme") === "light" ? own("theme") as Theme : "auto",
    present: own("present") === "1",
    params,
  };
}

/** The URL behind the changes. Another view keeps how the page is read, and drops its parameters. */
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
