// SPDX-License-Identifier: MIT
// In what two models differ: parameters of their encodings, and the frequencies of their pairs as
// the API answered them.
import { kinds, type Config } from "../../kit/model";
import type { Read } from "../home/read";

/** `same`: every parameter of every kind of layer is. `alike`: the parameters differ, but not what
 * happens to a query or key. */
export type Agreement = "same" | "alike" | "different";

/** What a person calls a group of parameters. */
export type Subject = "encoding" | "base" | "pairs" | "scaling" | "layout" | "context" | "other";

const SUBJECTS: Record<string, Subject> = {
    name: "encoding",
    base: "base",
    dim: "pairs",
    rotary_dim: "pairs",
    partial_rotary_factor: "pairs",
    layout: "layout",
    max_position_embeddings: "context",
    ...Object.fromEntries(
        [
            "rope_type",
            "factor",
            "alpha",
            "mixed_b",
            "short_factor",
            "long_factor",
            "low_freq_factor",
            "high_freq_factor",
            "original_max_position_embeddings",
            "beta_fast",
            "beta_slow",
            "mscale",
            "mscale_all_dim",
            "truncate",
            "attention_factor",
            "inv_freq",
            "freq_factors",
        ].map((name) => [name, "scaling" as const]),
    ),
};

export interface Row {
    name: string;
    a: unknown;
    b: unknown;
    same: boolean;
}

const text = (value: unknown): string | undefined => JSON.stringify(value);

/** Members of two objects, side by side. */
export function rows(a: object, b: object): Row[] {
    const [one, two] = [a, b] as Record<string, unknown>[];
    return [...new Set([...Object.keys(one), ...Object.keys(two)])].map((name) => ({
        name,
        a: one[name],
        b: two[name],
        same: text(one[name]) === text(two[name]),
    }));
}

/** Encodings of all kinds of layers, each once. */
const encodings = (config: Config): string =>
    [...new Set(kinds(config).map(({ encoding }) => sorted(encoding ?? {})))].sort().join();

const sorted = (encoding: object): string =>
    JSON.stringify(Object.entries(encoding).sort(([a], [b]) => (a < b ? -1 : 1)));

const equal = (a: ArrayLike<number>, b: ArrayLike<number>): boolean =>
    a.length === b.length && Array.from(a).every((one, i) => one === b[i]);

function turnAlike({ kind: a, now: one }: Read, { kind: b, now: two }: Read): boolean {
    return (
        !!one &&
        !!two &&
        equal(one.frequencies, two.frequencies) &&
        (one.attention_factor ?? 1) === (two.attention_factor ?? 1) &&
        a.encoding!.name === b.encoding!.name &&
        a.encoding!.dim === b.encoding!.dim &&
        a.encoding!.layout === b.encoding!.layout
    );
}

export function agreement(a: Read, b: Read): Agreement {
    if (encodings(a.config) === encodings(b.config)) return "same";
    return turnAlike(a, b) ? "alike" : "different";
}

/** What the encodings of the two kinds of layers differ in. */
export function subjects(a: Read, b: Read): Subject[] {
    const found = rows(a.kind.encoding ?? {}, b.kind.encoding ?? {})
        .filter(({ same, name }) => !same && name !== "arithmetic")
        .map(({ name }) => SUBJECTS[name] ?? "other");
    if (a.kind.encoding?.name !== b.kind.encoding?.name) return ["encoding"];
    return [...new Set(found)];
}

export interface Drift {
    /** Pairs that turn at different speeds. */
    pairs: number;
    /** The first position at which a pair is half a turn away from its other, and that pair. */
    position: number;
    pair: number;
}

/** null: the two have not as many pairs, or none that turn differently. */
export function drift({ now: one }: Read, { now: two }: Read): Drift | null {
    if (!one || !two || one.frequencies.length !== two.frequencies.length) return null;
    const apart = one.frequencies.map((speed, i) => Math.abs(speed - two.frequencies[i]));
    const most = Math.max(...apart);
    if (!most) return null;
    return {
        pairs: apart.filter((size) => size > 0).length,
        position: Math.ceil(Math.PI / most),
        pair: apart.indexOf(most),
    };
}
