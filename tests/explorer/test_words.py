# SPDX-License-Identifier: MIT
"""Numbers in the sentences, legends and lists of the page are compared with those of the API. Part
of `make test`; only the page that posencd serves is tested."""

import io
import json
import re
import subprocess
import urllib.parse

import numpy
import pytest
import safetensors.numpy
from browsing import ROOT, SETTLED, texts
from drawn import array, number, report
from test_faults import VIEWS
from test_pages import check

MODELS = json.loads((ROOT / "explorer/src/models.json").read_text())


@pytest.fixture(scope="module")
def page(start_shared):
    return start_shared().url


def numbers(texts):
    return [number(text) for text in texts]


# ---- the story ----------------------------------------------------------------------------------


def emphasized(evaluated, **search):
    return numbers(evaluated({"view": "story", **search}, texts("em")))


def test_steps_of_two_texts(evaluated, page):
    for length in (16, 50):
        one, two = (
            array(page, "/v1/encodings/normalized/table", length=n).ravel()[1]
            for n in (length, 2 * length)
        )
        said = emphasized(evaluated, step=2, length=length)
        assert numpy.allclose(said, [one, two], rtol=5e-3), (said, one, two)


def test_digits_that_jump(evaluated):
    for length in (21, 200):
        changed = [bin(i ^ (i - 1)).count("1") for i in range(1, length)]
        most = max(changed)
        at = changed.index(most) + 1
        assert emphasized(evaluated, step=3, length=length) == [at - 1, at, most]


def test_positions_that_come_back(evaluated, page):
    for frequency, length in ((1.2, 64), (2, 150)):
        nearest = report(
            page,
            "/v1/encodings/periodic/analysis/uniqueness",
            length=length,
            dim=3,
            step=frequency,
            format="json",
            flat="true",
        )["tensors"]
        pair = [round(float(at) / frequency) for at in nearest["positions"]["data"]]
        [apart] = map(float, nearest["distance"]["data"])
        said = emphasized(evaluated, step=4, length=length, frequency=frequency)
        assert said[:2] == pair and numpy.isclose(said[2], apart, rtol=5e-3), (said, pair, apart)


# ---- distance -----------------------------------------------------------------------------------


@pytest.mark.parametrize("base, dim", ((10000, 256), (100, 64), (2000, 128), (1000000, 256)))
def test_how_alike_neighbours_are(evaluated, base, dim):
    """The curve is flat near 0.5, so that a bound slightly off 0.5 is another distance."""
    waves = float(base) ** (-numpy.arange(0, dim, 2) / dim)
    alike = numpy.cos(numpy.arange(400)[:, None] * waves).mean(1)
    said = evaluated(
        {"view": "distance", "dim": dim, "base": base}, texts(".verdict b, main .verdict em")
    )
    percent, half = said
    assert abs(number(percent.removesuffix(" %")) - 100 * alike[1]) < 0.06
    assert number(half) == numpy.flatnonzero(alike < 0.5)[0]


# ---- tokens of images ---------------------------------------------------------------------------


def test_each_position_error_has_a_chinese_translation():
    listed = (ROOT / "core/positions/position_errors.def").read_text()
    words = (ROOT / "explorer/src/views/grid/chinese.ts").read_text()
    codes = re.findall(r'^POSITION_ERROR\("([^"]+)"', listed, re.MULTILINE)
    assert codes and codes == re.findall(r'^ {4}"([a-z-]+)": \[', words, re.MULTILINE)


# ---- both languages -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def words():
    """The texts of the sources in both languages, with the values that are put into them."""
    command = ["node", "tests/explorer/words.mjs", "explorer/src"]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in lines.splitlines()]


def test_words_are_as_recorded(words):
    """In pages/words.txt, as a translator reads them: most of them stand on no page that another
    test opens."""
    lines = [
        f"{one['file']} | {one.get('english', {'text': ''})['text']} | {one['chinese']['text']}"
        for one in words
    ]
    check("words", "\n".join(lines).replace("\u202f", " ") + "\n")


# Chinese counts by ten thousands.
OTHER_UNITS = "kit/hands_layout.ts"


