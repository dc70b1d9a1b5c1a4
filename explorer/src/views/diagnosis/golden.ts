// SPDX-License-Identifier: MIT
// Outputs of a kernel, checked by a golden file that was dropped with them.
import type { Ask } from "../../api";
import { h } from "../../dom";
import { short, whole } from "../../numbers";
import { language, t } from "../../words";
import { chinese } from "./chinese";
import type { Posted } from "./files";

export interface Checked {
    verdict: "right" | "wrong";
    mistake: string | null;
    explanation: string | null;
    fix: string | null;
    checked: number;
    outputs: number;
    missing: string[];
    tensors: {
        tensor: string;
        verdict: "right" | "wrong";
        elements: number;
        outside: number;
        max_abs: number;
    }[];
}

const LENGTH = 8, // bytes of the length of a header
    HEADER_MAX = 100 << 20;

interface Header {
    __metadata__?: Record<string, string>;
    [tensor: string]: unknown;
}

/** The header of a safetensors file, and where its data begin; null of any other file. */
async function head(file: Blob): Promise<{ header: Header; data: number } | null> {
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

/** Of two files, one of which is a golden file, the other one with the description of the golden
 * one. */
export async function withGolden(files: File[]): Promise<Posted | null> {
    if (files.length !== 2) return null;
    const heads = await Promise.all(files.map(head)),
        which = heads.findIndex((one) => !!one?.header.__metadata__?.golden);
    const mine = heads[1 - which],
        file = files[1 - which];
    if (which < 0 || !mine) return null;
    const { golden } = heads[which]!.header.__metadata__!;
    const header = new TextEncoder().encode(
        JSON.stringify({ ...mine.header, __metadata__: { golden } }),
    );
    const padded = new Uint8Array(Math.ceil(header.length / 8) * 8).fill(0x20),
        length = new DataView(new ArrayBuffer(LENGTH));
    padded.set(header);
    length.setBigUint64(0, BigInt(padded.length), true);
    const name = `${file.name} + ${files[which].name}`;
    return {
        name,
        bytes: new File([length.buffer, padded, file.slice(mine.data)], name),
        golden: true,
    };
}

export const checkAsk = ({ bytes }: Posted): Ask => ({
    method: "POST",
    target: "/v1/check",
    bytes,
    type: "application/x-safetensors",
});

/** The cause and the fix in the language of the page; a mistake that is named fits. */
const said = ({ mistake, explanation, fix }: Checked): [string | null, string | null] =>
    language() === "en" || !explanation
        ? [explanation, fix]
        : chinese({ bug: mistake, fits: !!mistake, explanation, fix });

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
        h(
            "ul.checked",
            {},
            ...all.tensors.map((one) =>
                h(
                    "li",
                    {},
                    h("code", {}, one.tensor),
                    one.verdict === "right" ? t(": right", "：正确") : t(": wrong", "：错误"),
                    one.outside > 0 &&
                        t(
                            `, ${whole(one.outside)} of ${whole(one.elements)} elements, off by up to ${short(one.max_abs, 3)}`,
                            `，${whole(one.elements)} 个元素中 ${whole(one.outside)} 个不符，最大偏差 ${short(one.max_abs, 3)}`,
                        ),
                ),
            ),
        ),
    );
}
