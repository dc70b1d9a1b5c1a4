// SPDX-License-Identifier: MIT
// Curves over one axis, on a canvas: a cross under the pointer or the arrow keys, and the values
// there. A line is thinned to what a pixel can show: its lowest and its highest value.
import "../style/curves.css";
import { h, token } from "../dom";
import { short, whole } from "../numbers";

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

/** From numbers to pixels, and back. */
interface Scale {
  low: number;
  high: number;
  log: boolean;
  from: number;
  size: number;
}

const LEFT = 68, RIGHT = 20, TOP = 10, BOTTOM = 44, TICK = { x: 84, y: 40 };

const inside = (scale: Scale, value: number) => scale.log ? Math.log10(value) : value;

function place(scale: Scale, value: number): number {
  const low = inside(scale, scale.low), high = inside(scale, scale.high);
  return scale.from + (inside(scale, value) - low) / (high - low || 1) * scale.size;
}

/** Round numbers: steps of 1, 2 or 5, or powers of ten. */
function ticks(scale: Scale, room: number): number[] {
  const most = Math.max(2, Math.abs(scale.size) / room), found: number[] = [];
  if (scale.log) {
    const low = Math.ceil(Math.log10(scale.low) - 1e-9), high = Math.floor(Math.log10(scale.high) + 1e-9);
    const step = Math.max(1, Math.ceil((high - low) / most));
    for (let power = low; power <= high; power += step) found.push(10 ** power);
    return found;
  }
  const rough = (scale.high - scale.low) / most, power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? 1;
  for (let i = Math.ceil(scale.low / step - 1e-9); i * step <= scale.high + step * 1e-9; i++)
    found.push(+(i * step).toPrecision(12));
  return found;
}

