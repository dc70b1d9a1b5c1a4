// SPDX-License-Identifier: MIT
// A form that sends a request of the reference as it stands there, and shows it as curl with the
// answer.
import { connect } from "../../../clients/js/client.js";
import { query as queryOf } from "../api";
import { h } from "../dom";
import { quoted, toClipboard } from "../kit/actions";
import { t } from "../words";
import { moduleIn, type Requests } from "../module";

/** What explorer/docs/reference.mjs gives an operation. */
interface Given {
    method: "GET" | "POST";
    path: string;
    name?: string;
    names?: string[];
    query: [string, unknown][];
    known: string[];
    body?: string;
}

const SHOWN_MAX = 20000,
    COPIED_MS = 1600;
const base = new URL(".", import.meta.url),
    here = base.href.replace(/\/$/, "");
let service: Promise<Requests> | undefined;

const serviceOpen = () => (service ??= SITE ? moduleIn(base) : Promise.resolve(connect(here)));

/** JSON with lists of numbers in one line each. */
function pretty(value: unknown, indent = ""): string {
    const more = `${indent}  `,
        flat = JSON.stringify(value);
    if (typeof value !== "object" || value === null || flat.length < 60) return flat;
    if (Array.isArray(value)) {
        if (!value.some((one) => typeof one === "object" && one !== null)) return flat;
        return `[\n${value.map((one) => more + pretty(one, more)).join(",\n")}\n${indent}]`;
    }
    const rows = Object.entries(value).map(
        ([name, one]) => `${more}${JSON.stringify(name)}: ${pretty(one, more)}`,
    );
    return `{\n${rows.join(",\n")}\n${indent}}`;
}

function shortened(text: string): string {
    return text.length <= SHOWN_MAX
        ? text
        : `${text.slice(0, SHOWN_MAX)}\n… ${text.length - SHOWN_MAX} characters more`;
}

/** JSON whose numbers a double would not keep stays as it came. */
export function told(text: string): string {
    try {
        const value = JSON.parse(text);
        return JSON.stringify(value) === text.trim() ? pretty(value) : text;
    } catch {
        return text;
    }
}

function saved(bytes: Blob): HTMLElement {
    return h(
        "button",
        {
            type: "button",
            onclick: () => {
                const link = h("a", { href: URL.createObjectURL(bytes), download: "answer" });
                link.click();
                setTimeout(() => URL.revokeObjectURL(link.href));
            },
        },
        "save",
    );
}

