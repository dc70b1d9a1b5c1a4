// SPDX-License-Identifier: MIT
// The frame of the page: sections, language, theme, the view that the URL names, and files that are
// dropped on it.
import { Lane, type Api } from "./api";
import { checked, faultSaid, type Fault } from "./checks";
import { both, compared } from "./compare";
import { h, tokensForget } from "./dom";
import { actions, copier } from "./kit/actions";
import { Failures, type Shows } from "./kit/failure";
import {
    changed,
    pageAccepts,
    pageParams,
    read,
    type Changes,
    type Params,
    type State,
} from "./state";
import { DARK, isDark } from "./theme";
import type { App, Section, Mounted, Shown, View } from "./view";
import { LANGUAGES, languageSet, t, type Language } from "./words";

const sections = (): Record<Section, string> => ({
    inspect: t("Inspect", "查看"),
    compare: t("Compare", "对比"),
    understand: t("Understand", "理解"),
    debug: t("Debug", "排错"),
});

const WRITTEN_EVERY = 200; // ms; browsers allow about a hundred history.replaceState in 10 s

const namesOf = (pictures: Shown[]) =>
    JSON.stringify(pictures.map(({ title, formats, ask }) => [title, formats, ask.type]));

export class Page implements App {
    state: State;
    dropped: File[] | null = null;
    held: File | null = null;
    readonly compared = false;
    private url = new URL(location.href);
    private timer = 0;
    private mounted?: Mounted;
    private announcement = h("p.visually-hidden", { role: "status", "aria-live": "polite" });
    private buttons = h("div.shown");
    private about = h("p.about");
    private pictures: Shown[] = [];
    private main = h("main", { id: "main", tabindex: -1 });
    private header = h("header.top");
    private links: [HTMLAnchorElement, Changes][] = [];
    private faults = h("ul.faults", { role: "status" });
    private linkFaults: Fault[] = [];
    private reported = new Map<object, Fault[]>();
    private failures = new Failures(
        this,
        () => this.main,
        () => this.mounted?.update(),
    );

    constructor(
        readonly api: Api,
        private views: View[],
    ) {
        this.state = this.understood();
        document.body.append(
            h("a.skip", { href: "#main" }, t("to the picture", "跳到图")),
            this.header,
            this.main,
            h("footer", {}, this.buttons, this.about),
            this.announcement,
        );
        addEventListener("popstate", () => this.choose(new URL(location.href)));
        document.body.addEventListener("click", (event) => this.click(event));
        matchMedia(DARK).addEventListener("change", () => this.mount());
        addEventListener("pagehide", () => this.write());
        addEventListener("dragover", (event) => event.preventDefault());
        addEventListener("drop", (event) => {
            event.preventDefault();
            this.drop([...(event.dataTransfer?.files ?? [])]);
        });
        addEventListener("keydown", (event) => {
            if (event.key === "Escape" && this.state.present)
                this.go({ present: undefined }, "push");
        });
        this.mount();
    }

    /** The state of the URL without its invalid values, which are put into `linkFaults`. */
    private understood(): State {
        const state = read(this.url),
            names = this.views.map(({ name }) => name);
        const page = checked(pageParams(this.url), pageAccepts(names), false).faults;
        const view = this.views.find(({ name }) => name === state.view) ?? this.views[0];
        const own = (params: Params) => checked(params, view.accepts(), !!view.passes);
        const { sides } = state,
            parts = [own(state.params), ...(sides ? [own(sides.a), own(sides.b)] : [])];
        this.linkFaults = [...page, ...parts.flatMap(({ faults }) => faults)];
        const [{ params }, a, b] = parts;
        return { ...state, view: view.name, params, sides: sides && { a: a.params, b: b.params } };
    }

    report(source: object, faults: Fault[]): void {
        this.reported.set(source, faults);
        this.faults.replaceChildren(
            ...[...this.linkFaults, ...[...this.reported.values()].flat()].map((one) =>
                h("li", {}, faultSaid(one)),
            ),
        );
    }

    fail(source: object, error: unknown, shows?: Shows): void {
        this.failures.set(source, error, shows);
    }

