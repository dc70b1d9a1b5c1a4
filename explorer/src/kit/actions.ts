// SPDX-License-Identifier: MIT
// Under every picture: its request as curl and Python, and files of it.
import { body, type Ask } from "../api";
import { h } from "../dom";
import type { App, Shown } from "../view";
import { t } from "../words";

const quoted = (text: string) => `'${text.replace(/'/g, `'\\''`)}'`;

/** Where the request would go: the server of this page, or one that a person starts. */
const origin = (app: App) => app.api.origin ?? "http://127.0.0.1:8080";

const file = (bytes: Blob) => bytes instanceof File ? bytes.name : "FILE";

export function curl(app: App, ask: Ask): string {
  const url = quoted(origin(app) + ask.target);
  if (ask.method === "GET") return `curl ${url}`;
  if (ask.bytes) return `curl --data-binary @${quoted(file(ask.bytes))} ${url}`;
  return `curl --json ${quoted(`${body(ask) ?? ""}`)} ${url}`;
}

/** `posenc`, the package, has the same paths; the words of a request are its arguments. */
export function python(app: App, ask: Ask): string {
  const client = app.site ? "posenc" : `posenc.connect(${JSON.stringify(origin(app))})`;
  const given = ask.bytes ? `, open(${JSON.stringify(file(ask.bytes))}, "rb").read()`
    : body(ask) === undefined ? "" : `, json.loads(${JSON.stringify(body(ask))})`;
  return `import ${given.includes("json.") ? "json, " : ""}posenc\n` +
    `${client}.request(${JSON.stringify(ask.method)}, ${JSON.stringify(ask.target)}${given})`;
}

async function copy(app: App, text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
  app.say(t("copied", "已复制"));
}

async function save(app: App, shown: Shown, format: string): Promise<void> {
  const ask = { ...shown.ask, target: shown.ask.target +
    (shown.ask.target.includes("?") ? "&" : "?") + `format=${format}` };
  const blob = await app.api.bytes(ask, "*/*");
  const link = h("a", { href: URL.createObjectURL(blob), download: `${shown.title}.${format}` });
  link.click();
  URL.revokeObjectURL(link.href);
}

export function actions(app: App, shown: Shown[]): HTMLElement {
  return h("div.actions", {}, ...shown.map((one) => h("div", {},
    h("span", {}, one.title),
    h("button", { type: "button", onclick: () => copy(app, curl(app, one.ask)) }, "curl"),
    h("button", { type: "button", onclick: () => copy(app, python(app, one.ask)) }, "Python"),
    ...one.formats.map((format) =>
      h("button", { type: "button", onclick: () => save(app, one, format) }, format)))));
}
