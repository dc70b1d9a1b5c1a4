// SPDX-License-Identifier: MIT
// The contract as articles: one for each path, for each encoding, and for what all have in common.
import { article, code, escaped, link, markdown } from "./html.mjs";
import { entries, members, resolver } from "./schema.mjs";

const METHODS = ["get", "post", "put", "delete"];
const SHARED = "parameters",
    PROMISES = "conventions";
const WIDE = 4; // encodings: a parameter of more is one of the view

const isView = (path) => path.startsWith("/v1/encodings/{name}/");
const viewOf = (path) => path.replace("/v1/encodings/{name}/", "");
const labelOf = (path) =>
    isView(path) ? viewOf(path).replace("analysis/", "") : path.replace(/^\/v1\/(?=[a-z])/, "");

/** The address of a path's article. */
const idOf = (path) =>
    `path-${
        labelOf(path)
            .replace(/[^a-z0-9.]+/g, "-")
            .replace(/^-|-$/g, "") || "index"
    }`;

const asEntry = (one) => ({ ...one, where: one.in, encodings: one["x-encodings"] });
const encodingLinks = (names) => names.map((one) => link(`#encoding-${one}`, one)).join(", ");

/** Requests that store and delete want a token, and a file: they are shown, and not tried. */
const tried = (method) => method === "get" || method === "post";

class Reference {
    constructor(document) {
        const { schemas } = document.components,
            resolve = resolver(document);
        this.document = document;
        this.resolve = resolve;
        this.schemas = schemas;
        this.encodings = schemas.EncodingName.enum;
        this.schemaOf = new Map(
            Object.values(schemas)
                .filter((one) => this.encodings.includes(one.properties?.name?.const))
                .map((one) => [one.properties.name.const, one]),
        );
        this.ofEncodings = new Set(
            [...this.schemaOf.values()].flatMap((one) => Object.keys(one.properties)),
        );
        this.views = Object.entries(document.paths).filter(([path]) => isView(path));
        /** Parameters that every view has, and no encoding. */
        this.shared = this.parametersOf(this.views[0][1].get).filter(
            ({ name }) =>
                !this.ofEncodings.has(name) &&
                this.views.every(([, { get }]) =>
                    this.parametersOf(get).some((one) => one.name === name),
                ),
        );
    }

    parametersOf({ parameters = [] }) {
        return parameters.map(this.resolve);
    }

    isShared({ name }) {
        return this.shared.some((one) => one.name === name);
    }

    isOwn(one) {
        return (
            !this.isShared(one) &&
            (!this.ofEncodings.has(one.name) || one["x-encodings"]?.length >= WIDE)
        );
    }

    /** The encodings that a path has. */
    takersOf(item) {
        const name = this.resolve(
            this.parametersOf(item).find((one) => one.name === "name")?.schema,
        );
        return (
            name.enum ??
            name.anyOf?.flatMap((one) => this.resolve(one).enum ?? []) ??
            []
        ).filter((one) => this.schemaOf.has(one));
    }

    parametersPut(method, operation, item) {
        const all = [...this.parametersOf(item), ...this.parametersOf(operation)];
        const takers = this.takersOf(item),
            posted = method === "post" && operation.requestBody;
        const told = posted ? (this.bodyOf(operation).properties ?? {}) : {};
        const own = all.filter((one) => this.isOwn(one) && !(one.name in told)),
            rest = [];
        if (takers.length && !posted) {
            rest.push(`the parameters of its encoding (${encodingLinks(takers)})`);
        } else if (all.some((one) => !this.isOwn(one) && !this.isShared(one))) {
            rest.push("those of the encoding that it names");
        }
        if (all.some((one) => this.isShared(one)) && !posted)
            rest.push(link(`#${SHARED}`, "what every view takes"));
        const begin = own.length ? "And" : "It takes";
        return (
            (own.length ? `<h3>Parameters</h3>\n${entries(own.map(asEntry), this.resolve)}` : "") +
            (rest.length ? `<p class="rest">${begin} ${rest.join(", and ")}.</p>\n` : "")
        );
    }

    bodyOf(operation) {
        return this.resolve(
            this.resolve(operation.requestBody).content?.["application/json"]?.schema,
        );
    }

    bodyPut(path, operation) {
        const body = this.resolve(operation.requestBody),
            schema = this.bodyOf(operation);
        if (!body.content) return "";
        const types = Object.keys(body.content).map(code).join(", ");
        const told = isView(path)
            ? "<p>The parameters of GET, as members of a JSON object.</p>\n"
            : markdown([body.description, schema.description].filter(Boolean).join("\n\n"), "");
        return (
            `<h3>Body</h3>\n<p class="type">${types}</p>\n${told}` +
            (isView(path)
                ? ""
                : entries(members(schema, this.resolve), this.resolve) +
                  `<p class="rest">Whatever is no tensor may stand in the query instead.</p>\n`)
        );
    }

