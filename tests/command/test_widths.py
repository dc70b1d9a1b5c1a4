# SPDX-License-Identifier: MIT
"""Reports of each kind on terminals of any width, with and without colour: the same words in the
same order, in lines as full as the width allows."""

import json
import re

import numpy as np
import pytest
from conftest import ROOT

ESCAPE = re.compile("\x1b\\[([0-9;]*)m")
CONFIGS = ROOT / "tests/data/configs"
LAYERS = "gemma-3-1b"
WIDTHS = [40, 41, 56, 79, 93, 119, 120]
LEAST = {"engines": 79}  # a label is the name of a config with what was changed in it
REPORTS = {
    "config": ["config", "layers.json"],
    "parameters": ["config", "scaled.json"],
    "diagnosis": ["diagnose", "table.npy", "encoding=rope", "dim=16", "base=500000"],
    "comparison": ["compare", "rope dim=16", "rope dim=16 base=123456 layout=half", "length=9"],
    "check": ["check", "mine.safetensors", "golden.safetensors"],
    "engines": ["engines", "model_type=gemma3_text"],
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What the reports are of."""
    folder = tmp_path_factory.mktemp("files")
    for name, model in (("layers", LAYERS), ("scaled", "llama-3.1")):
        config = json.loads((CONFIGS / f"{model}.json").read_text())["config"]
        (folder / f"{name}.json").write_text(json.dumps(config))
    angles = np.arange(30)[:, None] * 10000.0 ** (-np.arange(8) / 8)
    np.save(folder / "table.npy", np.stack([np.cos(angles), np.sin(angles)]).astype(np.float32))
    return folder


@pytest.fixture
def shown(posenc, files, monkeypatch):
    """The report on a terminal, by its variables and width."""
    posenc.folder = files
    if not (files / "mine.safetensors").exists():
        posenc("golden", "scaled.json", "-o", "golden.safetensors")
        posenc("golden", "scaled.json", "layout=interleaved", "-o", "mine.safetensors")

    def show(name, width=None, term="xterm", no_colour="1", variable=None):
        for key, value in (("TERM", term), ("NO_COLOR", no_colour), ("COLUMNS", variable)):
            monkeypatch.delenv(key, raising=False)
            if value is not None:
                monkeypatch.setenv(key, value)
        code, text = posenc.on_terminal(*REPORTS[name], columns=width or 0)
        assert code in (0, 1)
        return text

    return show


def breaks_of(text):
    """(number of words before it, the line, the next line's first word) of each line's end."""
    lines = text.splitlines()
    count, found = 0, {}
    for line, following in zip(lines, lines[1:]):
        count += len(line.split())
        found[count] = (line, (following.split() or [""])[0])
    return found


@pytest.mark.parametrize("name", REPORTS)
def test_any_width_has_the_same_words(shown, name):
    widths = [width for width in WIDTHS if width >= LEAST.get(name, 0)]
    texts = {width: shown(name, width) for width in widths}
    words = texts[120].split()
    assert len(words) > 10
    for text in texts.values():
        assert text.split() == words
    found = {width: breaks_of(text) for width, text in texts.items()}
    always = set.intersection(*(set(breaks) for breaks in found.values()))
    for width, text in texts.items():
        # A label, or "from", stands in a line with its first word whatever its width.
        assert all(len(line) <= width or len(line.split()) < 4 for line in text.splitlines())
        for at, (line, word) in found[width].items():
            assert at in always or word == "from" or len(line) + 1 + len(word) > width, line
    assert len({text.count("\n") for text in texts.values()}) > 1


@pytest.mark.parametrize("name", ["config", "parameters"])
def test_a_key_stays_where_it_fits(shown, name):
    """ "from" and a key of the config fill the last column, and are moved if they lack one."""
    lines = [line for line in shown(name, 120).splitlines() if "  from " in line]
    line = max(lines, key=len)
    assert 40 < len(line) < 120
    assert line in shown(name, len(line)).splitlines()
    assert line not in shown(name, len(line) - 1).splitlines()


def test_the_width_of_a_terminal(shown):
    """Its own, else that of the variable, else 80; from 40 to 120."""
    for width, variable, same in (
        (None, None, 80),
        (None, "", 80),
        (None, "x", 80),
        (None, "56", 56),
        (64, "56", 64),
        (39, None, 40),
        (1, None, 40),
        (None, "3", 40),
        (121, None, 120),
        (300, "56", 120),
        (None, "1000", 120),
    ):
        assert shown("config", width, variable=variable) == shown("config", same), (width, variable)


@pytest.mark.parametrize("name", REPORTS)
def test_colours_change_no_text(shown, name):
    """Each colour ends before the next one, and the last one before the end."""
    plain = shown(name, 60)
    assert not ESCAPE.search(plain)
    coloured = shown(name, 60, no_colour="")
    assert ESCAPE.sub("", coloured) == plain
    codes = ESCAPE.findall(coloured)
    assert codes and all(codes[0::2]) and not any(codes[1::2]) and len(codes) % 2 == 0
    for variables in ({"no_colour": None}, {"no_colour": "", "term": "vt100"}):
        assert shown(name, 60, **variables) == coloured
    for variables in ({"term": "dumb"}, {"term": ""}, {"term": None}):
        assert shown(name, 60, no_colour="", **variables) == plain
