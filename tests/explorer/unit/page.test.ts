// SPDX-License-Identifier: MIT
// The frame of the page: links, steps back, files that are dropped, and both sides of a comparison.
import assert from "node:assert/strict";
import test from "node:test";
import { fake, FakeElement } from "./fakes";
import { Lane, type Api } from "../../../explorer/src/api";
import { Page } from "../../../explorer/src/app";
import { both, only } from "../../../explorer/src/compare";
import { token, tokensForget } from "../../../explorer/src/dom";
import { read } from "../../../explorer/src/state";
import type { App, Shown, View } from "../../../explorer/src/view";

interface Stand {
    name: string;
    app: App;
    updates: number;
    left: boolean;
}

type Listener = (event: Record<string, unknown>) => void;

/** A page of three views at an address, with what was done to the browser. */
function opened(search: string) {
    const listeners: Record<string, Listener[]> = {},
        entries: string[] = [],
        stands: Stand[] = [],
        media: Listener[] = [],
        scrolled: number[][] = [],
        betweens: unknown[][] = [];
    const own = globalThis as unknown as Record<string, unknown>;
    const body = ((document.body as unknown) = new FakeElement("body"));
    Object.assign(document, { body });
    const go = (href: string) => (own.location = new URL(href, "http://h/p/"));
    go(`http://h/p/${search}`);
    own.addEventListener = (type: string, listener: Listener) =>
        (listeners[type] ??= []).push(listener);
    own.matchMedia = () => ({
        matches: false,
        addEventListener: (_: string, listener: Listener) => media.push(listener),
    });
    own.scrollTo = (...at: number[]) => scrolled.push(at);
    own.history = {
        pushState: (_: null, __: string, url: URL) => (
            entries.push(`push ${url.search}`),
            go(url.href)
        ),
        replaceState: (_: null, __: string, url: URL) => (
            entries.push(`replace ${url.search}`),
            go(url.href)
        ),
    };
    const view = (name: string, more: Partial<View> = {}): View => ({
        name,
        section: "inspect",
        title: () => `title of ${name}`,
        lead: () => `lead of ${name}`,
        accepts: () => ({ dim: [2, 512, 2] }),
        mount(_, app) {
            const stand: Stand = { name, app, updates: 0, left: false };
            stands.push(stand);
            return {
                update: () => void stand.updates++,
                leave: () => void (stand.left = true),
                seen: () => app.state.params.dim,
            };
        },
        between: (_, seen) => void betweens.push(seen),
        ...more,
    });
    const views = [
        view("home"),
        view("table"),
        view("extension", { passes: true }),
        view("story", { section: "understand", single: true }),
        view("diagnosis", { section: "debug" }),
        view("compare", { section: "debug" }),
    ];
    const api = { origin: "http://h/p", below: (one: string) => one } as unknown as Api;
    const page = new Page(api, views);
    const fire = (type: string, event: Record<string, unknown> = {}) =>
        listeners[type].forEach((one) => one({ preventDefault() {}, ...event }));
    return {
        page,
        body: fake(body),
        root: fake(document.documentElement),
        fire,
        go,
        entries,
        stands,
        media,
        scrolled,
        betweens,
        now: () => stands.at(-1)!,
    };
}

const search = (href: string) => new URL(href).search;

test("a step is an entry at once, a slider is one at rest", (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const { page, entries, now, stands, go, fire } = opened("?view=table&dim=8"),
        choices = Lane.choices;
    page.go({ dim: 10 });
    page.go({ dim: 12 });
    assert.deepEqual([entries, now().updates, page.state.params.dim], [[], 2, "12"]);
    context.mock.timers.tick(250);
    assert.deepEqual(entries.splice(0), ["replace ?view=table&dim=12"]);
    assert.equal(Lane.choices, choices, "what runs is still wanted");
    page.go({ dim: 12 }, "push");
    assert.deepEqual([entries, now().updates], [[], 2], "the same address");
    page.go({ dim: 14 });
    page.go({ dim: 20 }, "push");
    assert.deepEqual(entries.splice(0), ["replace ?view=table&dim=14", "push ?view=table&dim=20"]);
    assert.equal(Lane.choices, choices + 1);
    context.mock.timers.tick(250);
    assert.deepEqual(entries, []);
    go("http://h/p/?view=table&dim=14");
    fire("popstate");
    assert.deepEqual([page.state.params.dim, Lane.choices], ["14", choices + 2]);
    assert.deepEqual([entries, stands.length], [[], 1]);
    page.go({ dim: 16 });
    fire("pagehide");
    assert.deepEqual(entries, ["replace ?view=table&dim=16"]);
});

