// SPDX-License-Identifier: MIT
// Search over all articles: the page has their text, so that nothing is asked for.
import { h } from "../dom";
import { t } from "../words";

/** A heading and what stands below it, up to the next one; or a parameter. */
interface Place {
    id: string;
    title: string;
    within: string;
    text: string;
}

const MOST = 40,
    BEFORE = 50,
    EXCERPT = 180;

function placesOf(article: HTMLElement): Place[] {
    const within = article.querySelector("h1")!.textContent!,
        found: Place[] = [];
    let id = article.id;
    const walk = (element: Element) => {
        if (/^H[1-6]$/.test(element.tagName)) {
            id = element.tagName === "H1" ? article.id : element.id || id;
            found.push({ id, title: element.textContent!.trim(), within, text: "" });
        } else if (element.matches("dl.entries > div")) {
            const [name, told] = element.children,
                words = [...told.children];
            found.push({
                id,
                title: name.querySelector("code")!.textContent!,
                within,
                text: words.map((one) => one.textContent!.trim()).join(" "),
            });
        } else if (element.matches("section, dl.entries, .view > *, .wide")) {
            for (const one of element.children) walk(one);
        } else if (!element.matches(".try") && found.length) {
            found[found.length - 1].text += ` ${element.textContent!.replace(/\s+/g, " ").trim()}`;
        }
    };
    walk(article);
    return found;
}

/** Every word has to be there; in a title it counts more, and a title that is the word most. */
function score({ title, within, text }: Place, words: string[]): number {
    const name = title.toLowerCase(),
        around = within.toLowerCase(),
        body = text.toLowerCase();
    let sum = 0;
    for (const word of words) {
        const found =
            name === word
                ? 30
                : name.startsWith(word)
                  ? 15
                  : name.includes(word)
                    ? 9
                    : around.includes(word)
                      ? 4
                      : body.includes(word)
                        ? 2
                        : 0;
        if (!found) return 0;
        sum += found;
    }
    return sum;
}

function excerpt(text: string, words: string[]): (Node | string)[] {
    const at = Math.min(
        ...words.map((word) => text.toLowerCase().indexOf(word)).filter((one) => one >= 0),
        text.length,
    );
    const from = at === text.length ? 0 : Math.max(0, at - BEFORE);
    const piece =
        (from ? "…" : "") +
        text.slice(from, from + EXCERPT).trim() +
        (from + EXCERPT < text.length ? "…" : "");
    const marks = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
    return piece
        .split(new RegExp(`(${marks})`, "i"))
        .map((one, i) => (i % 2 ? h("mark", {}, one) : one));
}

export class Search {
    readonly input = h("input", {
        type: "search",
        placeholder: t("Search  /", "搜索  /"),
        "aria-label": t("search", "搜索"),
        autocomplete: "off",
        spellcheck: "false",
    });
    readonly field = h(
        "form.search",
        {
            role: "search",
            onsubmit: (event: Event) => {
                event.preventDefault();
                this.results.querySelector("a")?.focus();
            },
        },
        this.input,
    );
    readonly results = h("section.results", { "aria-label": t("results", "结果"), hidden: true });
    private places?: Place[];

    /** `begin`: results take the place of the article; `end`: there are none any more. */
    constructor(
        private articles: HTMLElement[],
        private begin: () => void,
        private end: () => void,
    ) {
        this.input.addEventListener("input", () => this.find());
        this.input.addEventListener("keydown", (event) => {
            if (event.key !== "Escape") return;
            this.leave();
            this.end();
        });
        // The address may be where it was: that is no event of its own.
        this.results.addEventListener("click", (event) => {
            if (!(event.target as Element).closest("a")) return;
            this.leave();
            this.end();
        });
    }

    leave(): void {
        this.input.value = "";
        this.results.hidden = true;
    }

    private find(): void {
        const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
        if (!words.length) {
            this.results.hidden = true;
            return this.end();
        }
        this.places ??= this.articles.flatMap(placesOf);
        const found = this.places
            .map((place) => ({ place, points: score(place, words) }))
            .filter(({ points }) => points)
            .sort((a, b) => b.points - a.points);
        this.begin();
        this.results.hidden = false;
        scrollTo(0, 0);
        this.results.replaceChildren(
            h(
                "p",
                { role: "status" },
                found.length
                    ? t(`${found.length} places`, `${found.length} 处`) +
                          (found.length > MOST
                              ? t(`, of which these are the first ${MOST}`, `，以下是前 ${MOST} 处`)
                              : "")
                    : t("Nothing here has all of these words.", "没有同时含有这些词的内容。"),
            ),
            h(
                "ol",
                {},
                ...found
                    .slice(0, MOST)
                    .map(({ place }) =>
                        h(
                            "li",
                            {},
                            h("a", { href: `#${place.id}` }, place.title),
                            place.title !== place.within && h("span.within", {}, place.within),
                            h("p", {}, ...excerpt(place.text, words)),
                        ),
                    ),
            ),
        );
    }
}
