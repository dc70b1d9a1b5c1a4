# SPDX-License-Identifier: MIT
"""Writes docs/engines.md of tools/engines/engines.json.

.venv/bin/python tools/engines/page.py [--check]"""

import collections
import json
import pathlib
import re
import sys

import compare
import matrix

PAGE = matrix.FILE.parents[2] / "docs/engines.md"
FORMS = ("4", "5")
VERDICTS = ("same", "by_default", "differs", "raises", "absent", "unmeasured")
NAMES = {"by_default": "same by default", "absent": "no such model", "unmeasured": "not measured"}
MODELS_MAX = 12  # named in a line

INTRO = """# Engines

What engines rotate for a config, beside what posenc reads of it. `tools/engines/page.py` writes
this page from `tools/engines/engines.json`, which `tools/engines/measure.py` measures: no cell is
written by hand.

A config is given to the engine's own code, which makes a model of it without weights. What that
model rotates is replayed on unit vectors at positions 0, 1, 16, 256 and so on up to the last
position of its context; that gives which elements are paired, the frequency of each pair, and the
factor. posenc reads the same config (`POST /v1/config`). Frequencies and factors are the same where
they agree within {close:g}: readings are compared, not rounding.

Each config is measured in two forms: of transformers 4 (`rope_theta`, `rope_scaling`), and of
transformers 5 (`rope_parameters`), as `save_pretrained` of the measured transformers writes it.
*Radians* are the worst difference of a pair's angle at the last position of the context. *Without*
names the fewest keys without which the engine and posenc agree: what the engine does not read, or
reads in another way.

*Same by default*: the engine does not read the base, and its own happens to be that of the config.

Of some engines an older release is measured too, where the newest mended one: its section has the
cells that are otherwise. An engine without a version is the newest that was measured.

What this does not show: positions, masks and windows; towers of pictures and sound; kernels, which
may rotate otherwise than the code that was replayed; pairs where an engine reorders weights when it
converts or loads them (llama.cpp, Llama 4 in vLLM); and layers that have a rotary module and do not
call it (vLLM).

The library and the service have the same cells: `GET /v1/engines`, `posenc engines`,
`posenc.engines` in Python, and `include/posenc/engines.h` in C; `tools/engines/compiled.py` writes
their data.
"""


# ---- cells --------------------------------------------------------------------------------------


def verdict(cell):
    if cell == "same":
        return "same"
    return next((name for name in VERDICTS if name in cell), "differs")


def number(value):
    """17000 → 17 000"""
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"
    return text.replace(",", " ")


def reading(cell):
    """What the engine reads, in a few words."""
    reads = cell.get("reads", {})
    words = [f"{key} {number(value)}" for key, value in reads.items() if key in ("base", "factor")]
    if "elements" in reads:
        words.append(f"{reads['elements']} elements for {cell['expected']}")
    if "layout" in reads:
        words.append(f"layout {reads['layout']}")
    if "times" in reads:
        words.append(f"times {number(reads['times'])}")
    return ", ".join(words)


def size(cell):
    if "radians" not in cell:
        return ""
    return f"{cell['pairs']} of {cell['of']} pairs, {number(cell['radians'])} rad at {cell['at']}"


def short(cell):
    name = verdict(cell)
    if name == "differs":
        return f"**{cell['code']}**"
    return NAMES.get(name, name)


def both(cells):
    """A cell of the table of published configs."""
    if cells is None:
        return ""
    found = {form: short(cells[form]) for form in FORMS if form in cells}
    if len(set(found.values())) == 1:
        return next(iter(found.values())) + ("" if len(found) > 1 else f" ({next(iter(found))})")
    return "; ".join(f"{form}: {words}" for form, words in found.items())


def cells_of(engine, kinds=matrix.KINDS):
    for kind in kinds:
        for row, cells in engine["cells"].get(kind, {}).items():
            for form, cell in cells.items():
                yield row, form, cell


