// SPDX-License-Identifier: MIT
// Drives a browser: node drive.mjs CHROMIUM. Each line of the input is an order, {"do": name, ...};
// each line of the output is what came of it.
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { read } from "../../clients/js/client.js";
import { changedNext, changes, cutTexts, linesOf, requestsOf } from "./contents.mjs";
import { drawingsKept } from "./recorder.mjs";
import { facesOf } from "./styles.mjs";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SETTLED_MS = 20000,
    TABS_MAX = 250,
    COPIED_MS = 1700; // a button says for less that it copied
const browser = await chromium.launch({ executablePath: process.argv[2], args: ["--no-sandbox"] });

const frames = (page, count = 2) =>
    page.evaluate(async (count) => {
        while (count--) await new Promise(requestAnimationFrame);
    }, count);

/** Until nothing runs: no job of the page, and what it drew is on the screen. In the page, since each
 * call into it costs both processes. */
const settle = (page) =>
    page.evaluate(async (most) => {
        const root = document.documentElement,
            end = performance.now() + most,
            pause = (ms) => new Promise((done) => setTimeout(done, ms));
        for (let calm = 0; calm < 3; calm++) {
            for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
            while (root.hasAttribute("data-busy")) {
                calm = -1;
                if (performance.now() > end) throw new Error(`busy for ${most} ms`);
                await pause(10);
            }
            await pause(40);
        }
        await document.fonts.ready;
    }, SETTLED_MS);

/** A page that is used again and again, by the look of its window: a new one takes a second of a
 * core. */
const used = new Map();

async function usedPage(key, how) {
    if (!used.has(key)) {
        const context = await browser.newContext(how),
            page = await context.newPage();
        await page.addInitScript(drawingsKept);
        used.set(key, { page, told: [] });
        const { told } = used.get(key);
        page.on(
            "console",
            (message) =>
                ["error", "warning"].includes(message.type()) &&
                told.push(`${message.type()}: ${message.text()}`),
        );
        page.on("pageerror", (error) => told.push(`thrown: ${error.message}`));
    }
    const { page, told } = used.get(key);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    told.length = 0;
    return { page, told };
}

const pageKey = ({ width = 900, height = 900, still = true }) => `${[width, height, still]}`;
const pageLook = ({ width = 900, height = 900, still = true }) => ({
    viewport: { width, height },
    reducedMotion: still ? "reduce" : "no-preference",
});

/** A link, opened in a page that is used for others too. `told`: errors. */
async function shown({ url, delay = 0, ...how }) {
    const { page, told } = await usedPage(pageKey(how), pageLook(how));
    if (delay)
        await page.route("**/v1/**", async (route) => {
            await new Promise((done) => setTimeout(done, delay));
            await route.continue().catch(() => {}); // given up
        });
    await page.goto(url);
    await page.waitForSelector("main .view > :not([hidden])", { timeout: SETTLED_MS });
    if (!delay) await settle(page);
    return { page, told };
}

/** A page with nothing kept from before. `told`: all that must not be: errors, other origins. */
async function opened({ url, width = 1440, height = 900, theme = "light", still = true }) {
    const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: theme,
        reducedMotion: still ? "reduce" : "no-preference",
        hasTouch: width < 500,
    });
    const page = await context.newPage(),
        told = [];
    page.on(
        "console",
        (message) =>
            ["error", "warning"].includes(message.type()) &&
            told.push(`${message.type()}: ${message.text()}`),
    );
    page.on("pageerror", (error) => told.push(`thrown: ${error.message}`));
    page.on(
        "request",
        (request) =>
            new URL(request.url()).origin !== new URL(url).origin &&
            !/^(data|blob):/.test(request.url()) &&
            told.push(`elsewhere: ${request.url()}`),
    );
    const answers = [];
    page.on("response", (response) => answers.push(response));
    await page.goto(url);
    await page.waitForSelector("main .view > :not([hidden])", { timeout: SETTLED_MS });
    await settle(page);
    return { page, told, answers };
}

