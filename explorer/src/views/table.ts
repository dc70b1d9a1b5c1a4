// SPDX-License-Identifier: MIT
// A table as a heat map: every encoding, and files of one's own; every number under the pointer.
import { get, Lane, type Params, type Tensor } from "../api";
import { h } from "../dom";
import { choice, renew, select } from "../kit/controls";
import { failure } from "../kit/failure";
import { heatmap, type Part } from "../kit/heatmap";
import { exact, short, whole } from "../numbers";
import type { App, Mounted, Shown, View } from "../view";
import { t } from "../words";
import { tensors } from "./diagnosis/picture";
import { between } from "./table/between";
import { lines, pick } from "./table/lines";
import { controls } from "./table/parameters";
import { ends, picture, type Picture } from "./table/picture";
import { shift } from "./table/shift";
import { isPosted, one, request, shown, source, type Entry, type Own, type Request, type Source, type Span }
  from "./table/source";
import { columnName, formula, place, rowName, waves, type Waves } from "./table/words";
import "../style/table.css";

const REST_MS = 220;

/** A part of the whole, as positions are written: 16..47, both ends inside. */
function span(text: string | undefined): Span | null {
  const found = /^(\d+)\.\.(\d+)$/.exec(text ?? "");
  return found && +found[2] >= +found[1] ? [+found[1], +found[2] + 1] : null;
}

const written = ([from, to]: Span) => `${from}..${to - 1}`;

interface Seen {
  entries: Entry[];
  source: Source;
  request: Request;
  picture: Picture;
  waves?: Waves;
}

const pools = (): Record<string, string> => ({ mean: t("mean", "平均值"), min: t("least", "最小值"),
  max: t("largest", "最大值"), minmax: t("least and largest", "最小值和最大值") });

const pooling = (params: Params) => /^(mean|min|max|minmax)$/.test(params.pool) ? params.pool : "mean";

/** The encodings that can be seen here, and stored tables. */
async function entriesOf(app: App, signal: AbortSignal): Promise<Entry[]> {
  const { encodings } = await app.api.ask<{ encodings: Entry[] }>(get("/v1/encodings"), signal);
  const all = encodings.filter((entry) => shown(entry).length), name = app.state.params.encoding;
  return !name || all.some((entry) => entry.name === name) ? all
    : [...all, await app.api.ask<Entry>(get(`/v1/encodings/${encodeURIComponent(name)}`), signal)];
}

/** A table to begin with, where none was dropped. */
async function sample(app: App, entry: Entry, signal: AbortSignal): Promise<Own> {
  const length = entry.name === "hierarchical" ? 16 : 64;
  return { name: "", tensors: await app.api.ask(
    get("/v1/encodings/sinusoidal/table", { dim: 64, length }), signal) };
}

async function ask(app: App, own: Own | undefined, signal: AbortSignal): Promise<Seen> {
  const { params } = app.state, entries = await entriesOf(app, signal);
  const entry = entries.find(({ name }) => name === (params.encoding ?? "sinusoidal"))!;
  const learned = "table" in entry.parameters.properties && isPosted(params);
  const meant = source(app, entry, learned ? own ?? await sample(app, entry, signal) : { name: "", tensors: {} });
  const rows = span(params.rows), columns = span(params.columns);
  const asked = request(meant, rows, columns, pooling(params), !!(params.plot_rows || params.plot_columns));
  const wave = waves(meant);
  const [answer, told] = await Promise.all([
    app.api.ask<Record<string, Tensor>>(asked.ask, signal),
    wave && app.api.ask<Waves>(wave, signal),
  ]);
  return { entries, source: meant, request: asked, waves: told,
    picture: picture(meant, asked, answer, rows, columns, +(params.head ?? 0)) };
}

/** What a cell stands for: a row and a column of the whole, or so many of them. */
function cell({ picture: { down, across, rows, columns } }: Seen, row: number, column: number) {
  const part = ([from, to]: Span, at: number, count: number): Span =>
    [from + Math.floor(at * (to - from) / count), from + Math.ceil((at + 1) * (to - from) / count)];
  return { down: part(down, row, rows), across: part(across, column, columns) };
}

const range = ([from, to]: Span, name: (index: number) => number) =>
  to - from > 1 ? `${whole(name(from))} … ${whole(name(to - 1))}` : short(name(from), 9);

