// SPDX-License-Identifier: MIT
// Models whose tokens of images have positions of several coordinates: their prompt, and how they
// rotate. A test compares the parameters with what the API reads from the models' configs.
import models from "../../images.json";
import type { IMAGE_MODELS } from "../limits";

export interface ImageModel {
    name: string;
    encoding: "rope-nd" | "mrope";
    /** Parameters of the encoding. */
    params: Record<string, string | number | boolean>;
    /** Where tokens of text are: nowhere, before the image, or on both sides. */
    text: "none" | "before" | "both";
    /** Of a model of videos: their frames where the link has no number. */
    frames?: number;
    /** Patches on a side of a token. */
    merge?: number;
    /** What else its positions are computed with. */
    more?: Record<string, unknown>;
}

export const IMAGES = models as Record<(typeof IMAGE_MODELS)[number], ImageModel>;
