// SPDX-License-Identifier: MIT
// One box for a model: its config.json to paste or edit, files to drop or choose, models to pick.
import { h } from "../dom";
import type { App } from "../view";
import { t } from "../words";
import type { Mistake } from "./problem";
import { CHIPS, chosen, dense, inLines, LINK_MAX, MODELS, source } from "./model";
import "../style/configbox.css";

export interface ConfigBox {
    element: HTMLElement;
    /** The state names another config, or a file has come. */
    update(): void;
    /** Shows where a key stands: "rope_scaling.factor". */
    find(key: string): boolean;
    /** Buttons that show the places of mistakes: a key, or the byte where the text is damaged. */
    places(mistakes: Mistake[]): HTMLElement[];
}

const REST = 300; // ms after the last key
const CONFIG = /\.(json|gguf)$/i;

const parses = (text: string): boolean => {
    try {
        return !!JSON.parse(text);
    } catch {
        return false;
    }
};

/** Takes a text: into the link if it fits there, else it is held as a file. */
export function take(app: App, text: string, how: "push" | "replace"): void {
    const short = parses(text) ? dense(text) : text;
    if (encodeURIComponent(short).length <= LINK_MAX)
        return app.go(chosen(app, { config: short }), how);
    hold(app, new File([text], "config.json", { type: "application/json" }), how);
}

function hold(app: App, file: File, how: "push" | "replace" = "push"): void {
    app.held = file;
    const changes = chosen(app, { file: file.name });
    if (app.state.params.file === file.name) app.go({ ...changes, file: undefined });
    app.go(changes, how);
}

async function takeFile(app: App, file: File): Promise<void> {
    if (!CONFIG.test(file.name)) return app.drop([file]);
    if (/\.json$/i.test(file.name) && file.size < LINK_MAX * 4)
        take(app, await file.text(), "push");
    else hold(app, file);
}

/** Where a key of a dotted path begins in a text, and how long it is: member by member. */
function place(text: string, key: string): [number, number] | null {
    let at = 0,
        length = 0;
    for (const part of key.split(".")) {
        const found = text.slice(at).match(new RegExp(`"${part.replace(/\W/g, "\\$&")}"\\s*:`));
        if (!found) return null;
        at += found.index! + length;
        length = 0;
        if (part === key.split(".").at(-1)) return [at, part.length + 2];
    }
    return null;
}

/** What the link says of a file that it cannot hold. */
function told(app: App): string {
    const { missing, file, name } = source(app);
    if (missing)
        return t(
            `The link names ${name}, which is not in it: drop that file here to see the same picture.`,
            `此链接提到 ${name}，但文件不在链接里：把该文件拖到这里即可看到同样的图。`,
        );
    if (file)
        return t(
            `${name} stays in this page: a link cannot hold the file, and names it only.`,
            `${name} 只留在本页：链接放不下文件，只记下文件名。`,
        );
    return "";
}

function select(area: HTMLTextAreaElement, from: number, length: number): void {
    area.focus();
    area.setSelectionRange(from, from + length);
    const before = area.value.slice(0, from).split("\n").length - 1;
    area.scrollTop = Math.max(
        0,
        ((before - 1) * area.scrollHeight) / area.value.split("\n").length,
    );
}

function damage(area: HTMLTextAreaElement, detail: string): HTMLElement[] {
    const byte = detail.match(/\bbyte (\d+)/);
    if (!byte || !area.value) return [];
    const bytes = new TextEncoder().encode(area.value).slice(0, +byte[1] - 1);
    const before = new TextDecoder().decode(bytes),
        lines = before.split("\n");
    const column = lines.at(-1)!.length + 1;
    return [
        h(
            "button.link",
            { type: "button", onclick: () => select(area, before.length, 1) },
            t(
                `show line ${lines.length}, column ${column}`,
                `显示第 ${lines.length} 行，第 ${column} 列`,
            ),
        ),
    ];
}

export function configBox(app: App, rows: number): ConfigBox {
    let timer = 0,
        shown: string | undefined;
    const area = h("textarea", {
        rows,
        spellcheck: "false",
        autocapitalize: "off",
        autocomplete: "off",
        wrap: "off",
        "aria-label": t("config.json of a model", "模型的 config.json"),
        "data-name": "config",
        placeholder: t("Paste a config.json here", "在此粘贴 config.json"),
        oninput: () => {
            clearTimeout(timer);
            timer = window.setTimeout(() => {
                shown = area.value;
                const written = app.state.params.config !== undefined;
                if (area.value.trim()) take(app, area.value, written ? "replace" : "push");
            }, REST);
        },
    });
    const input = h("input", {
        type: "file",
        hidden: true,
        accept: ".json,.gguf,.safetensors,.npy",
        onchange: () => input.files?.length && takeFile(app, input.files[0]),
    });
    const note = h("p.note", { role: "status" });
    const chips = CHIPS.map((name) =>
        h(
            "button.chip",
            {
                type: "button",
                "data-model": name,
                onclick: () => app.go(chosen(app, { model: name }), "push"),
            },
            MODELS[name].name,
        ),
    );
    const element = h(
        "div.configbox",
        {},
        h(
            "div.chips",
            { role: "group", "aria-label": t("models", "模型") },
            ...chips,
            app.has("models") &&
                h(
                    "a.chip.all",
                    { href: app.link({ view: "models" }) },
                    t("all models →", "所有模型 →"),
                ),
        ),
        h(
            "div.paper",
            {},
            area,
            h(
                "div.under",
                {},
                h(
                    "span",
                    {},
                    t(
                        "Paste or edit a config.json, or drop a file: .json, .gguf, .safetensors, .npy.",
                        "粘贴或修改 config.json，也可拖入 .json、.gguf、.safetensors、.npy 文件。",
                    ),
                ),
                h(
                    "button.link",
                    { type: "button", onclick: () => input.click() },
                    t("Choose a file…", "选择文件…"),
                ),
                input,
            ),
        ),
        note,
    );

    async function update(): Promise<void> {
        if (app.dropped?.some(({ name }) => CONFIG.test(name)))
            return void takeFile(app, app.dropped[0]);
        const { text, file } = source(app);
        const picked =
            app.state.params.config === undefined && app.state.params.file === undefined
                ? (app.state.params.model ?? CHIPS[0])
                : "";
        for (const chip of chips)
            chip.setAttribute("aria-pressed", `${chip.dataset.model === picked}`);
        note.textContent = told(app);
        const next = text ?? (file && /\.json$/i.test(file.name) ? await file.text() : "");
        // What a person is writing stays as it is written.
        if (shown !== undefined && dense(shown) === dense(next)) return;
        shown = area.value = text ? inLines(text) : next;
    }

    function find(key: string): boolean {
        const at = place(area.value, key);
        if (at) select(area, ...at);
        return !!at;
    }

    return {
        element,
        update,
        find,
        places: (mistakes) =>
            mistakes.flatMap(({ key, words }) =>
                key && place(area.value, key)
                    ? [
                          h(
                              "button.link",
                              { type: "button", onclick: () => find(key) },
                              t(`show ${key} in the config`, `在 config 中显示 ${key}`),
                          ),
                      ]
                    : damage(area, words),
            ),
    };
}
