# SPDX-License-Identifier: MIT
"""/docs in a browser, from a posencd under a base path: its search, its forms, its commands. Part
of `make test`."""

import json

import pytest
from test_pages import SIZE, check

FORM = "article:not([hidden]) .try form"
ANSWERED = "document.querySelector('article:not([hidden]) .status')"
BASE = "/some/where"


@pytest.fixture(scope="module")
def docs(start_shared):
    return f"{start_shared('--base-path', BASE).url}{BASE}/docs"


def test_a_form_is_changed_and_sent(browser, docs):
    """The curl line is what is sent; a refusal is shown as it came. A parameter that the form has
    not yet can be added, and only such."""
    names = "[...document.querySelectorAll(`%s input[name]`)].map((one) => one.name)" % FORM
    steps = [(f"{FORM} input[name=dim]", "fill", "7"), (f"{FORM} .send", "click")]
    found = browser(
        "evaluate",
        docs + "#getTable",
        steps=steps,
        wait=ANSWERED,
        script=f"""
        [document.querySelector("{FORM} .command code").textContent,
         document.querySelector("{FORM} .answer").textContent,
         [...document.querySelectorAll("{FORM} option[value='']")].flatMap((one) =>
            [...one.parentElement.options].map(({{ value }}) => value).slice(1)),
         {names}]""",
    )
    command, answer, free, there = found["value"]
    assert command.endswith(f"{BASE}/v1/encodings/rope/table?dim=7&length=3'")
    assert answer.startswith("422 application/problem+json") and "must be even" in answer
    assert "dim" in there and "base" in free and not set(free) & set(there)


def test_a_field_that_is_taken_away_leaves_the_command(browser, docs):
    command = f"document.querySelector('{FORM} .command code').textContent"
    before, after = [
        browser("evaluate", docs + "#getTable", steps=steps, script=command)["value"]
        for steps in ([], [(f"{FORM} [aria-label='without length']", "click")])
    ]
    assert "&length=3" in before and after == before.replace("&length=3", "")


def test_a_button_that_copied_is_itself_again(browser, docs):
    """All texts of the button from the click on, however late they are read."""
    found = browser(
        "evaluate",
        docs + "#getTable",
        script=f"""(async () => {{
            const button = document.querySelector("{FORM} .command button"),
                texts = [button.textContent];
            new MutationObserver(() => texts.push(button.textContent)).observe(button, {{
                childList: true, characterData: true, subtree: true }});
            button.click();
            for (let i = 0; i < 200 && texts.length < 3; i++)
                await new Promise((done) => setTimeout(done, 50));
            return texts;
        }})()""",
    )
    assert found["value"] == ["copy", "copied", "copy"]


def test_commands_of_the_guides_go_to_this_server(browser, docs):
    script = "document.querySelector('main').textContent"
    text = browser("evaluate", docs, script=script)["value"]
    assert "127.0.0.1:8080" not in text
    assert f"curl -s '{docs.removesuffix('/docs')}/v1/" in text


def test_styles_are_as_recorded(browser, docs):
    """In pages/docs.styles.txt, as those of the views (test_pages.py)."""
    lines = browser("styles", f"{docs}?lang=en#getTable", wait=FORM, **SIZE)
    check("docs.styles", "\n".join(lines) + "\n")


def test_search(browser, docs):
    found = browser(
        "evaluate",
        docs,
        steps=[("input[type=search]", "fill", "mscale yarn")],
        script="[...document.querySelectorAll('.results a')].map((one) => one.hash)",
    )
    assert "#encoding-rope--parameters" in found["value"][:4] and found["told"] == []


def test_a_slash_begins_a_search_but_where_one_writes(browser, docs):
    script = "[document.activeElement.type, document.activeElement.value]"
    steps = [("body", "press", "/"), ("input[type=search]", "press", "/")]
    found = [browser("evaluate", docs, steps=steps[:n], script=script)["value"] for n in (1, 2)]
    assert found == [["search", ""], ["search", "/"]]


SEARCH = """(() => {
    const results = document.querySelector(".results");
    return { status: results.querySelector("[role=status]")?.textContent, hidden: results.hidden,
             places: results.querySelectorAll("li").length,
             articles: [...document.querySelectorAll("article:not([hidden])")].map(({id}) => id) };
})()"""


@pytest.mark.parametrize("words", ("yarn", "Bias slopes", "nonesuchword", " "))
def test_results_take_the_place_of_the_article(browser, docs, words):
    """Without words, or after Escape, the article of the link is there again."""
    field, link = "input[type=search]", f"{docs}?lang=en#encoding-rope"
    steps = [(field, "fill", "rope"), (field, "fill", words)]
    found = browser("evaluate", link, steps=steps, script=SEARCH)["value"]
    if words.strip():
        assert not found["hidden"] and not found["articles"]
        assert bool(found["places"]) == (words != "nonesuchword")
        assert found["places"] in (0, 40) or found["status"].startswith(f"{found['places']} places")
    else:
        assert found["hidden"] and found["articles"] == ["encoding-rope"]
    left = browser("evaluate", link, steps=[*steps, (field, "press", "Escape")], script=SEARCH)
    assert left["value"]["hidden"] and left["value"]["articles"] == ["encoding-rope"]


