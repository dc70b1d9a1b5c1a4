// SPDX-License-Identifier: MIT
// Prints as JSON what client.js makes of answers: of the server's, or of the module's.
//
//     node client.mjs URL [posenc.wasm]
import { readFile } from "node:fs/promises";

import { connect, encode, read } from "../../clients/js/client.js";

const [url, wasm] = process.argv.slice(2);
const plain = ({ dtype, shape, data }) => ({
    dtype,
    shape,
    data: Array.from(data, Number),
    array: data.constructor.name,
});
const tensors = (all) => Object.fromEntries(Object.entries(all).map(([k, v]) => [k, plain(v)]));
const refusal = (promise) =>
    promise.then(
        () => "no refusal",
        ({ name, status, problem }) => ({ name, status, code: problem?.code }),
    );
const told = {};

const posenc = await connect(wasm ? await readFile(wasm) : `${url}/`);
const asked = { dim: 4, length: 2 };
told.table = tensors(await posenc.table("rope", asked));
for (const dtype of ["f64", "f16", "bf16"])
    told[dtype] = tensors(await posenc.table("sinusoidal", { ...asked, dtype })).table;
for (const format of ["npy", "raw", "json", "csv"]) {
    const response = await posenc.request(
        "GET",
        `/v1/encodings/sinusoidal/table?dim=4&length=2&format=${format}`,
    );
    const answer = await read(response);
    told[format] = answer.data ? plain(answer) : (answer.tensors ?? answer);
}
told.view = tensors(await posenc.view("rope", "analysis/similarity", { dim: 4, length: 2 }));
const far = Array.from({ length: 5000 }, (_, i) => 10000 + i);
told.far = tensors(await posenc.table("rope", { dim: 4, positions: far, part: "cos" }));
told.far_text = tensors(await posenc.table("rope", { dim: "4", positions: `${far}`, part: "cos" }));
const q = { shape: [1, 1, 2, 4], data: Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8) };
const rotation = { encoding: "rope", layout: "half", axes: "bhsd", start: 0 };
const rotated = await posenc.rotate(rotation, { q });
told.rotated = tensors(rotated);
const other = { ...rotation, encoding: { name: "rope", base: 500 } };
told.by_object = tensors(await posenc.rotate(other, { q }));
told.by_name = tensors(await posenc.rotate({ ...rotation, base: 500 }, { q }));
const bits = {
    dtype: "bf16",
    shape: q.shape,
    data: new Uint16Array(q.data.buffer).filter((_, at) => at & 1),
};
told.bits_by_object = tensors(await posenc.rotate(other, { bits }));
told.bits_by_name = tensors(await posenc.rotate({ ...rotation, base: 500 }, { bits }));
const batch = { shape: [2, 1, 2, 4], data: Float32Array.of(...q.data, ...q.data) };
const { start, ...placed } = rotation;
told.rows = tensors(
    await posenc.rotate(
        {
            ...placed,
            positions: [
                [0, 1],
                [5, 9],
            ],
        },
        { q: batch },
    ),
);
told.row = tensors(await posenc.rotate({ ...placed, positions: [5, 9] }, { q }));
told.by_config = tensors(
    await posenc.table("rope", {
        length: 2,
        config: { model_type: "llama", head_dim: 4, rope_theta: 500 },
    }),
);
told.by_base = tensors(await posenc.table("rope", { dim: 4, length: 2, base: 500 }));
told.accepted = await posenc.table("rope", asked, { headers: { Accept: "application/json" } });
told.back = tensors(await posenc.rotate({ ...rotation, inverse: true }, rotated));
told.read = tensors(
    await read(
        new Response(encode({ x: { data: BigInt64Array.of(3n, -4n) } }), {
            headers: { "content-type": "application/x-safetensors" },
        }),
    ),
);
told.config = (
    await posenc.config({ model_type: "llama", hidden_size: 64, num_attention_heads: 4 })
).encoding;
told.compared = (
    await posenc.compare({
        a: { name: "rope", dim: 4 },
        b: { name: "rope", dim: 4, base: 500 },
        length: 3,
    })
).max_abs;
const made = await posenc.golden({ config: { model_type: "llama", head_dim: 4 }, context: 300 });
const { data, ...rest } = made.tensors.q_rotated;
const backwards = { ...made.tensors.sin, data: made.tensors.sin.data.map((one) => -one) };
told.golden = { description: made.golden, tensors: tensors(made.tensors) };
told.golden_json = await posenc.golden(
    { config: { model_type: "llama", head_dim: 4 }, context: 300, data_format: "base64" },
    { headers: { Accept: "application/json" } },
);
told.checked = [
    await posenc.check(made, { q_rotated: made.tensors.q_rotated }),
    await posenc.check(made, { q_rotated: { ...rest, data: new Float32Array(data.length) } }),
    await posenc.check({ golden: JSON.stringify(made.golden) }, { sin: backwards }),
].map(({ verdict, mistake }) => [verdict, mistake]);
const changed = { "golden.sin": backwards, sin: backwards };
told.golden_refused = await refusal(posenc.golden({ config: { model_type: "bert" } }));
told.changed = await refusal(posenc.check({ golden: made.golden }, changed));
told.names = (await posenc.encodings()).encodings.length;
told.refused = await refusal(posenc.table("rop"));
told.aborted = await refusal(posenc.table("rope", asked, { signal: AbortSignal.abort() }));
console.log(JSON.stringify(told));
