// SPDX-License-Identifier: MIT
// A heat map on a canvas: rows from the top, columns from the left, a colour bar, a cross under the
// pointer or the arrow keys.
import { h, token } from "../dom";
import { short, whole } from "../numbers";
import { colours, css, type Palette } from "./palette";

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
  /** Where a row or column of the picture stands in the whole: names of ticks, and of the cross. */
  rowAt(row: number): number;
  columnAt(column: number): number;
  /** Rows that have a tick; round numbers if absent. */
  rowTicks?: number[];
  /** Words for ticks instead: tokens. */
  names?: string[];
  /** A value beside the colour bar; its shortest digits if absent. */
  show?(value: number): string;
  /** As high as it is wide. */
  square?: boolean;
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

const BOTTOM = 44, TOP = 8, TICK = 72; // TICK: pixels from one to the next
const NARROW = 480, LETTER = 7.4; // px: less room beside the picture; of a word
const SQUARE_MOST = 440, DRAWN_LEAST = 8; // pixels that are a brush and no click

/** Keys that zoom: their part of what is seen, beside the cross for +. */
const PARTS: Record<string, [number, number, number, number]> = {
  "-": [-.5, 1.5, -.5, 1.5], ArrowUp: [-.25, .75, 0, 1], ArrowDown: [.25, 1.25, 0, 1],
  ArrowLeft: [0, 1, -.25, .75], ArrowRight: [0, 1, .25, 1.25],
};

/** Where ticks stand: steps of 1, 2 or 5 that leave room for their numbers. */
function ticks(count: number, size: number, at: (index: number) => number): number[] {
  const most = Math.max(1, size / TICK), span = Math.abs(at(count - 1) - at(0)) || 1;
  const power = 10 ** Math.floor(Math.log10(span / most)), step = [1, 2, 5, 10]
    .map((one) => one * power).find((one) => span / one <= most)!;
  const chosen: number[] = [];
  let last = -1;
  for (let i = 0; i < count; i++) {
    const here = Math.floor(at(i) / Math.max(step, 1e-9) + 1e-9);
    if (here !== last || !i) chosen.push(i);
    last = here;
  }
  return chosen.length > most * 2 + 2 ? [0, count - 1] : chosen;
}

/** `over`: the cross is at a cell, where keys or the pointer took it; `chosen`: it was clicked, or
 * Enter was pressed there; `brushed`: a part was drawn, or null, the whole is wanted again (false: it
 * is seen already). */