/** What a person sees of failures, controls and pictures. */
const seen = (page) =>
    page.evaluate(() => {
        const visible = (one) =>
            one.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
        const all = (selector) => [...document.querySelectorAll(selector)].filter(visible);
        const box = (one) => {
            const { top, bottom } = one.getBoundingClientRect();
            return { text: one.innerText, top, bottom };
        };
        const words = document.createTreeWalker(
            document.querySelector("main"),
            NodeFilter.SHOW_TEXT,
        );
        const texts = [];
        while (words.nextNode()) {
            const { parentElement: parent, data } = words.currentNode;
            if (
                data.trim() &&
                visible(parent) &&
                !parent.closest(".told, option, summary, button, .gallery")
            )
                texts.push(data.trim());
        }
        return {
            failures: all(".failures .failure").map(box),
            faults: all(".faults li").map(box),
            controls: all("main :is(input, select, textarea)").map(
                (one) => one.getAttribute("aria-label") ?? one.placeholder,
            ),
            wrong: all(".wrong[data-name]").map((one) => one.dataset.name),
            pictures: all(".heat, .curves, .hands, .dials, .loop, .schemes svg, .models").map(
                (one) => one.className.baseVal ?? one.className,
            ),
            texts,
            height: innerHeight,
        };
    });

/** Of every canvas that is seen: its pixels, texts and place. */
const canvases = (page) =>
    page.evaluate(() =>
        [...document.querySelectorAll("main canvas")]
            .filter((one) => one.checkVisibility({ checkVisibilityCSS: true }) && one.width > 1)
            .map((canvas) => {
                const { data, width, height } = canvas
                    .getContext("2d", { willReadFrequently: true })
                    .getImageData(0, 0, canvas.width, canvas.height);
                let bytes = "";
                for (let i = 0; i < data.length; i += 0x8000)
                    bytes += String.fromCharCode(...data.subarray(i, i + 0x8000));
                return {
                    kind: canvas.matches(".heat") ? "heat" : "curves",
                    width,
                    height,
                    rgba: btoa(bytes),
                    room: canvas.dataset.room?.split(",").map(Number),
                    texts: globalThis.textsOf(canvas),
                    label: canvas.ariaLabel ?? canvas.parentElement.ariaLabel,
                };
            }),
    );

/** Colours by their names, as red, green and blue. */
const tokens = (page, names) =>
    page.evaluate(
        (names) =>
            Object.fromEntries(
                names.map((name) => {
                    const context = document.createElement("canvas").getContext("2d");
                    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(
                        `--${name}`,
                    );
                    return [
                        name,
                        [1, 3, 5].map((at) => parseInt(context.fillStyle.slice(at, at + 2), 16)),
                    ];
                }),
            ),
        names,
    );

/** A link within the page. */
const follow = (page, href) =>
    page.evaluate((href) => {
        const link = Object.assign(document.createElement("a"), { href });
        document.body.append(link);
        link.click();
        link.remove();
    }, href);

/** What is done in a scene: `see` adds to what is returned. */
const acts = {
    block: (page, what) => page.route(what ?? "**/v1/**", (route) => route.abort()),
    unblock: (page, what) => page.unroute(what ?? "**/v1/**"),
    settle: (page) => settle(page),
    follow: (page, href) => follow(page, href),
    wait: (page, ms) => page.waitForTimeout(ms),
    click: (page, selector) => page.locator(selector).first().click(),
    fill: (page, [selector, text]) => page.locator(selector).first().fill(text),
    scroll: (page, y) => page.evaluate((y) => scrollTo(0, y), y),
    async slide(page, [label, times, pause]) {
        await page.locator(`main input[type=range][aria-label="${label}"]:visible`).last().focus();
        for (let i = 0; i < times; i++) {
            await page.keyboard.press("ArrowLeft");
            await page.waitForTimeout(pause);
        }
    },
    see: (page) => seen(page),
};

/** Down to the end and back: what waits until it is seen is drawn. */
async function scrolled(page) {
    await page.evaluate(async () => {
        for (let y = 0; y < document.body.scrollHeight; y += innerHeight / 2) {
            scrollTo(0, y);
            await new Promise((done) => setTimeout(done, 60));
        }
        scrollTo(0, 0);
    });
    await settle(page);
}

