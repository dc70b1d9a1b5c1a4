// SPDX-License-Identifier: MIT
// Curves over one axis, on a canvas: a cross under the pointer or the arrow keys, and the values
// there; dragging over a part shows it alone, and a double click all again.
import "../style/curves.css";
import { h, token } from "../dom";
import { short, whole } from "../numbers";
import { lineSign } from "./line_sign";
import { scaleOf, ticksOf, type Scale } from "./scales";

export interface Curve {
    name: string;
    values: ArrayLike<number>;
    /** A token of colour: "turn". */
    colour: string;
    /** Lengths of a broken line, so that curves differ by more than their colour. */
    dash?: number[];
    width?: number;
    /** Dots without a line. */
    dots?: boolean;
    /** A line of steps. */
    steps?: boolean;
}

export interface Plot {
    x: ArrayLike<number>;
    curves: Curve[];
    xName: string;
    yName: string;
    xLog?: boolean;
    yLog?: boolean;
    yRange?: [number, number];
    /** What the picture shows, for those who do not see it. */
    label: string;
}

export interface Curves {
    element: HTMLElement;
    draw(plot: Plot): void;
    /** Puts the cross at a point, as the pointer would. */
    point(index: number): void;
    leave(): void;
}

const TOP = 8,
    RIGHT = 28,
    BOTTOM = 46,
    NAME = 22;

/** Points that a key moves the cross by. */
const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageDown: -20, PageUp: 20 };
/** Points that a key takes the cross to. */
const ENDS: Record<string, number> = { Home: 0, End: Infinity };

/** A curve that wants it has a line of steps, each as long as a distance on the axis. */
function trace(
    context: CanvasRenderingContext2D,
    curve: Curve,
    x: ArrayLike<number>,
    across: Scale,
    up: Scale,
): void {
    let drawing = false,
        last = 0;
    context.beginPath();
    for (let i = 0; i < x.length; i++) {
        const to = across.at(x[i]),
            y = up.at(Number(curve.values[i]));
        if (!Number.isFinite(y) || !Number.isFinite(to)) {
            drawing = false;
        } else if (!drawing) {
            context.moveTo(to, y);
            drawing = true;
        } else {
            if (curve.steps) context.lineTo(to, last);
            context.lineTo(to, y);
        }
        last = y;
    }
    context.strokeStyle = token(curve.colour);
    context.lineWidth = curve.width ?? 1.8;
    context.setLineDash(curve.dash ?? []);
    context.stroke();
    context.setLineDash([]);
}

function dot(
    context: CanvasRenderingContext2D,
    curve: Curve,
    x: number,
    y: number,
    size: number,
): void {
    if (!Number.isFinite(y)) return;
    context.fillStyle = token(curve.colour);
    context.beginPath();
    context.arc(x, y, size, 0, 2 * Math.PI);
    context.fill();
}

/** Every digit of a tick: of two of them in fewer digits, one may be named as the other. */
const named = (value: number) => (Number.isInteger(value) ? whole(value) : short(value, 12));

