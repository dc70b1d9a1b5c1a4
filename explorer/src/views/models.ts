// SPDX-License-Identifier: MIT
// The models of models.json as a table, sorted by any column. Its numbers are those that the API
// answers for each config, which a test holds; each name opens its model on the first screen.
import { markDrawn } from "../api";
import { configAsk } from "../kit/model";
import { h, type Child } from "../dom";
import models from "../models.json?all";
import { short, whole } from "../numbers";
import type { App, Mounted } from "../view";
import { t } from "../words";
import type { COLUMNS } from "./limits";

type Column = (typeof COLUMNS)[number];

interface Kind {
    layers?: number;
    type?: string;
    base?: number;
}

interface Entry {
    id: string;
    name: string;
    config: object;
    row: {
        encoding: string;
        base?: number;
        pairs?: number;
        scaling?: string;
        factor?: number;
        context?: number;
        kinds: Kind[];
    };
}

const entries: Entry[] = Object.entries(models).map(([id, one]) => ({
    id,
    ...(one as Omit<Entry, "id">),
}));

const columns = (): Record<Column, string> => ({
    name: t("model", "模型"),
    encoding: t("encoding", "编码"),
    base: t("base", "基数"),
    pairs: t("pairs", "维度对"),
    scaling: t("scaling", "缩放"),
    factor: t("factor", "倍数"),
    context: t("context", "上下文"),
});

const value = (entry: Entry, column: Column): string | number | undefined =>
    column === "name" ? entry.name : entry.row[column];

/** Models without a value come last in both orders. */
function sorted(list: Entry[], column: Column, down: boolean): Entry[] {
    const way = down ? -1 : 1;
    return [...list].sort((one, two) => {
        const a = value(one, column),
            b = value(two, column);
        if (a === undefined || b === undefined)
            return a === b ? one.name.localeCompare(two.name) : a === undefined ? 1 : -1;
        const order =
            typeof a === "number" && typeof b === "number"
                ? a - b
                : `${a}`.localeCompare(`${b}`, "en", { numeric: true });
        return order * way || one.name.localeCompare(two.name);
    });
}

const typeName = (type: string) => type.replace(/_attention$/, "");

/** "52 sliding, base 10 000 · 10 full": what differs between kinds of layers. */
function kindsText({ row: { kinds, base } }: Entry): string {
    const alone = kinds.length === 1;
    return kinds
        .map(({ layers, type, base: own }) =>
            [
                [layers, type && typeName(type)].filter(Boolean).join(" "),
                alone || own === base
                    ? ""
                    : own
                      ? t(`base ${short(own, 6)}`, `基数 ${short(own, 6)}`)
                      : t("no positions", "无位置编码"),
            ]
                .filter(Boolean)
                .join(t(", ", "，")),
        )
        .join(" · ");
}

const words = (entry: Entry): string =>
    [
        entry.name,
        entry.id,
        ...Object.values(entry.row).filter((one) => typeof one === "string"),
        kindsText(entry),
    ]
        .join(" ")
        .toLowerCase();

function row(app: App, entry: Entry): HTMLElement {
    const { row: own } = entry;
    const number = (size: number | undefined, shown = whole): Child =>
        h("td.amount", {}, size === undefined ? "–" : shown(size));
    return h(
        "tr",
        {},
        h(
            "th",
            { scope: "row" },
            h("a", { href: app.link({ view: "home", model: entry.id }) }, entry.name),
        ),
        h("td", {}, h("code", {}, own.encoding)),
        number(own.base),
        number(own.pairs),
        h("td", {}, own.scaling ? h("code", {}, own.scaling) : "–"),
        number(own.factor, (size) => `${short(size)}×`),
        number(own.context),
        h("td", {}, kindsText(entry)),
    );
}

class Models implements Mounted {
    private body = h("tbody");
    private head = h("tr");
    private count = h("p.note", { role: "status" });
    private find = h("input", {
        type: "search",
        "aria-label": t("find a model", "查找模型"),
        placeholder: t("find: qwen, yarn, sliding …", "查找：qwen、yarn、sliding……"),
        "data-name": "find",
        oninput: () => this.app.go({ find: this.find.value || undefined }),
    });

    constructor(
        stage: HTMLElement,
        private app: App,
    ) {
        stage.append(
            h("div.controls.catalogue", {}, this.find, this.count),
            h(
                "div.wide.panel",
                { tabindex: 0, role: "region", "aria-label": t("models", "模型") },
                h("table.models", {}, h("thead", {}, this.head), this.body),
            ),
        );
        this.update();
    }

    private sort(): { column: Column; down: boolean } {
        const { sort = "name" } = this.app.state.params;
        return { column: sort.replace("-", "") as Column, down: sort.startsWith("-") };
    }

    private heading(column: Column, name: string): HTMLElement {
        const { column: by, down } = this.sort(),
            own = by === column;
        const next = own && !down ? `-${column}` : column;
        return h(
            "th",
            {
                scope: "col",
                "aria-sort": own ? (down ? "descending" : "ascending") : undefined,
                class: ["base", "pairs", "factor", "context"].includes(column)
                    ? "amount"
                    : undefined,
            },
            h(
                "button",
                {
                    type: "button",
                    "data-sort": column,
                    onclick: () => this.app.go({ sort: next === "name" ? undefined : next }),
                },
                name,
                h("span", { "aria-hidden": "true" }, own ? (down ? " ▼" : " ▲") : ""),
            ),
        );
    }

    update(): void {
        const { find = "" } = this.app.state.params,
            { column, down } = this.sort();
        const focused = (document.activeElement as HTMLElement)?.dataset?.sort;
        if (this.find.value !== find) this.find.value = find;
        const wanted = find.toLowerCase().split(/\s+/);
        const list = sorted(
            entries.filter((one) => wanted.every((word) => words(one).includes(word))),
            column,
            down,
        );
        this.head.replaceChildren(
            ...Object.entries(columns()).map(([one, name]) => this.heading(one as Column, name)),
            h("th", { scope: "col" }, t("layers", "层")),
        );
        this.body.replaceChildren(...list.map((one) => row(this.app, one)));
        this.count.textContent = t(
            `${list.length} of ${entries.length} models`,
            `${entries.length} 个模型中的 ${list.length} 个`,
        );
        if (focused) this.head.querySelector<HTMLElement>(`[data-sort="${focused}"]`)?.focus();
        markDrawn();
        this.app.shows(
            list.slice(0, 1).map(({ name, config }) => ({
                title: `config: ${name}`,
                ask: configAsk(this.app, { name, text: JSON.stringify(config) }),
                formats: [],
            })),
        );
    }

    leave(): void {}
}

export const mount = (stage: HTMLElement, app: App): Mounted => new Models(stage, app);
