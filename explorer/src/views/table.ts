// SPDX-License-Identifier: MIT
// A table as a heat map: every encoding, every number under the pointer.
import { get, Lane, type Ask, type Tensor } from "../api";
import { h } from "../dom";
import { numeric, select, slider } from "../kit/controls";
import { failure } from "../kit/failure";
import { heatmap } from "../kit/heatmap";
import { exact, whole } from "../numbers";
import type { App, Mounted, View } from "../view";
import { t } from "../words";

const CELLS = 512; // of a picture, each way

interface Choice {
  encoding: string;
  dim: string;
  length: number;
}

function chosen(app: App): Choice {
  const { encoding = "sinusoidal", dim = "128", length = "100" } = app.state.params;
  return { encoding, dim, length: +length };
}

/** The state's own parameters go along: base, spacing and what else an encoding takes. */
function asked(app: App): Ask {
  const { encoding, ...rest } = app.state.params, { dim, length } = chosen(app);
  return get(`/v1/encodings/${encoding ?? "sinusoidal"}/table`, { ...rest, dim, length });
}

const pooled = (ask: Ask): Ask =>
  ({ ...ask, target: `${ask.target}&pool=mean&rows=${CELLS}&columns=${CELLS}` });

function mount(stage: HTMLElement, app: App): Mounted {
  const lane = new Lane(), told = h("p.cell", { "aria-live": "off" }), wrong = h("div");
  let shown: Tensor | undefined;
  const map = heatmap((row, column) => {
    if (shown) told.textContent = `${t("position", "位置")} ${row}, ${t("column", "列")} ${column}: ` +
      exact(Number(shown.data[row * shown.shape[1] + column]));
  });
  const { encoding, dim, length } = chosen(app);
  stage.append(
    h("div.controls", {},
      select(t("encoding", "编码"), { sinusoidal: "sinusoidal", rope: "rope" }, encoding,
        (encoding) => app.go({ encoding })),
      numeric("dim", dim, (dim) => app.go({ dim })),
      slider({ label: t("length", "长度"), min: 2, max: 65536, log: true, value: length, show: whole,
        change: (length) => app.go({ length }) })),
    h("div.panel", {}, map.element), told, wrong);

  function draw(tensors: Record<string, Tensor>): void {
    const [first] = Object.values(tensors), [rows, columns] = first.shape;
    shown = first;
    wrong.replaceChildren();
    map.draw({
      rows, columns, values: first.data as Float32Array, low: -1, high: 1, palette: "rdbu",
      rowName: t("position", "位置"), columnName: t("column", "列"),
      rowAt: (row) => row * chosen(app).length / rows, columnAt: (column) => column,
      label: t("table", "表"),
    });
  }

  function update(): void {
    const ask = asked(app);
    app.shows([{ title: t("table", "表"), ask, formats: ["svg", "npy"] }]);
    lane.run((signal) => app.api.ask<Record<string, Tensor>>(pooled(ask), signal), draw,
      (error) => wrong.replaceChildren(failure(error)));
  }
  update();
  return { update, leave: () => lane.stop() };
}

export const table: View = {
  name: "table",
  door: "inspect",
  title: () => t("A table, number by number", "逐个数看编码表"),
  lead: () => t("Each row is a position, each column a coordinate.", "每一行是一个位置，每一列是一个坐标。"),
  mount,
};