# ---- sections -----------------------------------------------------------------------------------


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def summary(engines):
    rows = []
    for name, engine in engines.items():
        for form in FORMS:
            counts = collections.Counter(
                verdict(cell) for _, f, cell in cells_of(engine) if f == form
            )
            numbers = [str(counts[v]) for v in VERDICTS]
            rows.append([titled(name, engine), form, *numbers])
    head = ["engine", "form", *(NAMES.get(v, v) for v in VERDICTS)]
    return "## In numbers\n\n" + table(head, rows)


def titled(label, engine):
    """mlx-lm 0.31.3"""
    return f"{label.split('==')[0]} {engine['version']}"


def published(engines, rows):
    engines = {name: engine for name, engine in engines.items() if "==" not in name}
    names = [row for row, about in rows.items() if about["kind"] == "published"]
    lines = [
        [row, *(both(e["cells"].get("published", {}).get(row)) for e in engines.values())]
        for row in names
    ]
    head = ["config", *(titled(name, engine) for name, engine in engines.items())]
    legend = "\n".join(f"- **{code}**: {words}" for code, words in compare.CODES.items())
    text = (
        "The files of `tests/data/configs`. A cell without a form holds for both; *(4)*: there is "
        "no other."
    )
    return f"## Published configs\n\n{text}\n\n{table(head, lines)}\n\n{legend}"


def listed(names):
    names = sorted(set(names))
    more = f" and {len(names) - MODELS_MAX} more" if len(names) > MODELS_MAX else ""
    return ", ".join(names[:MODELS_MAX]) + more


def without(keys, as_if):
    if as_if:
        return ", ".join(f"as if `{key}` were {json.dumps(value)}" for key, value in as_if)
    return ", ".join(f"`{key}`" for key in keys) if keys else "–"


def inner(key):
    return re.sub(r"^(text_config|thinker_config)\.", "", key)


def differing(engine):
    groups = collections.defaultdict(list)
    for row, form, cell in cells_of(engine):
        if verdict(cell) == "differs":
            length = [f"{cell['length']} tokens"] if "length" in cell else []
            reads = ", ".join([*filter(None, [reading(cell)]), *length])
            keys = tuple(map(inner, cell["keys"] or ()))
            as_if = tuple((inner(key), value) for key, value in cell.get("as_if", {}).items())
            groups[cell["code"], form, keys, as_if, reads].append((row, cell))
    lines = []
    for (code, form, keys, as_if, reads), found in sorted(groups.items(), key=order):
        worst = max(found, key=lambda item: item[1].get("radians", 0))[1]
        names = listed(row for row, _ in found)
        lines.append([f"**{code}**", form, without(keys, as_if), reads, size(worst), names])
    if not lines:
        return "Nothing differs."
    head = ["code", "form", "without", "it reads", "worst", "configs"]
    return table(head, lines)


def order(item):
    (code, form, keys, as_if, reads), found = item
    return code, form, keys, as_if, -len(found), reads