function mount(stage: HTMLElement, app: App): Mounted {
  const lane = new Lane(), rest = new Lane(), knobs = h("div.controls"), words = h("p.note");
  const more = h("details.more"), few = h("div.explained"), told = h("p.cell"), formed = h("p.cell"), wrong = h("div");
  const keys = h("p.note"), tools = h("div.controls.tools"), maps = h("div.maps");
  const below = lines(app);
  let seen: Seen | undefined, own: Own | undefined, timer = 0, also: Shown[] = [], way = "plot_columns";
  const shifts = shift(app, (list) => { also = list; });
  const input = h("input", { type: "file", hidden: true, accept: ".safetensors,.npy",
    onchange: () => void take([...input.files ?? []]) });
  const parts: ReturnType<typeof heatmap>[] = [];
  more.append(h("summary", {}, t("more parameters", "更多参数")), few);
  stage.append(knobs, more, words, h("div.panel", {}, maps, told, formed, tools, keys, wrong),
    ...below.elements, shifts.box, input);

  /** The value itself of a cell that stands for many. */
  function exactly(row: number, column: number, layer: number, name: string): void {
    const own = one(seen!.source, row);
    if (own) rest.run((signal) => app.api.ask<Record<string, Tensor>>(own, signal), (answer) => {
      const found = Object.entries(answer).find(([key]) => key === name.replace(/_(min|max)$/, "")) ?? Object.entries(answer)[layer];
      told.textContent += t(`; position ${short(place(seen!.source, row), 9)} itself: `, `；其中位置 ${short(place(seen!.source, row), 9)} 的值：`) +
        exact(Number(found[1].data[seen!.picture.heads > 1 ? +(app.state.params.head ?? 0) * found[1].shape.at(-1)! + column : column]));
    }, () => {});
  }

  function over(layer: number, row: number, column: number, keyed: boolean): void {
    if (!seen) return;
    const { source: meant, picture: now, request: asked } = seen, at = cell(seen, row, column);
    const { name, values } = now.layers[layer], value = values[row * now.columns + column];
    const many = at.down[1] - at.down[0] > 1 || at.across[1] - at.across[0] > 1;
    const middle = (at.down[0] + at.down[1]) >> 1;
    clearTimeout(timer);
    rest.stop();
    told.textContent = `${now.layers.length > 1 ? `${name}: ` : ""}${rowName(meant)} ${range(at.down, (i) => place(meant, i))}, ` +
      `${columnName(meant, meant.params)} ${range(at.across, (i) => i)}: ` +
      (many ? `${pools()[pooling(app.state.params)]} ${asked.bytewise ? "≈ " : ""}${short(value, asked.bytewise ? 2 : 7)}` : exact(Number(value)));
    formed.textContent = formula(meant, seen.waves, name, middle, at.across[0]);
    if (keyed) app.say(`${told.textContent}. ${formed.textContent}`);
    if (many) timer = window.setTimeout(() => exactly(middle, at.across[0], layer, name), REST_MS);
  }

  function chosen(row: number, column: number, shifted: boolean): void {
    if (!seen) return;
    const at = cell(seen, row, column), rows = (way === "plot_rows") !== shifted;
    pick(app, rows ? "plot_rows" : "plot_columns", rows ? at.down[0] : at.across[0]);
  }

  /** A part of what is seen, or all of it, becomes what is seen. */
  function brushed(part: Part | null): boolean {
    const { rows, columns } = app.state.params;
    if (!seen || (!part && !rows && !columns)) return false;
    if (!part) {
      app.go({ rows: undefined, columns: undefined }, "push");
      return true;
    }
    const { down, across, all } = seen.picture;
    const cut = ([from, to]: Span, low: number, high: number, count: number): string | undefined => {
      const size = Math.max(1, Math.min(count, Math.round((high - low) * (to - from))));
      const begin = Math.max(0, Math.min(count - size, Math.floor(from + low * (to - from))));
      return size === count ? undefined : written([begin, begin + size]);
    };
    app.go({ rows: cut(down, part.top, part.bottom, all.rows),
      columns: cut(across, part.left, part.right, all.columns) }, "push");
    return true;
  }

  function note({ source: meant, picture: now, request: asked }: Seen): string {
    const many = (now.down[1] - now.down[0]) / now.rows, wide = (now.across[1] - now.across[0]) / now.columns;
    const told = [];
    if (meant.bytes && !own) told.push(app.state.params.file
      ? t(`The link names ${app.state.params.file}, which is not in it: drop that file here. Until then a sinusoidal table stands in.`, `链接提到 ${app.state.params.file}，但文件不在链接里：请拖到这里。此处暂用正弦编码表代替。`)
      : t("Drop a .npy or .safetensors file. Until then a sinusoidal table stands in.", "请拖入 .npy 或 .safetensors 文件；此处暂用正弦编码表代替。"));
    if (meant.bytes && own) told.push(t(`${own.name} is posted for this picture and stored nowhere.`, `${own.name} 仅用于绘制本图，不会保存。`));
    if (asked.pooled) told.push(t(
      `Each cell stands for ${short(many, 3)} rows${wide > 1 ? ` and ${short(wide, 3)} columns` : ""}: their ${pools()[pooling(app.state.params)]}. Zoom in for every number.`,
      `每个格子代表 ${short(many, 3)} 行${wide > 1 ? ` × ${short(wide, 3)} 列` : ""}的${pools()[pooling(app.state.params)]}。放大可看到每个数。`));
    return told.join(" ");
  }

  function settings({ source: meant, picture: now, entries, request: asked }: Seen): void {
    const { front, more: others } = controls(app, meant), names = Object.keys(own?.tensors ?? {});
    renew(knobs, [
      select(t("encoding", "编码"), Object.fromEntries(entries.map(({ name }) => [name, name])), meant.entry.name,
        (encoding) => app.go({ ...Object.fromEntries(Object.keys(app.state.params).map((name) => [name, undefined])),
          file: own?.name, tensor: app.state.params.tensor, encoding }, "push")),
      ...meant.bytes && names.length > 1 ? [select("tensor", Object.fromEntries(names.map((name) => [name, name])),
        app.state.params.tensor ?? names[0], (tensor) => app.go({ tensor, length: undefined }, "push"))] : [],
      ...now.heads > 1 ? [select(t("head", "注意力头"), Object.fromEntries(Array.from({ length: now.heads }, (_, i) => [i, `${i + 1}`])),
        app.state.params.head ?? "0", (head) => app.go({ head }, "push"))] : [],
      ...front]);
    few.replaceChildren(...few.contains(document.activeElement) ? [...few.children] : others);
    more.hidden = !others.length;
    renew(tools, [
      choice(t("a click draws", "点击画出"), { plot_columns: t("its column", "该列"), plot_rows: t("its row", "该行") }, way,
        (name) => { way = name; }),
      ...asked.pooled ? [select(t("pooled by", "合并方式"), pools(),
        pooling(app.state.params), (pool) => app.go({ pool }, "push"))] : [],
      ...app.state.params.rows || app.state.params.columns ? [h("button.chip", { type: "button", onclick: () => brushed(null) },
        t("show all", "显示全部"))] : [],
      h("button.chip", { type: "button", onclick: () => input.click() }, t("Your own table…", "打开你的表…")),
      shifts.button]);
  }

  function paint(now: Seen): void {
    const { source: meant, picture: all } = now, [low, high] = ends(all);
    all.layers.forEach((layer, i) => {
      parts[i] ??= heatmap((row, column, keyed) => over(i, row, column, keyed), chosen, brushed);
      const every = (all.down[1] - all.down[0]) / all.rows, wide = (all.across[1] - all.across[0]) / all.columns;
      parts[i].draw({
        rows: all.rows, columns: all.columns, values: layer.values, low, high,
        palette: low < 0 && high > 0 ? "rdbu" : "viridis",
        rowName: rowName(meant), columnName: `${columnName(meant, meant.params)}${all.layers.length > 1 ? ` · ${layer.name}` : ""}`,
        rowAt: (row) => place(meant, all.down[0] + Math.floor(row * every)),
        columnAt: (column) => all.across[0] + Math.floor(column * wide),
        label: t(`${meant.entry.name}, ${layer.name}: ${whole(all.down[1] - all.down[0])} rows, ${whole(all.across[1] - all.across[0])} columns. Arrow keys read numbers, + and − zoom, Enter draws a curve.`,
          `${meant.entry.name}，${layer.name}：${whole(all.down[1] - all.down[0])} 行，${whole(all.across[1] - all.across[0])} 列。方向键读数，+ 和 − 缩放，回车画曲线。`),
      });
    });
    const elements = parts.slice(0, all.layers.length).map(({ element }) => element);
    if (elements.length !== maps.children.length) maps.replaceChildren(...elements);
  }

  function draw(now: Seen): void {
    seen = now;
    wrong.replaceChildren();
    settings(now);
    words.textContent = `${now.source.entry.title}. ${note(now)}`;
    keys.textContent = t("Drag, or + and −: zoom. Shift and arrows: move. Double click or Escape: all of it. Shift and click: the other curve.",
      "拖动或按 +、−：缩放；Shift+方向键：移动；双击或 Esc：全部；Shift+点击：画另一条曲线。");
    paint(now);
    told.textContent ||= t("Point at a cell, or use the arrow keys.", "指向一个格子，或使用方向键。");
    below.draw(now.source, now.picture, now.request.pooled ? note(now) : "");
    shifts.update(now.source);
    app.shows([{ title: t("table", "表"), ask: now.request.whole, formats: now.picture.layers.length > 1
      ? ["png", "svg", "safetensors"] : ["png", "svg", "npy"] }, ...also]);
  }

  async function take([file]: File[]): Promise<void> {
    if (!file) return;
    try {
      own = { name: file.name, tensors: await tensors(file) };
    } catch (error) {
      return wrong.replaceChildren(failure(error));
    }
    const to = { encoding: app.state.params.encoding === "hierarchical" ? "hierarchical" : "learned",
      file: file.name, tensor: undefined, length: undefined, rows: undefined, columns: undefined };
    if (app.state.params.file === file.name && app.state.params.encoding === to.encoding) update();
    else app.go({ ...Object.fromEntries(Object.keys(app.state.params).map((name) => [name, undefined])), ...to }, "push");
  }

  function update(): void {
    if (app.dropped) return void take(app.dropped);
    lane.run((signal) => ask(app, own, signal), draw, (error) => wrong.replaceChildren(failure(error)));
  }
  update();
  return {
    update,
    seen: () => seen?.picture,
    leave() {
      clearTimeout(timer);
      lane.stop();
      rest.stop();
      below.leave();
      shifts.leave();
    },
  };
}

export const table: View = {
  name: "table",
  door: "inspect",
  title: () => t("A table, number by number", "逐个数看编码表"),
  lead: () => t("Each row is a position, each column a coordinate.", "每一行是一个位置，每一列是一个坐标。"),
  mount,
  between,
};
