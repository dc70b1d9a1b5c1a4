// SPDX-License-Identifier: MIT
// PE(t + Δ) = T PE(t): the map of a shift, both sides, and what is left between them.
import { get, Lane, type Tensor } from "../../api";
import { h } from "../../dom";
import { slider } from "../../kit/controls";
import { curves, legend, type Curve } from "../../kit/curves";
import { failure } from "../../kit/failure";
import { heatmap } from "../../kit/heatmap";
import { exact, short, whole } from "../../numbers";
import type { App, Shown } from "../../view";
import { t } from "../../words";
import type { Source } from "./source";

const SHOWN = 8,
  FAR = 1024; // blocks of the picture; positions

type Tensors = Record<"blocks" | "left" | "right" | "residual", Tensor>;

const numbers = (tensor: Tensor) => tensor.data as Float32Array;

/** Blocks along the diagonal, zeros elsewhere. */
function matrix(blocks: Float32Array, pairs: number): Float32Array {
  const size = 2 * pairs,
    values = new Float32Array(size * size);
  for (let pair = 0; pair < pairs; pair++)
    for (let i = 0; i < 4; i++)
      values[(2 * pair + (i >> 1)) * size + 2 * pair + (i % 2)] = blocks[4 * pair + i];
  return values;
}

export function shift(app: App, changed: (shown: Shown[]) => void) {
  const lane = new Lane(),
    knobs = h("div.controls"),
    words = h("p.verdict"),
    told = h("p.cell"),
    wrong = h("div");
  const sides = legend(),
    rest = legend();
  let values: Float32Array,
    size = 0,
    drawn: Curve[] = [],
    off: Curve[] = [];
  const map = heatmap((row, column, keyed) => {
    told.textContent = `T[${row}, ${column}] = ${exact(values[row * size + column])}`;
    if (keyed) app.say(told.textContent);
  });
  const both = curves((index) => sides.draw(drawn, index)),
    residual = curves((index) => rest.draw(off, index));
  const box = h(
    "section.panel.under.shift",
    {},
    h("h2", {}, t("A shift is a linear map", "平移是线性变换")),
    knobs,
    words,
    h(
      "div.maps",
      {},
      h("div", {}, map.element, told),
      h("div", {}, sides.element, both.element, rest.element, residual.element),
    ),
    wrong,
  );
  const button = h(
    "button.chip",
    { type: "button", onclick: () => app.go({ position: 3, delta: 5 }, "push") },
    t("T_Δ: what a shift does", "T_Δ：平移做了什么"),
  );

  const asked = ({ entry, params }: Source) => {
    const operation = entry.operations.find(({ name }) => name === "shift");
    return (
      operation
      && get(operation.href, {
        ...Object.fromEntries(
          Object.entries(params).filter(([name]) => name in entry.parameters.properties),
        ),
        position: app.state.params.position,
        delta: app.state.params.delta,
      })
    );
  };

  function draw({ blocks, left, right, residual: remains }: Tensors): void {
    const pairs = Math.min(SHOWN, blocks.shape[0]),
      worst = numbers(remains).reduce((most, one) => Math.max(most, Math.abs(one)), 0);
    const { position = "0", delta = "0" } = app.state.params,
      [a, b, c, d] = numbers(blocks);
    size = 2 * pairs;
    values = matrix(numbers(blocks), pairs);
    wrong.replaceChildren();
    words.textContent = t(
      `PE(${+position + +delta}) = T · PE(${position}): pair 0 goes by [${short(a)} ${short(b)}; ${short(c)} ${short(d)}], which Δ = ${delta} alone decides. In float32 the two sides differ by at most ${short(worst, 3)}.`,
      `PE(${+position + +delta}) = T · PE(${position})：第 0 对乘以 [${short(a)} ${short(b)}; ${short(c)} ${short(d)}]，只由 Δ = ${delta} 决定。float32 下两边最多相差 ${short(worst, 3)}。`,
    );
    map.draw({
      rows: size,
      columns: size,
      values,
      low: -1,
      high: 1,
      palette: "rdbu",
      square: true,
      rowName: t("to", "到"),
      columnName: t(
        `from (the first ${pairs} of ${blocks.shape[0]} pairs)`,
        `从（${blocks.shape[0]} 对中的前 ${pairs} 对）`,
      ),
      rowAt: (row) => row,
      columnAt: (column) => column,
      label: words.textContent,
    });
    const x = Float64Array.from(numbers(left), (_, i) => i),
      xName = t("column", "列");
    drawn = [
      { name: `PE(${+position + +delta})`, values: numbers(left), colour: "turn" },
      { name: `T · PE(${position})`, values: numbers(right), colour: "slow", dots: true },
    ];
    off = [{ name: t("residual", "残差"), values: numbers(remains), colour: "bad", dash: [6, 4] }];
    sides.draw(drawn, -1);
    rest.draw(off, -1);
    both.draw({
      x,
      curves: drawn,
      xName,
      yName: t("value", "值"),
      yRange: [-1.1, 1.1],
      label: words.textContent,
    });
    residual.draw({ x, curves: off, xName, yName: t("residual", "残差"), label: off[0].name });
  }

  return {
    box,
    button,
    update(source: Source): void {
      const ask = asked(source),
        on = !!ask && app.state.params.delta !== undefined;
      button.hidden = !ask || on;
      box.hidden = !on;
      changed(on ? [{ title: "T_Δ", ask: ask!, formats: ["svg"] }] : []);
      if (!on) return lane.stop();
      const { position = "0", delta = "0" } = app.state.params;
      if (!knobs.contains(document.activeElement))
        knobs.replaceChildren(
          slider({
            label: "t",
            min: 0,
            max: FAR,
            value: +position,
            show: whole,
            change: (position) => app.go({ position }),
          }),
          slider({
            label: "Δ",
            min: -FAR,
            max: FAR,
            value: +delta,
            show: whole,
            change: (delta) => app.go({ delta }),
          }),
          h(
            "button.chip",
            {
              type: "button",
              onclick: () => app.go({ position: undefined, delta: undefined }, "push"),
            },
            t("close", "关闭"),
          ),
        );
      lane.run(
        (signal) => app.api.ask<Tensors>(ask!, signal),
        draw,
        (error) => wrong.replaceChildren(failure(error)),
      );
    },
    leave(): void {
      lane.stop();
      both.leave();
      residual.leave();
    },
  };
}
