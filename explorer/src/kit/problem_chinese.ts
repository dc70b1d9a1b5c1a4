// SPDX-License-Identifier: MIT
// Frequent sentences of the API's problems in Chinese. Others stay in English: they quote values
// and names that are English in any case.

const name = "([\\w.-]+)",
    value = "([^,;]+)";

const SENTENCES: [string, string][] = [
    ["the text is not valid JSON: byte (\\d+)", "文本不是有效的 JSON（byte $1）"],
    ["the text must be a JSON object: \\{ … \\}", "文本必须是 JSON 对象：{ … }"],
    ["there is no setting '([^']*)'", "没有名为 $1 的设置"],
    ["there is no encoding '([^']*)'", "没有名为 $1 的编码"],
    ["there is no stored table '([^']*)'", "没有名为 $1 的已存储编码表"],
    ["did you mean '([^']*)'\\?", "是否指 $1？"],
    [`${name} must be even(?: for ${name})?`, "$1 必须是偶数"],
    [`${name} must be above ${value} and at most ${value}`, "$1 必须大于 $2，且不超过 $3"],
    [`${name} must be at least ${value} and at most ${value}`, "$1 必须在 $2 到 $3 之间"],
    [`${name} must be a whole number`, "$1 必须是整数"],
    [`${name} must be a number`, "$1 必须是数"],
    [`${name} must be finite`, "$1 必须是有限的数"],
    [`${name} must be one of ([^;]+)`, "$1 必须是以下之一：$2"],
    [`${name} must be true or false`, "$1 必须是 true 或 false"],
    [`${name} is required(?: for ${name} ${name})?`, "缺少 $1"],
    [`${name} is given twice`, "$1 给出了两次"],
    [`the config describes ${name}`, "此 config 描述的是 $1"],
    ["cannot determine the positional encoding from this config", "无法从此 config 判断位置编码"],
    ["the layers of this config differ", "此 config 各层不同"],
    [`${name} is at most (\\d+)`, "$1 不超过 $2"],
    ["the answer would have more than (\\d+) bytes", "结果会超过 $1 字节"],
    [
        `element (\\d+) of (?:golden\\.)?${name} is ${value}, and (.+) by the golden file's description: the file was changed`,
        "标准文件与其说明不符：$2 的元素 $1 是 $3，按说明应为 $4",
    ],
    ["got ([^;]+)$", "实际为 $1"],
];

const FORMS = SENTENCES.map(([english, chinese]) => [new RegExp(`^${english}`), chinese] as const);

/** Part by part: what no form fits stays as it is. */
export const problemInChinese = (words: string): string =>
    words
        .split(/(; |, (?=got )|(?<=is required): )/)
        .map((part) => {
            if (/^; $|^, $/.test(part)) return "；";
            if (part === ": ") return "：";
            const form = FORMS.find(([english]) => english.test(part));
            return form ? part.replace(...form) : part;
        })
        .join("");
