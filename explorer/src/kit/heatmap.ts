// SPDX-License-Identifier: MIT
// A heat map on a canvas: rows from the top, columns from the left, a colour bar, a cross under the
// pointer or the arrow keys.
import { h, token } from "../dom";
import { short, whole } from "../numbers";
import { LAST, shades, type Palette } from "./palette";

export interface Heat {
    rows: number;
    columns: number;
    /** Row by row. */
    values: ArrayLike<number>;
    /** Of the colours' ends. */
    low: number;
    high: number;
    palette: Palette;
    rowName: string;
    columnName: string;
    /** What the colours stand for: the name of the colour bar. */
    valueName: string;
    /** Where a row or column of the picture stands in the whole: names of ticks, and of the cross. */
    rowAt(row: number): number;
    columnAt(column: number): number;
    /** From one row to the next in the whole, in what rowAt counts; 1 if absent. */
    rowStep?: number;
    /** Rows that have a tick; round numbers if absent. */
    rowTicks?: number[];
    /** Words for ticks instead: tokens. */
    names?: string[];
    /** A value beside the colour bar; its shortest digits if absent. */
    show?(value: number): string;
    /** Its height as a share of its width; the room there is if absent. */
    aspect?: number;
    label: string;
}

/** A part of the picture, in shares of its height and width; beyond 0 and 1: more than is seen. */
export interface Part {
    top: number;
    bottom: number;
    left: number;
    right: number;
}

export interface Heatmap {
    element: HTMLElement;
    draw(heat: Heat): void;
}

const BOTTOM = 44,
    TOP = 8,
    TICK = 72; // TICK: pixels from one to the next
const NARROW = 480,
    LETTER = 7.4; // px: less room beside the picture; of a word
const ASPECT_MOST = 440,
    DRAWN_LEAST = 8; // pixels that are a brush and no click

/** Keys that zoom: their part of what is seen, beside the cross for +. */
const PARTS: Record<string, [number, number, number, number]> = {
    "-": [-0.5, 1.5, -0.5, 1.5],
    ArrowUp: [-0.25, 0.75, 0, 1],
    ArrowDown: [0.25, 1.25, 0, 1],
    ArrowLeft: [0, 1, -0.25, 0.75],
    ArrowRight: [0, 1, 0.25, 1.25],
};

/** Rows and columns that a key moves the cross by. */
const STEPS: Record<string, [number, number]> = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
};

/** Columns that a key takes the cross to. */
const ENDS: Record<string, number> = { Home: 0, End: Infinity };

interface Tick {
    index: number;
    text: string;
}

/** Steps of 1, 2 or 5 that leave room for their numbers. Where a cell stands for many, a round
 * number is at the cell that it is in. The first cell has its own number, and so has every cell
 * where the numbers of the whole have steps: a round number may not be one of them. */
function ticks(count: number, size: number, at: (index: number) => number, wholeStep = 1): Tick[] {
    const most = Math.max(1, size / TICK),
        span = Math.abs(at(count - 1) - at(0)) || 1;
    const power = 10 ** Math.floor(Math.log10(span / most)),
        step = [1, 2, 5, 10].map((one) => one * power).find((one) => span / one <= most)!;
    const chosen: Tick[] = [];
    let last = -1;
    for (let i = 0; i < count; i++) {
        const value = at(i),
            next = at(i + 1),
            here = Math.floor(value / Math.max(step, 1e-9) + 1e-9),
            round = Math.ceil(value / step - 1e-9) * step,
            isMany = wholeStep === 1 && next - value > 1;
        if (!i || (isMany ? round < next : here !== last))
            chosen.push({ index: i, text: numeral(i && isMany ? round : value) });
        last = here;
    }
    return chosen.length > most * 2 + 2 ? [chosen[0], ownTick(count - 1, at)] : chosen;
}

const numeral = (value: number) => (Number.isInteger(value) ? whole(value) : short(value, 9));
const ownTick = (index: number, at: (index: number) => number): Tick => ({
    index,
    text: numeral(at(index)),
});

/** A pixel for each value. */
export function pixels({
    rows,
    columns,
    values,
    low,
    high,
    palette,
}: Pick<Heat, "rows" | "columns" | "values" | "low" | "high" | "palette">): HTMLCanvasElement {
    const canvas = h("canvas", { width: columns, height: rows });
    const data = new ImageData(columns, rows),
        out = new Uint32Array(data.data.buffer);
    out.set(shades(values, rows * columns, low, high, palette));
    canvas.getContext("2d")!.putImageData(data, 0, 0);
    return canvas;
}

interface Room {
    left: number;
    width: number;
    height: number;
}

/** A text that runs upwards. */
function turned(context: CanvasRenderingContext2D, words: string, x: number, y: number): void {
    context.save();
    context.translate(x, y);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText(words, 0, 0);
    context.restore();
}