/** Of the picture, without cross, focus or caret. */
async function picture(page) {
    await page.mouse.move(0, 0);
    await page.evaluate(() => document.activeElement?.blur());
    await scrolled(page);
    return page.screenshot({ fullPage: true, animations: "disabled", caret: "hide" });
}

const links = (page, where) =>
    page.$$eval(`header ${where} a`, (all) => all.map((one) => one.href));

const viewOf = (href) => new URL(href).searchParams.get("view") ?? "";

/** Elements that a person may use, each marked with a number of its own, and those of them that Tab
 * comes to. */
async function reached(page) {
    const usable = await page.evaluate(() => {
        const all = [
            ...document.querySelectorAll(
                "a[href], button, input, select, textarea, summary, " + "[tabindex='0']",
            ),
        ].filter(
            (one) =>
                !one.disabled &&
                one.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) &&
                !one.closest("[inert]") &&
                one.tabIndex >= 0,
        );
        all.forEach((one, i) => {
            one.dataset.tested = i;
        });
        document.body.focus();
        return all.map((one) => one.outerHTML.slice(0, 120));
    });
    const seen = new Set();
    for (let i = 0; i < TABS_MAX && seen.size < usable.length; i++) {
        await page.keyboard.press("Tab");
        const at = await page.evaluate(() => document.activeElement?.dataset.tested);
        if (at) seen.add(at);
    }
    return usable.filter((_, i) => !seen.has(`${i}`));
}

/** What the crosses of a page show at some places, by arrow keys and by the pointer. */
async function crosses(page) {
    const shown = [];
    for (const element of await page.$$(".heat, .curves")) {
        if (!(await element.isVisible())) continue;
        const kind = await element.evaluate((one) =>
            one.classList.contains("heat") ? "heat" : "curves",
        );
        const look = async (how) =>
            shown.push({ kind, how, ...(await element.evaluate((one) => ({ ...one.dataset }))) });
        await element.scrollIntoViewIfNeeded();
        const box = await element.boundingBox();
        if (!box) continue;
        for (const [x, y] of [
            [0.3, 0.3],
            [0.55, 0.7],
        ]) {
            await page.mouse.move(box.x + x * box.width, box.y + y * box.height);
            await frames(page);
            await look("pointer");
        }
        await page.mouse.move(0, 0);
        await element.focus();
        for (const key of ["ArrowRight", "ArrowRight", "ArrowDown"]) await page.keyboard.press(key);
        await frames(page);
        await look("keys");
    }
    return shown;
}

/** All numbers that were answered, tensor by tensor. */
async function numbers(answers) {
    const all = [];
    for (const answer of answers) {
        if (!/safetensors|json/.test(answer.headers()["content-type"] ?? "") || !answer.ok())
            continue;
        const found = await read(
            new Response(await answer.body(), { headers: answer.headers() }),
        ).catch(() => ({}));
        for (const one of Object.values(found)) if (one?.data) all.push([...one.data].map(Number));
    }
    return all;
}

/** Until no fact waits for its bytes, which the page does not count as work of its own. */
const known = (page) =>
    page.waitForFunction(
        () =>
            [...document.querySelectorAll("main details[open] code")].every(
                (one) => one.textContent !== "…",
            ),
        null,
        { timeout: SETTLED_MS },
    );

/** All that is folded away is shown. */
async function unfolded(page) {
    await page.evaluate(() => {
        // Of those with one name, no two would be open.
        for (const one of document.querySelectorAll("main details")) {
            one.removeAttribute("name");
            one.open = true;
        }
    });
    await settle(page);
    await known(page);
}