def test_both_languages_have_the_same_values(words):
    """But for words within a value, and for what an English plural depends on."""

    def values(one):
        return {
            re.sub(r'"[^"]*"', '""', value) for value in one["values"] if "=== 1 ?" not in value
        }

    pairs = [one for one in words if "english" in one and one["file"] != OTHER_UNITS]
    assert len(pairs) > 500 and sum(bool(one["english"]["values"]) for one in pairs) > 100
    for one in pairs:
        assert values(one["english"]) == values(one["chinese"]), one


def test_every_chinese_text_is_chinese_and_every_english_one_is_not(words):
    han = re.compile("[\u4e00-\u9fff]")
    for one in words:
        for language, is_chinese in (("english", False), ("chinese", True)):
            text = re.sub(r"{[^{}]*}", "", one.get(language, {"text": ""})["text"])
            if re.search("[A-Za-z]{3}", text) and not is_chinese:
                assert not han.search(text), one
            if is_chinese and "english" in one and re.search("[A-Za-z]{3} [a-z]{3}", text):
                assert han.search(text), one


# ---- lists and legends --------------------------------------------------------------------------


def test_links_to_each_operation_show_a_picture(evaluated, page):
    entries = report(page, "/v1/encodings")["encodings"]
    of = {entry["name"]: [one["name"] for one in entry["operations"]] for entry in entries}
    for name, least in (("shaw", "table"), ("xpos", "scale"), ("alibi", "bias"), ("rope", "table")):
        operations = {"table", "bias", "scale"} & set(of[name])
        assert least in operations
        for operation in operations:
            failures, pictures = evaluated(
                {"view": "table", "encoding": name, "operation": operation},
                "[[...document.querySelectorAll('.failure')].map((one) => one.textContent), "
                "document.querySelectorAll('main canvas').length]",
            )
            assert not failures and pictures, (name, operation, failures)


@pytest.mark.parametrize("heads", (2, 6))
def test_every_head_can_be_chosen(evaluated, heads):
    options = evaluated(
        {"view": "table", "encoding": "alibi", "heads": heads, "query_length": 8},
        "[...document.querySelectorAll('main select')].map((one) => "
        "[...one.options].map(({ value }) => value))",
    )
    assert [str(i) for i in range(heads)] in options


def test_a_legend_has_the_values_under_the_pointer(browser, page):
    heads = MODELS["bloom-3b"]["config"]["n_head"]
    slopes = -array(page, "/v1/encodings/alibi/bias", heads=heads, query_length=1, key_length=2)
    slopes = slopes[:, 0, 0]
    for share in (0.2, 0.8):
        found = browser(
            "evaluate",
            f"{page}/?model=bloom-3b",
            wait=SETTLED,
            steps=[(".biases canvas", "hover", {"position": {"x": 60 + 500 * share, "y": 60}})],
            script="[[...document.querySelectorAll('.biases .legend li')].map((one) => "
            "[one.firstChild.nextSibling.textContent, one.querySelector('output')?.textContent]),"
            " document.querySelector('.biases .curves').dataset]",
        )
        lines, cross = found["value"]
        distance = int(cross["index"]) - 160
        assert -160 <= distance < 0 and len(lines) > 1
        for name, value in lines:
            head = int(name.split(",")[0].split()[1]) - 1
            assert numpy.isclose(number(value), slopes[head] * distance, rtol=1e-5), (name, cross)


# ---- every view ---------------------------------------------------------------------------------

SINGLE = ("models", "compare")  # views that never show two states
SIDES = """[document.documentElement.dataset.sides, document.documentElement.dataset.view,
            document.title, document.querySelectorAll("main .view").length]"""


@pytest.mark.parametrize("view", [view for view in VIEWS if view != "grid"])
def test_one_state_and_two(evaluated, view):
    """Two states stand beside each other where a link has two, in each view that can show them."""
    sides, name, title, shown = evaluated({"view": view}, SIDES)
    assert sides == "1" and name == view and title.endswith("· posenc")
    sides, _, other, beside = evaluated({"view": view, "a": "", "b": "base=500"}, SIDES)
    assert other == title
    assert sides == ("1" if view in SINGLE else "2"), sides
    assert (beside > shown) == (view not in SINGLE), (shown, beside)


