// SPDX-License-Identifier: MIT
// Bundles the page: node build.mjs FOLDER writes index.html, explorer.js and explorer.css there.
import { cp, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url)), folder = process.argv[2] ?? join(here, "dist");

await mkdir(folder, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { explorer: "src/main.ts" },
  outdir: folder,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  external: ["node:crypto"],
  legalComments: "eof",
  logLevel: "warning",
});
await cp(join(here, "index.html"), join(folder, "index.html"));
