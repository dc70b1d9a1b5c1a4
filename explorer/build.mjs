// SPDX-License-Identifier: MIT
// Bundles the page: node build.mjs FOLDER [--site] writes index.html, explorer.js and explorer.css
// there; --site: with the worker of a page that has no server, which stands beside posenc.wasm.
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url)), site = process.argv.includes("--site");
const folder = resolve(process.argv.slice(2).find((one) => !one.startsWith("--")) ??
  join(here, "dist"));

// No field of a server says so there: nothing of another origin, and the module may be compiled.
const POLICY = `<meta http-equiv="Content-Security-Policy"
content="default-src 'self'; script-src 'self' 'wasm-unsafe-eval'">`;

/** The HTML of the site, whose places a server would fill in. */
const siteHtml = (html) => html.replace("<html ", "<html data-site ")
  .replace("<!--preview-->", POLICY).replace("<!--lists-->\n", "");

await mkdir(folder, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { explorer: "src/main.ts", ...(site ? { worker: "src/worker.ts" } : {}) },
  outdir: folder,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  external: ["node:crypto"],
  legalComments: "eof",
  logLevel: "warning",
});
await cp(join(here, "icon.svg"), join(folder, "icon.svg"));
const html = await readFile(join(here, "index.html"), "utf8");
await writeFile(join(folder, "index.html"), site ? siteHtml(html) : html);
