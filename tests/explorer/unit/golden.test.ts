// SPDX-License-Identifier: MIT
// Outputs of a kernel and a golden file as one request, and the answer as words.
import "./fakes";
import assert from "node:assert/strict";
import test from "node:test";
import { encode, read } from "../../../clients/js/client.js";
import type { FakeElement } from "./fakes";
import {
    checkReport,
    withGolden,
    type Checked,
} from "../../../explorer/src/views/diagnosis/golden";

const NAMES = ["positions", "q", "inv_freq_f64", "cos", "softmax_scale"];
const DESCRIPTION = '{"format":1,"kinds":[]}';

/** A tensor whose numbers no other one has. */
const tensor = (begin: number, length: number) => ({
    dtype: "f32",
    shape: [length],
    data: Float32Array.from({ length }, (_, i) => begin + i),
});

const file = (
    name: string,
    names: string[],
    begin: number,
    metadata: Record<string, string> = {},
): File =>
    new File(
        [
            encode(
                Object.fromEntries(
                    names.map((one, i) => [one, tensor(begin + 100 * i, 1 + i)]),
                ) as Parameters<typeof encode>[0],
                metadata,
            ),
        ],
        name,
    );

const golden = (name = "golden.safetensors") =>
    file(name, NAMES, 1, { golden: DESCRIPTION, other: "x" });
const mine = (name = "mine.safetensors", metadata = {}) =>
    file(name, ["cos", "q_rotated"], 5000, metadata);

async function parts(posted: Blob) {
    const buffer = await posted.arrayBuffer(),
        size = Number(new DataView(buffer).getBigUint64(0, true)),
        text = new TextDecoder().decode(new Uint8Array(buffer, 8, size));
    const type = { "Content-Type": "application/x-safetensors" },
        tensors = (await read(new Response(buffer, { headers: type }))) as Record<
            string,
            { data: Float32Array }
        >;
    return { metadata: JSON.parse(text).__metadata__, tensors, size };
}

test("all tensors of both files are posted, with the description alone as metadata", async () => {
    for (const files of [
        [golden(), mine()],
        [mine(), golden()],
        [mine("mine.safetensors", { seed: "7" }), golden("reference.safetensors")],
        [mine("mine.safetensors", { golden: "{}" }), golden()],
    ]) {
        const posted = (await withGolden(files))!;
        assert.equal(posted.golden, true);
        assert.match(posted.name, /^mine\.safetensors \+ /);
        const { metadata, tensors, size } = await parts(posted.bytes);
        assert.deepEqual(metadata, { golden: DESCRIPTION });
        assert.equal(size % 8, 0);
        assert.deepEqual(
            Object.keys(tensors).sort(),
            ["cos", "q_rotated", ...NAMES.map((one) => `golden.${one}`)].sort(),
        );
        NAMES.forEach((name, i) =>
            assert.deepEqual(
                [...tensors[`golden.${name}`].data],
                [...tensor(1 + 100 * i, 1 + i).data],
            ),
        );
        assert.deepEqual([...tensors.cos.data], [5000]);
        assert.deepEqual([...tensors.q_rotated.data], [5100, 5101]);
    }
});

test("files that cannot be checked are refused, and others are no golden files", async () => {
    const other = new File(["\x93NUMPY"], "q.npy");
    await assert.rejects(withGolden([mine(), mine("b.safetensors")]), /neither .* a golden file/);
    await assert.rejects(withGolden([golden(), other]), /q\.npy is no safetensors file/);
    for (const files of [
        [],
        [golden()],
        [other, other],
        [mine(), other],
        [golden(), mine(), other],
    ])
        assert.equal(await withGolden(files), null);
});

const right = { verdict: "right", mistake: null, outside: 0, max_abs: 0, first: null } as const;
const wrong = { verdict: "wrong", mistake: "unknown", explanation: "no", fix: null } as const;
const limits = { expected: 0.25, low: -0.5, high: 1e-9 };

function words(...tensors: Checked["tensors"]): string {
    const all = { ...wrong, checked: 3, outputs: 8, missing: [], tensors };
    return (checkReport(all) as unknown as FakeElement).textContent;
}

test("the first wrong element has its place and every digit that float32 has", () => {
    const base = { ...right, ...wrong, tensor: "q_rotated", elements: 96, outside: 2 };
    const first = { element: 0, seen: 1.0000001, ...limits };
    const text = words(
        { ...right, tensor: "cos", elements: 9 },
        { ...base, max_abs: "Infinity", first: { ...first, position: 131071, head: 0 } },
        { ...base, tensor: "sin", max_abs: 0.5, first: { ...first, seen: "NaN", position: 0 } },
        { ...base, tensor: "inv_freq", max_abs: 0.5, first: { ...first, seen: "-Infinity" } },
        { ...base, tensor: "softmax_scale", elements: 1, outside: 1, max_abs: 0.5, first },
    ).replaceAll("\u202f", "");
    assert.match(text, /2 of 96 elements, off by up to ∞/);
    assert.match(text, /first at position 131071, head 0, element 0: 1\.0000001 instead of 0\.25 /);
    assert.match(text, /\(from −0\.5 to 10⁻⁹ is right\)/);
    assert.match(text, /first at position 0, element 0: NaN instead of/);
    assert.match(text, /first at element 0: −∞ instead of/);
    assert.match(text, /softmax_scale: wrong, unknown1\.0000001 instead of/);
    assert.ok(text.indexOf("cos: right") > text.indexOf("softmax_scale: wrong"));
    assert.match(text, /counted from 0/);
    assert.doesNotMatch(words({ ...right, tensor: "cos", elements: 9 }), /counted from 0|first/);
});
