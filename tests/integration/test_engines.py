# SPDX-License-Identifier: MIT
"""tools/engines/engines.json, its page, and what measures it (tools/engines), without an engine: a
driver of these tests reads a config as posenc does, but for a key that it drops. `tests/run
engines` measures the engines themselves."""

import copy
import json
import pathlib
import sys

import numpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/engines"))

import compare  # noqa: E402
import compiled  # noqa: E402
import expected  # noqa: E402
import matrix  # noqa: E402
import measure  # noqa: E402
import page  # noqa: E402
import rotation  # noqa: E402
from engines import BY_NAME, ENGINES  # noqa: E402

DATA = matrix.load()
CONFIGS = ROOT / "tests/data/configs"

pytestmark = pytest.mark.plain  # the library in this process is that of the plain build


# ---- the file -----------------------------------------------------------------------------------


def cells(engine, kinds=matrix.KINDS):
    return page.cells_of(DATA["engines"][engine], kinds)


@pytest.mark.parametrize("name", DATA["engines"])
def test_engines_are_those_of_the_requirements(name):
    engine, found = BY_NAME[name], DATA["engines"][name]
    assert (found["package"], found["version"]) == (engine.package, engine.version)
    assert len(bytes.fromhex(found["sha256"])) == 32
    assert engine.driver.exists()


def test_every_engine_is_measured():
    assert list(DATA["engines"]) == list(BY_NAME)


def test_the_file_has_of_an_older_release_what_is_otherwise():
    stored = json.loads(matrix.FILE.read_text())["engines"]
    older = [label for label in stored if "==" in label]
    assert older
    for label in older:
        newest, release = DATA["engines"][label.split("==")[0]], DATA["engines"][label]
        for part, depth in matrix.DEPTHS.items():
            found = matrix.otherwise(newest[part], release[part], depth)
            assert found == stored[label][part] and found
            assert matrix.overlaid(newest[part], found, depth) == release[part]


def test_cells_are_those_of_the_newest_release_or_of_a_named_one():
    def answer(**filters):
        return expected.posenc.engines(**filters)

    (newest,) = answer(engine="mlx-lm").engines
    (older,) = answer(engine="mlx-lm==0.31.3").engines
    assert newest["versions"] == older["versions"] == ["0.32.2", "0.31.3"]
    assert (newest["version"], older["version"]) == ("0.32.2", "0.31.3")
    cells = answer(engine="mlx-lm==0.31.3").cells
    assert len(cells) == sum(1 for _ in page.cells_of(DATA["engines"]["mlx-lm==0.31.3"]))
    verdicts = {(cell["config"], cell["form"]): cell["verdict"] for cell in cells}
    assert verdicts["qwen3-8b", 5] == "raises"
    (found,) = (cell for cell in cells if cell["config"] == "internlm2.5-7b")
    assert (found["code"], found["pairs"], found["of"]) == ("scaling", 64, 64)
    assert found["radians"] == 32800 and found["at"] == 32767
    (mended,) = (c for c in answer(engine="mlx-lm").cells if c["config"] == "internlm2.5-7b")
    assert mended["verdict"] == "same"
    of_all = answer(model_type="qwen3").cells
    assert {cell["verdict"] for cell in of_all if cell["engine"] == "mlx-lm"} <= {
        cell["verdict"] for cell in answer(engine="mlx-lm", model_type="qwen3").cells
    }
    assert len(answer().engines) == len(ENGINES)


def test_what_either_release_lacks_is_restored():
    newest = {"llama": {"4": {"row": "a"}, "5": {"row": "b"}}, "gemma": {"4": {"row": "c"}}}
    older = {"llama": {"4": {"row": "a"}}, "phi": {"5": {"row": "d"}}}
    found = matrix.otherwise(newest, older, 2)
    assert found == {"llama": {"5": None}, "gemma": None, "phi": {"5": {"row": "d"}}}
    assert matrix.overlaid(newest, found, 2) == older


@pytest.mark.parametrize("name", DATA["engines"])
def test_cells_are_well_formed(name):
    found = list(cells(name))
    assert {row for row, _, _ in found} == set(DATA["rows"])
    for row, form, cell in found:
        assert form in DATA["rows"][row]["forms"], row
        verdict = page.verdict(cell)
        if verdict == "differs":
            assert cell["code"] in compare.CODES, row
            assert cell["keys"] is None or all(isinstance(key, str) for key in cell["keys"])
            if "pairs" in cell:
                assert 0 < cell["pairs"] <= cell["of"] and cell["radians"] > 0, row
        elif verdict != "same":
            assert list(cell) == [verdict] and cell[verdict], row


def test_no_path_of_a_machine_is_in_it():
    text = matrix.FILE.read_text()
    assert "site-packages" not in text and str(ROOT) not in text and "/tmp" not in text


