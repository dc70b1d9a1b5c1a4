// SPDX-License-Identifier: MIT
// The prompt of the link: an image or a video between tokens of text, and what is requested for it.
import { encode } from "../../../../clients/js/client.js";
import { get, post, PosencError, type Ask, type Tensor } from "../../api";
import type { Fault } from "../../checks";
import type { Problem } from "../../kit/problem";
import type { App } from "../../view";
import { t } from "../../words";
import { IMAGE_MOST } from "../limits";
import { IMAGES, type ImageModel } from "./models";

const OWN = [
    "model_type",
    "height",
    "width",
    "frames",
    "text",
    "frame",
    "pair",
    "row",
    "column",
    "sample",
    "position_ids",
];

export interface Prompt {
    type: keyof typeof IMAGES;
    model: ImageModel;
    /** Of the encoding, those of the link among them. */
    params: Record<string, unknown>;
    height: number;
    width: number;
    frames: number;
    /** Tokens of text before the image, and after it. */
    before: number;
    after: number;
    /** What is looked at. */
    frame: number;
    row: number;
    column: number;
    pair: number;
    faults: Fault[];
}

/** Numbers of the link within what the prompt has; those beyond are reported. */
export function prompt(app: App): Prompt {
    const { params } = app.state,
        faults: Fault[] = [];
    const number = (name: string, most: number, fallback: number, least = 0) => {
        const value = params[name];
        if (+(value ?? NaN) >= least && +value <= most) return +value;
        if (value !== undefined) faults.push({ name, value, accepts: [least, most, 1] });
        return Math.min(fallback, most);
    };
    const type = (params.model_type ?? "flux") as keyof typeof IMAGES,
        model = IMAGES[type];
    const height = +(params.height ?? 24),
        width = +(params.width ?? 32);
    const frames = number("frames", model.frames ? IMAGE_MOST.frames : 1, model.frames ?? 1, 1);
    const text = number("text", model.text === "none" ? 0 : IMAGE_MOST.text, 8);
    return {
        type,
        model,
        params: {
            ...model.params,
            ...Object.fromEntries(Object.entries(params).filter(([name]) => !OWN.includes(name))),
        },
        height,
        width,
        frames,
        before: text,
        after: model.text === "both" ? text : 0,
        frame: number("frame", frames - 1, 0),
        row: number("row", height - 1, height >> 1),
        column: number("column", width - 1, width >> 1),
        pair: +(params.pair ?? 12),
        faults,
    };
}

export const imageTokens = ({ frames, height, width }: Prompt): number => frames * height * width;

/** Position ids of the prompt; a report on them where some are posted. */
export function idsAsk(own: Prompt, posted?: unknown): Ask {
    const { type, model, frames, height, width, before, after } = own,
        { merge = 1, more } = model,
        kind = model.frames ? 2 : 1;
    return post(
        "/v1/positions",
        {
            [kind === 2 ? "video_grid_thw" : "image_grid_thw"]: [
                [frames, height * merge, width * merge],
            ],
            mm_token_type_ids: [
                [
                    ...Array<number>(before).fill(0),
                    ...Array<number>(imageTokens(own)).fill(kind),
                    ...Array<number>(after).fill(0),
                ],
            ],
            ...(posted ? { position_ids: posted } : {}),
            ...more,
        },
        { model_type: type },
    );
}

const path = ({ model }: Prompt, view: string) => `/v1/encodings/${model.encoding}/${view}`;

export const frequenciesAsk = (own: Prompt): Ask => get(path(own, "frequencies"), own.params);

/** Cosines of the tokens of a frame: a row for each, a column for each pair. */
export const cosinesAsk = (own: Prompt, ids: number[][]): Ask =>
    post(path(own, "table"), { positions: ids }, { ...own.params, part: "cos" });

/** Scores of one vector at a token of the frame with the same vector at all of them: the means of
 * the cosines of the pairs' angles between both. */
export function similarityAsk(own: Prompt, ids: number[][], pairs: number): Ask {
    const at = own.row * own.width + own.column,
        count = ids[0].length,
        head = 2 * pairs;
    const ones = (rows: number): Omit<Tensor, "dtype"> => ({
        shape: [1, 1, rows, head],
        data: Float32Array.from({ length: rows * head }, (_, i) => 1 - (i % 2)),
    });
    const positions = (lists: number[][]) => ({
        shape: [lists.length, lists[0].length],
        data: Float64Array.from(lists.flat()),
    });
    return {
        ...get("/v1/attention", {
            encoding: own.model.encoding,
            ...own.params,
            layout: "interleaved",
            scale: 1 / pairs,
            outputs: "scores",
            positions: "tensor:positions",
            key_positions: "tensor:key_positions",
        }),
        method: "POST",
        bytes: encode({
            q: ones(1),
            k: ones(count),
            positions: positions(ids.map((one) => [one[at]])),
            key_positions: positions(ids),
        }),
        type: "application/x-safetensors",
    };
}

/** The list in a text as Python or JSON print it, tensor([[0, 1]]) too. */
export function listOf(text: string): unknown {
    try {
        return JSON.parse(text.slice(text.indexOf("["), text.lastIndexOf("]") + 1)) as unknown;
    } catch {
        const detail = t(
            "a list of numbers is expected, as [[0, 0], [0, 1]]",
            "应为数的列表，如 [[0, 0], [0, 1]]",
        );
        throw new PosencError(422, {
            code: "invalid-parameter",
            detail,
            errors: [{ parameter: "position_ids", detail }],
        });
    }
}

/** A list of a body that is at fault is that of the control with its name. */
export function byControl(error: unknown): never {
    if (error instanceof PosencError)
        for (const one of (error.problem as Problem).errors ?? [])
            if (one.pointer) {
                one.parameter = one.pointer.split("/")[1];
                delete one.pointer;
            }
    throw error;
}