test("another view, language, theme or size of letters is mounted anew", () => {
    const { page, stands, root } = opened("?view=table&dim=8&lang=en");
    for (const [changes, expected] of [
        [{ view: "story" }, "story"],
        [{ lang: "zh-CN" }, "story"],
        [{ theme: "dark" }, "story"],
        [{ present: true }, "story"],
    ] as const) {
        const before = stands.at(-1)!,
            count = stands.length;
        page.go(changes, "push");
        assert.deepEqual(
            [before.left, stands.length, stands.at(-1)!.name],
            [true, count + 1, expected],
        );
    }
    assert.equal(page.state.params.dim, undefined);
    assert.deepEqual(
        [
            root.dataset.view,
            root.dataset.theme,
            root.dataset.present,
            root.dataset.sides,
            root.lang,
        ],
        ["story", "dark", "1", "1", "zh-CN"],
    );
    assert.equal(document.title, "title of story · posenc");
    page.go({ theme: undefined, present: undefined, lang: "en" });
    assert.deepEqual([root.dataset.theme, root.dataset.present, root.lang], [undefined, "0", "en"]);
    assert.ok(page.has("table") && !page.has("foo"));
});

test("links of the page are followed in it, all others by the browser", () => {
    const { body, page, scrolled, entries } = opened("?view=table&dim=8");
    const click = (href: string, more: Record<string, unknown> = {}, event = {}) => {
        const { origin, pathname, hash } = new URL(href, "http://h/p/");
        const link = { href, origin, pathname, hash, target: "", ...more };
        return body.fire("click", { target: { closest: () => link }, ...event });
    };
    for (const [href, more, event] of [
        ["http://h/p/?view=story", {}, { metaKey: true }],
        ["http://h/p/?view=story", {}, { ctrlKey: true }],
        ["http://h/p/?view=story", {}, { shiftKey: true }],
        ["http://h/p/?view=story", { target: "_blank" }, {}],
        ["http://h/p/?view=story#main", {}, {}],
        ["http://h/p/docs", {}, {}],
        ["http://other/p/?view=story", {}, {}],
    ] as const)
        assert.equal(click(href, more, event), false, href);
    assert.equal(body.fire("click", { target: { closest: () => null } }), false);
    assert.equal(page.state.view, "table");
    assert.ok(click("http://h/p/?view=table&dim=8"), "where it is already");
    assert.deepEqual([entries, scrolled], [[], []]);
    assert.ok(click("http://h/p/?view=story"));
    assert.deepEqual(
        [page.state.view, entries, scrolled],
        ["story", ["push ?view=story"], [[0, 0]]],
    );
});

test("files go to the view that takes them", () => {
    for (const [from, name, to] of [
        ["home", "config.json", "home"],
        ["table", "config.json", "extension"],
        ["story", "m.GGUF", "extension"],
        ["extension", "config.json", "extension"],
        ["compare", "config.json", "compare"],
        ["table", "t.npy", "table"],
        ["home", "t.npy", "diagnosis"],
        ["diagnosis", "t.safetensors", "diagnosis"],
    ]) {
        const { page, fire, now, stands, entries } = opened(`?view=${from}`);
        let seen: File[] | null = null;
        const stand = now();
        Object.defineProperty(stand, "updates", {
            get: () => 0,
            set: () => (seen = page.dropped),
        });
        const file = new File(["x"], name);
        fire("drop", { dataTransfer: { files: [] } });
        assert.equal(page.state.view, from);
        fire("drop", { dataTransfer: { files: [file] } });
        assert.equal(page.state.view, to, `${from} ${name}`);
        if (from === to) assert.deepEqual([seen, stands.length], [[file], 1]);
        const expected = from === to ? [] : [`push ?view=${to}`];
        assert.deepEqual(entries, expected, "a step back leads to where it was dropped");
        assert.equal(page.dropped, null);
    }
    const { page, fire } = opened("?view=story");
    fire("drop", { dataTransfer: { files: [new File([], "a.json"), new File([], "b.npy")] } });
    assert.equal(page.state.view, "diagnosis", "not all are configs");
});

