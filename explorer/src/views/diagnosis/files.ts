// SPDX-License-Identifier: MIT
// Files as a person drops them, and what they should be as a person writes it, for the API.
import { encode } from "../../../../clients/js/client.js";
import { tensorOf } from "./picture";

export interface Posted {
    name: string;
    bytes: Blob;
    /** Which one it is, where the bytes do not say so. */
    tensor?: string;
    /** Of heads that were turned: the likely order of their axes. */
    axes?: string;
    /** The description of a golden file is in it, by which it is checked. */
    golden?: boolean;
}

/** What the tensor of a .npy file is, by the file's name: k_rotated.npy is turned as q_rotated is.
 * */
function tensorNamed(file: string): string {
    const [, known] = /^(cos|sin|freqs_cis|inv_freq)(?![a-z])/i.exec(file) ?? [];
    if (known) return known.toLowerCase();
    if (!/^(q|k|query|key)(?![a-z])/i.test(file)) return "table";
    return /rot|after|out/i.test(file) ? "q_rotated" : "q";
}

/** There are fewer heads than positions. */
function axes(shape: number[]): string {
    const [heads, rows] = shape.slice(-3);
    return shape.length < 3 ? "sd" : "b".repeat(shape.length - 3) + (heads > rows ? "shd" : "hsd");
}

/** Several .npy files as one, a tensor each: cos and sin, q and q_rotated. */
export async function joined(files: File[]): Promise<Posted> {
    const own = files.filter(({ name }) => /\.npy$/i.test(name));
    if (own.length < 2)
        return { name: files[0].name, bytes: files[0], tensor: own[0] && tensorNamed(own[0].name) };
    // Keys alone are diagnosed as queries are; beside queries they are tensors of their own.
    const isKey = ({ name }: File) => /^k/i.test(name);
    const isBeside = own.some(isKey) && own.some(({ name }) => /^q/i.test(name));
    const named = (file: File) =>
        isBeside && isKey(file)
            ? tensorNamed(file.name).replace(/^q/, "k")
            : tensorNamed(file.name);
    const all = await Promise.all(
        own.map(async (file) => [named(file), await tensorOf(file)] as const),
    );
    const name = own.map((file) => file.name).join(" + ");
    return {
        name,
        bytes: new File([encode(Object.fromEntries(all))], `${name}.safetensors`),
        axes: all.some(([one]) => one === "q_rotated") ? axes(all[0][1].shape) : undefined,
    };
}

/** Parameters of a query: encoding=rope base=500000 as it stands, and rope base 500000 too. */
export function meant(text: string): string {
    const words = text
        .trim()
        .replace(/\s*[=:]\s*/g, "=")
        .split(/[\s&]+|,\s+/)
        .filter(Boolean);
    const plain = words.filter((one) => !one.includes("="));
    const given = words.filter((one) => one.includes("="));
    if (plain.length % 2) given.unshift(`encoding=${plain.shift()}`);
    for (let i = 0; i < plain.length; i += 2) given.push(`${plain[i]}=${plain[i + 1]}`);
    return given.join("&");
}