    link(changes: Changes): string {
        return changed(this.url, changes).href;
    }

    go(changes: Changes, how: "push" | "replace" = "replace"): void {
        const next = changed(this.url, changes);
        if (next.href === this.url.href) return;
        if (how === "push") return this.choose(next, true);
        this.timer ||= window.setTimeout(() => this.write(), WRITTEN_EVERY);
        this.follow(next);
    }

    /** Moves to another state; requests that run for the previous one may be cancelled. */
    private choose(next: URL, entry = false): void {
        Lane.choices++;
        if (entry) {
            this.write();
            history.pushState(null, "", next);
        }
        this.follow(next);
    }

    has(view: string): boolean {
        return this.views.some((one) => one.name === view);
    }

    /** Writes pending changes into the address bar: after a delay, and before a new history entry. */
    private write(): void {
        clearTimeout(this.timer);
        this.timer = 0;
        if (this.url.href !== location.href) history.replaceState(null, "", this.url);
    }

    /** Keeps the buttons where only the parameters of the requests differ, as while a slider moves. */
    shows(pictures: Shown[]): void {
        const same = namesOf(pictures) === namesOf(this.pictures) && this.buttons.hasChildNodes();
        this.pictures = pictures;
        if (!same)
            this.buttons.replaceChildren(
                actions(this, pictures, (i) => this.pictures[i]),
                this.share(),
            );
    }

    say(sentence: string): void {
        this.announcement.textContent = sentence;
    }

    /** Files go to the view that takes them: a config stays on the first screen or is inspected, all
     * else is diagnosed, or seen as a table where tables are seen. */
    drop(files: File[]): void {
        if (!files.length) return;
        this.dropped = files;
        const config = files.every((file) => /\.(json|gguf)$/i.test(file.name));
        const view = !config
            ? this.state.view === "table"
                ? "table"
                : "diagnosis"
            : ["home", "compare"].includes(this.state.view)
              ? this.state.view
              : "extension";
        if (this.state.view === view) this.mounted?.update();
        else this.go({ view }, "push");
        this.dropped = null;
    }

    /** Applies a changed URL. Another view, language, theme, presentation mode or number of sides
     * mounts the view again; any other change updates it. */
    private follow(url: URL): void {
        const before = this.state;
        this.url = url;
        this.state = this.understood();
        this.report(this, []);
        const same =
            (this.view().single || !before.sides === !this.state.sides) &&
            (["view", "lang", "theme", "present"] as const).every(
                (name) => before[name] === this.state[name],
            );
        if (!same) return this.mount();
        for (const [link, changes] of this.links) link.setAttribute("href", this.link(changes));
        this.mounted?.update();
    }

    private view(): View {
        return this.views.find((one) => one.name === this.state.view)!;
    }

    private mount(): void {
        const view = this.view(),
            root = document.documentElement;
        this.mounted?.leave();
        tokensForget();
        languageSet(this.state.lang);
        if (this.state.theme === "auto") delete root.dataset.theme;
        else root.dataset.theme = this.state.theme;
        root.dataset.present = this.state.present ? "1" : "0";
        root.dataset.view = view.name;
        root.dataset.sides = this.state.sides && !view.single ? "2" : "1";
        document.title = `${view.title()} · posenc`;
        this.top(view);
        this.buttons.replaceChildren();
        this.about.replaceChildren(
            `posenc ${VERSION} · `,
            h("a", { href: this.docs() }, t("documentation", "文档")),
            t(" · MIT licence", " · MIT 许可"),
        );
        this.shows([]);
        this.failures.clear();
        this.reported.clear();
        this.report(this, []);
        const stage = h("div.view");
        this.main.replaceChildren(
            h("div.heading", {}, h("h1", {}, view.title()), h("p.lead", {}, view.lead())),
            this.faults,
            this.failures.element,
            stage,
        );
        this.mounted =
            this.state.sides && !view.single
                ? compared(view, stage, this)
                : view.mount(stage, this);
    }

