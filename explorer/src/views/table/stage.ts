// SPDX-License-Identifier: MIT
// The stage of the view: controls, pictures with a cross and a brush, and the panels below them.
import { Lane, type Tensor } from "../../api";
import { h } from "../../dom";
import { choice, of, renew, select } from "../../kit/controls";
import { heatmap, type Heatmap, type Part } from "../../kit/heatmap";
import { Work } from "../../kit/work";
import { exact, short, whole } from "../../numbers";
import type { App, Mounted, Shown } from "../../view";
import type { Fault } from "../../checks";
import type { Changes } from "../../state";
import { t } from "../../words";
import { tensors } from "../diagnosis/picture";
import { lines, pick, type Way } from "./lines";
import { controls } from "./parameters";
import { ends } from "./picture";
import {
    answered,
    asked,
    catalogue,
    cell,
    isMany,
    note,
    pools,
    reading,
    type Asked,
    type Seen,
} from "./seen";
import { shift } from "./shift";
import { one, shown, type Entry, type Own, type Span } from "./source";
import { titleOf } from "./titles";
import { barName, columnName, formula, place, rowName } from "./words";

const REST_MS = 220;
const WHOLE: Changes = { rows: undefined, columns: undefined };

/** The part of a span, within so many, as the URL has it; undefined: all of them. */
function part([from, to]: Span, low: number, high: number, count: number): string | undefined {
    const size = Math.max(1, Math.min(count, Math.round((high - low) * (to - from))));
    const begin = Math.max(0, Math.min(count - size, Math.floor(from + low * (to - from))));
    return size === count ? undefined : `${begin}..${begin + size - 1}`;
}

export class Stage implements Mounted {
    private now?: Seen;
    private own: Own | null = null;
    private work: Work;
    /** Of what is shown, to tell what is known of it before the next answer. */
    private heads = { of: "", count: 1 };
    private rest = new Lane();
    private timer = 0;
    private way: Way = "plot_columns";
    private also: Shown[] = [];
    private parts: Heatmap[] = [];
    private knobs = h("div.controls");
    private few = h("div.explained");
    /** Fills what is folded away, which is not there before it is opened. */
    private explain = () => {};
    private tooled = "";
    private more = h(
        "details.more",
        { ontoggle: () => this.more.open && this.explain() },
        h("summary", {}, t("more parameters", "更多参数")),
        this.few,
    );
    private words = h("p.note");
    private maps = h("div.maps");
    private reading = h(
        "p.cell",
        {},
        t("Point at a cell, or use the arrow keys.", "指向一个格子，或使用方向键。"),
    );
    private formed = h("p.cell");
    private tools = h("div.controls.tools");
    private below: ReturnType<typeof lines>;
    private shifts: ReturnType<typeof shift>;
    private input = h("input", {
        type: "file",
        hidden: true,
        accept: ".safetensors,.npy",
        onchange: () => void this.take([...(this.input.files ?? [])]),
    });

    constructor(
        stage: HTMLElement,
        private app: App,
    ) {
        this.below = lines(app);
        this.shifts = shift(app, (list) => {
            this.also = list;
        });
        stage.append(
            this.knobs,
            this.more,
            this.words,
            h(
                "div.panel",
                {},
                this.maps,
                this.reading,
                this.formed,
                this.tools,
                h(
                    "p.note",
                    {},
                    t(
                        "Drag, or + and −: zoom. Shift and arrows: move. Double click or Escape: all of it. Shift and click: the other curve.",
                        "拖动或按 +、−：缩放；Shift+方向键：移动；双击或 Esc：全部；Shift+点击：画另一条曲线。",
                    ),
                ),
            ),
            ...this.below.elements,
            this.shifts.box,
            this.input,
        );
        this.work = new Work(app, {
            pictures: [this.words, this.maps, this.reading, this.formed, ...this.below.elements],
            failed: () => this.app.shows([]),
        });
        this.update();
    }

    seen(): unknown {
        return this.now?.picture;
    }

    update(): void {
        if (this.app.dropped) return void this.take(this.app.dropped);
        this.work.run(
            (signal) => this.ask(signal),
            (seen) => this.draw(seen),
        );
    }

    /** Controls are there before the answer, and whether it comes or not. */
    private async ask(signal: AbortSignal): Promise<Seen> {
        const entries = await catalogue(this.app, signal);
        signal.throwIfAborted();
        const what = await asked(this.app, entries, this.own, signal).catch((error) => {
            signal.throwIfAborted();
            renew(this.knobs, () => [this.encoding(entries, "")]);
            throw error;
        });
        signal.throwIfAborted();
        this.settings(what);
        return answered(this.app, what, signal);
    }