function axes(context: CanvasRenderingContext2D, heat: Heat, { left, width, height }: Room): void {
    const every = heat.names?.map((text, index) => ({ index, text }));
    context.fillStyle = token("soft");
    context.font = `12px ${heat.names ? token("sans") : token("mono")}`;
    context.textAlign = "center";
    for (const { index, text } of every ?? ticks(heat.columns, width, heat.columnAt))
        context.fillText(
            text,
            left + ((index + 0.5) / heat.columns) * width,
            TOP + height + 16,
            every && width / heat.columns - 4,
        );
    context.fillText(heat.columnName, left + width / 2, TOP + height + 36);
    context.textAlign = "right";
    for (const { index, text } of every ??
        heat.rowTicks?.map((row) => ownTick(row, heat.rowAt)) ??
        ticks(heat.rows, height * 1.4, heat.rowAt, heat.rowStep))
        context.fillText(text, left - 8, TOP + ((index + 0.5) / heat.rows) * height + 4, left - 30);
    turned(context, heat.rowName, 12, TOP + height / 2);
}

const named = ({ show = (value) => short(value, 3) }: Heat, value: number) => show(value);

function bar(context: CanvasRenderingContext2D, heat: Heat, { left, width, height }: Room): void {
    const x = left + width + 16,
        values = Array.from({ length: LAST + 1 }, (_, i) => LAST - i);
    context.drawImage(
        pixels({ rows: LAST + 1, columns: 1, values, low: 0, high: LAST, palette: heat.palette }),
        x,
        TOP,
        12,
        height,
    );
    context.textAlign = "left";
    for (const [value, y] of [
        [heat.high, TOP + 10],
        [heat.low, TOP + height],
    ])
        context.fillText(named(heat, value), x + 16, y);
    context.font = `12px ${token("sans")}`;
    turned(context, heat.valueName, x + 28, TOP + height / 2);
}

/** Room for the words of ticks, and of the colour bar. */
function sides(heat: Heat, wide: boolean): { left: number; right: number } {
    const { rowAt, rows, rowTicks = [0, rows - 1], names, low, high } = heat;
    const longest = (words: string[]) => LETTER * Math.max(...words.map(({ length }) => length));
    const rooms = names ? 66 : 32 + longest(rowTicks.map((row) => whole(rowAt(row))));
    const ends = [low, high].map((one) => named(heat, one));
    return {
        left: Math.max(wide ? 84 : 54, rooms),
        right: Math.max(wide ? 80 : 52, 34 + longest(ends)),
    };
}

const inside = (one: number, low = 0, high = 1) => Math.max(low, Math.min(high, one));

type Over = (row: number, column: number, keyed: boolean) => void;
type Chosen = (row: number, column: number, shift: boolean) => void;
type Brushed = (part: Part | null) => void | boolean;

class Canvas implements Heatmap {
    element = h("canvas.heat", { tabindex: 0, role: "img" });
    private heat?: Heat;
    private image?: HTMLCanvasElement;
    private room: Room = { left: 0, width: 0, height: 0 };
    /** Of the element: reading it may cost a layout. */
    private size = { width: 0, height: 0 };
    private at = { row: 0, column: 0 };
    private from?: { x: number; y: number };
    private to = { x: 0, y: 0 };

    constructor(
        private over: Over,
        private chosen: Chosen,
        private brushed?: Brushed,
    ) {
        const canvas = this.element;
        canvas.addEventListener("pointermove", (event) => this.moved(event));
        canvas.addEventListener("pointerdown", (event) => {
            if (!brushed) return;
            this.from = this.to = { x: event.offsetX, y: event.offsetY };
            canvas.setPointerCapture(event.pointerId);
        });
        for (const end of ["pointerup", "pointercancel"] as const)
            canvas.addEventListener(end, (event) => this.lifted(event));
        canvas.addEventListener("dblclick", () => brushed?.(null));
        canvas.addEventListener("keydown", (event) => this.key(event));
        new ResizeObserver(() => {
            const { width, height } = this.size;
            this.measure();
            if (width !== this.size.width || height !== this.size.height) this.paint();
        }).observe(canvas);
    }

    draw(next: Heat): void {
        this.heat = next.rows && next.columns ? next : undefined;
        this.image = this.heat && pixels(next);
        this.element.setAttribute("aria-label", next.label);
        if (!this.size.width) this.measure();
        this.paint();
        // What is written of the cell under the cross is of this picture, and not of the one before.
        if (this.element.dataset.row) this.point(this.at.row, this.at.column);
    }

    private measure(): void {
        this.size = { width: this.element.clientWidth, height: this.element.clientHeight };
    }

    /** Where the picture is; one with an aspect decides how high the element is. */
    private lay(heat: Heat): void {
        const { left, right } = sides(heat, this.size.width >= NARROW);
        const width = this.size.width - left - right,
            { aspect } = heat,
            { style } = this.element;
        const tall = aspect ? `${Math.min(width * aspect, ASPECT_MOST) + TOP + BOTTOM}px` : "";
        if (style.height !== tall) {
            style.height = tall;
            this.measure();
        }
        const height = Math.min(this.size.height - TOP - BOTTOM, width * (aspect ?? Infinity));
        this.room = { left, width: aspect ? height / aspect : width, height };
    }

