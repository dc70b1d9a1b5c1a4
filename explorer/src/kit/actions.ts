// SPDX-License-Identifier: MIT
// Under every picture: its request as curl and Python, and files of it.
import { body, PosencError, type Ask } from "../api";
import { h } from "../dom";
import { isDark } from "../theme";
import type { App, Shown } from "../view";
import { t } from "../words";
import { failure } from "./failure";

const COPIED_MS = 1600,
    MB = 1 << 20;
/** How views are drawn by the API; other formats hold numbers. */
const PICTURES = ["svg", "png"];

export const quoted = (text: string) => `'${text.replace(/'/g, `'\\''`)}'`;

/** Where the request would go: the server of this page, or one that a person starts. */
const origin = (app: App) => app.api.origin ?? "http://127.0.0.1:8080";

/** The file that the body of a request is saved as: request.safetensors. */
const sent = ({ type = "" }: Ask) =>
    `request.${/(json|npy|gguf|safetensors)$/.exec(type)?.[1] ?? "bin"}`;

/** `saved`: what is answered are bytes, and no JSON that is read where it appears. */
export function curl(app: App, ask: Ask, saved: boolean): string {
    return app.api.origin
        ? command(app, ask, saved)
        : `# ${t("to a posencd of one's own", "发给自己启动的 posencd")}\n${command(app, ask, saved)}`;
}

function command(app: App, ask: Ask, saved: boolean): string {
    const url = quoted(origin(app) + ask.target);
    if (ask.method === "GET") return `curl ${url}`;
    const words = body(ask);
    if (typeof words === "string") return `curl --json ${quoted(words)} ${url}`;
    return `curl -H 'Content-Type: ${ask.type}' --data-binary @${sent(ask)} ${
        saved ? "-o answer " : ""
    }${url}`;
}

/** A string in quotes is the same in Python as in JSON; numbers are too. */
const literal = (text: string) =>
    /^-?(0|[1-9]\d*)(\.\d+)?(e[-+]?\d+)?$/.test(text)
        ? text
        : text === "true"
          ? "True"
          : text === "false"
            ? "False"
            : JSON.stringify(text);

/** The package has the same paths, and views by name. */
export function python(app: App, ask: Ask): string {
    const { pathname, searchParams } = new URL(ask.target, "http://a");
    const where = SITE ? "posenc" : `posenc.connect(${JSON.stringify(origin(app))})`;
    const view = /^\/v1\/encodings\/([^/]+)\/(?:analysis\/)?([^/]+)$/.exec(pathname);
    if (ask.method === "GET" && view) {
        const words = [...searchParams]
            .filter(([name]) => name !== "format")
            .map(([name, value]) => `, ${name}=${literal(value)}`);
        return (
            "import posenc\n" +
            `answer = ${where}.view("${view[1]}", "${view[2]}"${words.join("")})\nprint(answer)`
        );
    }
    const call = `${JSON.stringify(ask.method)}, ${JSON.stringify(ask.target)}`;
    if (ask.method === "GET") return `import posenc\nprint(${where}.request(${call}).text)`;
    const words = body(ask),
        bytes =
            typeof words === "string"
                ? `${JSON.stringify(words)}.encode()`
                : `open("${sent(ask)}", "rb").read()`;
    return (
        `import posenc\nreply = ${where}.request(${call}, ${bytes},\n` +
        `    {"Content-Type": "${ask.type ?? "application/json"}"})\nprint(reply.text)`
    );
}

/** Where the page has no right to the clipboard (plain HTTP), by a selection as of old. */
export async function toClipboard(text: string): Promise<void> {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const field = h("textarea", { "aria-hidden": true, class: "visually-hidden" });
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    if (!done) throw new Error(t("the browser did not let it be copied", "浏览器不允许复制"));
}

/** A button that copies a text, and says so for a moment. */
export function copier(
    app: App,
    words: string,
    text: () => string,
    wrong: HTMLElement,
): HTMLElement {
    const button = h(
        "button",
        {
            type: "button",
            title: t("copy", "复制"),
            onclick: async () => {
                try {
                    await toClipboard(text());
                } catch (error) {
                    return wrong.replaceChildren(failure(error));
                }
                wrong.replaceChildren();
                button.textContent = t("copied", "已复制");
                app.say(t(`${words} copied`, `${words} 已复制`));
                setTimeout(() => {
                    button.textContent = words;
                }, COPIED_MS);
            },
        },
        words,
    );
    return button;
}

/** The request of a file: pictures have the language and the colours of the page. */
function askOf(app: App, ask: Ask, format: string): Ask {
    const url = new URL(ask.target, "http://a");
    url.searchParams.set("format", format);
    if (PICTURES.includes(format)) {
        if (app.state.lang !== "en") url.searchParams.set("lang", app.state.lang);
        if (isDark(app.state.theme)) url.searchParams.set("theme", "dark");
    }
    return { ...ask, target: url.pathname + url.search.replace(/%2C/g, ",") };
}

function download(bytes: Blob, name: string): void {
    const link = h("a", { href: URL.createObjectURL(bytes), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href));
}

/** Saves what is asked for; while it comes the button tells how far it is, and ends it. */
export function saver(
    app: App,
    title: string,
    ask: () => Ask,
    format: string,
    wrong: HTMLElement,
): HTMLElement {
    let running: AbortController | undefined;
    const button = h(
        "button",
        {
            type: "button",
            title: t("save", "保存"),
            onclick: async () => {
                if (running) return running.abort();
                const own = (running = new AbortController());
                const progress = (share: number, size: number) => {
                    button.textContent = `${share ? `${Math.round(100 * share)} %` : `${(size / MB).toFixed(1)} MB`} ✕`;
                    button.setAttribute("aria-label", t("cancel", "取消"));
                };
                try {
                    const { bytes, name } = await app.api.file(
                        askOf(app, ask(), format),
                        own.signal,
                        progress,
                    );
                    download(bytes, name ?? `${title}.${format}`);
                    wrong.replaceChildren();
                    app.say(t(`${format} saved`, `${format} 已保存`));
                } catch (error) {
                    if (!own.signal.aborted || error instanceof PosencError)
                        wrong.replaceChildren(failure(error));
                }
                running = undefined;
                button.textContent = format;
                button.removeAttribute("aria-label");
            },
        },
        format,
    );
    return button;
}

/** Buttons for what is shown now: `now` has the requests of the moment that a button is pressed. */
export function actions(app: App, all: Shown[], now: (i: number) => Shown): HTMLElement {
    const wrong = h("div"),
        rows = all.map((one, i) => {
            const ask = () => ({ ...now(i).ask, target: app.api.below(now(i).ask.target) });
            return h(
                "div",
                { role: "group", "aria-label": one.title },
                h("span", {}, one.title),
                copier(app, "curl", () => curl(app, ask(), one.formats.length > 0), wrong),
                copier(app, "Python", () => python(app, ask()), wrong),
                one.ask.bytes &&
                    h(
                        "button",
                        {
                            type: "button",
                            title: t("save what is sent", "保存所发送的数据"),
                            onclick: () => download(now(i).ask.bytes!, sent(one.ask)),
                        },
                        sent(one.ask),
                    ),
                ...one.formats.map((format) => saver(app, one.title, ask, format, wrong)),
            );
        });
    return h("div.actions", {}, ...rows, wrong);
}