# ---- rounding errors ----------------------------------------------------------------------------


@pytest.mark.parametrize("angle", ("f32", "bf16"))
def test_where_errors_begin_and_the_worst(evaluated, page, angle):
    reach, count = 1e6, 96
    at = sorted(
        {round(reach ** (i / (count - 1))) for i in range(count)} | {10**i for i in range(7)}
    )
    errors = array(
        page,
        "/v1/encodings/rope/analysis/error",
        dim=32,
        base=500000,
        angle=angle,
        positions=",".join(map(str, at)),
    )
    verdict, worst = evaluated(
        {"view": "precision", "angle": angle, "dim": 32, "reach": reach},
        f"[{texts('.verdict em')}, document.querySelector('main .facts, main dl').textContent]",
    )
    rows = errors.max(1)
    first = numpy.flatnonzero(rows > 0.01)
    position, last = numbers(verdict)
    assert position == at[first[0]] and numpy.isclose(last, rows[-1], rtol=5e-3)
    most = rows.argmax()
    pair = errors[most].argmax()
    spaced = f"{at[most]:,}".replace(",", "\u202f")
    assert f"pair {pair} at position {spaced}" in worst, (worst, pair, spaced)


# ---- samples of mistakes ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sample, words",
    (
        ("shifted", ["off-by-one-position", "rope dim=64 base=10000"]),
        ("columns", ["columns-swapped", "sinusoidal dim=64 base=10000"]),
        ("factor", ["attention-factor-missing", "factor=8"]),
        ("base", ["base=500000"]),
        ("float32", ["float32"]),
    ),
)
def test_each_sample_has_the_diagnosis_of_its_name(evaluated, sample, words):
    said = evaluated(
        {"view": "diagnosis", "sample": sample},
        "document.querySelector('main [aria-live]').innerText",
    )
    assert all(one in said for one in words), said


# ---- facts of a model ---------------------------------------------------------------------------


def test_bytes_of_each_fact(browser, page):
    """Of a frequency that depends on the context, at the context of the link."""
    config = MODELS["phi-3.5-mini"]["config"]
    for context in (4096, 131072):
        answer = report(
            page,
            "/v1/encodings/rope/frequencies",
            config=json.dumps(config),
            seq_len=context,
            format="json",
            flat="true",
        )["tensors"]
        found = browser(
            "evaluate",
            f"{page}/?model=phi-3.5-mini&context={context}",
            wait=SETTLED,
            script="(async () => { const all = [...document.querySelectorAll('details.fact')];"
            " for (const one of all) { one.open = true;"
            "   await new Promise((done) => setTimeout(done, 300)); }"
            " return all.map((one) => [...one.querySelectorAll('code')].at(-1).textContent); })()",
        )
        shown = 0
        for text in found["value"]:
            if "[" not in text:
                continue
            name, rest = text.split("[", 1)
            index, value, raw = rest.replace("]", "").split(" = ")
            expected = float(answer[name]["data"][int(index)])
            assert numpy.isclose(float(value), expected, rtol=1e-6), (context, text, expected)
            octets = bytes.fromhex(raw.replace(" ", ""))
            kind = {4: "<f4", 8: "<f8"}[len(octets)]
            assert numpy.frombuffer(octets, kind)[0] == numpy.array(float(value), kind), text
            shown += 1
        assert shown > 1, found["value"]


def test_a_file_of_a_config_is_shown_as_it_is(browser, page, tmp_path):
    config = MODELS["llama-3.1"]["config"] | {"rope_theta": 123456.0}
    for name in ("config.json", "Other.JSON"):
        path = tmp_path / name
        path.write_text(json.dumps(config, indent=1))
        found = browser(
            "evaluate",
            f"{page}/",
            steps=[("main input[type=file]", "setInputFiles", str(path))],
            wait=f"{SETTLED} && document.querySelector('main textarea').value.includes('123456')",
            script="document.querySelector('main textarea').value",
        )
        assert json.loads(found["value"]) == config and not found["told"]