    private paint(): void {
        const { heat, image, element: canvas, from, to } = this,
            context = canvas.getContext("2d")!;
        if (!heat || !image) return context.clearRect(0, 0, canvas.width, canvas.height);
        if (!this.size.width) return;
        this.lay(heat);
        const ratio = devicePixelRatio,
            { left, width, height } = this.room;
        // Which empties it as well.
        canvas.width = this.size.width * ratio;
        canvas.height = this.size.height * ratio;
        context.scale(ratio, ratio);
        context.imageSmoothingEnabled = heat.columns > width * ratio;
        context.drawImage(image, left, TOP, width, height);
        // Where the picture is: tests hold its pixels against numbers.
        canvas.dataset.room = `${[left, TOP, width, height]}`;
        axes(context, heat, this.room);
        bar(context, heat, this.room);
        context.strokeStyle = token("ink");
        if (from) context.strokeRect(from.x, from.y, to.x - from.x, to.y - from.y);
    }

    private point(row: number, column: number, keyed = false): void {
        const { heat } = this;
        if (!heat) return;
        this.at = {
            row: inside(row, 0, heat.rows - 1),
            column: inside(column, 0, heat.columns - 1),
        };
        const { at } = this,
            value = `${heat.values[at.row * heat.columns + at.column]}`;
        // The cell under the cross, as it was answered: tests hold it against the API.
        Object.assign(this.element.dataset, at, { value });
        this.over(at.row, at.column, keyed);
    }

    /** Where a pointer is, in shares of the picture. */
    private share({ x, y }: { x: number; y: number }): { x: number; y: number } {
        const { left, width, height } = this.room;
        return { x: inside((x - left) / width), y: inside((y - TOP) / height) };
    }

    private drawn(): boolean {
        const { from, to } = this;
        return !!from && Math.max(Math.abs(to.x - from.x), Math.abs(to.y - from.y)) > DRAWN_LEAST;
    }

    private moved({ offsetX: x, offsetY: y }: PointerEvent): void {
        const {
            heat,
            room: { left, width, height },
        } = this;
        if (heat && !this.drawn())
            this.point(
                Math.floor(((y - TOP) / height) * heat.rows),
                Math.floor(((x - left) / width) * heat.columns),
            );
        this.to = { x, y };
        if (this.from) this.paint();
    }

    /** The end of a brush; without one it was a click. */
    private lifted(event: PointerEvent): void {
        const { from, at } = this,
            drawn = this.drawn() && event.type === "pointerup";
        this.from = undefined;
        if (from && drawn) {
            const [one, other] = [this.share(from), this.share(this.to)];
            this.brushed!({
                top: Math.min(one.y, other.y),
                bottom: Math.max(one.y, other.y),
                left: Math.min(one.x, other.x),
                right: Math.max(one.x, other.x),
            });
        } else if (event.type === "pointerup") {
            this.chosen(at.row, at.column, event.shiftKey);
        }
        this.paint();
    }

    /** Whether a key zooms, or moves what is seen. */
    private zooms(event: KeyboardEvent): boolean {
        const { heat, brushed, at } = this;
        if (!brushed || !heat) return false;
        const part = event.shiftKey || event.key === "-" ? PARTS[event.key] : undefined;
        if (part) {
            const [top, bottom, left, right] = part;
            brushed({ top, bottom, left, right });
        } else if (event.key === "+" || event.key === "=") {
            const middle = (index: number, count: number) =>
                inside((index + 0.5) / count, 0.25, 0.75);
            const y = middle(at.row, heat.rows),
                x = middle(at.column, heat.columns);
            brushed({ top: y - 0.25, bottom: y + 0.25, left: x - 0.25, right: x + 0.25 });
        } else if (event.key === "Escape") {
            return !!brushed(null);
        } else {
            return false;
        }
        return true;
    }

    private key(event: KeyboardEvent): void {
        if (this.zooms(event)) {
            event.stopPropagation();
            return event.preventDefault();
        }
        const { row, column } = this.at,
            [down, right] = STEPS[event.key] ?? [0, 0];
        if (event.key === "Enter") this.chosen(row, column, event.shiftKey);
        const isEnd = event.key in ENDS;
        if (!down && !right && !isEnd) return;
        event.preventDefault();
        if (isEnd) return this.point(row, ENDS[event.key], true);
        // Without a cross, a step shows the first cell.
        const step = this.element.dataset.row === undefined ? 0 : event.shiftKey ? 10 : 1;
        this.point(row + down * step, column + right * step, true);
    }
}

/** `over`: the cross is at a cell, where keys or the pointer took it; `chosen`: it was clicked, or
 * Enter was pressed there; `brushed`: a part was drawn, or null, the whole is wanted again (false:
 * it
 * is seen already). */
export const heatmap = (over: Over, chosen: Chosen = () => {}, brushed?: Brushed): Heatmap =>
    new Canvas(over, chosen, brushed);
