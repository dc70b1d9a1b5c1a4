// SPDX-License-Identifier: MIT
// The words of the page, read from its sources: node words.mjs FOLDER prints a line of JSON for each
// pair t(english, chinese), and for each other text in Chinese. A value within a text is {…}, as it
// stands in the source.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative, resolve } from "node:path";

const folder = resolve(process.argv[2]);
const ts = createRequire(join(folder, "../package.json"))("typescript");
const HAN = /\p{Script=Han}/u;

const files = (folder) =>
    readdirSync(folder, { withFileTypes: true })
        .sort((a, b) => (a.name < b.name ? -1 : 1))
        .flatMap((one) =>
            one.isDirectory()
                ? files(join(folder, one.name))
                : one.name.endsWith(".ts")
                  ? [join(folder, one.name)]
                  : [],
        );

const dense = (text) => text.replace(/\s+/g, " ");

/** A text with its values; of any other expression what it stands as. */
function worded(node) {
    if (ts.isStringLiteralLike(node)) return { text: node.text, values: [] };
    if (!ts.isTemplateExpression(node)) return { text: `{${dense(node.getText())}}`, values: [] };
    const values = node.templateSpans.map(({ expression }) => dense(expression.getText()));
    return {
        text: node.templateSpans.reduce(
            (text, { literal }, i) => `${text}{${values[i]}}${literal.text}`,
            node.head.text,
        ),
        values,
    };
}

for (const file of files(folder)) {
    const source = ts.createSourceFile(
        file,
        readFileSync(file, "utf8"),
        ts.ScriptTarget.Latest,
        true,
    );
    const put = (one) => console.log(JSON.stringify({ file: relative(folder, file), ...one }));
    const walk = (node, isPaired) => {
        if (ts.isCallExpression(node) && node.expression.getText() === "t") {
            const [english, chinese] = node.arguments.map(worded);
            put({ english, chinese });
            return node.arguments.forEach((one) =>
                ts.forEachChild(one, (inner) => walk(inner, true)),
            );
        }
        const isText = ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
        if (isText && !isPaired && HAN.test(node.getText())) put({ chinese: worded(node) });
        ts.forEachChild(node, (inner) => walk(inner, isPaired));
    };
    walk(source, false);
}