def test_the_library_has_the_file():
    assert compiled.OUT.read_text() == compiled.Lists(DATA).text()


def test_the_page_is_what_the_file_says():
    assert page.PAGE.read_text() == page.page(DATA)


# What transformers has no code of, or code that makes no rotary class.
OUTSIDE = ("Unrecognized model type", "no rotary class")
# Of these transformers 5 reads no flat rope_theta, which no file of them has.
NOT_READ = {
    "glmasr",
    "gpt_neox",
    "gpt_neox_japanese",
    "moonshine_streaming",
    "nemotron3_5_transcribe_asr_audio",
    "nemotron3_5_transcribe_word_timestamp",
}


def test_transformers_reads_every_config_as_posenc_does():
    found = list(cells("transformers"))
    for row, form, cell in found:
        verdict = page.verdict(cell)
        if verdict in ("absent", "unmeasured"):
            assert any(reason in cell[verdict] for reason in OUTSIDE), (row, cell)
        elif verdict == "by_default":
            assert form == "4" and row in NOT_READ
        else:
            assert verdict == "same", (row, form, cell)
    assert sum(cell == "same" for *_, cell in found) >= 650


def cell_of(engine, row, form):
    return next(cell for r, f, cell in cells(engine) if (r, f) == (row, form))


def test_facts_that_were_measured_elsewhere():
    """By hand, with other tools, before this file: research of 23 November 2026."""
    found = cell_of("mlx-lm", "gpt-oss-120b", "4")
    assert (found["code"], found["pairs"], found["of"]) == ("scaling", 9, 32)
    assert found["keys"] == ["rope_scaling.truncate"]
    assert found["radians"] * 4095 / found["at"] == pytest.approx(0.90, abs=0.01)
    found = cell_of("mlx-lm", "llama-3.1", "5")
    assert (found["code"], found["reads"]) == ("base-and-scaling", {"base": 10000.0})
    assert cell_of("mlx-lm", "llama-3.1", "4") == "same"
    found = cell_of("llama.cpp", "gpt-oss-120b", "4")
    assert (found["code"], found["pairs"]) == ("scaling", 9)
    assert cell_of("onnxruntime-genai", "gpt-oss-120b", "5") == "same"
    assert cell_of("vllm", "gpt-oss-120b", "4") == "same"


# ---- rotations ----------------------------------------------------------------------------------


def rotated(pairs, frequencies, width, at, factor=1.0):
    """[n, d, d] of float32, as engines have them."""
    found = numpy.zeros((len(at), width, width))
    found[:] = numpy.eye(width)
    for (i, j), frequency in zip(pairs, frequencies):
        angle = numpy.asarray(at) * frequency
        found[:, i, i] = found[:, j, j] = factor * numpy.cos(angle)
        found[:, j, i], found[:, i, j] = factor * numpy.sin(angle), -factor * numpy.sin(angle)
    return found.astype("f4")


HALF = [[i, i + 32] for i in range(32)]
NEIGHBOURS = [[2 * i, 2 * i + 1] for i in range(32)]
BASES = 500000.0 ** (-numpy.arange(32) / 32)


@pytest.mark.parametrize("pairs, layout", [(HALF, "half"), (NEIGHBOURS, "interleaved")])
@pytest.mark.parametrize("width, factor", [(64, 1.0), (96, 1.0), (64, 1.3465735)])
@pytest.mark.parametrize("length", [2048, 131072])
def test_rotations_are_read(pairs, layout, width, factor, length):
    at = rotation.positions(length)
    found = rotation.read(rotated(pairs, BASES, width, at, factor), at)
    assert found["pairs"] == pairs and rotation.layout(found["pairs"]) == layout
    assert numpy.allclose(found["frequencies"], BASES, rtol=compare.CLOSE / 4, atol=0)
    assert found["factor"] == pytest.approx(factor, rel=1e-6)


def test_outputs_in_another_order_are_the_same_rotation():
    at = rotation.positions(4096)
    order = numpy.random.default_rng(1).permutation(64)
    found = rotation.read(rotated(HALF, BASES, 64, at)[:, order], at)
    assert found["pairs"] == HALF
    assert numpy.allclose(found["frequencies"], BASES, rtol=compare.CLOSE, atol=0)


def test_the_other_direction_is_a_negative_frequency():
    at = rotation.positions(4096)
    found = rotation.read(rotated(HALF, -BASES, 64, at), at)
    assert numpy.allclose(found["frequencies"], -BASES, rtol=compare.CLOSE, atol=0)


def test_what_is_no_rotation_is_refused():
    at = rotation.positions(4096)
    mixed = numpy.random.default_rng(2).standard_normal((len(at), 8, 8))
    for matrices in (mixed, numpy.full((len(at), 8, 8), numpy.nan)):
        with pytest.raises(rotation.NotARotation):
            rotation.read(matrices, at)


