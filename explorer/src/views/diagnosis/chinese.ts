// SPDX-License-Identifier: MIT
// What the API says of a mistake, in Chinese: by the mistake's code, its cause and how it is
// mended.

import type { Candidate } from "./report";

const WIDE = "用 float32 或更高精度",
    ROUNDED = "只舍入 cos 和 sin";
const FACTOR = "cos 和 sin 乘的注意力因子";

const BUGS: Record<string, [string, string?]> = {
    "base-ignored": ["频率用的是默认 base", "计算 inv_freq 时传入 base（rope_theta）"],
    "config-ignored": [
        "config 没有生效：频率用的是默认 base，也没有缩放",
        "计算 inv_freq 时传入 base（rope_theta）和缩放参数（rope_scaling、rope_parameters）",
    ],
    "scaling-missing": [
        "缩放没有生效：频率只由 base 得出",
        "应用 rope_type 及其参数（rope_scaling、rope_parameters）",
    ],
    "scaling-wrong": [
        "频率的缩放方式与此 rope_type 和倍数不符",
        "用所要求的 rope_type，倍数只乘一次",
    ],
    "wrong-width": [
        "频率的宽度与实际旋转的部分不符",
        "按 rotary_dim 计算 inv_freq，只旋转这一部分",
    ],
    "attention-factor-missing": ["cos 和 sin 没有乘注意力因子", "cos 和 sin 乘以注意力因子"],
    "attention-factor-twice": ["cos 和 sin 乘了两次注意力因子", "只乘一次；移动已缓存的键时不再乘"],
    "attention-factor-wrong": [
        `${FACTOR}只由倍数得出，不是所要求的`,
        "读取 attention_factor 或 mscale、mscale_all_dim",
    ],
    "inv-freq-truncated": ["频率在乘以位置之前被截断为 bf16", `inv_freq ${WIDE}，${ROUNDED}`],
    "attention-factor-in-logarithm": [
        `${FACTOR}（或 mscale）被放进了 0.1 ln(倍数) + 1 的对数里`,
        "直接使用 attention_factor；没有它时才是 0.1 mscale ln(倍数) + 1",
    ],
    "truncate-ignored": [
        "yarn 的斜坡按 truncate 的另一个值取端点：该取整时没有取整，或相反",
        "读取 truncate（缺省为 true），只在它为 true 时把端点取整",
    ],
    "scaled-offset": [
        "起始位置多除了一次 linear 的倍数，或根本没有除",
        "先把起始位置加到位置上，再除以倍数一次",
    ],
    "rotated-twice": ["每一对都转了两次", "只转一次：要么在查询和键缓存之前，要么在读取缓存的键时"],
    "not-rotated": [
        "所有角度都是 0：没有旋转，或频率是从未初始化的零",
        "调用旋转；模型离开 meta 设备之后再计算 inv_freq",
    ],
    "mrope-sections-order": [
        "各对所用的坐标顺序不对：mrope 的各段互换了，或交错与分段弄反了",
        "按 config 的 mrope_section（时间、高、宽）和 mrope_interleaved 排列",
    ],
    uninitialized: [
        "这些值不可能是余弦、正弦或频率：零、次正规数、极大或非有限的数、重复的片段，像是从未写入的内存",
        "模型离开 meta 设备（to_empty）之后重新计算这个缓冲区，或从检查点加载",
    ],
    "layout-mixed": [
        "查询和键用了不同的维度对排列：half 与 interleaved",
        "两者都用检查点权重的排列；转换时 q_proj 与 k_proj 要一起重排",
    ],
    "pairs-across-head": [
        "只旋转一部分，但元素 k 与 k + head_dim / 2 配对，跨过了整个头",
        "先取出前 rotary_dim 个元素，在其中把 k 与 k + rotary_dim / 2 配对",
    ],
    "pairs-within-prefix": [
        "配对在头的前一部分之内，而 proportional 的配对跨过整个头",
        "把 k 与 k + head_dim / 2 配对；不旋转的对频率为 0",
    ],
    "off-by-one-position": ["每一行都错开一个位置", "两边从同一个位置（0 或 1）开始"],
    "half-minus-one-divisor": [
        "指数是 k / (half − 1)，最后的频率成了 1 / base",
        "除以宽度的一半；tensor2tensor、fairseq 的表是 spacing=endpoint",
    ],
    "rotated-backwards": ["正弦的符号相反：每一对都朝反方向转"],
    "cos-sin-swapped": ["cos 和 sin 的位置互换了", "两边用同一顺序"],
    "layout-swapped": ["维度对的排列不同：half 与 interleaved", "权重和旋转用同一种排列"],
    "columns-swapped": ["正弦列与余弦列的顺序不同", "两边用同一种列顺序"],
    "outputs-reordered": [
        "配对正确，但输出的维度顺序不同，例如读相邻维度而写成两半",
        "K 用同一函数旋转即可，或把维度放回原位",
    ],
    "pairs-permuted": [
        "配对的顺序既不是相邻维度，也不是前若干维度的两半",
        "用相邻维度或旋转部分的两半配对，并让各维度留在原位",
    ],
    "float32-angle": [
        "角度误差与 float32 在这些位置上的误差相当",
        "位置 × 频率用 float64 或精确计算",
    ],
};

