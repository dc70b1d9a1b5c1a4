// SPDX-License-Identifier: MIT
// Every view, in the order of their tabs; a section opens with its first one. Of views in the second
// script the names and words are here.
import { modelAccepts } from "../kit/model";
import type { View } from "../view";
import { t } from "../words";
import { extension } from "./extension";
import { home } from "./home";
import { later } from "./later";
import {
    BIASES,
    COLUMNS,
    ID_SAMPLES,
    IMAGE_MODELS,
    IMAGE_MOST,
    SAMPLES,
    SENTENCE_HEADS,
    TURNED_POSITIONS,
} from "./limits";
import { precision } from "./precision";
import { table } from "./table";
import "../style/story.css";
import "../style/rotation.css";
import "../style/facts.css";
import "../style/attention.css";
import "../style/diagnosis.css";
import "../style/models.css";
import "../style/grid.css";

const models = later({
    name: "models",
    section: "inspect",
    single: true,
    accepts: () => ({ sort: COLUMNS.flatMap((one) => [one, `-${one}`]), find: "text" }),
    title: () => t("Published models in numbers", "已发布模型的数据"),
    lead: () =>
        t(
            "What the configs of models say of position. Each name opens its model on the first screen.",
            "各模型的 config 对位置的规定。点击名称即可在首页打开该模型。",
        ),
});

const compare = later({
    name: "compare",
    section: "compare",
    single: true,
    accepts: modelAccepts,
    passes: true,
    title: () => t("Do two models agree about position?", "两个模型的位置编码一致吗？"),
    lead: () =>
        t(
            "A drafter and its target, a fine-tune and its checkpoint, a config before and after a change.",
            "草稿模型与目标模型、微调模型与原模型，或修改前后的 config。",
        ),
});

const story = later({
    name: "story",
    section: "understand",
    accepts: () => ({ step: [1, 6, 1], length: [2, 4096, 1], frequency: [0.05, 2] }),
    title: () => t("Six steps to a turning vector", "六步走到旋转"),
    lead: () =>
        t(
            "Attention by itself has no positions. These are the ways to add them, each without the flaw of the one before.",
            "注意力本身不知道词的位置。下面是逐步演进的编码方法，每一步都修补前一步的缺陷。",
        ),
});

const rotation = later({
    name: "rotation",
    section: "understand",
    accepts: () => ({
        dim: ["4", "8", "16"],
        base: [2, 1e4],
        q: [-1e6, 1e6],
        k: [-1e6, 1e6],
        position: [0, TURNED_POSITIONS - 1, 1],
        delta: [0, 32, 1],
    }),
    title: () => t("Turning, and what stays", "旋转，以及不变的东西"),
    lead: () =>
        t(
            "Query and key turn with their positions. What attention sees of them is the distance alone.",
            "查询和键随位置旋转，而注意力看到的只有两者的距离。",
        ),
});

const grid = later({
    name: "grid",
    section: "understand",
    accepts() {
        const { side, frames, text } = IMAGE_MOST,
            size = [1, side, 1] as const,
            place = [0, side - 1, 1] as const;
        return {
            model_type: IMAGE_MODELS,
            height: size,
            width: size,
            frames: [1, frames, 1],
            text: [0, text, 1],
            frame: [0, frames - 1, 1],
            pair: "text",
            row: place,
            column: place,
            sample: ID_SAMPLES,
            position_ids: "text",
        };
    },
    passes: true,
    title: () => t("Where a token of an image stands", "图像中 token 的位置"),
    lead: () =>
        t(
            "It has a row and a column, in a video a frame too. Each pair of a head turns with one of them.",
            "它有行和列，视频中还有帧。头的每个维度对随其中一个旋转。",
        ),
});

const distance = later({
    name: "distance",
    section: "understand",
    accepts: () => ({
        encoding: ["rope", "sinusoidal", "alibi"],
        dim: [1, 65536, 1],
        base: [1, 1e30],
        max_offset: [1, 1e9, 1],
        min_offset: "text",
    }),
    title: () => t("How far a model sees", "模型能看多远"),
    lead: () =>
        t(
            "The dot product of two positions, over their distance. It falls, but it swings on the way.",
            "两个位置的点积随距离的变化：总体下降，途中振荡。",
        ),
});

const attention = later({
    name: "attention",
    section: "understand",
    accepts: () => ({
        text: "text",
        encoding: ["sinusoidal", "rope", "alibi"],
        causal: ["true", "false"],
        head: [0, SENTENCE_HEADS - 1, 1],
        bias: BIASES,
        query_length: [8, 512, 1],
        bias_head: [0, 63, 1],
        heads: [1, 64, 1],
    }),
    title: () => t("A sentence, in order and shuffled", "一个句子：原序与打乱"),
    lead: () =>
        t(
            "Attention alone sees a bag of words. Here is what each scheme lets it see of their order.",
            "单凭注意力只能看到一袋词。这里可以看到各种方案让它看到了多少顺序。",
        ),
});

const diagnosis = later({
    name: "diagnosis",
    section: "debug",
    title: () => t("Is my table right?", "我的编码表对吗？"),
    accepts: () => ({ sample: SAMPLES, file: "text", expected: "text" }),
    lead: () =>
        t(
            "Drop what your code computed. The mistake is named, with its fix.",
            "拖入你的代码算出的结果，这里会指出错误和修正方法。",
        ),
});

export const views: View[] = [
    home,
    extension,
    table,
    precision,
    models,
    compare,
    story,
    rotation,
    grid,
    distance,
    attention,
    diagnosis,
];