def test_tables_are_read():
    at = rotation.positions(131072)
    angles = numpy.arange(131072)[:, None] * BASES
    found = rotation.of_caches(numpy.cos(angles), numpy.sin(angles), at)
    assert numpy.allclose(found["frequencies"], BASES, rtol=compare.CLOSE, atol=0)


# ---- a key that is dropped ----------------------------------------------------------------------


class Dropping:
    """A driver that reads as posenc does what is left of a config."""

    engine = ENGINES[0]

    def __init__(self, *dropped):
        self.dropped, self.keys = dropped, {}

    def ask(self, config, lengths):
        left = measure.without(config, [path.split(".") for path in self.dropped])
        kinds = expected.kinds(expected.read(left), lengths)
        for kind in kinds:
            for found in (kind["rotation"] or {}).values():
                found["pairs"] = found["pairs"] or [
                    [i, i] for i in range(len(found["frequencies"]))
                ]
        return {"kinds": kinds}


def published(name):
    return json.loads((CONFIGS / f"{name}.json").read_text())["config"]


@pytest.mark.parametrize(
    "name, change, dropped, code, named",
    [
        ("gpt-oss-120b", {}, "rope_scaling.truncate", "scaling", None),
        ("llama-3.1", {}, "rope_theta", "scaling", None),
        ("llama-3.1", {}, "rope_scaling", "scaling-ignored", "rope_scaling.rope_type"),
        ("llama-3.1", {"factor": 16}, "rope_scaling.rope_type", "scaling-ignored", None),
        ("mistral-7b-v0.3", {}, "rope_theta", "base", None),
        ("phi-1", {"partial_rotary_factor": 0.25}, "partial_rotary_factor", "width", None),
        ("deepseek-v3", {}, "rope_scaling.mscale", "attention-factor", None),
        ("deepseek-v3", {"beta_fast": 16}, "rope_scaling.beta_fast", "scaling", None),
        (
            "gpt-oss-120b",
            {"attention_factor": 1.5},
            "rope_scaling.attention_factor",
            "attention-factor",
            None,
        ),
        (
            "gemma-3-27b",
            {},
            "text_config.rope_scaling",
            "scaling-ignored",
            "text_config.rope_scaling.rope_type",
        ),
        ("qwen3.5", {}, "text_config.rope_parameters.rope_theta", "base", None),
    ],
)
def test_a_dropped_key_is_named(name, change, dropped, code, named):
    config = published(name)
    (config if name == "phi-1" else config.get("rope_scaling", {})).update(change)
    assert measure.measured(Dropping(), "4", config) == "same"
    found = measure.measured(Dropping(dropped), "4", copy.deepcopy(config))
    assert (found["code"], found["keys"]) == (code, [named or dropped])


def test_what_is_right_by_default_is_told():
    """A base of 10 000, which is that of posenc too, is not read."""
    config = {
        "model_type": "llama",
        "hidden_size": 256,
        "num_attention_heads": 2,
        "num_hidden_layers": 2,
        "rope_theta": 10000,
    }
    assert measure.measured(Dropping(), "4", config) == "same"
    assert measure.measured(Dropping("rope_theta"), "4", config) == {"by_default": ["rope_theta"]}


def test_a_key_that_is_taken_for_granted_is_named():
    class NeverRounds(Dropping):
        def ask(self, config, lengths):
            changed = copy.deepcopy(config)
            if "rope_scaling" in changed:
                changed["rope_scaling"]["truncate"] = False
            return super().ask(changed, lengths)

    found = measure.measured(NeverRounds(), "4", published("deepseek-v3"))
    assert (found["code"], found["keys"]) == ("scaling", None)
    assert found["as_if"] == {"rope_scaling.truncate": False}


def test_another_layout_is_found():
    class Neighbours(Dropping):
        def ask(self, config, lengths):
            answer = super().ask(config, lengths)
            for kind in answer["kinds"]:
                for found in kind["rotation"].values():
                    found["pairs"] = [[2 * i, 2 * i + 1] for i in range(len(found["pairs"]))]
            return answer

    found = measure.measured(Neighbours(), "4", published("llama-3.1"))
    assert (found["code"], found["reads"]) == ("layout", {"layout": "interleaved"})
    assert found["keys"] is None


def test_changes_are_sentences():
    now = copy.deepcopy(DATA["engines"])
    assert matrix.changes(DATA["engines"], now) == []
    now["mlx-lm"]["cells"]["published"]["llama-3.1"]["4"] = {"raises": "KeyError"}
    now["mlx-lm"]["version"] = "0.32.3"
    assert [
        sentence.split(":")[1].strip() for sentence in matrix.changes(DATA["engines"], now)
    ] == ["version was 0.32.2, is 0.32.3", "llama-3.1"]