/** The ends of what is drawn; a logarithm begins above zero. */
function ends(lists: ArrayLike<number>[], log: boolean | undefined): [number, number] {
  let low = Infinity, high = -Infinity;
  for (const list of lists) for (let i = 0; i < list.length; i++) {
    const value = Number(list[i]);
    if (!Number.isFinite(value) || (log && value <= 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return log ? [0.1, 1] : [0, 1];
  return low === high ? (log ? [low / 2, low * 2] : [low - 1, high + 1]) : [low, high];
}

/** Room above and below, up to round numbers where that is near. */
function loose([low, high]: [number, number], log: boolean | undefined): [number, number] {
  if (log) return [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high))];
  const room = (high - low) * .04;
  return [low < 0 || low > room ? low - room : low, high + room];
}

const named = (value: number) => Number.isInteger(value) && Math.abs(value) < 1e9 ? whole(value) : short(value, 3);

class Drawing {
  readonly x: Scale;
  readonly y: Scale;

  constructor(private context: CanvasRenderingContext2D, private plot: Plot, readonly width: number,
              readonly height: number) {
    const [xLow, xHigh] = ends([plot.x], plot.xLog);
    const [yLow, yHigh] = plot.yRange ?? loose(ends(plot.curves.map((one) => one.values), plot.yLog), plot.yLog);
    this.x = { low: xLow, high: xHigh, log: !!plot.xLog, from: LEFT, size: width - LEFT - RIGHT };
    this.y = { low: yLow, high: yHigh, log: !!plot.yLog, from: height - BOTTOM, size: TOP + BOTTOM - height };
  }

  private line(x: number, y: number, toX: number, toY: number): void {
    this.context.beginPath();
    this.context.moveTo(Math.round(x) + .5, Math.round(y) + .5);
    this.context.lineTo(Math.round(toX) + .5, Math.round(toY) + .5);
    this.context.stroke();
  }

  axes(): void {
    const { context, plot, width, height } = this, bottom = height - BOTTOM;
    context.font = `12px ${token("mono")}`;
    context.strokeStyle = token("hair");
    context.fillStyle = token("soft");
    context.textAlign = "center";
    for (const tick of ticks(this.x, TICK.x)) {
      const at = place(this.x, tick), text = named(tick), half = context.measureText(text).width / 2;
      this.line(at, TOP, at, bottom);
      context.fillText(text, Math.min(at, width - half), bottom + 18);
    }
    context.textAlign = "right";
    for (const tick of ticks(this.y, TICK.y)) {
      const at = place(this.y, tick);
      this.line(LEFT, at, width - RIGHT, at);
      context.fillText(named(tick), LEFT - 8, at + 4);
    }
    context.font = `13px ${token("sans")}`;
    context.textAlign = "center";
    context.fillText(plot.xName, LEFT + this.x.size / 2, height - 6);
    context.save();
    context.translate(12, TOP - this.y.size / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(plot.yName, 0, 0);
    context.restore();
  }

  /** One path; what is no number is a gap. */
  private path(curve: Curve): void {
    const { context, plot } = this;
    let column = NaN, low = 0, high = 0, last = 0, open = false;
    const flush = () => {
      if (Number.isNaN(column)) return;
      context.lineTo(column, low);
      context.lineTo(column, high);
      context.lineTo(column, last);
      column = NaN;
    };
    context.beginPath();
    for (let i = 0; i < plot.x.length; i++) {
      const at = place(this.x, plot.x[i]), y = place(this.y, Number(curve.values[i])), pixel = Math.round(at * 2) / 2;
      if (!Number.isFinite(y)) {
        flush();
        open = false;
      } else if (!open) {
        context.moveTo(at, y);
        open = true;
        last = y;
      } else if (curve.steps) {
        context.lineTo(at, last);
        context.lineTo(at, y);
        last = y;
      } else if (pixel === column) {
        [low, high, last] = [Math.min(low, y), Math.max(high, y), y];
      } else {
        flush();
        [column, low, high, last] = [pixel, y, y, y];
      }
    }
    flush();
    context.stroke();
  }

  curve(curve: Curve): void {
    const { context, plot } = this;
    context.save();
    context.beginPath();
    context.rect(LEFT, TOP - 4, this.x.size, 8 - this.y.size);
    context.clip();
    context.strokeStyle = context.fillStyle = token(curve.colour);
    context.lineWidth = curve.width ?? 1.8;
    context.lineJoin = "round";
    context.setLineDash(curve.dash ?? []);
    if (!curve.dots) this.path(curve);
    for (let i = 0; curve.dots && i < plot.x.length; i++) this.dot(plot.x[i], Number(curve.values[i]), 2.5);
    context.restore();
  }

  private dot(x: number, y: number, radius: number): void {
    if (!Number.isFinite(place(this.y, y))) return;
    this.context.beginPath();
    this.context.arc(place(this.x, x), place(this.y, y), radius, 0, 7);
    this.context.fill();
  }

  cross(index: number): void {
    const { context, plot } = this, at = place(this.x, plot.x[index]);
    context.strokeStyle = token("soft");
    context.setLineDash([2, 3]);
    this.line(at, TOP, at, this.height - BOTTOM);
    context.setLineDash([]);
    for (const curve of plot.curves) {
      context.fillStyle = token(curve.colour);
      this.dot(plot.x[index], Number(curve.values[index]), 4);
    }
  }

  /** The point nearest to a place of the picture. */
  nearest(pixel: number): number {
    let best = 0, distance = Infinity;
    for (let i = 0; i < this.plot.x.length; i++) {
      const away = Math.abs(place(this.x, this.plot.x[i]) - pixel);
      if (away < distance) [best, distance] = [i, away];
    }
    return best;
  }
}

/** `over`: the cross is at a point, or has left (-1). */
export function curves(over: (index: number) => void = () => {}): Curves {
  const canvas = h("canvas.curves", { tabindex: 0, role: "img" });
  let plot: Plot | undefined, drawing: Drawing | undefined, at = -1;

  function paint(): void {
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (!plot || !width) return;
    canvas.width = width * devicePixelRatio;
    canvas.height = height * devicePixelRatio;
    const context = canvas.getContext("2d")!;
    context.scale(devicePixelRatio, devicePixelRatio);
    drawing = new Drawing(context, plot, width, height);
    drawing.axes();
    for (const curve of plot.curves) drawing.curve(curve);
    if (at >= 0 && at < plot.x.length) drawing.cross(at);
  }

  function point(index: number): void {
    if (!plot) return;
    at = index < 0 ? -1 : Math.min(plot.x.length - 1, index);
    paint();
    // Under the cross, as they were answered: tests hold them against the API.
    canvas.dataset.index = `${at}`;
    canvas.dataset.values = plot.curves.map((one) => one.values[at]).join(" ");
    over(at);
  }

  canvas.addEventListener("pointermove", (event) => drawing && point(drawing.nearest(event.offsetX)));
  canvas.addEventListener("pointerleave", () => point(-1));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageDown: -20, PageUp: 20 }[event.key];
    if (!step) return;
    event.preventDefault();
    point(Math.max(0, at + step));
  });
  const watch = new ResizeObserver(paint);
  watch.observe(canvas);
  return {
    element: canvas,
    draw(next) {
      plot = next;
      canvas.setAttribute("aria-label", next.label);
      paint();
    },
    point,
    leave: () => watch.disconnect(),
  };
}

/** Names of curves with their line and, where the cross is, their value. */
export function legend(): { element: HTMLElement; draw(curves: Curve[], index: number): void } {
  const element = h("ul.legend");
  return {
    element,
    draw(curves, index) {
      element.replaceChildren(...curves.map((one) => {
        const line = h("i", { class: one.dash ? "dashed" : one.dots ? "dotted" : undefined });
        line.style.color = `var(--${one.colour})`;
        return h("li", {}, line, one.name,
          index >= 0 && h("output", {}, short(Number(one.values[index]), 6)));
      }));
    },
  };
}