/** Sentences of the API that name no mistake, by how they begin. */
const SENTENCES: [string, string][] = [
    ["near,", "接近，但差异超出舍入或噪声"],
    ["far away", "相差很大，无法解释"],
    ["nothing was expected", "没有给出预期，因此无法确认：请填写编码或 config"],
    ["what was posted, but", "差异与 f16 的噪声相当"],
    [
        "what was posted is explained",
        "吻合的候选同样能解释提交的数据：更多的行、其他位置，或 cos 与 sin 都提交，才能区分",
    ],
    ["every value", "检查过的每个值都只差舍入（包括 float32 的角度）"],
    ["no positions", "没有给出位置：各行按 0、1、2 … 处理"],
];

export const said = (words: string): string =>
    SENTENCES.find(([begin]) => words.startsWith(begin))?.[1] ??
    words
        .replace(/^consistent with/, "相符：")
        .replace(/\(usual: ([^)]*)\)/g, "（通常为 $1）")
        .replace(", but for noise as large as rms", "（另有大小如 rms 的噪声）")
        .replace(
            /^(\d+) of (\d+) rows are not what .*/,
            "$2 行中有 $1 行与第一个候选不符；first_bad 在其中第一行",
        )
        .replace(
            /^(\d+) heads are explained by none of (\d+) .*/,
            "$1 个头不符合已有的 $2 种解释，且不再寻找更多解释；请单独提交这些头",
        );

/** What a check by a golden file says beside the mistakes of a diagnosis: how its sentence begins,
 * the cause and the remedy. */
const CHECKS: [string, string, string?][] = [
    [
        "there are values that are no number",
        "有的值不是数，或是无穷大",
        `写满每个元素；角度${WIDE}`,
    ],
    [
        "the values are those of another encoding",
        "这些值属于另一种编码",
        "按标准文件的编码传入参数",
    ],
    [
        "the values are the expected ones, but",
        "这些值接近所要求的，但误差超出舍入",
        `频率、角度、cos 和 sin ${WIDE}，不用快速近似`,
    ],
    ["no known mistake explains", "没有已知的错误能解释这些值"],
    [
        "the attention factor is",
        "注意力因子不是所要求的",
        "由缩放得出：attention_factor、mscale 或倍数",
    ],
    [
        "scores are multiplied by another scale",
        "分数乘了另一个系数",
        "用模型自己的系数，包括 YaRN 的 mscale_all_dim",
    ],
    ["the vectors are the unrotated ones", "这些向量没有旋转", "调用旋转，并返回其结果"],
];

/** Of bf16 and f16, which several mistakes are made in. */
function rounded(code: string): [string, string] | undefined {
    const [, what, dtype] = /^(inv-freq|positions|angles)-(b?f16)$/.exec(code) ?? [];
    return what
        ? (
              {
                  "inv-freq": [
                      `频率在乘以位置之前被舍入为 ${dtype}`,
                      `inv_freq ${WIDE}，${ROUNDED}`,
                  ],
                  positions: [
                      `位置被舍入为 ${dtype}，${dtype === "bf16" ? 256 : 2048} 以上没有奇数`,
                      `位置保持整数，${WIDE}相乘`,
                  ],
                  angles: [`位置 × 频率用 ${dtype} 计算`, `角度${WIDE}，${ROUNDED}`],
              } as Record<string, [string, string]>
          )[what]
        : undefined;
}

/** Cause and remedy of what fits; what is not known stays as the API says it. */
export function chinese({
    bug,
    fits,
    explanation,
    fix,
}: Pick<Candidate, "bug" | "fits" | "explanation" | "fix">): [string, string | null] {
    const [why, how] = (bug && fits && (BUGS[bug] ?? rounded(bug))) || [said(explanation)];
    return [why, how ?? fix];
}

/** As `chinese`, of a check by a golden file. */
export function chineseCheck(one: Parameters<typeof chinese>[0]): [string, string | null] {
    const [, why, how] = CHECKS.find(([begin]) => one.explanation.startsWith(begin)) ?? [];
    return why ? [why, how ?? one.fix] : chinese(one);
}
