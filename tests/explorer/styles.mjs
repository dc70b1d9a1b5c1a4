// SPDX-License-Identifier: MIT
// How elements look by the styles of a page, as lines: what is computed, before any layout.

/** Runs in a page. A line is a kind of element with its properties other than those that a browser
 * gives it and those that it inherits. A colour has the name of its token; a length in `ch` is
 * counted in those, which are as wide as the fonts of the machine. */
export function stylesOf() {
    const INHERITED =
        /^(color|color-scheme|cursor|fill|stroke|visibility|direction|pointer-events|text-anchor|overflow-wrap|word-break|tab-size|accent-color|caret-color|border-collapse|border-spacing|(font|line|letter|word|text-align|text-transform|text-indent|text-wrap|white-space|list-style|stroke|quotes|hyphens)(-.*)?)$/;
    // The same twice, or of the moment.
    const LEFT_OUT =
        /^(-webkit-|--|aspect-ratio|perspective-origin|transform|transition|animation|border-image|text-decoration$|(min-|max-)?(inline|block)-size|.*-(inline|block)(-|$)|inset-|.*(start|end)-.*radius|.*-color$)/;
    const COLOURS =
            /^(background-color|border-(top|left|right|bottom)-color|outline-color|accent-color)$/,
        SIDE = /-(top|right|bottom|left)(?=-|$)/;
    const root = document.documentElement;
    const probe = document.body.appendChild(document.createElement("i"));
    const computed = (value) => {
        probe.style.color = value;
        return getComputedStyle(probe).color;
    };
    const tokens = new Map(),
        ofRoot = [];
    for (const [name, [value]] of root.computedStyleMap())
        if (name.startsWith("--")) {
            const text = `${value}`.trim().replace(/\s+/g, " ");
            ofRoot.push(`${name}: ${text}`);
            if (/^#/.test(text)) tokens.set(computed(text), name.slice(2));
        }
    probe.remove();
    // A browser's own look of each kind of element, where no rule of the page holds.
    const host = document.body.appendChild(document.createElement("div"));
    host.style.all = "initial";
    const bare = host.attachShadow({ mode: "open" }),
        looks = new Map();
    // What the rules of the page set: all else is a browser's own.
    const names = new Set(["display", "visibility", "color"]);
    const collect = (rule) => {
        for (const name of rule.style ?? [])
            if (!LEFT_OUT.test(name) || COLOURS.test(name)) names.add(name);
        for (const inner of rule.cssRules ?? []) collect(inner);
    };
    for (const { cssRules } of document.styleSheets) [...cssRules].forEach(collect);
    const entries = (one) => {
        const all = one.computedStyleMap(),
            look = {};
        for (const name of names) look[name] = all.getAll(name).join(", ");
        return look;
    };
    const bareLook = ({ localName, namespaceURI, type }) => {
        const key = `${localName} ${type}`;
        if (!looks.has(key)) {
            const one = bare.appendChild(document.createElementNS(namespaceURI, localName));
            if (localName === "input") one.type = type;
            looks.set(key, entries(one));
            one.remove();
        }
        return looks.get(key);
    };
    const widths = new Map();
    const letter = (one, look) => {
        const key = `${look["font-size"]} ${look["font-family"]} ${look["font-weight"]}`;
        if (!widths.has(key)) {
            const { style } = host;
            for (const name of ["font-size", "font-family", "font-weight"])
                style.setProperty(name, look[name]);
            style.width = "1000ch";
            widths.set(key, parseFloat(getComputedStyle(host).width) / 1000);
            style.width = "";
        }
        return widths.get(key);
    };
    const written = (one, look, name) => {
        const value = look[name].replace(
            /(rgba?|color|oklab)\([^()]*\)/g,
            (colour) => tokens.get(colour) ?? colour,
        );
        const [, pixels] = /^(\d+\.\d+)px$/.exec(value) ?? [];
        if (!pixels) return value.replace(/\d+\.\d{3,}/g, (number) => `${+(+number).toFixed(2)}`);
        const count = pixels / letter(one, look);
        return Math.abs(count - Math.round(count)) < 0.02 && /width|basis/.test(name)
            ? `${Math.round(count)}ch`
            : `${+(+pixels).toFixed(2)}px`;
    };
    const lines = new Set([`:root | ${ofRoot.join(" | ")}`]);
    const kind = (one) =>
        [one.localName, ...[...one.classList].sort()].join(".") +
        ["aria-current", "aria-pressed", "aria-selected", "aria-invalid", "hidden", "open", "type"]
            .filter((name) => one.hasAttribute(name))
            .map((name) => `[${name}=${one.getAttribute(name)}]`)
            .join("");
    const pseudo = (one, name) => {
        const look = getComputedStyle(one, name);
        if (/^(none|normal)$/.test(look.content)) return;
        const short = ["content", "color", "display", "position", "background-color", "opacity"]
            .map((key) => `${key}: ${tokens.get(look[key]) ?? look[key]}`)
            .join(" | ");
        lines.add(`${kind(one)}${name} | ${short}`);
    };
    /** Four sides alike are one property. */
    const joined = (one, look, names) => {
        const found = new Map();
        for (const name of names) {
            const text = `${name.replace(SIDE, "")}: ${written(one, look, name)}`;
            found.set(text, [...(found.get(text) ?? []), name]);
        }
        return [...found].flatMap(([text, all]) =>
            all.length === 4 || (all.length === 1 && !SIDE.test(all[0]))
                ? text
                : all.map((name) => `${name}: ${written(one, look, name)}`),
        );
    };
    // Of elements of one kind at one place the first and the last stand for all.
    const seen = new Map();
    const walk = (one, above, path) => {
        const { previousElementSibling: before, nextElementSibling: after } = one;
        const place = `${path} > ${kind(one)}${before ? "" : " first"}${after ? "" : " last"}`;
        if (!seen.has(place)) seen.set(place, described(one, above));
        for (const child of one.children)
            if (child !== host && !child.matches("script, style, option, defs"))
                walk(child, seen.get(place), place);
    };
    const described = (one, above) => {
        const look = entries(one),
            plain = bareLook(one),
            colour = look.color;
        const more = Object.keys(look)
            .sort()
            .filter((name) => {
                const value = look[name];
                if (one.style[name] || `${name} ${value}` === "box-sizing border-box") return false;
                if (name.endsWith("-color") && value === colour) return false;
                if (value === plain[name] && !(INHERITED.test(name) && value !== above[name]))
                    return false;
                return !(INHERITED.test(name) && value === above[name]);
            });
        if (more.length) lines.add([kind(one), ...joined(one, look, more)].join(" | "));
        pseudo(one, "::before");
        pseudo(one, "::after");
        return look;
    };
    walk(document.body, entries(root), "");
    host.remove();
    return [...lines];
}

/** Of a page in each of its faces: of those after the first, what they have other than it. */
export async function facesOf(page, size) {
    const faces = {
        "wide and light": {},
        "narrow and dark": { width: 390, media: { colorScheme: "dark" } },
        printed: { media: { media: "print" } },
        presented: { present: "1" },
    };
    let first;
    const found = [];
    // Of a copy, which no script changes where it hears of another size or theme.
    await page.evaluate(() => document.body.replaceWith(document.body.cloneNode(true)));
    for (const [face, { width = size.width, media = {}, present }] of Object.entries(faces)) {
        await page.setViewportSize({ ...size, width });
        await page.emulateMedia({ media: "screen", colorScheme: "light", ...media });
        await page.evaluate((present) => {
            const { dataset } = document.documentElement;
            if (present) dataset.present = present;
            else delete dataset.present;
        }, present);
        const lines = await page.evaluate(stylesOf);
        first ??= new Set(lines);
        found.push(`== ${face}`, ...lines.filter((line) => !found.length || !first.has(line)));
    }
    await page.emulateMedia({ media: null, colorScheme: null });
    await page.setViewportSize(size);
    return found;
}
