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
/** Models whose positions of images are drawn, by their model_type. */
export const IMAGE_MODELS = [
    "flux",
    "flux2",
    "qwen_image",
    "lumina2",
    "z_image",
    "hunyuan_video",
    "wan",
    "cogvideox",
    "kandinsky5",
    "cosmos",
    "qwen2_5_vl",
    "qwen3_vl",
] as const;
/** Rows and columns of an image, frames, tokens of text. */
export const IMAGE_MOST = { side: 64, frames: 16, text: 64 };
/** Wrong position ids to try the check with. */
export const ID_SAMPLES = ["transposed", "edited"] as const;