/** The answer for people: a picture, text, or how many bytes there are. */
async function shown(response: Response, given: Given, target: string): Promise<HTMLElement> {
    const type = response.headers.get("content-type") ?? "",
        bytes = await response.blob();
    if (/^image\//.test(type) && given.method === "GET" && !SITE)
        return h("img", { src: here + target, alt: "the picture that was asked for" });
    if (/json|text|yaml|csv|javascript|svg/.test(type)) {
        const text = await bytes.text();
        return h(
            "pre",
            { tabindex: 0 },
            h("code", {}, shortened(/json/.test(type) ? told(text) : text)),
        );
    }
    return h("p", {}, `${bytes.size} bytes `, bytes.size > 0 && saved(bytes));
}

class Trial {
    private name = h("select", { "aria-label": "name" });
    private fields = h("div.fields");
    private more = h("select", { "aria-label": t("another parameter", "其他参数") });
    private body = h("textarea", {
        "aria-label": t("body, JSON", "正文（JSON）"),
        rows: 4,
        spellcheck: "false",
    });
    private command = h("code");
    private answer = h("div.answer", { "aria-live": "polite" });

    constructor(private given: Given) {
        this.name.append(
            ...(given.names ?? []).map((one) => h("option", { selected: one === given.name }, one)),
        );
        for (const [name, value] of given.query) this.field(name, this.text(value));
        if (given.body) this.body.value = told(given.body);
        this.body.rows = Math.min(16, this.body.value.split("\n").length + 1);
        this.changed();
    }

    private text(value: unknown): string {
        return Array.isArray(value) ? value.join(",") : `${value}`;
    }

    private field(name: string, value: string): HTMLElement {
        const input = h("input", { value, name, spellcheck: "false", autocomplete: "off" });
        const row = h(
            "div.field",
            {},
            h("label", {}, h("span", {}, name), input),
            h(
                "button",
                {
                    type: "button",
                    "aria-label": `without ${name}`,
                    onclick: () => {
                        row.remove();
                        this.changed();
                    },
                },
                "✕",
            ),
        );
        this.fields.append(row);
        return input;
    }

    private add(): void {
        if (!this.more.value) return;
        this.field(this.more.value, "").focus();
        this.changed();
    }

    private inputs(): HTMLInputElement[] {
        return [...this.fields.querySelectorAll("input")];
    }

    private target(): string {
        const path = this.given.path.replace("{name}", encodeURIComponent(this.name.value));
        return queryOf(path, Object.fromEntries(this.inputs().map((one) => [one.name, one.value])));
    }

    private curl(): string {
        const url = quoted((SITE ? "http://127.0.0.1:8080" : here) + this.target());
        return this.given.method === "GET"
            ? `curl ${url}`
            : `curl --json ${quoted(this.bodyText())} ${url}`;
    }

    /** As short as it may be, where it is JSON. */
    private bodyText(): string {
        return this.body.value === told(this.given.body ?? "")
            ? (this.given.body ?? "")
            : this.body.value;
    }

    private changed(): void {
        const there = this.inputs().map((one) => one.name);
        const free = this.given.known.filter((one) => !there.includes(one));
        const chosen = this.more.value;
        this.more.replaceChildren(
            h("option", { value: "" }, t("another parameter", "其他参数")),
            ...free.map((one) => h("option", { selected: one === chosen }, one)),
        );
        this.command.textContent = this.curl();
    }

    private async send(): Promise<void> {
        const { method } = this.given,
            target = this.target(),
            began = performance.now();
        this.answer.replaceChildren(h("p", { role: "status" }, "…"));
        try {
            const response = await (
                await serviceOpen()
            ).request(
                method,
                target,
                method === "GET"
                    ? {}
                    : { headers: { "content-type": "application/json" }, body: this.bodyText() },
            );
            const took = performance.now() - began,
                type = response.headers.get("content-type") ?? "";
            this.answer.replaceChildren(
                h(
                    response.ok ? "p.status.good" : "p.status.bad",
                    { role: "status" },
                    h("strong", {}, response.status),
                    ` ${type} · ${took.toFixed(0)} ms`,
                ),
                await shown(response, this.given, target),
            );
        } catch (error) {
            this.answer.replaceChildren(
                h(
                    "p.status.bad",
                    { role: "alert" },
                    t(`No answer: ${error}`, `没有回答：${error}`),
                ),
            );
        }
    }

    private copier(): HTMLElement {
        const button = h(
            "button",
            {
                type: "button",
                onclick: async () => {
                    await toClipboard(this.curl()).catch(() => {});
                    button.textContent = t("copied", "已复制");
                    setTimeout(() => {
                        button.textContent = t("copy", "复制");
                    }, COPIED_MS);
                },
            },
            t("copy", "复制"),
        );
        return button;
    }

    form(): HTMLElement {
        const { name, names, known, body } = this.given;
        return h(
            "form",
            {
                "aria-label": `try ${this.given.method} ${this.given.path}`,
                oninput: () => this.changed(),
                onsubmit: (event: Event) => {
                    event.preventDefault();
                    void this.send();
                },
            },
            (name !== undefined || known.length > 0) &&
                h(
                    "div.row",
                    {},
                    names && h("label.field", {}, h("span", {}, "name"), this.name),
                    this.fields,
                    known.length > 0 &&
                        h(
                            "div.field",
                            {},
                            this.more,
                            h(
                                "button",
                                { type: "button", onclick: () => this.add() },
                                t("add", "添加"),
                            ),
                        ),
                ),
            body !== undefined && this.body,
            h(
                "div.command",
                {},
                h("pre", { tabindex: 0 }, this.command),
                this.copier(),
                h("button.send", { type: "submit" }, t("Send", "发送")),
            ),
            this.answer,
        );
    }
}

/** The form for what stands in data-try. */
export const trial = (place: HTMLElement): HTMLElement =>
    new Trial(JSON.parse(place.dataset.try!) as Given).form();