/** The grid with its numbers, and the names of both axes. */
function axes(context: CanvasRenderingContext2D, plot: Plot, across: Scale, up: Scale): void {
    const [left, right] = across.ends,
        [bottom, top] = up.ends;
    const line = (x: number, y: number, toX: number, toY: number) => {
        context.moveTo(Math.round(x) + 0.5, Math.round(y) + 0.5);
        context.lineTo(Math.round(toX) + 0.5, Math.round(toY) + 0.5);
    };
    context.strokeStyle = token("hair");
    context.fillStyle = token("soft");
    context.lineWidth = 1;
    context.font = `12px ${token("mono")}`;
    context.beginPath();
    context.textAlign = "center";
    for (const tick of ticksOf(across, 84)) {
        line(across.at(tick), top, across.at(tick), bottom + 5);
        const half = context.measureText(named(tick)).width / 2;
        context.fillText(
            named(tick),
            Math.min(across.at(tick), right + RIGHT - 2 - half),
            bottom + 18,
        );
    }
    context.textAlign = "right";
    for (const tick of ticksOf(up, 40)) {
        line(left - 5, up.at(tick), right, up.at(tick));
        context.fillText(named(tick), left - 8, up.at(tick) + 4);
    }
    context.stroke();
    context.font = `13px ${token("sans")}`;
    context.textAlign = "center";
    context.fillText(plot.xName, (left + right) / 2, bottom + 40);
    context.save();
    context.translate(14, (top + bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(plot.yName, 0, 0);
    context.restore();
}

/** Pixels of the canvas for both axes; the left one is as wide as its numbers. */
function scales(
    plot: Plot,
    range: [number, number] | null,
    width: number,
    height: number,
): [Scale, Scale] {
    const values = plot.curves.map((one) => one.values);
    const up = scaleOf(values, plot.yLog, [height - BOTTOM, TOP], plot.yRange, true);
    const longest = Math.max(...ticksOf(up, 40).map((tick) => named(tick).length), 3);
    return [
        scaleOf(
            [plot.x],
            plot.xLog,
            [NAME + 14 + 7.3 * longest, width - RIGHT],
            range ?? undefined,
        ),
        up,
    ];
}

/** What is drawn of a plot: its scales, the point of the cross (−1: none), a part that is dragged.
 * */
interface Drawn {
    plot: Plot;
    across: Scale;
    up: Scale;
    at: number;
    drag: { from: number; to: number } | null;
}

function cross(context: CanvasRenderingContext2D, { plot, across, up, at }: Drawn): void {
    const x = across.at(plot.x[at]),
        [bottom, top] = up.ends;
    context.strokeStyle = token("soft");
    context.setLineDash([3, 3]);
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, bottom);
    context.stroke();
    context.setLineDash([]);
    for (const curve of plot.curves) dot(context, curve, x, up.at(Number(curve.values[at])), 3.5);
}

function lines(context: CanvasRenderingContext2D, drawn: Drawn): void {
    const { plot, across, up, at, drag } = drawn;
    const [left, right] = across.ends,
        [bottom, top] = up.ends;
    context.save();
    context.beginPath();
    context.rect(left - 4, top - 4, right - left + 8, bottom - top + 8);
    context.clip();
    for (const curve of plot.curves) {
        if (curve.dots)
            Array.from(plot.x, (x, i) =>
                dot(context, curve, across.at(x), up.at(Number(curve.values[i])), 2.5),
            );
        else trace(context, curve, plot.x, across, up);
    }
    if (at >= 0 && at < plot.x.length) cross(context, drawn);
    if (drag) {
        context.fillStyle = token("faint");
        context.globalAlpha = 0.5;
        context.fillRect(drag.from, top, drag.to - drag.from, bottom - top);
    }
    context.restore();
}

/** The point nearest to a place on the canvas; what is at it grows from left to right. */
function nearest({ x: all }: Plot, across: Scale, x: number): number {
    let low = 0,
        high = all.length - 1;
    while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (across.at(all[middle]) < x) low = middle;
        else high = middle;
    }
    return x - across.at(all[low]) < across.at(all[high]) - x ? low : high;
}

const ends = ({ x }: Plot) => `${[x[0], x[x.length - 1]]}`;

class Drawing implements Curves {
    private canvas = h("canvas");
    element = h("div.curves", { tabindex: 0, role: "img" }, this.canvas);
    private drawn?: Drawn;
    private plot?: Plot;
    private frame = 0;
    private range: [number, number] | null = null;
    private watch = new ResizeObserver(() => this.paint());

