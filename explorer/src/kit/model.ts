// SPDX-License-Identifier: MIT
// The model that a view is about: where its config comes from, and how the API reads it.
import { get, query, type Ask } from "../api";
import type { Accepts, Fault } from "../checks";
import models from "../models.json";
import type { App } from "../view";
import { t } from "../words";

export interface Encoding {
    name: string;
    dim?: number;
    base?: number;
    rope_type?: string;
    factor?: number;
    original_max_position_embeddings?: number;
    max_position_embeddings?: number;
    [parameter: string]: unknown;
}

/** Layers that are alike. */
export interface Kind {
    layer_type?: string;
    layers: number[];
    encoding: Encoding | null;
    provenance?: Record<string, string>;
    links?: { table?: string; frequencies?: string; bias?: string };
    attention?: Attention | null;
}

export interface Attention {
    scale?: number;
    provenance?: Record<string, string>;
    [parameter: string]: unknown;
}

/** The answer of POST /v1/config. */
export interface Config extends Omit<Kind, "layers"> {
    layers?: Kind[];
    unused: string[];
    warnings: string[];
    readers?: Record<string, Record<string, { reads: string; source: string }>>;
    others?: { where: string; layer_type?: string; encoding: Encoding }[];
    towers?: { part: string; model_type?: string; encoding: Encoding | null; reason?: string }[];
}

export interface Frequencies {
    encoding: Encoding;
    attention_factor?: number;
    softmax_scale_multiplier?: number;
    frequencies: number[];
    wavelengths: number[];
    /** Unscaled over scaled; rotary encodings alone have them. */
    factors: number[];
}

export interface Source {
    name: string;
    /** JSON as it was written; of a GGUF file there is none. */
    text?: string;
    file?: File;
    /** Named in the link, but not in it. */
    missing?: boolean;
}

type Published = Record<string, { name: string; config: object }>;

export const MODELS = models as Published;
/** The models of the chips. */
export const CHIPS = [
    "llama-3.1",
    "qwen2.5-7b",
    "gemma-3-27b",
    "deepseek-v3",
    "gpt-oss-120b",
    "phi-4-mini",
];
export const LINK_MAX = 6000; // characters of a config in a link

/** Parameters of the state that are the page's own; all others go along with the config. */
const OWN = ["model", "config", "file", "context", "position", "layer_type", "show", "times"];
export const LONGEST = 1 << 24; // tokens: the end of sliders

/** Names of the link in views of a model; all others go along with its config. */
export const modelAccepts = (): Record<string, Accepts> => ({
    model: Object.keys(MODELS),
    config: "text",
    file: "text",
    context: [1, LONGEST, 1],
    position: [0, LONGEST, 1],
    layer_type: "text",
    show: ["wavelengths", "inv_freq", "freq_factors"],
    times: [1, 1024],
});

/** The layer_type of the link, where no layers of this model are of it. */
export function layerFaults(app: App, config: Config): Fault[] {
    const { layer_type: value } = app.state.params;
    const types = kinds(config).flatMap((one) => one.layer_type ?? []);
    return value === undefined || types.includes(value)
        ? []
        : [{ name: "layer_type", value, accepts: types.length ? types : undefined }];
}

/** Types that depend on how long the sequence is. */
const OF_LENGTH = ["dynamic", "longrope"];
const HEAD_MAX = 32 << 20; // bytes of a GGUF file: its metadata stand in front

export function source(app: App): Source {
    const { model, config, file } = app.state.params;
    if (config !== undefined) return { name: t("this model", "该模型"), text: config };
    if (file !== undefined)
        return app.held?.name === file
            ? { name: file, file: app.held }
            : { name: file, missing: true };
    const { name, config: published } = MODELS[model] ?? MODELS[CHIPS[0]];
    return { name, text: pretty(published) };
}

/** JSON with short lists on one line. */
export function pretty(config: object): string {
    return JSON.stringify(config, null, 1).replace(/\[[^[\]{}]*\]/g, (list) =>
        list.replace(/\s+/g, " "),
    );
}

/** Without the white space outside of strings, for a link. */
export const dense = (text: string): string => text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, "$1");

/** Changes of the state that choose another config; parameters of the one before are dropped. */
export function chosen(app: App, what: { model?: string; config?: string; file?: string }) {
    const gone = Object.fromEntries(Object.keys(app.state.params).map((name) => [name, undefined]));
    return { ...gone, ...what };
}

/** Parameters that are sent beside the config, and win over it. */
export function overrides(app: App): Record<string, string> {
    return Object.fromEntries(
        Object.entries(app.state.params).filter(([name]) => !OWN.includes(name)),
    );
}