SEARCHES = ("frequency", "width", "factor")
EXCERPTS = """(() => { const field = document.querySelector("input[type=search]");
    return %s.map((words) => {
    field.value = words;
    field.dispatchEvent(new Event("input"));
    return [...document.querySelectorAll(".results li")].flatMap((one) => {
    const { hash, textContent: title } = one.querySelector("a"),
        article = document.getElementById(hash.slice(1))?.closest("article[id^=encoding-]"),
        place = [...(article?.querySelectorAll("dl.entries > div") ?? [])].filter((entry) =>
            entry.querySelector("dt code").textContent === title);
    return place.length !== 1 ? [] : [{
        title,
        text: [...place[0].lastElementChild.children].map((p) => p.textContent.trim()).join(" "),
        excerpt: one.querySelector("p").textContent,
        marks: [...one.querySelectorAll("mark")].map((mark) => mark.textContent.toLowerCase()),
    }]; }); }); })()"""


def test_an_excerpt_is_what_stands_around_the_words(browser, docs):
    """Of parameters of encodings, whose whole texts are on the page: dots stand where text is left
    out, at most 180 characters are shown, from at most 50 before the first word, and each word is
    marked."""
    script = EXCERPTS % json.dumps(SEARCHES)
    seen = browser("evaluate", f"{docs}?lang=en", script=script)
    for words, found in zip(SEARCHES, seen["value"]):
        check_excerpts(words, found)


def check_excerpts(words, found):
    assert len(found) > 2, found
    for one in found:
        text, piece = one["text"], one["excerpt"].strip("…")
        assert piece in text, one
        begin = text.index(piece)
        assert one["excerpt"].startswith("…") == (begin > 0), one
        assert one["excerpt"].endswith("…") == (begin + len(piece) < len(text.rstrip())), one
        assert len(piece) <= 180 and len(piece) >= min(170, len(text) - begin), one
        places = [text.lower().find(word) for word in words.split()]
        first = min((at for at in places if at >= 0), default=None)
        if first is not None:
            assert begin == 0 if first <= 50 else abs(first - 50 - begin) <= 1, one
            inside = [word for word in words.split() if word in piece.lower()]
            assert set(one["marks"]) == set(inside), one


# An article of each kind: an address and what it is of.
ARTICLES = ("overview", "path-table", "path-tables-name", "encoding-t5")


def test_articles_are_as_recorded(browser, docs):
    """In pages/docs.txt: what each has to read, of every kind."""
    query = "?lang=en&as=recorded"  # a document of its own, whatever was opened before
    links = [[f"{docs}{query}#{name}"] for name in ARTICLES]
    seen = browser("followed", f"{docs}{query}", base=f"{docs}/", links=links, **SIZE)
    assert not seen["told"], seen["told"]
    lines = []
    for name, opened in zip(ARTICLES, seen["found"]):
        begin = next(i for i, line in enumerate(opened) if line.startswith("article"))
        lines += [f"== {name}", *(line.replace(query, "") for line in opened[begin:])]
    address = docs.removesuffix("/docs")
    check("docs", "\n".join(lines).replace(address, "http://posencd") + "\n")


def test_how_the_page_is_read_goes_along_to_the_explorer(browser, docs):
    """Its language and its theme, as the link has them and as the button changes them."""
    script = """[
        [...document.querySelectorAll("header a:not([href^='#'])")].map((one) => one.search),
        document.documentElement.dataset.theme ?? "", document.documentElement.lang,
        document.querySelector("header button").ariaLabel]"""
    button = [("header button", "click")]
    for query, steps, ways, theme, lang, label in (
        ("?lang=en&theme=dark", [], "?lang=en&theme=dark", "dark", "en", "light"),
        ("?lang=zh-CN&theme=light", [], "?lang=zh-CN&theme=light", "light", "zh-CN", "深色"),
        ("?lang=en", button, "?lang=en&theme=dark", "dark", "en", "light"),
        ("?lang=en&theme=pink", button, "?lang=en&theme=dark", "dark", "en", "light"),
    ):
        found = browser("evaluate", docs + query, steps=steps, script=script)
        links, shown, language, named = found["value"]
        assert (shown, language, named) == (theme, lang, label), query
        own = [link for link in links if link]  # that to the other language has no address
        assert len(own) >= 2 and set(own) == {ways}, (query, links)