const orders = {
    /** A page in all its faces: colours, places and what is hidden, by its styles. */
    async styles({ wait = "main", ...how }) {
        const { page } = await usedPage(pageKey(how), pageLook(how));
        await page.goto(how.url);
        await page.waitForSelector(wait, { timeout: SETTLED_MS });
        await settle(page);
        const { width = 900, height = 900 } = how;
        return facesOf(page, { width, height });
    },

    /** A link's requests and lines, what its buttons copy before and after, and for each control that
     * is changed, one after the other, the entries of the history that this makes, its requests and
     * the lines that change. `rest`: ms after which a cell that is pointed at is asked for by itself.
     * */
    async contents({ base, controls = true, rest = 0, styles = false, ...how }) {
        const { page } = await usedPage(pageKey(how), pageLook(how));
        const requests = requestsOf(page, base);
        const { told } = await shown(how);
        await page.evaluate(() => {
            globalThis.copied = [];
            navigator.clipboard.writeText = async (text) => globalThis.copied.push(text);
            const push = history.pushState;
            globalThis.entries = 0;
            history.pushState = (...given) => (globalThis.entries++, push.apply(history, given));
        });
        const entries = () =>
            page.evaluate(() => {
                const { entries } = globalThis;
                globalThis.entries = 0;
                return entries;
            });
        await unfolded(page);
        let lines = await page.evaluate(linesOf, base);
        const found = [
            {
                act: "opened",
                requests: requests.taken(),
                lines,
                cut: await page.evaluate(cutTexts),
            },
        ];
        if (controls) {
            const copy = async (act) => {
                await page.evaluate(() => globalThis.copied.splice(0));
                for (const button of await page.$$("footer [role=group] button:visible"))
                    if (/^(curl|Python)$/.test(await button.textContent())) await button.click();
                const lines = await page.evaluate(() => globalThis.copied);
                found.push({ act, requests: [], cut: [], lines });
            };
            await copy("copied");
            await page.waitForTimeout(COPIED_MS);
            for (let name; (name = await changedNext(page));) {
                await settle(page);
                await known(page);
                if (rest) {
                    await page.waitForTimeout(rest);
                    await settle(page);
                    await known(page);
                }
                const before = lines;
                lines = await page.evaluate(linesOf, base);
                found.push({
                    act: `changed ${name}`,
                    entries: await entries(),
                    requests: requests.taken(),
                    lines: changes(before, lines),
                    cut: await page.evaluate(cutTexts),
                });
            }
            await copy("copied at the end");
        }
        requests.end();
        const { width, height } = how;
        return {
            told: [...told],
            found,
            styles: styles && (await facesOf(page, { width, height })),
        };
    },

    /** Pairs of links that are followed within the page, one after the other: lines of each second
     * one. */
    async followed({ base, links, ...how }) {
        const { page, told } = await shown(how),
            found = [];
        for (const pair of links) {
            for (const link of pair) {
                await follow(page, link);
                await settle(page);
            }
            await unfolded(page);
            found.push(await page.evaluate(linesOf, base));
        }
        return { found, told: [...told] };
    },

    /** Buttons of some links, each pressed at its link: how many entries of the history it made, and
     * the link that the page then has. Of those whose names differ by numbers the first one. */
    async pressed({ links, ...how }) {
        const { page, told } = await shown(how);
        const found = await page.evaluate(async (links) => {
            const pause = (ms) => new Promise((done) => setTimeout(done, ms)),
                push = history.pushState,
                root = document.documentElement,
                met = new Set();
            let pushes = 0;
            history.pushState = (...given) => (pushes++, push.apply(history, given));
            const follow = async (href) => {
                const link = Object.assign(document.createElement("a"), { href });
                document.body.append(link);
                link.click();
                link.remove();
                do await pause(5);
                while (root.hasAttribute("data-busy"));
            };
            // Models and what stands below every view are alike in all of them.
            const name = (one) =>
                (one.matches("[data-model], footer *") ? "" : root.dataset.view) +
                (one.ariaLabel ?? one.textContent).replace(/\d+/g, "#");
            const next = () =>
                [...document.querySelectorAll("main button, footer button")].find(
                    (one) =>
                        one.checkVisibility() &&
                        !one.disabled &&
                        !one.matches(".play, .dial *, .failure *, [title], .choice :last-child") &&
                        !name(one).endsWith("…") && // a window of the system
                        !met.has(name(one)),
                );
            const found = [];
            for (const link of links) {
                await follow(link);
                for (let one; (one = next());) {
                    const words = one.ariaLabel ?? one.textContent,
                        before = pushes;
                    met.add(name(one));
                    one.click();
                    const { href } = document.querySelector("header a[lang]") ?? location;
                    found.push({ link, words, entries: pushes - before, href });
                    await follow(link);
                }
            }
            history.pushState = push;
            return found;
        }, links);
        return { found, told: [...told] };
    },

    /** Leaves a view while its last request waits for an answer: is that given up? */
    async left({ to, ...how }) {
        const { page } = await usedPage(pageKey(how), pageLook(how)),
            requests = requestsOf(page, how.url);
        await shown(how);
        const last = requests.count();
        requests.end();
        const held = new Set(),
            ended = new Set(),
            end = (request) => ended.add(request);
        let seen = 0,
            leaves = false;
        page.on("requestfailed", end);
        await page.route("**/v1/**", (route) => {
            if (leaves || ++seen < last) return route.continue();
            held.add(route.request());
        });
        await page.goto(how.url);
        for (let wait = 0; wait < 100 && last && !held.size; wait++) await page.waitForTimeout(50);
        leaves = true;
        await page.locator(`nav a[href*="${to}"]`).first().click();
        for (let wait = 0; wait < 40 && [...held].some((one) => !ended.has(one)); wait++)
            await page.waitForTimeout(50);
        page.off("requestfailed", end);
        await settle(page);
        return { last, held: held.size, ended: [...held].filter((one) => ended.has(one)).length };
    },

    /** Acts on a page, one after the other: [name, argument]; what was seen between them, and every
     * failure that stood on the page for a moment. */
    async scene({ play, ...how }) {
        const { page } = await shown(how),
            views = [];
        await page.evaluate(() => {
            globalThis.failed = [];
            new MutationObserver(() =>
                globalThis.failed.push(
                    ...[...document.querySelectorAll(".failure")].map((one) => one.innerText),
                ),
            ).observe(document.body, { childList: true, subtree: true });
        });
        for (const [name, argument] of play) {
            const view = await acts[name](page, argument);
            if (name === "see") views.push(view);
        }
        return { views, failed: await page.evaluate(() => globalThis.failed) };
    },

    /** Canvases, what a cross shows at some shares of their pictures, and shapes of SVG. */
    async drawings({ names = [], shapes = {}, crosses = [], ...how }) {
        const { page, told } = await shown(how),
            drawn = await canvases(page),
            crossed = [];
        const found = await page.evaluate(
            (shapes) =>
                Object.fromEntries(
                    Object.entries(shapes).map(([name, selector]) => [
                        name,
                        [...document.querySelectorAll(selector)].map((one) => ({
                            text: one.textContent,
                            ...Object.fromEntries(
                                [...one.attributes].map(({ name, value }) => [name, value]),
                            ),
                        })),
                    ]),
                ),
            shapes,
        );
        for (const [which, x, y] of crosses) {
            const canvas = page.locator("main canvas.heat:visible").nth(which);
            await canvas.scrollIntoViewIfNeeded();
            const [left, top, width, height] = drawn.filter(({ kind }) => kind === "heat")[which]
                .room;
            await canvas.hover({
                position: { x: left + x * width, y: top + y * height },
                force: true,
            });
            crossed.push(await canvas.evaluate(({ dataset }) => ({ ...dataset })));
        }
        return {
            told: [...told],
            canvases: drawn,
            tokens: await tokens(page, names),
            shapes: found,
            crossed,
        };
    },

    /** Every list of a view: its options, and what it shows once its first or last option, whichever
     * is not shown, was chosen and the link that the page then has was opened. `links`: those of the
     * page to itself and to the reference. */
    async choices(how) {
        const { page } = await shown(how);
        const links = await page.$$eval("a[href]", (all) =>
            all.map((one) => one.href).filter((href) => new URL(href).origin === location.origin),
        );
        const lists = await page.$$eval("main select", (all) =>
            all
                .filter((one) => one.checkVisibility())
                .map((one) => ({
                    label: one.ariaLabel,
                    shown: one.value,
                    options: [...one.options].map(({ value }) => value),
                })),
        );
        for (const one of lists) {
            const { label, shown: before, options } = one;
            const list = () => page.locator(`main select[aria-label="${label}"]:visible`).first();
            one.chosen = options.findLast((value) => value !== before) ?? before;
            await list().selectOption(one.chosen);
            await settle(page);
            one.link = page.url();
            await page.goto(one.link);
            await settle(page);
            one.after = (await list().count()) ? await list().inputValue() : null;
            await page.goto(how.url);
            await settle(page);
        }
        return { links, lists };
    },

    /** Views by the sections' links: the page says itself which there are. */
    async views({ url }) {
        const tab = await opened({ url });
        const found = new Map([["", url]]);
        for (const section of await links(tab.page, "nav:first-of-type")) {
            await tab.page.goto(section);
            await tab.page.waitForSelector("main .view > *");
            for (const link of [section, ...(await links(tab.page, "nav.views"))])
                found.set(viewOf(link), link);
        }
        return [...found.keys()];
    },

    async visit({ shot, axe = true, ...how }) {
        const tab = await opened(how);
        const { page, told } = tab;
        if (shot) await scrolled(page);
        const faults = axe
            ? await page
                  .evaluate(AXE)
                  .then(() =>
                      page.evaluate(async () =>
                          (await globalThis.axe.run()).violations.flatMap(({ id, nodes }) =>
                              nodes.map(
                                  (node) =>
                                      `${id}: ${node.html.slice(0, 160)} ${node.any[0]?.message ?? ""}`,
                              ),
                          ),
                      ),
                  )
            : [];
        if (shot) await page.screenshot({ path: shot, fullPage: true });
        const [{ startTime } = { startTime: null }] = await page.evaluate(() =>
            performance.getEntriesByName("drawn").map(({ startTime }) => ({ startTime })),
        );
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        const small = await page.evaluate(() =>
            [...document.querySelectorAll("body *")]
                .filter(
                    (one) =>
                        one.checkVisibility() &&
                        [...one.childNodes].some(
                            (text) => text.nodeType === 3 && text.data.trim(),
                        ) &&
                        [parseFloat(getComputedStyle(one).fontSize)].some(
                            (size) => size > 0 && size < 12,
                        ),
                )
                .map((one) => one.outerHTML.slice(0, 120)),
        );
        return { told, faults, drawn: startTime, wide, small };
    },

    async tabs(how) {
        const tab = await opened(how);
        return { missed: await reached(tab.page), told: tab.told };
    },

    async values(how) {
        const tab = await opened(how);
        const shown = await crosses(tab.page);
        await settle(tab.page);
        return { shown, answered: how.answered ? await numbers(tab.answers) : [], told: tab.told };
    },

    /** Moves a slider by keys, then opens the URL that came of it: is the picture the same? */
    async again(how) {
        const tab = await opened(how);
        const slider = await tab.page.$("main input[type=range]");
        if (slider) {
            await slider.focus();
            for (let i = 0; i < 4; i++) await tab.page.keyboard.press("ArrowLeft");
            await settle(tab.page);
            await tab.page.waitForTimeout(300); // the address is written at rest
        }
        const url = tab.page.url(),
            other = await opened({ ...how, url });
        let first,
            second,
            same = false;
        for (let tries = 0; !same && tries < 4; tries++) {
            // a busy machine draws late
            [first, second] = [await picture(tab.page), await picture(other.page)];
            same = first.equals(second);
        }
        if (!same && how.shot) {
            await writeFile(how.shot.replace(".png", "-moved.png"), first);
            await writeFile(how.shot.replace(".png", "-opened.png"), second);
        }
        return { url, moved: !!slider, same };
    },

    /** Any page: what is told on its console, and what an expression, or a promise, has there. Steps
     * before that: a selector and what is typed, chosen or clicked there. */
    async evaluate({ url, steps = [], script, wait, width = 1280, theme = "light" }) {
        const { page, told } = await usedPage(`evaluated ${[width, theme]}`, {
            viewport: { width, height: 900 },
            colorScheme: theme,
        });
        await page.goto(url);
        for (const [selector, how, value] of steps)
            await page.locator(selector).first()[how](value);
        // Not waitForFunction, which the policy of the page forbids to read a text as code.
        const end = Date.now() + SETTLED_MS;
        while (wait && !(await page.evaluate(`!!(${wait})`))) {
            if (Date.now() > end) throw new Error(`not within ${SETTLED_MS} ms: ${wait}`);
            await page.waitForTimeout(20);
        }
        const value = await page.evaluate(script);
        await page.evaluate(() => [localStorage, sessionStorage].forEach((one) => one.clear()));
        await page.goto("about:blank"); // nothing is drawn between two orders
        return { told: [...told], value };
    },

    /** Frames while a slider moves, one step each. */
    async slide({ seconds = 2, selector = "main input[type=range]", ...how }) {
        const tab = await opened(how);
        return tab.page.evaluate(
            async ({ seconds, selector }) => {
                const slider = document.querySelector(selector),
                    begin = performance.now(),
                    times = [];
                slider.focus();
                const { min, max } = slider,
                    step = (max - min) / 120;
                for (let i = 0, at; (at = performance.now()) < begin + 1000 * seconds; i++) {
                    times.push(at);
                    slider.value = +min + Math.abs((i % 240) - 120) * step;
                    slider.dispatchEvent(new Event("input", { bubbles: true }));
                    await new Promise(requestAnimationFrame);
                }
                const gaps = times
                    .slice(1)
                    .map((time, i) => time - times[i])
                    .sort((a, b) => a - b);
                return {
                    rate: gaps.length / seconds,
                    longest: gaps.at(-1),
                    median: gaps[gaps.length >> 1],
                    slow: gaps.filter((gap) => gap > 34).length,
                };
            },
            { seconds, selector },
        );
    },

    /** Requests of a slider whose answers do not come: how many were made, and not given up. */
    async stale(how) {
        const { page, told } = await opened(how),
            begun = new Set(),
            alive = new Set();
        page.on("request", (request) => begun.add(request) && alive.add(request));
        page.on("requestfailed", (request) => alive.delete(request));
        await page.route("**/v1/**", () => new Promise(() => {}));
        const slider = await page.$("main input[type=range]");
        await slider.focus();
        for (let i = 0; i < 8; i++) {
            await page.keyboard.press("PageUp");
            await page.waitForTimeout(150); // longer than an answer is waited for
        }
        return { begun: begun.size, alive: alive.size, told };
    },

    /** What buttons copy, and the files that they save into a folder: those under a picture, or of a
     * selector. */
    async taken({ folder, buttons = "footer [role=group] button", ...how }) {
        const { page, told } = await opened(how),
            copied = [],
            files = [];
        await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
        for (const button of await page.$$(buttons)) {
            const words = await button.textContent();
            if (["curl", "Python"].includes(words)) {
                await button.click();
                await page.waitForFunction(
                    async (before) => (await navigator.clipboard.readText()) !== before,
                    copied.at(-1) ?? "",
                );
                copied.push(await page.evaluate(() => navigator.clipboard.readText()));
            } else if (/^(png|svg|npy|csv|safetensors|request\..*)$/.test(words)) {
                const [file] = await Promise.all([page.waitForEvent("download"), button.click()]);
                await file.saveAs(`${folder}/${file.suggestedFilename()}`);
                files.push(file.suggestedFilename());
            }
        }
        return { copied, files, told };
    },
};

for await (const line of createInterface({ input: process.stdin })) {
    const { do: name, ...how } = JSON.parse(line);
    const answer = await orders[name](how).catch((error) => ({ error: `${error.stack}` }));
    const kept = [...used.values()].map(({ page }) => page.context());
    await Promise.all(
        browser
            .contexts()
            .filter((one) => !kept.includes(one))
            .map((context) => context.close()),
    );
    console.log(JSON.stringify(answer));
}
await browser.close();