    constructor(private over: (index: number) => void) {
        const { canvas } = this;
        canvas.addEventListener("pointermove", ({ offsetX }) => this.hovered(offsetX));
        canvas.addEventListener("pointerdown", (event) => {
            if (event.pointerType !== "mouse" || !this.drawn) return;
            this.drawn.drag = { from: event.offsetX, to: event.offsetX };
            canvas.setPointerCapture(event.pointerId);
        });
        canvas.addEventListener("pointerup", () => this.lifted());
        canvas.addEventListener("dblclick", () => {
            this.range = null;
            this.soon();
        });
        canvas.addEventListener("pointerleave", () => this.moved(-1));
        this.element.addEventListener("keydown", (event) => {
            const to = this.keyed(event.key);
            if (to === undefined) return;
            event.preventDefault();
            this.point(to);
        });
        this.watch.observe(this.element);
    }

    draw(next: Plot): void {
        if (this.plot && ends(this.plot) !== ends(next)) this.range = null;
        this.plot = next;
        this.element.setAttribute("aria-label", next.label);
        this.paint();
        // What is written of the point under the cross is of these curves.
        if (this.drawn && this.drawn.at >= 0) this.point(this.drawn.at);
    }

    /** The point that a key leads to, which may be beyond an end. Without a cross, a step shows the
     * first point. */
    private keyed(key: string): number | undefined {
        const at = this.drawn?.at ?? -1,
            step = STEPS[key];
        return step ? (at < 0 ? 0 : at + step) : ENDS[key];
    }

    point(index: number): void {
        if (this.plot) this.moved(Math.max(0, Math.min(this.plot.x.length - 1, index)));
    }

    leave(): void {
        cancelAnimationFrame(this.frame);
        this.watch.disconnect();
    }

    private paint(): void {
        const {
            plot,
            canvas,
            element: { clientWidth: width, clientHeight: height },
        } = this;
        if (!plot || !width) return;
        const ratio = devicePixelRatio,
            context = canvas.getContext("2d")!;
        canvas.width = width * ratio;
        canvas.height = height * ratio;
        context.scale(ratio, ratio);
        context.lineJoin = "round";
        const [across, up] = scales(plot, this.range, width, height);
        this.drawn = { at: -1, drag: null, ...this.drawn, plot, across, up };
        axes(context, plot, across, up);
        lines(context, this.drawn);
    }

    private soon(): void {
        cancelAnimationFrame(this.frame);
        this.frame = requestAnimationFrame(() => this.paint());
    }

    private moved(index: number): void {
        const {
            drawn,
            element: { dataset },
            plot,
        } = this;
        if (!drawn || !plot) return;
        drawn.at = index;
        // Under the cross, as they were answered: tests hold them against the API.
        dataset.index = `${index}`;
        dataset.values = plot.curves.map((one) => one.values[index]).join(" ");
        this.over(index);
        this.soon();
    }

    private hovered(x: number): void {
        if (!this.drawn) return;
        const { plot, across, drag } = this.drawn,
            [left, right] = across.ends;
        if (drag) drag.to = Math.max(left, Math.min(right, x));
        this.moved(nearest(plot, across, x));
    }

    /** The end of a drag: that part alone is shown. */
    private lifted(): void {
        if (!this.drawn) return;
        const { drag, across } = this.drawn;
        if (drag && Math.abs(drag.to - drag.from) > 8)
            this.range = [
                across.from(Math.min(drag.from, drag.to)),
                across.from(Math.max(drag.from, drag.to)),
            ];
        this.drawn.drag = null;
        this.soon();
    }
}

/** `over`: the cross is at a point, or has left (−1). */
export const curves = (over: (index: number) => void = () => {}): Curves => new Drawing(over);

/** Names of curves with their line and, where the cross is, their value. */
export function legend(): { element: HTMLElement; draw(curves: Curve[], index: number): void } {
    const element = h("ul.legend");
    return {
        element,
        draw(curves, index) {
            element.replaceChildren(
                ...curves.map((one) =>
                    h(
                        "li",
                        {},
                        lineSign(one),
                        one.name,
                        index >= 0 && h("output", {}, short(Number(one.values[index]), 6)),
                    ),
                ),
            );
        },
    };
}