test("buttons of the page are steps back, and the theme, which every view has, is none", () => {
    const { page, body, entries } = opened("?view=table&dim=8&lang=en");
    page.shows([{ title: "x", ask: { method: "GET", target: "/v1/x" }, formats: [] }]);
    const press = (words: string) => {
        const [button] = body.find("button").filter((one) => one.textContent === words);
        entries.length = 0;
        button.fire("click");
        return entries.map((one) => one.split(" ")[0]);
    };
    assert.deepEqual(press("present"), ["push"]);
    assert.deepEqual(press("end (Esc)"), ["push"]);
    page.shows([{ title: "y", ask: { method: "GET", target: "/v1/x" }, formats: [] }]);
    assert.deepEqual(press("compare"), ["push"]);
    assert.deepEqual(press("only A"), ["push"]);
    assert.deepEqual(press("◐"), [], "which is written at rest");
});

test("what is drawn has the colours of the theme at that moment", (context) => {
    let theme = "light";
    const own = globalThis as unknown as Record<string, unknown>,
        before = own.getComputedStyle;
    own.getComputedStyle = () => ({ getPropertyValue: (name: string) => ` ${theme} ${name} ` });
    context.after(() => (own.getComputedStyle = before));
    tokensForget();
    const { body, page, media, stands, fire, go } = opened("?view=table&dim=8&lang=en");
    const drawn = () => [token("ink"), token("turn")],
        expected = () => [`${theme} --ink`, `${theme} --turn`];
    assert.deepEqual(drawn(), expected());
    const changes: [string, () => void][] = [
        ["by its button", () => body.find("button.quiet").at(-1)!.fire("click")],
        ["by the browser", () => media.forEach((one) => one({}))],
        ["by a link", () => page.go({ theme: "light" }, "push")],
        [
            "by a step back",
            () => {
                go("http://h/p/?view=table&dim=8&lang=en&theme=dark");
                fire("popstate");
            },
        ],
    ];
    for (const [how, change] of changes) {
        const count = stands.length;
        theme = theme === "light" ? "dark" : "light";
        change();
        assert.deepEqual([stands.length, drawn()], [count + 1, expected()], how);
    }
    theme = "other";
    page.go({ dim: 10 });
    assert.notDeepEqual(drawn(), expected(), "tokens are read once for a theme");
    tokensForget();
});

test("Escape ends the presentation, and nothing else", () => {
    const { page, fire, entries } = opened("?view=table&present=1");
    fire("keydown", { key: "x" });
    assert.ok(page.state.present);
    fire("keydown", { key: "Escape" });
    assert.deepEqual([page.state.present, entries], [false, ["push ?view=table"]]);
    fire("keydown", { key: "Escape" });
    assert.equal(entries.length, 1);
});

test("the header has the sections, the views beside this one, and how the page is read", () => {
    const { body, page, stands, media } = opened("?view=table&dim=8&theme=dark&lang=en");
    const header = () => body.find("header.top")[0];
    const links = () =>
        header()
            .find("a")
            .map((one) => [
                one.textContent,
                search(one.attributes.href),
                one.attributes["aria-current"],
            ]);
    assert.deepEqual(links(), [
        ["posenc", "?theme=dark&lang=en", undefined],
        ["Inspect", "?view=table&dim=8&theme=dark&lang=en", "page"],
        ["Understand", "?view=story&theme=dark&lang=en", undefined],
        ["Debug", "?view=diagnosis&theme=dark&lang=en", undefined],
        ["API", "?lang=en&theme=dark", undefined],
        ["简体中文中文", "?view=table&dim=8&theme=dark&lang=zh-CN", undefined],
        ["title of table", "?view=table&dim=8&theme=dark&lang=en", "page"],
        ["title of extension", "?view=extension&theme=dark&lang=en", undefined],
    ]);
    const [button] = header().find("button.quiet");
    assert.equal(button.attributes["aria-label"], "light");
    button.fire("click");
    assert.equal(page.state.theme, "light");
    assert.equal(header().find("button.quiet")[0].attributes["aria-label"], "dark");
    page.go({ theme: undefined });
    const count = stands.length;
    media.forEach((one) => one({}));
    assert.equal(stands.length, count + 1, "the browser's theme is another one");
    page.go({ present: true }, "push");
    assert.deepEqual(
        links().map(([words]) => words),
        ["posenc"],
    );
    header().find("button.quiet")[0].fire("click");
    assert.equal(page.state.present, false);
});

