// SPDX-License-Identifier: MIT
// /docs: one article at a time of the page that explorer/docs made, a search, and forms that try
// the operations. Without this script the page is all of them, one below the other.
import { h } from "../dom";
import { Search } from "./search";
import { told, trial } from "./trial";
import "../style/tokens.css";
import "../style/page.css";
import "../style/docs.css";

const NARROW = matchMedia("(max-width: 900px)"), FIRST = "overview";
const main = document.querySelector("main")!, articles = [...main.querySelectorAll("article")];
const contents = document.querySelector<HTMLDetailsElement>("details.contents")!;
const links = [...contents.querySelectorAll<HTMLAnchorElement>("a")];
const title = document.title;

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
  document.title = article.id === FIRST ? title
    : `${article.querySelector("h1")!.textContent} · posenc`;
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

const search = new Search(articles, () => shownOnly(undefined),
  () => show(decodeURIComponent(location.hash.slice(1))));

/** The colours are part of the address, as the explorer's are. */
function theme(): HTMLElement {
  const root = document.documentElement, given = new URL(location.href).searchParams.get("theme");
  const isDark = () => (root.dataset.theme ??
    (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  if (given === "dark" || given === "light") root.dataset.theme = given;
  const button = h("button.quiet", { type: "button", onclick: () => {
    const url = new URL(location.href);
    root.dataset.theme = isDark() ? "light" : "dark";
    url.searchParams.set("theme", root.dataset.theme);
    history.replaceState(null, "", url);
    tell();
  } }, "◐");
  const tell = () => button.setAttribute("aria-label", isDark() ? "light" : "dark");
  tell();
  return button;
}

document.querySelector("nav.more")!.append(theme());
for (const heading of main.querySelectorAll("h2, h3")) heading.setAttribute("tabindex", "-1");
for (const article of articles)
  article.addEventListener("beforematch", () => show(article.id));
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