function posted(target: string, { text, file }: Source): Ask {
    if (!file || /\.json$/i.test(file.name))
        return { method: "POST", target, text, bytes: file, type: "application/json" };
    return { method: "POST", target, bytes: file.slice(0, HEAD_MAX), type: "application/x-gguf" };
}

export const configAsk = (app: App, from: Source): Ask =>
    posted(query("/v1/config", overrides(app)), from);

/** A config as its box shows it, with each key of one long line on a line of its own. */
export function inLines(text: string): string {
    try {
        return text.includes("\n") ? text : pretty(JSON.parse(text));
    } catch {
        return text;
    }
}

/** Which engines read the config otherwise. Lines of the answer are lines of the box. */
export const lintAsk = (from: Source): Ask =>
    posted("/v1/lint", { ...from, text: from.text && inLines(from.text) });

export const goldenAsk = (from: Source): Ask => posted("/v1/golden", from);

/** The kinds of layers; a config that tells of none is one kind, and a GGUF file numbers none. */
export function kinds(config: Config): Kind[] {
    const all = config.layers?.length ? config.layers : [{ ...config, layers: [] }];
    for (const one of all) one.layers ??= [];
    return all;
}

/** Whether kinds differ in their positions. */
export const differ = (config: Config): boolean =>
    new Set(kinds(config).map((one) => JSON.stringify(one.encoding))).size > 1;

/** How many layers, and of which type. */
export const layersNamed = ({ layers, layer_type }: Kind): string =>
    !layers.length
        ? (layer_type ?? "")
        : t(
              `${layers.length} layers: ${layer_type ?? "alike"}`,
              `${layers.length} 层：${layer_type ?? "相同"}`,
          );

/** The kind that the state names, else the one that `encoding` is of. */
export function kindOf(app: App, config: Config): Kind {
    const all = kinds(config),
        named = all.find((one) => one.layer_type === app.state.params.layer_type);
    return (
        (app.state.params.layer_type && named) ||
        all.find((one) => JSON.stringify(one.encoding) === JSON.stringify(config.encoding)) ||
        all[0]
    );
}

/** The context that the config names: null, where it names none. */
export function contextOf(encoding: Encoding | null): number | null {
    return encoding?.max_position_embeddings ?? encoding?.original_max_position_embeddings ?? null;
}

const numbers = (list: (number | string)[]): number[] => list.map(Number);

/** A link of the answer with more parameters, which win. */
export function linked(link: string, more: Record<string, unknown>): Ask {
    const [path, search] = link.split("?");
    return get(path, { ...Object.fromEntries(new URLSearchParams(search)), ...more });
}

const lengthOf = (encoding: Encoding, context: number) =>
    OF_LENGTH.includes(encoding.rope_type ?? "") ? { seq_len: context } : {};

/** Frequencies as they are at a length of the sequence. */
export const frequenciesAsk = (kind: Kind, context: number): Ask =>
    linked(kind.links!.frequencies!, lengthOf(kind.encoding!, context));

/** How often each pair turns within a context. */
export const turnsAsk = (kind: Kind, context: number): Ask => {
    const ask = frequenciesAsk(kind, context);
    return linked(ask.target.replace("/frequencies", "/analysis/wavelengths"), { context });
};

/** Parameters of scalings; of all others the frequencies are made that there were before it. */
const SCALING = [
    "rope_type",
    "factor",
    "alpha",
    "mixed_b",
    "seq_len",
    "short_factor",
    "long_factor",
    "low_freq_factor",
    "high_freq_factor",
    "original_max_position_embeddings",
    "max_position_embeddings",
    "beta_fast",
    "beta_slow",
    "mscale",
    "mscale_all_dim",
    "truncate",
    "attention_factor",
    "inv_freq",
    "freq_factors",
];

/** The frequencies of the same width and base, as no scaling has them. */
export function defaultAsk({ encoding, links }: Kind): Ask {
    const own = encoding!.rope_type === "proportional"; // which pairs turn at all, and no scaling
    return linked(
        links!.frequencies!,
        own ? {} : Object.fromEntries(SCALING.map((name) => [name, undefined])),
    );
}

interface Answered {
    encoding: Encoding;
    attention_factor?: number;
    softmax_scale_multiplier?: number;
    tensors: Record<string, { data: (number | string)[] }>;
}

export async function frequencies(app: App, ask: Ask, signal?: AbortSignal): Promise<Frequencies> {
    const more = { dtype: "f64", format: "json", flat: true };
    const answer = await app.api.ask<Answered>(linked(ask.target, more), signal);
    const { inv_freq, wavelengths, freq_factors } = answer.tensors;
    return {
        ...answer,
        frequencies: numbers(inv_freq.data),
        wavelengths: numbers(wavelengths.data),
        factors: freq_factors ? numbers(freq_factors.data) : inv_freq.data.map(() => 1),
    };
}