    /** The view as a link, beside another state of itself, and for a projector. */
    private share(): HTMLElement {
        const wrong = h("div"),
            link = t("copy link", "复制链接");
        const button = (words: string, changes: () => Changes) =>
            h("button", { type: "button", onclick: () => this.go(changes(), "push") }, words);
        return h(
            "div.actions",
            { role: "group", "aria-label": t("this view", "本视图") },
            copier(this, link, () => this.url.href, wrong),
            this.state.sides || this.view().single
                ? null
                : button(t("compare", "对比"), () => both(this.state)),
            button(t("present", "演示"), () => ({ present: true })),
            wrong,
        );
    }

    /** Follows links to this page without loading it again. */
    private click(event: MouseEvent): void {
        const link = (event.target as Element).closest?.("a");
        if (
            !link ||
            event.metaKey ||
            event.ctrlKey ||
            event.shiftKey ||
            link.hash ||
            link.target ||
            link.origin + link.pathname !== this.url.origin + this.url.pathname
        )
            return;
        event.preventDefault();
        if (link.href === this.url.href) return;
        this.choose(new URL(link.href), true);
        scrollTo(0, 0);
    }

    private step(changes: Changes, words: string, current = false): HTMLElement {
        return this.led(h("a", { "aria-current": current ? "page" : undefined }, words), changes);
    }

    /** A link of the header: its target is the current state with these changes. */
    private led(link: HTMLAnchorElement, changes: Changes): HTMLElement {
        this.links.push([link, changes]);
        link.setAttribute("href", this.link(changes));
        return link;
    }

    /** The URL of the API reference, in the language and theme of this page. */
    private docs(): string {
        const url = new URL(SITE ? "./docs.html" : `${this.api.origin}/docs`, this.url);
        const own = this.url.searchParams;
        for (const name of ["lang", "theme"])
            if (own.has(name)) url.searchParams.set(name, own.get(name)!);
        return url.href;
    }

    private top(view: View): void {
        const dark = isDark(this.state.theme);
        this.links = [];
        const other = (Object.keys(LANGUAGES) as Language[]).find(
            (one) => one !== this.state.lang,
        )!;
        const home = view.name === "home",
            tabs = this.views.filter((one) => one.section === view.section && one.name !== "home");
        if (this.state.present)
            return this.header.replaceChildren(
                h("b", {}, this.step({ view: "home" }, "posenc")),
                h(
                    "nav.more",
                    { "aria-label": t("this page", "本页") },
                    h(
                        "button.quiet",
                        {
                            type: "button",
                            onclick: () => this.go({ present: undefined }, "push"),
                        },
                        t("end (Esc)", "结束（Esc）"),
                    ),
                ),
            );
        const firstOf = (section: Section) =>
            this.views.find((one) => one.section === section && one.name !== "home");
        this.header.replaceChildren(
            h("b", {}, this.step({ view: "home" }, "posenc")),
            h(
                "nav",
                { "aria-label": t("sections", "栏目") },
                ...Object.entries(sections())
                    .filter(([section]) => firstOf(section as Section))
                    .map(([section, words]) =>
                        this.step(
                            { view: firstOf(section as Section)!.name },
                            words,
                            !home && view.section === section,
                        ),
                    ),
            ),
            h(
                "nav.more",
                { "aria-label": t("this page", "本页") },
                h("a.roomy", { href: this.docs() }, "API"),
                this.led(
                    h(
                        "a",
                        { lang: other },
                        h("span.roomy", {}, LANGUAGES[other]),
                        h(
                            "span.tight",
                            { title: LANGUAGES[other] },
                            other === "en" ? "EN" : "中文",
                        ),
                    ),
                    { lang: other },
                ),
                h(
                    "button.quiet",
                    {
                        type: "button",
                        "aria-label": dark ? t("light", "浅色") : t("dark", "深色"),
                        onclick: () => this.go({ theme: dark ? "light" : "dark" }),
                    },
                    "◐",
                ),
            ),
            ...(tabs.length > 1 && !home
                ? [
                      h(
                          "nav.views",
                          { "aria-label": sections()[view.section] },
                          ...tabs.map((one) =>
                              this.step({ view: one.name }, one.title(), one === view),
                          ),
                      ),
                  ]
                : []),
        );
    }
}