    leave(): void {
        clearTimeout(this.timer);
        this.work.stop();
        this.rest.stop();
        this.below.leave();
        this.shifts.leave();
    }

    /** All parameters give way to those of another table. */
    private begin(changes: Changes): void {
        const none = Object.keys(this.app.state.params).map((name) => [name, undefined]);
        this.app.go({ ...Object.fromEntries(none), ...changes }, "push");
    }

    private async take([file]: File[]): Promise<void> {
        if (!file) return;
        try {
            this.own = { name: file.name, tensors: await tensors(file) };
        } catch (error) {
            return this.app.fail(this, error);
        }
        this.app.fail(this, null);
        const { encoding, file: before } = this.app.state.params;
        const meant = encoding === "hierarchical" ? encoding : "learned";
        if (before === file.name && encoding === meant) this.update();
        else this.begin({ encoding: meant, file: file.name });
    }

    /** The value itself, of a cell that stands for many. */
    private exactly(row: number, column: number, layer: string): void {
        const {
                source,
                picture: { heads },
            } = this.now!,
            asked = one(source, row);
        if (asked)
            this.rest.run(
                (signal) => this.app.api.ask<Record<string, Tensor>>(asked, signal),
                (answer) => {
                    const { data, shape } = answer[layer.replace(/_(min|max)$/, "")];
                    const skip = heads > 1 ? +(this.app.state.params.head ?? 0) * shape.at(-1)! : 0;
                    const at = `${rowName(source)} ${short(place(source, row), 9)}`;
                    this.reading.textContent +=
                        t(`; ${at} itself: `, `；其中${at} 的值：`) +
                        exact(Number(data[skip + column]));
                },
                () => {},
            );
    }

    private over(layer: number, row: number, column: number, keyed: boolean): void {
        if (!this.now) return;
        const {
                source,
                picture: { layers },
                waves,
            } = this.now,
            at = cell(this.now, row, column);
        const middle = (at.down[0] + at.down[1]) >> 1,
            [first] = at.across,
            { name } = layers[layer];
        clearTimeout(this.timer);
        this.rest.stop();
        this.reading.textContent = reading(this.now, layer, row, column);
        this.formed.textContent = formula(source, waves, name, middle, first);
        if (keyed) this.app.say(`${this.reading.textContent}. ${this.formed.textContent}`);
        if (isMany(at))
            this.timer = window.setTimeout(() => this.exactly(middle, first, name), REST_MS);
    }

    private chosen(row: number, column: number, shifted: boolean): void {
        if (!this.now) return;
        const at = cell(this.now, row, column),
            rows = (this.way === "plot_rows") !== shifted;
        if (rows) pick(this.app, "plot_rows", at.down[0]);
        else pick(this.app, "plot_columns", at.across[0]);
    }

    /** A part of what is seen, or all of it, becomes what is seen; false: it was. */
    private brushed(brush: Part | null): boolean {
        const { rows, columns } = this.app.state.params;
        if (!this.now || (!brush && !rows && !columns)) return false;
        const { down, across, all } = this.now.picture;
        this.app.go(
            brush
                ? {
                      rows: part(down, brush.top, brush.bottom, all.rows),
                      columns: part(across, brush.left, brush.right, all.columns),
                  }
                : WHOLE,
            "push",
        );
        return true;
    }

    /** `name`: the one that is shown; "": the link names one that there is not. */
    private encoding(entries: Entry[], name: string): HTMLElement {
        const names = [...(name ? [] : [""]), ...entries.map((one) => one.name)];
        return of(
            "encoding",
            select(
                t("encoding", "编码"),
                Object.fromEntries(names.map((one) => [one, one || "–"])),
                name,
                (encoding) =>
                    encoding &&
                    this.begin({
                        encoding,
                        file: this.own?.name,
                        tensor: this.app.state.params.tensor,
                    }),
            ),
        );
    }

    private encodings({ entries, source: { entry, bytes, operation } }: Asked): HTMLElement[] {
        const { head, tensor } = this.app.state.params,
            names = Object.keys(this.own?.tensors ?? {});
        const { of: known, count: heads } = this.heads,
            isKnown = known === `${entry.name} ${operation.name}`;
        const own = (all: string[]) => Object.fromEntries(all.map((name) => [name, name]));
        return [
            this.encoding(entries, entry.name),
            ...(bytes && names.length > 1
                ? [
                      select("tensor", own(names), tensor ?? names[0], (tensor) =>
                          this.app.go({ tensor, length: undefined, ...WHOLE }, "push"),
                      ),
                  ]
                : []),
            ...(isKnown && heads > 1
                ? [
                      select(
                          t("head", "注意力头"),
                          Object.fromEntries(
                              Array.from({ length: heads }, (_, i) => [i, `${i + 1}`]),
                          ),
                          head ?? "0",
                          (head) => this.app.go({ head }, "push"),
                      ),
                  ]
                : []),
        ];
    }

