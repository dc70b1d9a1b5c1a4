// SPDX-License-Identifier: MIT
// Curves over one axis, by uPlot: a cross under the pointer or the arrow keys, and the values there.
import uPlot from "uplot";
import "../style/curves.css";
import "uplot/dist/uPlot.min.css";
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

/** Distances of logarithmic ticks that leave no two of them over each other. */
const powers = (_: uPlot, ticks: (number | null)[]) => ticks.map((value) =>
  value === null || Math.log10(Math.abs(value)) % 1 ? null : value);

/** What is no number is a gap. */
const gaps = (values: ArrayLike<number>) =>
  Array.from(values, (one) => Number.isFinite(one) ? one : null);

function axis(name: string, log: boolean | undefined): uPlot.Axis {
  return {
    label: name, labelSize: 22, gap: 4,
    size: (_, ticks) => Math.max(44, 14 + 7.3 * Math.max(0, ...(ticks ?? []).map((tick) => tick?.length ?? 0))),
    font: `12px ${token("mono")}`, labelFont: `13px ${token("sans")}`,
    stroke: token("soft"), grid: { stroke: token("hair"), width: 1, ...(log ? { filter: powers } : {}) },
    ticks: { stroke: token("faint"), width: 1, ...(log ? { filter: powers } : {}) },
    ...(log ? { filter: powers } : {}),
    values: (_, ticks) => ticks.map((tick) =>
      tick === null ? "" : Number.isInteger(tick) ? whole(tick) : short(tick, 3)),
  };
}

function series(curve: Curve): uPlot.Series {
  const stroke = token(curve.colour);
  return {
    label: curve.name, stroke, width: curve.dots ? 0 : curve.width ?? 1.8, dash: curve.dash,
    points: { show: !!curve.dots, size: 5, fill: stroke },
    ...(curve.steps ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {}),
  };
}

/** `over`: the cross is at a point, or has left (-1). */
export function curves(over: (index: number) => void = () => {}): Curves {
  const element = h("div.curves", { tabindex: 0, role: "img" });
  let plot: Plot | undefined, drawn: uPlot | undefined, shape = "", at = -1;

  const size = () => ({ width: element.clientWidth, height: element.clientHeight });

  function options(plot: Plot): uPlot.Options {
    const side = axis(plot.xName, plot.xLog);
    return {
      ...size(), padding: [8, 28, 0, 0],
      scales: {
        x: { time: false, distr: plot.xLog ? 3 : 1 },
        y: { distr: plot.yLog ? 3 : 1, ...(plot.yRange ? { range: plot.yRange } : {}) },
      },
      axes: [{ ...side, size: 34, space: 84 }, axis(plot.yName, plot.yLog)],
      series: [{ label: plot.xName }, ...plot.curves.map(series)],
      legend: { show: false },
      cursor: { drag: { x: true, y: false }, points: { size: 7 } },
      hooks: {
        setCursor: [(self) => {
          at = self.cursor.idx ?? -1;
          // Under the cross, as they were answered: tests hold them against the API.
          element.dataset.index = `${at}`;
          element.dataset.values = plot!.curves.map((one) => one.values[at]).join(" ");
          over(at);
        }],
      },
    };
  }

  /** What a drawing cannot change once it stands. */
  const shapeOf = (plot: Plot) => JSON.stringify([plot.xName, plot.yName, plot.xLog, plot.yLog,
    plot.yRange, token("ink"), plot.curves.map(({ values: _, ...rest }) => rest)]);

  function draw(next: Plot): void {
    plot = next;
    element.setAttribute("aria-label", next.label);
    if (!element.clientWidth) return;
    const data = [next.x, ...next.curves.map((one) => gaps(one.values))] as unknown as uPlot.AlignedData;
    if (drawn && shape === shapeOf(next)) return drawn.setData(data);
    drawn?.destroy();
    shape = shapeOf(next);
    drawn = new uPlot(options(next), data, element);
  }

  function point(index: number): void {
    if (!drawn || !plot) return;
    const to = Math.max(0, Math.min(plot.x.length - 1, index));
    drawn.setCursor({ left: drawn.valToPos(plot.x[to], "x"), top: drawn.bbox.height / devicePixelRatio / 2 });
  }

  element.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageDown: -20, PageUp: 20 }[event.key];
    if (!step) return;
    event.preventDefault();
    point(Math.max(0, at) + step);
  });
  const watch = new ResizeObserver(() => {
    if (drawn && element.clientWidth) drawn.setSize(size());
    else if (plot) draw(plot);
  });
  watch.observe(element);

  return {
    element, draw, point,
    leave() {
      watch.disconnect();
      drawn?.destroy();
    },
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
