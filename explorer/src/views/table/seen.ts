// SPDX-License-Identifier: MIT
// What the view shows: asked as the URL says it, and told in words.
import { get, PosencError, type Params, type Tensor } from "../../api";
import type { Problem } from "../../kit/problem";
import { exact, short } from "../../numbers";
import type { App } from "../../view";
import { t } from "../../words";
import { picture, type Picture } from "./picture";
import {
    isPosted,
    request,
    shown,
    source,
    type Entry,
    type Own,
    type Request,
    type Source,
    type Span,
} from "./source";
import { columnName, place, rowName, waves, type Waves } from "./words";

/** What is asked for: all that controls are made from. */
export interface Asked {
    entries: Entry[];
    source: Source;
    request: Request;
    rows: Span | null;
    columns: Span | null;
    pool: string;
    /** null: none was dropped, and a table of the service stands in. */
    own: Own | null;
}

export interface Seen extends Asked {
    picture: Picture;
    waves?: Waves;
}

/** A part of the whole, as positions are written: 16..47, both ends inside. */
function span(text: string | undefined): Span | null {
    const found = /^(\d+)\.\.(\d+)$/.exec(text ?? "");
    return found && +found[2] >= +found[1] ? [+found[1], +found[2] + 1] : null;
}

export const pools = (): Record<string, string> => ({
    mean: t("mean", "平均值"),
    min: t("least", "最小值"),
    max: t("largest", "最大值"),
    minmax: t("least and largest", "最小值和最大值"),
});

const pooling = ({ pool }: Params) => (pool in pools() ? pool : "mean");

/** The encodings that can be seen here. */
export async function catalogue(app: App, signal: AbortSignal): Promise<Entry[]> {
    const { encodings } = await app.api.ask<{ encodings: Entry[] }>(get("/v1/encodings"), signal);
    return encodings.filter((entry) => shown(entry).length);
}

/** A stored table that the URL names, beside those of the catalogue. */
async function stored(app: App, name: string, signal: AbortSignal): Promise<Entry> {
    try {
        return await app.api.ask<Entry>(get(`/v1/encodings/${encodeURIComponent(name)}`), signal);
    } catch (error) {
        // The API says which resource there is not; here it is the value of a control.
        if (error instanceof PosencError) {
            const problem = error.problem as Problem;
            problem.errors ??= [{ parameter: "encoding", detail: problem.detail ?? "" }];
        }
        throw error;
    }
}

async function sample(app: App, entry: Entry, signal: AbortSignal): Promise<Own> {
    const length = entry.name === "hierarchical" ? 16 : 64;
    return {
        name: "",
        tensors: await app.api.ask(
            get("/v1/encodings/sinusoidal/table", { dim: 64, length }),
            signal,
        ),
    };
}

/** What the URL asks for, before it is. */
export async function asked(
    app: App,
    all: Entry[],
    own: Own | null,
    signal: AbortSignal,
): Promise<Asked> {
    const { params } = app.state,
        name = params.encoding ?? "sinusoidal";
    const known = all.find((one) => one.name === name),
        entry = known ?? (await stored(app, name, signal)),
        entries = known ? all : [...all, entry];
    const learned = "table" in entry.parameters.properties && isPosted(params);
    const meant = source(
        app,
        entry,
        own ?? (learned ? await sample(app, entry, signal) : { name: "", tensors: {} }),
    );
    const rows = span(params.rows),
        columns = span(params.columns),
        pool = pooling(params);
    const fine = app.compared || !!(params.plot_rows || params.plot_columns);
    return {
        entries,
        source: meant,
        request: request(meant, rows, columns, pool, fine),
        rows,
        columns,
        pool,
        own,
    };
}

export async function answered(app: App, what: Asked, signal: AbortSignal): Promise<Seen> {
    const { source, request, rows, columns } = what,
        wave = waves(source);
    const [answer, told] = await Promise.all([
        app.api.ask<Record<string, Tensor>>(request.ask, signal),
        wave && app.api.ask<Waves>(wave, signal),
    ]);
    const head = +(app.state.params.head ?? 0);
    return { ...what, waves: told, picture: picture(source, request, answer, rows, columns, head) };
}

/** What a cell stands for: rows and columns of the whole. */
export function cell(
    { picture: { down, across, rows, columns } }: Seen,
    row: number,
    column: number,
) {
    const part = ([from, to]: Span, at: number, count: number): Span => [
        from + Math.floor((at * (to - from)) / count),
        from + Math.ceil(((at + 1) * (to - from)) / count),
    ];
    return { down: part(down, row, rows), across: part(across, column, columns) };
}

export const isMany = ({ down, across }: ReturnType<typeof cell>) =>
    down[1] - down[0] > 1 || across[1] - across[0] > 1;

const range = ([from, to]: Span, name: (index: number) => number) =>
    to - from > 1 ? `${short(name(from), 9)} … ${short(name(to - 1), 9)}` : short(name(from), 9);

/** Position, column and value of a cell. */
export function reading(seen: Seen, layer: number, row: number, column: number): string {
    const {
        source: meant,
        picture: now,
        request: { bytewise },
        pool,
    } = seen;
    const at = cell(seen, row, column),
        { name, values } = now.layers[layer];
    const value = Number(values[row * now.columns + column]);
    return (
        `${now.layers.length > 1 ? `${name}: ` : ""}${rowName(meant)} ` +
        `${range(at.down, (i) => place(meant, i))}, ${columnName(meant, meant.params)} ` +
        `${range(at.across, (i) => i)}: ${
            !isMany(at)
                ? exact(value)
                : `${pools()[pool]} ${bytewise ? "≈ " : ""}${short(value, bytewise ? 2 : 7)}`
        }`
    );
}

function ofFile({ source: { bytes }, own }: Seen, file: string | undefined): string {
    if (!bytes) return "";
    if (own)
        return t(
            `${own.name} is posted for this picture and stored nowhere.`,
            `${own.name} 仅用于绘制本图，不会保存。`,
        );
    const stands = t(" Until then a sinusoidal table stands in.", "此处暂用正弦编码表代替。");
    return (
        (file
            ? t(
                  `The link names ${file}, which is not in it: drop that file here.`,
                  `链接提到 ${file}，但文件不在链接里：请拖到这里。`,
              )
            : t("Drop a .npy or .safetensors file.", "请拖入 .npy 或 .safetensors 文件；")) + stands
    );
}

/** What was pooled, and whose table it is. */
export function note(seen: Seen, file?: string): string {
    const {
        picture: { down, across, rows, columns },
        request: { pooled },
        pool,
    } = seen;
    const many = short((down[1] - down[0]) / rows, 3),
        wide = (across[1] - across[0]) / columns;
    const also = wide > 1 ? t(` and ${short(wide, 3)} columns`, ` × ${short(wide, 3)} 列`) : "";
    return (
        ofFile(seen, file) +
        (!pooled
            ? ""
            : t(
                  ` Each cell stands for ${many} rows${also}: their ${pools()[pool]}. Zoom in for every number.`,
                  `每个格子代表 ${many} 行${also}的${pools()[pool]}。放大可看到每个数。`,
              ))
    );
}
