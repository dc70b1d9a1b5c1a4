// SPDX-License-Identifier: MIT
// Prints as JSON what /client.js makes of answers: of the server's, or of the module's.
//
//     node client.mjs URL [posenc.wasm]
import { readFile } from "node:fs/promises";

const [url, wasm] = process.argv.slice(2);
const text = await (await fetch(`${url}/client.js`)).text();
const { connect, read, encode } = await import(`data:text/javascript,${encodeURIComponent(text)}`);

const plain = ({ dtype, shape, data }) => ({
  dtype, shape, data: Array.from(data, Number), array: data.constructor.name,
});
const tensors = (all) => Object.fromEntries(Object.entries(all).map(([k, v]) => [k, plain(v)]));
const refusal = (promise) => promise.then(() => "no refusal", ({ name, status, problem }) =>
  ({ name, status, code: problem?.code }));
const told = {};

const posenc = await connect(wasm ? await readFile(wasm) : `${url}/`);
const asked = { dim: 4, length: 2 };
told.table = tensors(await posenc.table("rope", asked));
for (const dtype of ["f64", "f16", "bf16"])
  told[dtype] = tensors(await posenc.table("sinusoidal", { ...asked, dtype })).table;
for (const format of ["npy", "raw", "json", "csv"]) {
  const response = await posenc.request("GET",
    `/v1/encodings/sinusoidal/table?dim=4&length=2&format=${format}`);
  const answer = await read(response);
  told[format] = answer.data ? plain(answer) : answer.tensors ?? answer;
}
told.view = tensors(await posenc.view("rope", "analysis/similarity", { dim: 4, length: 2 }));
const q = { shape: [1, 1, 2, 4], data: Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8) };
const rotation = { encoding: "rope", layout: "half", axes: "bhsd", start: 0 };
const rotated = await posenc.rotate(rotation, { q });
told.rotated = tensors(rotated);
told.back = tensors(await posenc.rotate({ ...rotation, inverse: true }, rotated));
told.read = tensors(await read(new Response(encode({ x: { data: BigInt64Array.of(3n, -4n) } }),
  { headers: { "content-type": "application/x-safetensors" } })));
told.config = (await posenc.config(
  { model_type: "llama", hidden_size: 64, num_attention_heads: 4 })).encoding;
told.compared = (await posenc.compare({ a: { name: "rope", dim: 4 },
  b: { name: "rope", dim: 4, base: 500 }, length: 3 })).max_abs;
told.names = (await posenc.encodings()).encodings.length;
told.refused = await refusal(posenc.table("rop"));
told.aborted = await refusal(posenc.table("rope", asked, { signal: AbortSignal.abort() }));
console.log(JSON.stringify(told));