    private settings(seen: Asked): void {
        const { front, more } = controls(this.app, seen.source),
            { rows, columns } = this.app.state.params;
        renew(this.knobs, () => [...this.encodings(seen), ...front()]);
        this.explain = () => this.few.replaceChildren(...more.map((one) => one()));
        if (this.more.open && !this.few.contains(document.activeElement)) this.explain();
        this.more.hidden = !more.length;
        const tools = JSON.stringify([seen.request.pooled && seen.pool, rows, columns]);
        if (tools === this.tooled) return;
        this.tooled = tools;
        renew(this.tools, () => this.buttons(seen));
    }

    private buttons(seen: Asked): HTMLElement[] {
        const { rows, columns } = this.app.state.params;
        const button = (words: string, onclick: () => void) =>
            h("button.chip", { type: "button", onclick }, words);
        return [
            choice(
                t("a click draws", "点击画出"),
                { plot_columns: t("its column", "该列"), plot_rows: t("its row", "该行") },
                this.way,
                (name) => {
                    this.way = name as Way;
                },
            ),
            ...(seen.request.pooled
                ? [
                      select(t("pooled by", "合并方式"), pools(), seen.pool, (pool) =>
                          this.app.go({ pool }, "push"),
                      ),
                  ]
                : []),
            ...(rows || columns
                ? [button(t("show all", "显示全部"), () => this.brushed(null))]
                : []),
            button(t("Your own table…", "打开你的表…"), () => this.input.click()),
            this.shifts.button,
        ];
    }

    private paint({ source, picture: all, waves }: Seen): void {
        const [low, high] = ends(all, !!waves || /^sinus/.test(source.entry.name)),
            columns = columnName(source, source.params);
        const down = all.down[1] - all.down[0],
            across = all.across[1] - all.across[0];
        all.layers.forEach(({ name, values }, i) => {
            this.parts[i] ??= heatmap(
                (row, column, keyed) => this.over(i, row, column, keyed),
                (...at) => this.chosen(...at),
                (brush) => this.brushed(brush),
            );
            void this.parts[i].draw({
                rows: all.rows,
                columns: all.columns,
                values,
                low,
                high,
                palette: low < 0 && high > 0 ? "rdbu" : "viridis",
                rowName: rowName(source),
                columnName: all.layers.length > 1 ? `${columns} · ${name}` : columns,
                valueName: barName(source, name),
                rowStep: Math.abs(place(source, 1) - place(source, 0)),
                rowAt: (row) => place(source, all.down[0] + Math.floor((row * down) / all.rows)),
                columnAt: (column) => all.across[0] + Math.floor((column * across) / all.columns),
                label:
                    `${source.entry.name}, ${name}: ` +
                    t(
                        `${whole(down)} rows, ${whole(across)} columns. Enter draws a curve.`,
                        `${whole(down)} 行，${whole(across)} 列。回车画曲线。`,
                    ),
            });
        });
        const elements = this.parts.slice(0, all.layers.length).map(({ element }) => element);
        if (elements.length !== this.maps.children.length) this.maps.replaceChildren(...elements);
    }

    /** Values of the link that this table has no use for. */
    private faults({ source, picture: { heads } }: Seen): Fault[] {
        const { operation, head } = this.app.state.params,
            names = shown(source.entry).map(({ name }) => name);
        return [
            ...(operation && !names.includes(operation)
                ? [{ name: "operation", value: operation, accepts: names }]
                : []),
            ...(head && +head >= heads
                ? [{ name: "head", value: head, accepts: [0, heads - 1, 1] as const }]
                : []),
        ];
    }

    private draw(seen: Seen): void {
        const { entry, operation } = seen.source;
        this.now = seen;
        this.heads = { of: `${entry.name} ${operation.name}`, count: seen.picture.heads };
        this.app.report(this, this.faults(seen));
        this.shifts.update(seen.source);
        this.settings(seen);
        const words = note(seen, this.app.state.params.file),
            { picture, request, source } = seen;
        this.words.textContent = `${titleOf(source.entry)}${t(". ", "。")}${words}`;
        this.paint(seen);
        this.below.draw(source, picture, request.pooled ? words : "");
        this.app.shows([
            {
                title: t("table", "表"),
                ask: request.whole,
                formats: ["png", "svg", picture.layers.length > 1 ? "safetensors" : "npy"],
            },
            ...this.also,
        ]);
    }
}