def messages(engine, name):
    groups = collections.defaultdict(list)
    for row, form, cell in cells_of(engine):
        if verdict(cell) == name:
            groups[plain(cell[name])].append(f"{row} ({form})")
    lines = [
        [words, str(len(rows)), listed(rows)]
        for words, rows in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    return table(["message" if name == "raises" else "reason", "cells", "configs"], lines)


def plain(words):
    """A message in a cell of a table."""
    words = re.sub(r"\x1b\[\d+m", "", words)
    return "`" + words.replace("|", "\\|").replace("`", "'").strip() + "`"


def package(engine):
    beside = "".join(f", {package} {version}" for package, version in engine["beside"].items())
    return (
        f"Package {engine['package']} {engine['version']} (SHA-256 of its wheel "
        f"`{engine['sha256']}`){beside}."
    )


def words(cell):
    """A cell beside that of another release."""
    name = verdict(cell)
    if name == "differs":
        return ", ".join(filter(None, [short(cell), reading(cell), size(cell)]))
    return plain(cell[name]) if name in ("raises", "unmeasured") else short(cell)


def older(name, engine, newest):
    """What is otherwise in an older release than in the newest."""
    cells = matrix.otherwise(newest["cells"], engine["cells"], matrix.DEPTHS["cells"])
    groups = collections.defaultdict(list)
    for kind, rows in cells.items():
        for row, forms in rows.items():
            for form, cell in forms.items():
                found = form, words(cell), words(newest["cells"][kind][row][form])
                groups[found].append(row)
    lines = [
        [listed(rows), form, before, after]
        for (form, before, after), rows in groups.items()
        if before != after
    ]
    head = ["configs", "form", engine["version"], newest["version"]]
    return "\n\n".join(
        [
            f"## {titled(name, engine)}",
            f"{package(engine)} These cells are otherwise than with {newest['version']}; all "
            "others have the same verdict and numbers.",
            table(head, lines),
        ]
    )


def section(name, engine):
    counts = collections.Counter(verdict(cell) for *_, cell in cells_of(engine))
    parts = [
        f"## {titled(name, engine)}",
        f"{engine['how'][0].upper()}{engine['how'][1:]}. {package(engine)}",
        differing(engine),
    ]
    if counts["raises"]:
        parts += [f"### What {name} raises", messages(engine, "raises")]
    if counts["unmeasured"]:
        parts += [f"### Not measured with {name}", messages(engine, "unmeasured")]
    if counts["absent"]:
        absent = listed(row for row, _, cell in cells_of(engine) if verdict(cell) == "absent")
        parts.append(f"No such model: {absent}.")
    return "\n\n".join(parts)


def sections(engines):
    for name, engine in engines.items():
        newest = engines[name.split("==")[0]]
        yield section(name, engine) if engine is newest else older(name, engine, newest)


RULES = """## Model types with rules

How an engine reads a model type is a rule that [lint](lint.md) applies to configs that were not
measured. An engine has rules of the model types that it runs; of any other lint answers what the
matrix has, or `not-measured`. The part about text has its model type after a slash."""


def types_of(engine):
    """Model types with rules in both forms, or with the form in parentheses."""
    return ", ".join(
        f"`{of}`" + ("" if len(forms) == len(FORMS) else f" ({''.join(forms)})")
        for of, forms in sorted(engine["rules"].items())
    )


def ruled(engines):
    lines = [
        [titled(name, engine), str(len(engine["rules"])), types_of(engine)]
        for name, engine in engines.items()
    ]
    return f"{RULES}\n\n{table(['engine', 'model types', 'which'], lines)}"


AGAIN = """## Measuring again

`tests/run engines` measures everything anew and compares it with the file. A new release of an
engine: change its version in `tools/engines/requirements/`, run

```sh
make
.venv/bin/python tools/engines/measure.py mlx-lm
.venv/bin/python tools/engines/compiled.py
make
```

and read what changed with `git diff`. `tools/engines/sample.py mlx-lm` gives the engine configs
that are not in the matrix, and counts how often lint answered what the engine did. Environments are
made in `build/engines/`. An older release is a version in `older` of `tools/engines/engines.py`,
and is measured as `mlx-lm==0.31.3`. An engine that is not here needs a row in
`tools/engines/engines.py`, its requirements, and a driver in `tools/engines/drivers/`: a function
of a config and lengths of sequences that returns kinds of layers, each with what
`tools/engines/rotation.py` reads of its rotation."""


def page(data):
    engines = data["engines"]
    parts = [
        " ".join(INTRO.format(close=compare.CLOSE).split(" ")).strip(),
        summary(engines),
        published(engines, data["rows"]),
        *sections(engines),
        ruled(engines),
        AGAIN,
    ]
    return "\n\n".join(parts) + "\n"


def main():
    text = page(matrix.load())
    if "--check" in sys.argv[1:]:
        return 0 if PAGE.read_text() == text else 1
    pathlib.Path(PAGE).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
