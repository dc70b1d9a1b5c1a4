// SPDX-License-Identifier: MIT
// The frame of the page: doors, language, theme, the view that the URL names, and files that are
// dropped on it.
import type { Api } from "./api";
import { h } from "./dom";
import { actions } from "./kit/actions";
import { changed, read, type Changes, type State } from "./state";
import type { App, Door, Mounted, Shown, View } from "./view";
import { LANGUAGES, languageSet, t, type Language } from "./words";

const doors = (): Record<Door, string> => ({
  inspect: t("Inspect", "查看"), understand: t("Understand", "理解"), debug: t("Debug", "排错"),
});

export class Page implements App {
  state: State = read(new URL(location.href));
  dropped: File[] | null = null;
  private mounted?: Mounted;
  private told = h("p.told", { role: "status", "aria-live": "polite" });
  private shown = h("footer.shown");
  private main = h("main", { id: "main", tabindex: -1 });
  private header = h("header.top");

  constructor(readonly api: Api, readonly site: boolean, private views: View[]) {
    document.body.append(
      h("a.skip", { href: "#main" }, t("to the picture", "跳到图")),
      this.header, this.main, this.shown, this.told);
    addEventListener("popstate", () => this.follow());
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      this.drop([...event.dataTransfer?.files ?? []]);
    });
    this.mount();
  }

  link(changes: Changes): string {
    return changed(new URL(location.href), changes).href;
  }

  go(changes: Changes, how: "push" | "replace" = "replace"): void {
    const next = this.link(changes);
    if (next === location.href) return;
    history[how === "push" ? "pushState" : "replaceState"](null, "", next);
    this.follow();
  }

  shows(asks: Shown[]): void {
    this.shown.replaceChildren(actions(this, asks));
  }

  say(sentence: string): void {
    this.told.textContent = sentence;
  }

  /** Files go to the view that takes them: a config to the first screen, all else to the diagnosis. */
  drop(files: File[]): void {
    if (!files.length) return;
    this.dropped = files;
    const config = files.every((file) => /\.(json|gguf)$/i.test(file.name));
    const view = config ? "extension" : "diagnosis";
    if (this.state.view === view) this.mounted?.update();
    else this.go({ view }, "push");
    this.dropped = null;
  }

  /** The URL has changed: the view is updated, or another one stands there, or other words. */
  private follow(): void {
    const before = this.state;
    this.state = read(new URL(location.href));
    const same = (["view", "lang", "theme", "present"] as const)
      .every((name) => before[name] === this.state[name]);
    if (same) this.mounted?.update();
    else this.mount();
  }

  private view(): View {
    return this.views.find((one) => one.name === this.state.view) ?? this.views[0];
  }

  private mount(): void {
    const view = this.view(), root = document.documentElement;
    this.mounted?.leave();
    languageSet(this.state.lang);
    if (this.state.theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = this.state.theme;
    root.dataset.present = this.state.present ? "1" : "0";
    root.dataset.view = view.name;
    document.title = `${view.title()} · posenc`;
    this.top(view);
    this.shows([]);
    const stage = h("div.view");
    this.main.replaceChildren(
      h("div.heading", {}, h("h1", {}, view.title()), h("p.lead", {}, view.lead())), stage);
    this.mounted = view.mount(stage, this);
  }

  /** The link goes where it says without leaving the page. */
  private step(changes: Changes, words: string, current = false): HTMLElement {
    return h("a", {
      href: this.link(changes), "aria-current": current ? "page" : undefined,
      onclick: (event: MouseEvent) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        this.go(changes, "push");
      },
    }, words);
  }

  private top(view: View): void {
    const dark = this.state.theme === "dark" ||
      (this.state.theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
    const other = (Object.keys(LANGUAGES) as Language[]).find((one) => one !== this.state.lang)!;
    const doorOf = (door: Door) => this.views.find((one) => one.door === door);
    this.header.replaceChildren(
      h("b", {}, this.step({ view: "home" }, "posenc")),
      h("nav", { "aria-label": t("doors", "入口") },
        ...Object.entries(doors()).filter(([door]) => doorOf(door as Door)).map(([door, words]) =>
          this.step({ view: doorOf(door as Door)!.name }, words, view.door === door))),
      h("nav.more", { "aria-label": t("this page", "本页") },
        this.site ? null : h("a", { href: "docs" }, "API"),
        this.step({ lang: other }, LANGUAGES[other]),
        h("button.quiet", {
          type: "button", "aria-label": dark ? t("light", "浅色") : t("dark", "深色"),
          onclick: () => this.go({ theme: dark ? "light" : "dark" }),
        }, "◐")),
      h("nav.views", { "aria-label": doors()[view.door] },
        ...this.views.filter((one) => one.door === view.door && one.name !== "home")
          .map((one) => this.step({ view: one.name }, one.title(), one === view))));
  }
}
