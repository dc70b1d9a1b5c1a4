// SPDX-License-Identifier: MIT
// What the API says of known mistakes in position ids, in Chinese: by the mistake's code, its cause
// and its remedy.

const SIDES = "高或宽中较大者（以 token 计）";

export const MISTAKES: Record<string, [string, string]> = {
    "padding-counted": ["填充的 token 也被计数", "只数 attention_mask 为 1 的 token：累计和减 1"],
    "packed-without-reset": [
        "打包的序列被连续计数，如同一个",
        "在 cu_seqlens 的每个边界重新从 0 开始",
    ],
    "chunk-from-zero": ["分块从 0 计数，如同前面没有 token", "从缓存中已有的 token 之后开始"],
    "delta-ignored": [
        "提示之后的 token 按其 token 数计数，而不是按位置",
        "在 token 数上加提示的 id 留下的 rope_deltas",
    ],
    "grid-transposed": ["高与宽互换", "第二行 id 是高，第三行是宽"],
    "grid-read-transposed": [
        "网格被读作时间、宽、高：token 按列排列",
        "网格是时间、高、宽，token 按行排列",
    ],
    "grid-by-columns": ["网格的 token 按列取", "网格的 token 按行排列：宽先变化"],
    "images-as-text": ["图像的 token 按文本计数", "给出它们在网格中的时间、高和宽"],
    "advance-by-tokens": ["图像之后的文本从其 token 数之后继续", `从${SIDES}之后继续`],
    "advance-unmerged": ["图像之后的文本从以图块计的高或宽之后继续", "除以 spatial_merge_size"],
    "advance-by-largest": [
        "视频之后的文本从其最大 id 之后继续，如 transformers 4 和 vLLM",
        "从高或宽之后继续，或用 continues=largest",
    ],
    "advance-by-grid": [
        "视频之后的文本从高或宽之后继续，如 transformers 5",
        "从最大 id 之后继续，或用 continues=grid",
    ],
    "time-not-scaled": ["视频的帧相隔一步", "帧相隔 tokens_per_second 乘以 second_per_grid_ts"],
    "image-time-scaled": ["静止图像的时间连同之前的偏移乘了 tokens_per_second", "只缩放视频的时间"],
    "offset-scaled": ["视频的时间连同之前的偏移一起相乘", "帧号乘以时间步长，再加偏移"],
    "image-from-zero": ["图像的 id 从 0 开始", "从图像之前的 token 之后开始"],
    "not-centred": ["图像的行列从 0 计数", "边长为 n 时，行列减去 n - floor(n / 2)"],
    "text-from-zero": ["文本从 0 计数", "从模型的起点开始：图像较大边的一半之后，或 1"],
    "text-rotated": ["文本的 token 被计数", "文本的 token 不旋转：id 都是 0"],
    "image-after-unpadded-text": ["图像从未填充的文本之后开始", "先把文本填充到 32 的倍数"],
    "blocks-as-rows": ["网格的图块逐行取", "逐块取：合并为一个 token 的图块相邻"],
    "frame-rate-ignored": ["帧的时间没有计入帧率", "帧除以 frame_rate，与模型一致"],
    "grid-not-scaled": ["帧、行、列按 0、1、2 … 计数", "按模型的基准网格缩放"],
    "one-too-high": ["每个 id 都大 1", "从 0 开始计数"],
    "one-too-low": ["每个 id 都小 1", "从 0 开始计数"],
};
