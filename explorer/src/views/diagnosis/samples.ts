// SPDX-License-Identifier: MIT
// Tables to try the diagnosis with: each is made by the service, with a mistake that people make.
import { get, type Ask } from "../../api";
import { t } from "../../words";
import type { SAMPLES } from "../limits";

export interface Sample {
    name: string;
    table: Ask;
    /** What the table should have been, as the API's parameters. */
    expected: string;
    tensor?: string;
}

const rope = (more: Record<string, unknown>) =>
    get("/v1/encodings/rope/table", { dim: 64, length: 256, format: "safetensors", ...more });

const YARN = { rope_type: "yarn", factor: 8, original_max_position_embeddings: 4096 };

export const samples = (): Record<(typeof SAMPLES)[number], Sample> & Record<string, Sample> => ({
    shifted: {
        name: t("starts at 1", "从 1 开始"),
        table: rope({ start: 1 }),
        expected: "encoding=rope",
    },
    columns: {
        name: t("sines, then cosines", "先正弦后余弦"),
        tensor: "table",
        table: get("/v1/encodings/sinusoidal/table", {
            dim: 64,
            length: 256,
            layout: "concatenated",
            format: "safetensors",
        }),
        expected: "encoding=sinusoidal&layout=interleaved",
    },
    factor: {
        name: t("YaRN without its factor", "缺少 YaRN 的注意力因子"),
        table: rope({ ...YARN, attention_factor: 1 }),
        expected: `encoding=rope&${new URLSearchParams(Object.entries(YARN).map(([k, v]) => [k, `${v}`]))}`,
    },
    base: {
        name: t("another base", "base 不同"),
        table: rope({ base: 500000 }),
        expected: "encoding=rope",
    },
    float32: {
        name: t("right, in float32", "正确（float32 计算）"),
        table: rope({ arithmetic: "hf" }),
        expected: "encoding=rope",
    },
});