CONFIG = json.dumps(MODELS["llama-3.1"]["config"])
# What is chosen in a view: the name of the file, and its content.
CHOSEN = (
    ("home", "config.json", CONFIG.encode()),
    ("extension", "long.json", CONFIG.encode().ljust(30000)),
    ("compare", "long.json", CONFIG.encode().ljust(30000)),
    ("table", "t.npy", None),
    ("diagnosis", "cos.npy", None),
)
THERE_AND_BACK = """(async () => {
    const now = () => location.search,
        moved = async (from) => { for (let i = 0; i < 200 && now() === from; i++)
            await new Promise((done) => setTimeout(done, 10)); };
    await moved("?view=%s");
    const there = now();
    history.back();
    await moved(there);
    return [there, now()];
})()"""


@pytest.mark.parametrize("view, name, content", CHOSEN, ids=[f"{v}-{n}" for v, n, _ in CHOSEN])
def test_a_chosen_file_is_a_step_that_back_takes_back(browser, page, tmp_path, view, name, content):
    """Of numbers, which the page diagnoses or shows, and of a config, short or too long for the
    link, which then has the name of the file."""
    path = tmp_path / name
    if content is None:
        table = numpy.cos(numpy.arange(32, dtype="f4")).reshape(8, 4)
        content = io.BytesIO()
        if name.endswith("npy"):
            numpy.save(content, table)
        content = content.getvalue() or safetensors.numpy.save({"cos": table})
    path.write_bytes(content)
    found = browser(
        "evaluate",
        f"{page}/?view={view}",
        wait="document.querySelector('main input[type=file]')",
        steps=[("main input[type=file]", "setInputFiles", str(path))],
        script=THERE_AND_BACK % view,
    )
    there, back = found["value"]
    given = dict(urllib.parse.parse_qsl(there.removeprefix("?")))
    own = dict(urllib.parse.parse_qsl(given.get("a", ""))) if view == "compare" else given
    assert not found["told"] and back == f"?view={view}"
    assert own.get("file") == name or json.loads(own["config"]) == json.loads(CONFIG), there
    assert given.get("view", "home") == view


@pytest.mark.parametrize(
    "search",
    (
        {"view": "home", "position": 0},
        {"view": "home", "context": 1},
        {"view": "rotation", "position": 0},
        {"view": "distance", "max_offset": 1},
        {"view": "story", "step": 1},
        {"view": "table", "head": 0, "encoding": "alibi", "heads": 1, "query_length": 1},
    ),
)
def test_ends_of_ranges_are_taken(evaluated, search):
    failures = "[...document.querySelectorAll('.failures .failure')].map((one) => one.textContent)"
    assert evaluated(search, failures) == []


def test_paused_hands_write_their_position_to_the_link(browser, page):
    """It is the one that the slider shows."""
    stopped = "document.querySelector('main .play').textContent === '▶'"
    position = "main .motion output"
    found = browser(
        "evaluate",
        f"{page}/?view=home",
        steps=[("main .play", "click")],  # they turn from the start
        wait=f"{SETTLED} && {stopped}",
        script=f"""(async () => {{
            await new Promise((done) => setTimeout(done, 300)); // the address is written at rest
            return [document.querySelector("{position}").textContent, location.search];
        }})()""",
    )
    shown, search = found["value"]
    [at] = urllib.parse.parse_qs(search.removeprefix("?"))["position"]
    assert number(shown) == round(float(at)), (shown, search)


@pytest.mark.parametrize("height, width, fits", ((8, 12, True), (20, 30, False)))
def test_ids_are_in_the_link_where_it_has_room(evaluated, height, width, fits):
    """By their length as the link has them, in which a comma is three characters."""
    ids = json.dumps(numpy.indices((1, height, width)).reshape(3, -1).tolist(), separators=",:")
    assert len(ids) < 6000 and (len(urllib.parse.quote(ids, safe="")) <= 6000) == fits
    found, note = evaluated(
        {"view": "grid", "model_type": "wan", "frames": 1, "height": height, "width": width},
        "[new URL(location).searchParams.get('position_ids'), "
        "document.querySelector('.ids .note').textContent]",
        steps=[("main textarea", "fill", ids), ("main textarea", "blur", {})],
    )
    assert (found, "too long" in note) == ((ids, False) if fits else (None, True))