test("values that a view cannot take are listed, with those that answers show", () => {
    const { page, body } = opened("?view=table&dim=7&foo=1&theme=pink");
    const lines = () =>
        body
            .find("ul.faults")[0]
            .find("li")
            .map((one) => one.textContent);
    assert.equal(lines().length, 3);
    assert.deepEqual(page.state.params, {});
    const source = {};
    page.report(source, [{ name: "head", value: "9", accepts: [0, 3, 1] }]);
    assert.ok(lines().length === 4 && lines().at(-1)!.includes("9"));
    page.report(source, []);
    assert.equal(lines().length, 3);
    page.go({ dim: 8, foo: undefined, theme: undefined });
    assert.deepEqual([lines(), page.state.params], [[], { dim: "8" }]);
});

test("buttons stay while the same requests are shown, with the request of the moment", async () => {
    const { page, body } = opened("?view=table"),
        copied: string[] = [];
    Object.defineProperty(navigator, "clipboard", {
        configurable: true,
        value: { writeText: async (text: string) => void copied.push(text) },
    });
    const shown = (title: string, target: string): Shown[] => [
        { title, ask: { method: "GET", target }, formats: [] },
    ];
    page.shows(shown("table", "/v1/a"));
    const before = body.find("div.shown")[0].find("button");
    page.shows(shown("table", "/v1/b"));
    assert.equal(body.find("div.shown")[0].find("button")[0], before[0]);
    before[0].fire("click");
    await Promise.resolve();
    assert.deepEqual(copied, ["curl 'http://h/p/v1/b'"]);
    page.shows(shown("other", "/v1/b"));
    assert.notEqual(body.find("div.shown")[0].find("button")[0], before[0]);
    const names = () =>
        body
            .find("div.shown")[0]
            .find("button")
            .map((one) => one.textContent);
    assert.deepEqual(names(), ["curl", "Python", "copy link", "compare", "present"]);
    const press = (words: string) =>
        body
            .find("div.shown")[0]
            .find("button")
            .find((one) => one.textContent === words)!
            .fire("click");
    press("copy link");
    await Promise.resolve();
    assert.equal(copied[1], "http://h/p/?view=table");
    press("compare");
    assert.deepEqual(page.state.sides, { a: {}, b: {} });
    page.shows(shown("x", "/v1/x"));
    assert.ok(!names().includes("compare"));
    press("present");
    assert.ok(page.state.present);
    page.go({ view: "story" });
    assert.ok(!names().includes("compare"), "a view that stands alone");
});