    answerPut(path, operation, method, item) {
        const [status, found] = Object.entries(operation.responses)[0],
            answer = this.resolve(found);
        if (isView(path) && method !== "get" && found.$ref === item.get.responses[status]?.$ref)
            return "<h3>Answer</h3>\n<p>As that of GET.</p>\n";
        const types = Object.entries(answer.content ?? {});
        const json = answer.content?.["application/json"];
        const fields = json ? members(json.schema, this.resolve) : [];
        const named =
            json?.examples?.[viewOf(path).replace("analysis/", "")] ??
            json?.examples?.[operation.operationId];
        const example = method !== "get" || isView(path) ? named?.value : undefined;
        const failures =
            operation["x-statuses"] ??
            this.document.tags.find(({ name }) => name === operation.tags[0])?.["x-statuses"] ??
            [];
        const mediaTypes = types.map(([one]) => code(one)).join(", ") || "nothing";
        return (
            `<h3>Answer</h3>\n<p class="type">${status}: ${mediaTypes}</p>\n` +
            markdown(answer.description ?? "", "") +
            entries(fields, this.resolve) +
            (example
                ? `<pre class="json" tabindex="0"><code>${escaped(
                      JSON.stringify(example),
                  )}</code></pre>\n`
                : "") +
            `<p class="rest">Refusals of its own: ${failures.join(", ") || "none"}; ` +
            `${link("./problems", "what each problem means")}.</p>\n`
        );
    }

    /** What the form of an operation begins with. */
    trial(path, method, operation, item) {
        const body = this.resolve(operation.requestBody ?? (isView(path) && item.post.requestBody));
        const examples = body?.content?.["application/json"]?.examples ?? {};
        const view = labelOf(path),
            given = examples[view] ?? Object.values(examples)[0];
        const all = [...this.parametersOf(item), ...this.parametersOf(operation)];
        const sample =
            operation["x-codeSamples"]?.[0]?.source.match(/'http:\/\/[^/]+([^']*)'/)?.[1];
        const url = new URL(sample ?? "/", "http://a"),
            pattern = path.split("/");
        const name = all.find((one) => one.in === "path");
        const value = sample
            ? url.pathname.split("/")[pattern.indexOf("{name}")]
            : (name?.example ?? this.resolve(name?.schema).enum?.[0] ?? "rope");
        const values =
            method === "get" && given
                ? Object.entries(given.value)
                : method === "get"
                  ? [...url.searchParams]
                  : [];
        const known = method === "get" ? all.filter((one) => one.in === "query") : [];
        return {
            method: method.toUpperCase(),
            path,
            name: name && value,
            names:
                name &&
                (this.takersOf(item).length
                    ? this.takersOf(item)
                    : path.includes("problems")
                      ? this.schemas.ProblemCode.enum
                      : this.encodings),
            query: values,
            known: known.map((one) => one.name),
            body: method === "get" ? undefined : given && JSON.stringify(given.value),
        };
    }

    operationPut(path, method, item) {
        const operation = item[method],
            id = operation.operationId;
        const form = tried(method)
            ? `<div class="try" data-try="${escaped(
                  JSON.stringify(this.trial(path, method, operation, item)),
              )}"></div>\n`
            : "";
        return (
            `<section aria-labelledby="${id}">\n<h2 id="${id}"><span class="method ${method}">` +
            `${method.toUpperCase()}</span> ${escaped(operation.summary)}</h2>\n` +
            `<p class="where">${code(path)}</p>\n${markdown(operation.description ?? "", id)}${form}` +
            this.parametersPut(method, operation, item) +
            this.bodyPut(path, operation) +
            this.answerPut(path, operation, method, item) +
            "</section>\n"
        );
    }

    pathPut([path, item]) {
        const methods = METHODS.filter((one) => item[one]),
            first = item[methods[0]];
        return article(
            first.tags[0],
            idOf(path),
            escaped(labelOf(path)),
            labelOf(path),
            escaped(first.summary),
            methods.map((one) => this.operationPut(path, one, item)).join(""),
        );
    }

    encodingPut(name) {
        const schema = this.schemaOf.get(name),
            own = members(schema, this.resolve).filter((one) => one.name !== "name");
        const seen = this.views
            .filter(([, item]) => this.takersOf(item).includes(name))
            .map(([path]) => link(`#${idOf(path)}`, viewOf(path)));
        return article(
            "what it knows",
            `encoding-${name}`,
            escaped(name),
            name,
            markdown(schema.description ?? "", "").replace(/<\/?p>|\n/g, ""),
            `${markdown(schema.description ?? "", "")}<p>Views: ${seen.join(", ") || "none"}. What it ` +
                `says of itself: ${link(`./v1/encodings/${name}`, code(`/v1/encodings/${name}`))}.</p>\n` +
                `<h2 id="encoding-${name}--parameters">Parameters</h2>\n${
                    entries(own, this.resolve) || "<p>It has none.</p>\n"
                }`,
        );
    }

    all() {
        const { paths, info } = this.document;
        return [
            article(
                "start",
                PROMISES,
                "How requests and answers work",
                "conventions",
                "",
                markdown(info.description, PROMISES),
            ),
            article(
                "start",
                SHARED,
                "What every view takes",
                "common parameters",
                "",
                entries(this.shared.map(asEntry), this.resolve),
            ),
            ...Object.entries(paths).map((one) => this.pathPut(one)),
            ...[...this.schemaOf.keys()].map((one) => this.encodingPut(one)),
        ];
    }
}

export const reference = (document) => new Reference(document).all();
