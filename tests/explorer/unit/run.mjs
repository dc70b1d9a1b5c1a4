// SPDX-License-Identifier: MIT
// Tests of the page's modules that need no browser: node run.mjs FOLDER bundles each *.test.ts of
// this folder into FOLDER and has node run them.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url)),
    root = resolve(here, "../../..");
const { build } = createRequire(join(root, "explorer/package.json"))("esbuild");
const folder = resolve(process.argv[2]);
const names = readdirSync(here).filter((name) => name.endsWith(".test.ts"));
await build({
    absWorkingDir: here,
    entryPoints: names,
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node18",
    sourcemap: "inline",
    define: { SITE: "false", VERSION: '"1.2.3"', ROOT: JSON.stringify(root) },
    loader: { ".css": "empty" },
    logLevel: "warning",
});
const files = names.map((name) => join(folder, name.replace(/\.ts$/, ".mjs")));
const done = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...files], {
    stdio: "inherit",
});
process.exitCode = done.status ?? 1;
