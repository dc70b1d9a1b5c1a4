// SPDX-License-Identifier: MIT
// Outputs of a kernel, checked by a golden file that was dropped with them.
import type { Ask } from "../../api";
import { h } from "../../dom";
import { short, whole } from "../../numbers";
import { language, t } from "../../words";
import { chineseCheck } from "./chinese";
import type { Posted } from "./files";
import { scheme, type Candidate } from "./report";

/** A number of the API: "NaN", "Infinity" and "-Infinity" are texts in JSON. */
type Real = number | string;

/** The first element that is wrong; an output of one number has no position. */
interface First {
    position?: number;
    head?: number;
    element: number;
    seen: Real;
    expected: Real;
    low: Real;
    high: Real;
}

interface Tensor {
    tensor: string;
    verdict: "right" | "wrong";
    mistake: string | null;
    elements: number;
    outside: number;
    max_abs: Real;
    first: First | null;
    /** What explains the values. */
    encoding?: Candidate["encoding"];
}

export interface Checked {
    verdict: "right" | "wrong";
    mistake: string | null;
    explanation: string | null;
    fix: string | null;
    checked: number;
    outputs: number;
    missing: string[];
    tensors: Tensor[];
}

const LENGTH = 8, // bytes of the length of a header
    HEADER_MAX = 100 << 20;

interface Header {
    __metadata__?: Record<string, string>;
    [tensor: string]: unknown;
}

interface Head {
    header: Header;
    data: number;
}

/** The header of a safetensors file, and where its data begin; null of any other file. */
async function head(file: Blob): Promise<Head | null> {
    const bytes = await file.slice(0, LENGTH).arrayBuffer();
    if (bytes.byteLength < LENGTH) return null;
    const size = Number(new DataView(bytes).getBigUint64(0, true));
    if (size > HEADER_MAX || LENGTH + size > file.size) return null;
    try {
        const header = JSON.parse(await file.slice(LENGTH, LENGTH + size).text()) as Header;
        return { header, data: LENGTH + size };
    } catch {
        return null;
    }
}

/** Tensors under other names, whose elements begin later. */
function moved(header: Header, prefix: string, by: number): Header {
    const named = Object.entries(header).filter(([name]) => name !== "__metadata__");
    return Object.fromEntries(
        named.map(([name, entry]) => {
            const { data_offsets: offsets, ...rest } = entry as { data_offsets?: number[] };
            return [prefix + name, { ...rest, data_offsets: offsets?.map((at) => at + by) }];
        }),
    );
}

const noneIsGolden = ([one, other]: File[]) =>
    t(
        `neither ${one.name} nor ${other.name} is a golden file: drop one file, or a kernel's outputs with a file that posenc golden made`,
        `${one.name} 和 ${other.name} 都不是标准文件：请只拖入一个文件，或把内核输出与 posenc golden 生成的标准文件一起拖入`,
    );

const noOutputs = ({ name }: File) =>
    t(
        `${name} is no safetensors file: write the outputs into one, under the golden file's names`,
        `${name} 不是 safetensors 文件：请把输出按标准文件中的名称写入 safetensors`,
    );

/** Which of two files is the golden one, by its description; where both have one, by its name. */
function goldenOne(files: File[], heads: (Head | null)[]): number {
    const described = heads.map((one) => !!one?.header.__metadata__?.golden);
    if (!described.every(Boolean)) return described.indexOf(true);
    return Math.max(
        files.findIndex(({ name }) => /golden/i.test(name)),
        0,
    );
}

/** Of two files, one of which is a golden file, the tensors of both: those of the golden one, which
 * the API verifies by its description, have the prefix "golden.". null: they are no such files. */
export async function withGolden(files: File[]): Promise<Posted | null> {
    if (files.length !== 2) return null;
    const heads = await Promise.all(files.map(head)),
        which = goldenOne(files, heads),
        [golden, mine] = [heads[which]!, heads[1 - which]];
    if (which < 0) {
        if (heads.every(Boolean)) throw new Error(noneIsGolden(files));
        return null;
    }
    if (!mine) throw new Error(noOutputs(files[1 - which]));
    const file = files[1 - which],
        header = new TextEncoder().encode(
            JSON.stringify({
                ...moved(mine.header, "", 0),
                ...moved(golden.header, "golden.", file.size - mine.data),
                __metadata__: { golden: golden.header.__metadata__!.golden },
            }),
        );
    const padded = new Uint8Array(Math.ceil(header.length / 8) * 8).fill(0x20),
        length = new DataView(new ArrayBuffer(LENGTH));
    padded.set(header);
    length.setBigUint64(0, BigInt(padded.length), true);
    const name = `${file.name} + ${files[which].name}`,
        elements = [file.slice(mine.data), files[which].slice(golden.data)];
    return { name, bytes: new File([length.buffer, padded, ...elements], name), golden: true };
}

