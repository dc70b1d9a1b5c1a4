// SPDX-License-Identifier: MIT
// Text as HTML, for the pages of /docs.
import { Marked } from "marked";

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

export const escaped = (text) => `${text}`.replace(/[&<>"]/g, (char) => ENTITIES[char]);

export const code = (text) => `<code>${escaped(text)}</code>`;

export const link = (href, html) => `<a href="${escaped(href)}">${html}</a>`;

/** A word for the address of a heading: letters, digits and hyphens, as code hosts make it. */
export const slug = (text) =>
    text
        .toLowerCase()
        .replace(/<[^>]*>|&[a-z]+;/g, "")
        .replace(/[^\p{L}\p{N} _-]/gu, "")
        .trim()
        .replace(/ /g, "-");

/** Guides are places of one page; what stands elsewhere in the sources is named, and no link. */
function linkOf(href, html) {
    const guide = /^([a-z-]+)\.md(?:#(.+))?$/.exec(href);
    if (guide) return link(guide[2] ? `#${guide[1]}--${guide[2]}` : `#${guide[1]}`, html);
    if (href === "../openapi.yaml") return link("./openapi.yaml", html);
    return /^https?:/.test(href) ? link(href, html) : html;
}

/** Markdown as HTML. The addresses of its headings begin with `prefix`. */
export function markdown(text, prefix) {
    const renderer = {
        heading({ tokens, depth }) {
            const inner = this.parser.parseInline(tokens);
            return `<h${depth} id="${prefix}--${slug(inner)}">${inner}</h${depth}>\n`;
        },
        link({ href, tokens }) {
            return linkOf(href, this.parser.parseInline(tokens));
        },
        image: () => "", // of files that the page does not have
        code({ text: lines }) {
            return `<pre tabindex="0"><code>${escaped(lines)}</code></pre>\n`;
        },
        table(token) {
            const row = (cells, name) =>
                `<tr>${cells
                    .map(({ tokens }) => `<${name}>${this.parser.parseInline(tokens)}</${name}>`)
                    .join("")}</tr>`;
            return (
                `<div class="wide" tabindex="0"><table><thead>${row(token.header, "th")}</thead>` +
                `<tbody>${token.rows.map((cells) => row(cells, "td")).join("\n")}</tbody></table></div>\n`
            );
        },
    };
    return new Marked({ renderer }).parse(text);
}

/** One of the pieces that the page shows by itself; `group` is where its link stands, `told` what a
 * list says of it. */
export const article = (group, id, title, label, told, html) => ({
    group,
    id,
    label,
    told,
    html:
        `<article id="${id}" aria-labelledby="${id}-title">\n<h1 id="${id}-title">${title}</h1>\n` +
        `${html}</article>\n`,
});
