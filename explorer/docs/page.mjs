// SPDX-License-Identifier: MIT
// /docs, made when the project is built: the guides of docs/*.md and the reference of openapi.json
// in one page, which reads without a script; the script shows an article at a time, searches, and
// sends requests.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { article, code, escaped, link, markdown } from "./html.mjs";
import { reference } from "./reference.mjs";

// Groups of links, in this order, and what stands over them.
const GROUPS = {
    start: "Start",
    guides: "Guides",
    encodings: "Catalogue and stored tables",
    views: "Views",
    functions: "Functions",
    "what it knows": "Encodings",
    service: "Service",
};
const FIRST_URL = "http://127.0.0.1:8080/v1/encodings/rope/table?dim=128&length=4096";
const FIRST = [
    "tutorial",
    "faq",
    "reference",
    "cookbook",
    "command",
    "python",
    "webassembly",
    "library",
    "service",
    "operation",
    "how-we-know",
];

async function guides(folder) {
    const names = (await readdir(folder))
        .filter((one) => one.endsWith(".md"))
        .map((one) => one.slice(0, -3))
        .sort();
    const ordered = [
        ...FIRST.filter((one) => names.includes(one)),
        ...names.filter((one) => !FIRST.includes(one)),
    ];
    return Promise.all(
        ordered.map(async (name) => {
            const whole = await readFile(join(folder, `${name}.md`), "utf8");
            const [, title, text] = /^# (.*)\n([^]*)$/.exec(whole);
            const html = markdown(title, name).replace(/<\/?p>|\n/g, "");
            return article("guides", name, html, name, html, markdown(text, name));
        }),
    );
}

/** The first article: where to begin, and everything else as a list. */
function overview(document, articles) {
    const list = (group) => `<section>\n<h2>${GROUPS[group]}</h2>\n<ul class="cards">\n${articles
        .filter((one) => one.group === group)
        .map((one) => `<li>${link(`#${one.id}`, escaped(one.label))} <span>${one.told}</span></li>`)
        .join("\n")}
</ul>\n</section>\n`;
    return article(
        "start",
        "overview",
        "Reference and manual",
        "overview",
        "",
        `
<p class="lead">${escaped(document.info.summary)} Views and functions can be tried where they
stand.</p>
<pre tabindex="0"><code>curl '${escaped(FIRST_URL)}'</code></pre>
<p>The contract itself: ${link("./openapi.yaml", code("openapi.yaml"))} and
${link("./openapi.json", code("openapi.json"))}, for generators of clients. A client for pages:
${link("./client.js", code("client.js"))}.</p>
${Object.keys(GROUPS)
    .filter((one) => one !== "start")
    .map(list)
    .join("")}`,
    );
}

function contents(articles) {
    return Object.entries(GROUPS)
        .map(
            ([group, title]) =>
                `<h2>${title}</h2>\n<ul>\n${articles
                    .filter((one) => one.group === group)
                    .map((one) => `<li>${link(`#${one.id}`, escaped(one.label))}</li>`)
                    .join("\n")}\n</ul>\n`,
        )
        .join("");
}

/** The HTML of /docs; `sources`: the folder of openapi.json and docs/. */
export async function docsPage(sources, template) {
    const document = JSON.parse(await readFile(join(sources, "openapi.json"), "utf8"));
    const articles = [...reference(document), ...(await guides(join(sources, "docs")))];
    const all = [overview(document, articles), ...articles];
    return template
        .replace("<!--contents-->", () => contents(all))
        .replace("<!--articles-->", () => all.map((one) => one.html).join(""));
}
