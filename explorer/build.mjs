// SPDX-License-Identifier: MIT
// Bundles the page: node build.mjs FOLDER [--site] writes index.html, explorer.js, shared.js,
// second.js and explorer.css there, and docs.html, docs.js and docs.css of /docs; --site: with the worker of a page that has
// no server, which stands beside posenc.wasm.
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { docsPage } from "./docs/page.mjs";

const here = dirname(fileURLToPath(import.meta.url)),
    site = process.argv.includes("--site");
const folder = resolve(
    process.argv.slice(2).find((one) => !one.startsWith("--")) ?? join(here, "dist"),
);

// No field of a server says so there: nothing of another origin, and the module may be compiled.
const POLICY = `<meta http-equiv="Content-Security-Policy"
content="default-src 'self'; script-src 'self' 'wasm-unsafe-eval'">`;

/** The module comes beside the script that wants it, and not after. */
const EARLY = '<link rel="preload" href="./posenc.wasm" as="fetch" crossorigin>\n';

/** The HTML of the site, whose places a server would fill in. */
const siteHtml = (html) =>
    html
        .replace('<script type="module" src="./explorer.js">', (script) => EARLY + script)
        .replace("<!--preview-->", POLICY)
        .replace("<!--lists-->\n", "")
        .replaceAll('href="./docs"', 'href="./docs.html"');

/** Of the gallery what is shown: tests alone read by which numbers a sentence is checked. */
const shown = ({ link, en, zh, draw, asks }) => ({
    link,
    en,
    zh,
    draw,
    asks: Object.fromEntries(
        Object.entries(asks).filter(([name]) => `,${draw.data}`.includes(`,${name}.`)),
    ),
});
const gallery = {
    name: "gallery",
    setup: (bundle) =>
        bundle.onLoad({ filter: /gallery\.json$/ }, async ({ path }) => ({
            loader: "json",
            contents: JSON.stringify(JSON.parse(await readFile(path, "utf8")).map(shown)),
        })),
};

/** Models that the first script has; the second one has all. */
const models = {
    name: "models",
    setup(bundle) {
        bundle.onResolve({ filter: /models\.json\?all$/ }, ({ path, resolveDir }) => ({
            path: join(resolveDir, path.replace("?all", "")),
            suffix: "?all",
        }));
        bundle.onLoad({ filter: /models\.json$/ }, async ({ path, suffix }) => {
            const all = Object.entries(JSON.parse(await readFile(path, "utf8")));
            const first = all
                .filter(([, { first }]) => first)
                .map(([id, { name, config }]) => [id, { name, config }]);
            return {
                loader: "json",
                contents: JSON.stringify(Object.fromEntries(suffix ? all : first)),
            };
        });
    },
};

const { version } = JSON.parse(await readFile(join(here, "package.json"), "utf8"));
await mkdir(folder, { recursive: true });
const options = {
    absWorkingDir: here,
    outdir: folder,
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    define: { SITE: `${site}`, VERSION: JSON.stringify(version) },
    external: ["node:crypto"],
    plugins: [gallery, models],
    legalComments: "eof",
    logLevel: "warning",
};
// explorer.js, second.js and what both need, shared.js. A third entry would need another name for
// what it shares.
await build({
    ...options,
    entryPoints: { explorer: "src/main.ts", second: "src/second.ts" },
    splitting: true,
    chunkNames: "shared",
});
await build({
    ...options,
    entryPoints: { docs: "src/docs/main.ts", ...(site ? { worker: "src/worker.ts" } : {}) },
});
await rm(join(folder, "second.css")); // explorer.css has all styles
await cp(join(here, "icon.svg"), join(folder, "icon.svg"));
const source = (name) => readFile(join(here, name), "utf8");
const pages = {
    "index.html": await source("index.html"),
    "docs.html": await docsPage(dirname(here), await source("docs/page.html")),
};
for (const [name, html] of Object.entries(pages))
    await writeFile(join(folder, name), site ? siteHtml(html) : html);