test("each side of a comparison has its own part of the link", () => {
    const { page, stands, betweens, body } = opened("?view=table&a=dim%3D8&b=dim%3D16");
    assert.equal(stands.length, 2);
    const [a, b] = stands;
    assert.deepEqual([a.app.state.params.dim, b.app.state.params.dim], ["8", "16"]);
    assert.ok(a.app.compared && !page.compared && a.app.state.sides === null);
    a.app.go({ dim: 10 });
    assert.deepEqual(page.state.sides, { a: { dim: "10" }, b: { dim: "16" } });
    assert.deepEqual([a.updates, b.updates], [1, 0]);
    assert.equal(new URL(b.app.link({ dim: undefined })).searchParams.get("b"), " ");
    assert.equal(search(b.app.link({ view: "story" })), "?view=story&dim=16");
    b.app.shows([{ title: "table", ask: { method: "GET", target: "/v1/b" }, formats: [] }]);
    assert.deepEqual(betweens.at(-1), ["10", "16"]);
    const groups = body.find("div.shown")[0].find("div");
    assert.ok(groups.some((one) => one.attributes["aria-label"] === "B · table"));
    b.app.say("a sentence");
    assert.equal(body.find("p.visually-hidden")[0].textContent, "B: a sentence");
    const file = new File(["x"], "t.npy");
    page.drop([file]);
    assert.deepEqual([a.updates, b.updates], [2, 1]);
    const keep = body.find("button.quiet").filter((one) => one.textContent.startsWith("only"));
    assert.deepEqual(
        keep.map((one) => one.textContent),
        ["only A", "only B"],
    );
    keep[1].fire("click");
    assert.deepEqual([page.state.sides, page.state.params], [null, { dim: "16" }]);
    assert.ok(a.left && b.left);
});

test("values that neither side can take are listed, of both sides", () => {
    const { body, stands } = opened("?view=table&a=dim%3D7%26x%3D1&b=dim%3D9%26y%3D2");
    const lines = body
        .find("ul.faults")[0]
        .find("li")
        .map((one) => one.textContent);
    for (const name of ["dim=7", "x=1", "dim=9", "y=2"])
        assert.equal(lines.filter((one) => one.includes(name)).length, 1, name);
    assert.deepEqual(
        stands.map(({ app }) => app.state.params),
        [{}, {}],
    );
});

test("each side keeps its own file, and has that of the other where it has none", () => {
    const { page, stands } = opened("?view=table&a=dim%3D8&b=dim%3D16");
    const [a, b] = stands.map(({ app }) => app),
        [one, other] = ["one", "other"].map((name) => new File(["x"], name));
    assert.deepEqual([a.held, b.held], [null, null]);
    a.held = one;
    assert.deepEqual([a.held, b.held, page.held], [one, one, one]);
    b.held = other;
    assert.deepEqual([a.held, b.held, page.held], [one, other, other]);
});

test("a failure stands at its side, and an attempt is made there again", () => {
    const { page, stands, body } = opened("?view=table&a=dim%3D8&b=dim%3D16");
    const source = {};
    stands[1].app.fail(source, new TypeError("Failed to fetch"));
    const sides = body.find("section.side");
    assert.deepEqual(
        sides.map((one) => one.find("div.failure").length),
        [0, 1],
    );
    sides[1].find("div.failures")[0].find("button")[0].fire("click");
    assert.deepEqual([stands[0].updates, stands[1].updates], [0, 1]);
    stands[1].app.fail(source, null);
    assert.equal(sides[1].find("div.failure").length, 0);
    page.fail(source, new Error("of the page"));
    assert.equal(body.find("div.failure").length, 1);
    const shows = () => [Object.assign(new FakeElement("button"), { textContent: "show it" })];
    page.fail({}, new TypeError("Failed to fetch"), shows as never);
    assert.ok(body.find("button").some((one) => one.textContent === "show it"));
    const shown = sides[0].find("button").length;
    stands[0].app.fail(source, new TypeError("Failed to fetch"), shows as never);
    assert.equal(sides[0].find("button").length, shown + 2, "that and another attempt");
});

test("a comparison begins as what is shown, and ends as one of its sides", () => {
    const state = read(new URL("http://h/?view=table&dim=8&base=5"));
    assert.deepEqual(both(state), {
        dim: undefined,
        base: undefined,
        a: "dim=8&base=5",
        b: "dim=8&base=5",
    });
    assert.deepEqual(both(read(new URL("http://h/?view=table"))), { a: " ", b: " " });
    assert.deepEqual(both(read(new URL("http://h/?model=x"))), { view: "compare", a: "model=x" });
    assert.deepEqual(both(read(new URL("http://h/?view=extension"))), {
        view: "compare",
        a: undefined,
    });
    const sided = read(new URL("http://h/?view=table&a=dim%3D8&b=dim%3D9"));
    assert.deepEqual(only(sided, "b"), { a: undefined, b: undefined, dim: "9" });
});