export const checkAsk = ({ bytes }: Posted): Ask => ({
    method: "POST",
    target: "/v1/check",
    bytes,
    type: "application/x-safetensors",
});

/** The cause and the fix in the language of the page. */
const said = ({ mistake, explanation, fix }: Checked): [string | null, string | null] =>
    language() === "en" || !explanation
        ? [explanation, fix]
        : chineseCheck({ bug: mistake, fits: !!mistake, explanation, fix });

const OTHER = "other-scheme";

/** As many digits as numbers of float32 differ in. */
const number = (value: Real) => short(Number(value), 9);

/** Where it stands and what it is; `alone`: it is the output's only number. */
function firstWrong(first: First, alone: boolean): string {
    const { position, head, element } = first;
    const places = [
        position !== undefined && t(`position ${whole(position)}`, `位置 ${whole(position)}`),
        head !== undefined && t(`head ${head}`, `头 ${head}`),
        t(`element ${element}`, `元素 ${element}`),
    ];
    const at = places.filter(Boolean).join(t(", ", "、")),
        [seen, expected, low, high] = [first.seen, first.expected, first.low, first.high].map(
            number,
        );
    return (
        (alone ? "" : t(`first at ${at}: `, `第一个在${at}：`)) +
        t(
            `${seen} instead of ${expected} (from ${low} to ${high} is right)`,
            `为 ${seen}，应为 ${expected}（${low} 至 ${high} 为正确）`,
        )
    );
}

function tensor(one: Tensor): HTMLElement {
    const { outside, elements, first, encoding } = one,
        alone = elements === 1;
    return h(
        "li",
        {},
        h("code", {}, one.tensor),
        one.verdict === "right" ? t(": right", "：正确") : t(": wrong, ", "：错误，"),
        one.mistake && h("code", {}, one.mistake),
        outside > 0 &&
            !alone &&
            t(
                `, ${whole(outside)} of ${whole(elements)} elements, off by up to ${short(Number(one.max_abs), 3)}`,
                `，${whole(elements)} 个元素中 ${whole(outside)} 个不符，最大偏差 ${short(Number(one.max_abs), 3)}`,
            ),
        first && h("p", {}, firstWrong(first, alone)),
        one.mistake === OTHER && encoding && h("p", {}, h("code", {}, scheme(encoding))),
    );
}

const wrongFirst = (tensors: Tensor[]) =>
    ["wrong", "right"].flatMap((one) => tensors.filter(({ verdict }) => verdict === one));

export function checkReport(all: Checked): HTMLElement {
    const right = all.verdict === "right",
        mark = h("span.sign", { "aria-hidden": "true" }, right ? "✓" : "✕");
    const [why, fix] = said(all);
    mark.style.background = `var(--${right ? "good" : "bad"})`;
    return h(
        "section.panel.result",
        {},
        h(
            "h2",
            {},
            mark,
            right ? t("It is right", "正确") : t("It is wrong", "错误"),
            all.mistake && h("code", {}, all.mistake),
        ),
        why && h("p.why", {}, why),
        fix && h("p.fix", {}, h("b", {}, t("Fix: ", "修正：")), fix),
        h(
            "p",
            {},
            t(
                `${all.checked} of ${all.outputs} outputs of the golden file were checked`,
                `已检查标准文件 ${all.outputs} 个输出中的 ${all.checked} 个`,
            ),
            all.missing.length > 0 &&
                t(`; not posted: ${all.missing.join(", ")}`, `；未提供：${all.missing.join("、")}`),
        ),
        h("ul.checked", {}, ...wrongFirst(all.tensors).map(tensor)),
        all.tensors.some(({ first }) => first) &&
            h(
                "p.note",
                {},
                t("Heads and elements are counted from 0.", "头和元素都从 0 开始编号。"),
            ),
    );
}
