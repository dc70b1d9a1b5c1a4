// SPDX-License-Identifier: MIT
// What a page has to read, to hear, to change and to copy, as lines; and what it requests.

/** Runs in the page. A line is an element with what its text, its name and its value are. */
export function linesOf(base) {
    const lines = [],
        visible = (one) => one.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
    const dense = (text) => text.replace(/\s+/g, " ").trim();
    const short = (text) => (text.length > 160 ? `${text.slice(0, 160)}… ${text.length}` : text);
    const below = (href) => (href.startsWith(base) ? `./${href.slice(base.length)}` : href);
    const kind = (one) =>
        [
            one.localName,
            ...[...one.classList].filter((name) => !/^(here|busy|wait)/.test(name)),
        ].join(".");
    // Those whose values are lines or words of their own, or the page's own names for its parts.
    const UNNAMED =
        /^(class|id|style|href|d|value|checked|min|max|width|height|data-.*|aria-busy|xmlns.*)$/;
    const ACTIVE = "a, button, input, select, textarea, summary, details, form, label, [tabindex]";
    const attributes = (one) => {
        const isActive = one.matches(ACTIVE);
        const found = [...one.attributes]
            .filter(({ name }) =>
                isActive
                    ? !UNNAMED.test(name)
                    : /^(aria-(?!busy|hidden).*|title|role|lang)$/.test(name),
            )
            .filter(({ name, value }) => value || !/^(aria-|title|role)/.test(name))
            .filter(({ name, value }) => `${name}=${value}` !== "type=button")
            .map(({ name, value }) => (value ? `${name}=${value}` : name));
        if (one.localName === "a" && one.href)
            found.push(`to ${below(one.href.baseVal ?? one.href)}`);
        if (one.matches("input, textarea, select")) {
            const { type, min, max, checked } = one;
            found.push(`value=${one.value}`);
            if (/range|number/.test(type)) found.push(`from ${min} to ${max}`);
            if (/checkbox|radio/.test(type)) found.push(checked ? "checked" : "not checked");
        }
        if (one.style.length && !one.matches(".tip")) found.push(`style=${one.style.cssText}`);
        const { row, column, index, value, values } = one.dataset;
        if (row) found.push(`at ${row}, ${column}: ${value}`);
        if (index) found.push(`at ${index}: ${values}`);
        if (one.localName === "select")
            found.push(`options ${[...one.options].map((option) => option.text).join(", ")}`);
        return found.map((text) => short(dense(text)));
    };
    const isInline = (one) =>
        one.namespaceURI.endsWith("xhtml") &&
        /^inline$/.test(getComputedStyle(one).display) &&
        ![...one.querySelectorAll("*"), one].some((inner) =>
            inner.matches("a, button, input, select, svg, canvas"),
        );
    const drawing = (svg) => {
        const kinds = {};
        for (const one of svg.querySelectorAll("g, line, path, circle, rect, polyline"))
            (kinds[kind(one)] ??= []).push(one);
        for (const [name, shapes] of Object.entries(kinds)) {
            const found = globalThis.shapesOf(shapes);
            if (found) lines.push(`${kind(svg)} has ${shapes.length} ${name} | ${found}`);
        }
        for (const one of svg.querySelectorAll("text, title, [role], [aria-label]")) {
            const text = one.matches("text, title") ? dense(one.textContent) : "";
            const more = attributes(one);
            if (one.localName === "text") more.push(globalThis.shapesOf([one]));
            if (text || more.length) lines.push([kind(one), ...more, text].join(" | "));
        }
    };
    const walk = (one) => {
        // The link to the picture has the page's own address, which is written at rest.
        // What engines were measured to read is held against the API by test_drawings.py.
        if (one.matches("script, style, option, .skip, .engines li, .about") || !visible(one))
            return;
        const more = attributes(one),
            inner = [...one.children];
        const words = [...one.childNodes].filter(
            (node) => node.nodeType === 3 || (node.nodeType === 1 && isInline(node)),
        );
        const text = one.matches("textarea, select, svg")
            ? ""
            : dense(
                  words
                      .filter((node) => node.nodeType === 3 || visible(node))
                      .map((node) => node.textContent)
                      .join(""),
              );
        if (text || more.length) lines.push([kind(one), ...more, text].filter(Boolean).join(" | "));
        if (one.localName === "svg") return drawing(one);
        if (one.localName === "canvas") {
            const written = globalThis.textsOf(one).map(({ text }) => text);
            const names = [...new Set(written)].filter((name) => /\p{L}{2}/u.test(name));
            if (names.length) lines.push(`canvas has ${names.join(", ")}`);
            lines.push(...globalThis.drawnOn(one));
            return;
        }
        for (const child of inner)
            if (!isInline(child)) walk(child);
            else
                for (const deep of [child, ...child.querySelectorAll("*")])
                    if (deep.classList.length || attributes(deep).length)
                        lines.push(
                            [`in ${kind(deep)}`, ...attributes(deep), dense(deep.textContent)].join(
                                " | ",
                            ),
                        );
    };
    walk(document.body);
    // Layers of a model are as many dots: the first and the last of those alike stand for all.
    const dots = lines.map((line) => /^i\./.test(line) && line.replace(/\d+$|layer \d+/g, ""));
    return lines.filter((_, i) => !dots[i] || dots[i] !== dots[i - 1] || dots[i] !== dots[i + 1]);
}

/** Texts that stand out of their drawing, elements that stand out of the page, and lines of legends
 * that are not drawn. */
