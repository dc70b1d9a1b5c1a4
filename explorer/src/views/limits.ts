// SPDX-License-Identifier: MIT
// Values that both a view, in the second script, and the check of its link, in the first, need.

/** Positions of a query and a key that turn. */
export const TURNED_POSITIONS = 64;
/** Heads of the attention over a sentence. */
export const SENTENCE_HEADS = 4;
/** Biases by distance. */
export const BIASES = ["alibi", "t5", "shaw"] as const;
/** Wrong tables to try the diagnosis with. */
export const SAMPLES = ["shifted", "columns", "factor", "base", "float32"] as const;
/** Columns that the table of models can be sorted by. */
export const COLUMNS = [
    "name",
    "encoding",
    "base",
    "pairs",
    "scaling",
    "factor",
    "context",
] as const;