export function heatmap(over: (row: number, column: number, keyed: boolean) => void,
                        chosen: (row: number, column: number, shift: boolean) => void = () => {},
                        brushed?: (part: Part | null) => void | boolean): Heatmap {
  let from: { x: number; y: number } | undefined, to = { x: 0, y: 0 };
  const canvas = h("canvas.heat", { tabindex: 0, role: "img" });
  let heat: Heat | undefined, at = { row: 0, column: 0 }, image: ImageBitmap | undefined;

  const named = (value: number) => heat?.show?.(value) ?? short(value, 3);

  /** Room for the words of ticks, and of the colour bar. */
  function sides(): { left: number; right: number } {
    const wide = canvas.clientWidth >= NARROW, longest = (words: string[]) =>
      LETTER * Math.max(...words.map(({ length }) => length));
    if (!heat) return { left: 84, right: 80 };
    const { rowAt, rows, rowTicks = [0, rows - 1], names, low, high } = heat;
    const rooms = names ? 66 : 32 + longest(rowTicks.map((row) => whole(rowAt(row))));
    return { left: Math.max(wide ? 84 : 54, rooms),
      right: Math.max(wide ? 80 : 0, 34 + longest([named(low), named(high)])) };
  }

  function room(): { left: number; width: number; height: number } {
    const { left, right } = sides(), width = canvas.clientWidth - left - right;
    const height = canvas.clientHeight - TOP - BOTTOM;
    const side = Math.min(width, height);
    return heat?.square ? { left, width: side, height: side } : { left, width, height };
  }

  /** Where a cell stands for many, the round number among them. */
  const tickName = (heat: Heat, index: number, at: (index: number) => number) => {
    const value = at(index), next = at(index + 1) - value, power = 10 ** Math.floor(Math.log10(Math.abs(next) || 1) + 1);
    const round = next > 1 && index ? Math.floor(value / power) * power : value;
    return heat.names ? heat.names[index] ?? "" : whole(value - round < next ? round : value);
  };

  function axes(context: CanvasRenderingContext2D, heat: Heat): void {
    const { left, width, height } = room(), every = heat.names?.map((_, i) => i);
    context.fillStyle = token("soft");
    context.font = `12px ${heat.names ? token("sans") : token("mono")}`;
    context.textAlign = "center";
    for (const column of every ?? ticks(heat.columns, width, heat.columnAt))
      context.fillText(tickName(heat, column, heat.columnAt),
        left + (column + .5) / heat.columns * width, TOP + height + 16, every && width / heat.columns - 4);
    context.fillText(heat.columnName, left + width / 2, TOP + height + 36);
    context.textAlign = "right";
    for (const row of every ?? heat.rowTicks ?? ticks(heat.rows, height * 1.4, heat.rowAt))
      context.fillText(tickName(heat, row, heat.rowAt), left - 8,
        TOP + (row + .5) / heat.rows * height + 4, left - 30);
    context.save();
    context.translate(12, TOP + height / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText(heat.rowName, 0, 0);
    context.restore();
  }

  function bar(context: CanvasRenderingContext2D, heat: Heat): void {
    const { left, width, height } = room(), palette = colours(heat.palette), x = left + width + 16;
    for (let i = 0; i < 256; i++) {
      context.fillStyle = css(palette[255 - i]);
      context.fillRect(x, TOP + i / 256 * height, 12, height / 256 + 1);
    }
    context.fillStyle = token("soft");
    context.textAlign = "left";
    for (const [value, y] of [[heat.high, TOP + 10], [heat.low, TOP + height]])
      context.fillText(named(value), x + 16, y);
  }

  async function paint(): Promise<void> {
    if (!heat || !canvas.clientWidth) return;
    const { left: before, right: after } = sides();
    const tall = Math.min(canvas.clientWidth - before - after, SQUARE_MOST) + TOP + BOTTOM;
    canvas.style.height = heat.square ? `${tall}px` : "";
    const ratio = devicePixelRatio, { left, width, height } = room();
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = canvas.clientHeight * ratio;
    const context = canvas.getContext("2d")!;
    context.scale(ratio, ratio);
    context.imageSmoothingEnabled = heat.columns > width * ratio;
    if (image) context.drawImage(image, left, TOP, width, height);
    axes(context, heat);
    bar(context, heat);
    context.strokeStyle = token("ink");
    if (from) context.strokeRect(from.x, from.y, to.x - from.x, to.y - from.y);
  }

  function point(row: number, column: number, keyed = false): void {
    if (!heat) return;
    at = { row: Math.max(0, Math.min(heat.rows - 1, row)), column: Math.max(0, Math.min(heat.columns - 1, column)) };
    // The cell under the cross, as it was answered: tests hold it against the API.
    Object.assign(canvas.dataset, at, { value: `${heat.values[at.row * heat.columns + at.column]}` });
    over(at.row, at.column, keyed);
  }

  /** Where a pointer is, in shares of the picture. */
  function share({ x, y }: { x: number; y: number }): { x: number; y: number } {
    const { left, width, height } = room(), inside = (one: number) => Math.max(0, Math.min(1, one));
    return { x: inside((x - left) / width), y: inside((y - TOP) / height) };
  }

  const here = (event: PointerEvent) => ({ x: event.offsetX, y: event.offsetY });
  const drawn = () => !!from && Math.max(Math.abs(to.x - from.x), Math.abs(to.y - from.y)) > DRAWN_LEAST;

  /** The end of a brush; without one it was a click. */
  function brush(event: PointerEvent): void {
    if (from && drawn()) {
      const [one, other] = [share(from), share(to)];
      brushed!({ top: Math.min(one.y, other.y), bottom: Math.max(one.y, other.y),
        left: Math.min(one.x, other.x), right: Math.max(one.x, other.x) });
    } else if (event.type === "pointerup") {
      chosen(at.row, at.column, event.shiftKey);
    }
    from = undefined;
    void paint();
  }

  canvas.addEventListener("pointermove", (event) => {
    const { left, width, height } = room();
    if (heat && !drawn())
      point(Math.floor((event.offsetY - TOP) / height * heat.rows),
            Math.floor((event.offsetX - left) / width * heat.columns));
    to = here(event);
    if (from) void paint();
  });
  canvas.addEventListener("pointerdown", (event) => {
    if (!brushed) return;
    from = to = here(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", brush);
  canvas.addEventListener("pointercancel", () => { from = undefined; void paint(); });
  canvas.addEventListener("dblclick", () => brushed?.(null));

  /** Whether a key zooms, or moves what is seen. */
  function zooms(event: KeyboardEvent): boolean {
    if (!brushed || !heat) return false;
    const part = event.shiftKey || event.key === "-" ? PARTS[event.key] : undefined;
    if (part) {
      const [top, bottom, left, right] = part;
      brushed({ top, bottom, left, right });
    } else if (event.key === "+" || event.key === "=") {
      const middle = (index: number, count: number) => Math.max(.25, Math.min(.75, (index + .5) / count));
      const y = middle(at.row, heat.rows), x = middle(at.column, heat.columns);
      brushed({ top: y - .25, bottom: y + .25, left: x - .25, right: x + .25 });
    } else if (event.key === "Escape") {
      return !!brushed(null);
    } else {
      return false;
    }
    return true;
  }

  canvas.addEventListener("keydown", (event) => {
    if (zooms(event)) {
      event.stopPropagation();
      return event.preventDefault();
    }
    const step = event.shiftKey ? 10 : 1;
    const [down, right] = ({ ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] } as
      Record<string, number[]>)[event.key] ?? [0, 0];
    if (event.key === "Enter") chosen(at.row, at.column, event.shiftKey);
    if (!down && !right) return;
    event.preventDefault();
    point(at.row + down * step, at.column + right * step, true);
  });
  new ResizeObserver(paint).observe(canvas);

  return {
    element: canvas,
    async draw(next) {
      heat = next.rows && next.columns ? next : undefined;
      if (!heat) return canvas.getContext("2d")!.clearRect(0, 0, canvas.width, canvas.height);
      canvas.setAttribute("aria-label", next.label);
      const palette = colours(next.palette), scale = 255 / (next.high - next.low || 1);
      const pixels = new Uint32Array(next.rows * next.columns);
      for (let i = 0; i < pixels.length; i++)
        pixels[i] = palette[Math.max(0, Math.min(255, Math.round((next.values[i] - next.low) * scale)))];
      image = await createImageBitmap(new ImageData(new Uint8ClampedArray(pixels.buffer), next.columns, next.rows));
      await paint();
    },
  };
}
