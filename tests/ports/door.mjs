// SPDX-License-Identifier: MIT
// The module behind standard input: a line {"settings"}, then a line {"method", "target", "fields",
// "body"} for each request, answered by one of {"status", "fields", "body"}; bodies in base64.
//
//     node door.mjs clients/js/client.js build-wasm/posenc.wasm
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [client, wasm] = process.argv.slice(2);
const { open } = await import(pathToFileURL(client));
const module = await WebAssembly.compile(await readFile(wasm));
let ask;

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  let answer = {};
  if (asked.settings) {
    ask = await open(module, asked.settings);
  } else {
    const body = Buffer.from(asked.body, "base64");
    const { status, fields, parts } = await ask(asked.method, asked.target, asked.fields, body);
    answer = { status, fields, body: Buffer.concat(parts).toString("base64") };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