export function cutTexts() {
    const cut = [],
        out = (box, room) => box.width && (box.left < room.left - 1 || box.right > room.right + 1);
    for (const svg of document.querySelectorAll("main svg")) {
        if (!svg.checkVisibility({ checkVisibilityCSS: true })) continue;
        const room = svg.getBoundingClientRect();
        for (const one of svg.querySelectorAll("text")) {
            const box = one.getBoundingClientRect(),
                tall = box.top < room.top - 1 || box.bottom > room.bottom + 1;
            if (out(box, room) || tall) cut.push(one.textContent);
        }
    }
    for (const sign of document.querySelectorAll("main .legend i")) {
        const { borderTopWidth, backgroundImage } = getComputedStyle(sign);
        if (sign.checkVisibility() && borderTopWidth === "0px" && backgroundImage === "none")
            cut.push(`the line of ${sign.parentElement.textContent} in a legend is not drawn`);
    }
    const room = document.querySelector("main").getBoundingClientRect();
    const scrolls = (one) =>
        one &&
        (/auto|scroll|hidden/.test(getComputedStyle(one).overflowX) || scrolls(one.parentElement));
    for (const one of document.querySelectorAll("main *"))
        if (
            one.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) &&
            out(one.getBoundingClientRect(), room) &&
            !scrolls(one)
        )
            cut.push(`${one.localName}.${one.classList}: ${one.textContent}`);
    return cut;
}

/** What a line-by-line comparison leaves of two lists, in the order of the longest common one. */
export function changes(before, after) {
    const size = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
    for (let i = before.length - 1; i >= 0; i--)
        for (let k = after.length - 1; k >= 0; k--)
            size[i][k] =
                before[i] === after[k]
                    ? size[i + 1][k + 1] + 1
                    : Math.max(size[i + 1][k], size[i][k + 1]);
    const found = [];
    for (let i = 0, k = 0; i < before.length || k < after.length;)
        if (i < before.length && k < after.length && before[i] === after[k]) (i++, k++);
        else if (k === after.length || (i < before.length && size[i + 1][k] >= size[i][k + 1]))
            found.push(`- ${before[i++]}`);
        else found.push(`+ ${after[k++]}`);
    return found;
}

/** Lines of the requests to the API since the last call, in the order of the alphabet. */
export function requestsOf(page, base) {
    let kept = [];
    const listen = (request) => {
        const { pathname, search } = new URL(request.url());
        const path = pathname.replace(new URL(base).pathname, "/"),
            target = path + decodeURIComponent(search);
        if (!path.startsWith("/v1/")) return;
        const body = request.postDataBuffer();
        const isText = body?.every((byte) => byte > 9 && byte < 127),
            text = isText ? `${body}`.replace(/\s+/g, " ") : "";
        const told = !body ? "" : text ? ` ${text.slice(0, 300)}` : ` ${body.length} bytes`;
        kept.push(`${request.method()} ${target}${told}`);
    };
    page.on("request", listen);
    return {
        taken() {
            const lines = [...new Set(kept)].sort();
            kept = [];
            return lines;
        },
        count: () => kept.length,
        end: () => page.off("request", listen),
    };
}

/** What a person changes in a view: pictures under their cross, choices, sliders, hands, numbers and
 * lists, in an order in which those before leave those after where they are. */
const CONTROLS = [
    "main canvas.heat, main .curves",
    "main .choice button[aria-pressed=false]:last-child",
    "main input[type=range]",
    "main input[type=checkbox]",
    "main .hands, main .dial:first-of-type [role=slider]",
    "main input:not([type=range], [type=checkbox], [type=file])",
    "main select",
    "main .chips button[aria-pressed=false]:last-of-type",
];

/** Changes the next control that was not changed yet, and names it; null: there is none. A slider
 * moves by a third of its way, a list to another option, a number to the next even one; a hand and
 * a cross by keys. */
export const changedNext = (page) =>
    page.evaluate((selectors) => {
        const done = (globalThis.changedNames ??= new Set());
        const nameOf = (one) =>
            one.ariaLabel ??
            one.closest("[aria-label]:not(main)")?.ariaLabel ??
            one.closest("label")?.innerText ??
            one.placeholder;
        for (const selector of selectors) {
            const seen = {};
            for (const one of document.querySelectorAll(selector)) {
                if (!one.checkVisibility({ checkVisibilityCSS: true })) continue;
                const kind = one.matches(".heat, .curves") ? one.classList[0] : nameOf(one),
                    name = `${kind} ${(seen[kind] = (seen[kind] ?? 0) + 1)}`;
                if (done.has(selector + name)) continue;
                done.add(selector + name);
                const tell = (type) => one.dispatchEvent(new Event(type, { bubbles: true }));
                const press = (key) =>
                    one.dispatchEvent(
                        new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }),
                    );
                const { value, type, min, max, step, localName } = one;
                if (localName === "button") one.click();
                else if (localName === "select") {
                    const others = [...one.options].filter((option) => option.value !== value);
                    one.value = (others.at(-1) ?? one).value;
                } else if (type === "checkbox") one.checked = !one.checked;
                else if (type === "range") {
                    const by = step === "any" ? (max - min) / 3 : Math.max(+step, (max - min) / 3);
                    one.value = +value + by > +max ? +value - by : +value + by;
                } else if (localName !== "input") {
                    one.focus();
                    // Of all hands the last, which stands at the edge.
                    const keys = one.matches(".hands")
                        ? ["End"]
                        : ["ArrowRight", "ArrowRight", "ArrowDown"];
                    // The first key of a picture shows its cross.
                    if (one.matches(".heat, .curves")) keys.unshift("ArrowRight");
                    keys.forEach(press);
                } else if (/^[0-9.]+$/.test(value)) one.value = `${+value + 2}`;
                else continue;
                tell("input");
                tell("change");
                return name;
            }
        }
        return null;
    }, CONTROLS);
