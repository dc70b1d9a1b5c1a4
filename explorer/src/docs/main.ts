// SPDX-License-Identifier: MIT
// /docs: one article at a time of the page that explorer/docs made, a search, and forms that try
// the operations. Without this script the page is all of them, one below the other.
import { h } from "../dom";
import type { Theme } from "../state";
import { isDark } from "../theme";
import { LANGUAGES, languageSet, languageWanted, t, type Language } from "../words";
import { Search } from "./search";
import { told, trial } from "./trial";
import "../style/tokens.css";
import "../style/page.css";
import "../style/docs.css";

const EXAMPLE = "http://127.0.0.1:8080"; // the server of the guides
const NARROW = matchMedia("(max-width: 900px)"),
    FIRST = "overview";
const main = document.querySelector("main")!,
    articles = [...main.querySelectorAll("article")];
const contents = document.querySelector<HTMLDetailsElement>("details.contents")!;
const links = [...contents.querySelectorAll<HTMLAnchorElement>("a")];
const title = document.title;
const given = new URL(location.href).searchParams;

/** The reference and the guides are English; what stands around them, and where it leads, is in the
 * reader's language. */
function spoken(): HTMLElement {
    const wanted = given.get("lang") ?? "",
        own = wanted in LANGUAGES ? (wanted as Language) : languageWanted();
    languageSet(own);
    if (own !== "en") main.lang = "en";
    const say = (selector: string, words: string) => {
        document.querySelector(selector)!.textContent = words;
    };
    say(".skip", t("to the text", "跳到正文"));
    say("header nav a", t("Explorer", "看图"));
    say("header nav a[aria-current]", t("API and manual", "API 与手册（英文）"));
    say("summary", t("Contents", "目录"));
    const other = own === "en" ? "zh-CN" : "en",
        link = h("a", { href: "" }, LANGUAGES[other]);
    link.addEventListener("click", (event) => {
        event.preventDefault();
        const url = new URL(location.href);
        url.searchParams.set("lang", other);
        location.replace(url);
    });
    return link;
}

/** How the page is read goes along to the explorer. */
function ways(): void {
    const now = new URL(location.href).searchParams;
    for (const link of document.querySelectorAll<HTMLAnchorElement>("header a:not([href^='#'])")) {
        if (!link.getAttribute("href")) continue;
        const url = new URL(link.href);
        for (const name of ["lang", "theme"])
            if (now.has(name)) url.searchParams.set(name, now.get(name)!);
        link.href = url.href;
    }
}

/** Hidden, and still found by the browser's own search where it can do that. */
function shownOnly(article: HTMLElement | undefined): void {
    for (const one of articles)
        if (one === article) one.removeAttribute("hidden");
        else one.setAttribute("hidden", "until-found");
}

function show(id: string): void {
    const target = document.getElementById(id) ?? document.getElementById(FIRST)!;
    const article = target.closest("article") ?? articles[0];
    shownOnly(article);
    for (const link of links) {
        if (link.hash === `#${article.id}`) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
    }
    document.title =
        article.id === FIRST ? title : `${article.querySelector("h1")!.textContent} · posenc`;
    for (const one of article.querySelectorAll<HTMLElement>(".try:empty")) one.append(trial(one));
    for (const one of article.querySelectorAll("pre.json code"))
        one.textContent = told(one.textContent!);
}

/** Where the address says; keys go on from there. */
function follow(): void {
    const id = decodeURIComponent(location.hash.slice(1));
    if (id === "main") return;
    search.leave();
    show(id);
    const target = id ? document.getElementById(id) : null;
    const heading = target && target.tagName !== "ARTICLE" ? target : null;
    if (NARROW.matches) contents.open = false;
    if (id) (heading ?? main).focus({ preventScroll: true });
    if (heading) heading.scrollIntoView();
    else scrollTo(0, 0);
}

/** Commands of the guides go to the server that this page comes from. */
function hosts(): void {
    const here = new URL(".", location.href).href.replace(/\/$/, "");
    const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const { currentNode: text } = texts,
            { data } = text as Text;
        if (data.includes(EXAMPLE)) (text as Text).data = data.replaceAll(EXAMPLE, here);
    }
}

/** The colours are part of the address, as the explorer's are. */
function theme(): HTMLElement {
    const root = document.documentElement,
        wanted = given.get("theme");
    const dark = () => isDark((root.dataset.theme ?? "auto") as Theme);
    if (wanted === "dark" || wanted === "light") root.dataset.theme = wanted;
    const button = h(
        "button.quiet",
        {
            type: "button",
            onclick: () => {
                const url = new URL(location.href);
                root.dataset.theme = dark() ? "light" : "dark";
                url.searchParams.set("theme", root.dataset.theme);
                history.replaceState(null, "", url);
                ways();
                tell();
            },
        },
        "◐",
    );
    const tell = () =>
        button.setAttribute("aria-label", dark() ? t("light", "浅色") : t("dark", "深色"));
    tell();
    return button;
}

document.querySelector("nav.more")!.append(spoken(), theme());
ways();
if (!SITE) hosts();
const search = new Search(
    articles,
    () => shownOnly(undefined),
    () => show(decodeURIComponent(location.hash.slice(1))),
);
for (const heading of main.querySelectorAll("h2, h3")) heading.setAttribute("tabindex", "-1");
for (const article of articles) article.addEventListener("beforematch", () => show(article.id));
contents.querySelector("nav")!.before(search.field);
main.querySelector(".view")!.append(search.results);
contents.open = !NARROW.matches;
addEventListener("hashchange", follow);
addEventListener("keydown", (event) => {
    if (event.key !== "/" || (event.target as Element).matches("input, textarea, select")) return;
    event.preventDefault();
    contents.open = true;
    search.input.focus();
});
follow();
