# SPDX-License-Identifier: MIT
"""posenc.probe: right functions of every recorded rotary encoding and of the published configs in
both layouts, mistakes that are planted one at a time, arrays of other libraries, refusals."""

import asyncio
import functools
import json
import sys
import types

import numpy
import posenc
import pytest
from conftest import ROOT

DIM = 64
YARN = {
    "dim": DIM,
    "base": 150000,
    "rope_type": "yarn",
    "factor": 32,
    "original_max_position_embeddings": 4096,
    "max_position_embeddings": 131072,
    "truncate": False,
}


def rotated(x, cos, sin, half=True, distance=None):
    """x with pairs of its first elements rotated; `distance`: between the elements of a pair."""
    pairs = numpy.arange(cos.shape[-1])
    one = pairs if half else 2 * pairs
    two = one + (distance or (len(pairs) if half else 1))
    y = x.copy()
    y[..., one] = x[..., one] * cos - x[..., two] * sin
    y[..., two] = x[..., two] * cos + x[..., one] * sin
    return y


# ---- right functions -----------------------------------------------------------------------------


def by_table(encoding, half):
    """A rotation with the tables of the service, which other tests compare with other code."""
    encoding = dict(encoding)
    encoding.pop("layout", None)
    tables = {}

    def fn(x, positions):
        key = positions.tobytes()
        if key not in tables:
            tables[key] = posenc.table(encoding.pop("name"), positions=positions, **encoding)
        return rotated(x, *map(numpy.asarray, tables[key]), half)

    return fn


def recorded():
    """Every rotary encoding of a recorded answer, but for heads, lengths and scales that no model
    has: those of xpos leave float32 at the positions of a probe where scale_base is small."""
    found = {}

    def search(value):
        if isinstance(value, dict):
            if value.get("name") in ("rope", "mrope", "rope-2d", "xpos") and "dim" in value:
                plain = {key: item for key, item in value.items() if key != "layout"}
                found[json.dumps(plain, sort_keys=True)] = plain
            value = list(value.values())
        for item in value if isinstance(value, list) else ():
            search(item)

    for line in (ROOT / "tests/recorded/answers.jsonl").read_text().splitlines():
        told = json.loads(line)
        for text in (told.get("text", ""), *told.get("headers", {}).values()):
            if str(text).startswith(("{", "[")):
                search(json.loads(text))
    return [
        encoding
        for encoding in found.values()
        if encoding["dim"] <= 256
        and encoding.get("seq_len", 2) > 1
        and encoding.get("scale_base", 512) >= 64
    ]


def published():
    """(name, config, layer_type) of each kind of layers that rotates."""
    for path in sorted((ROOT / "tests/data/configs").glob("*.json")):
        config = json.loads(path.read_text())["config"]
        try:
            layers = posenc.config(config).layers
        except posenc.Refused:
            continue
        for layer in layers:
            if layer["encoding"] and layer["encoding"]["name"] in ("rope", "mrope", "rope-2d"):
                yield path.stem, config, layer.get("layer_type"), layer["encoding"]


@pytest.mark.filterwarnings("ignore::posenc.EncodingWarning")
def test_right_functions_of_every_recorded_encoding():
    every = recorded()
    assert len(every) > 40
    for encoding in every:
        for half in (True, False):
            layout = "half" if half else "interleaved"
            found = posenc.probe(by_table(encoding, half), encoding, layout=layout)
            assert found.right is True, (encoding, layout, str(found))
            assert found.layout in (layout, "half"), encoding  # one pair has both layouts


@pytest.mark.filterwarnings("ignore::posenc.EncodingWarning")
def test_right_functions_of_every_published_config():
    every = list(published())
    assert len(every) > 50
    for name, config, layer_type, encoding in every:
        half = encoding.get("layout", "half") == "half"
        found = posenc.probe(
            by_table(encoding, half),
            config=config,
            layer_type=layer_type,
            layout="half" if half else "interleaved",
        )
        assert found.right is True, (name, layer_type, str(found))


@pytest.mark.parametrize("like", [None, numpy.zeros(1, "f4"), numpy.zeros(1, "f8")])
def test_a_function_may_write_into_what_it_was_given(like):
    """x and positions are its own: the diagnosis has those that it was called with."""

    def rotate(x, positions):
        y = plain(x, positions).astype(x.dtype)
        x[:] = positions[:] = 0
        return y

    def in_place(x, positions):
        x[:] = plain(x, positions)
        return x

    for fn in (rotate, in_place):
        assert posenc.probe(fn, "rope", dim=DIM, layout="half", like=like).right is True


CONTEXTS = [
    ({"max_position_embeddings": 100}, 99),
    ({"max_position_embeddings": 2}, 1),
    ({"max_position_embeddings": 131072}, 131071),
    ({"max_position_embeddings": 131073}, 131071),
    ({"max_position_embeddings": 50, "seq_len": 70}, 69),
    ({"rope_type": "longrope", "original_max_position_embeddings": 64}, 63),
    (
        {
            "rope_type": "longrope",
            "original_max_position_embeddings": 64,
            "max_position_embeddings": 640,
        },
        63,
    ),
    ({"rope_type": "longrope", "max_position_embeddings": 30}, 29),
    ({}, 4095),
]


COORDINATES = [
    ({"name": "rope"}, 1),
    ({"name": "mrope", "mrope_section": [1, 1, 0]}, 3),
    ({"name": "mrope", "mrope_section": [1, 1]}, 2),
    ({"name": "mrope", "mrope_section": [1, 1, 0], "mrope_type": "imrope"}, 4),
    ({"name": "mrope"}, 3),
    ({"name": "rope-2d"}, 2),
]


@pytest.mark.parametrize("encoding,last", CONTEXTS)
@pytest.mark.parametrize("named,axes", COORDINATES)
def test_positions_end_with_the_context(encoding, last, named, axes):
    """A cache of cos and sin has no row behind its last position; each axis has its own."""
    seen = []

    def fn(x, positions):
        seen.append(numpy.asarray(positions))
        raise KeyError

    with pytest.raises(KeyError):
        posenc.probe(fn, {**named, **encoding, "dim": 4}, like=numpy.zeros(1, "f4"))
    (at,) = seen
    assert (at.shape[:-1], at.min(), at.max()) == ((axes,) if axes > 1 else (), 0, last)
    rows = at.reshape(axes, -1).tolist()
    assert rows[0] == sorted(set(rows[0])) and (last < 9 or len(set(map(tuple, rows))) == axes)


FREQUENCIES = 10000.0 ** (-numpy.arange(DIM // 2) / (DIM // 2))


def plain(
    x, positions, w=FREQUENCIES, half=True, dtype=numpy.float32, factor=1, distance=None, sign=1
):
    """The usual code: float32, cosines and sines rounded to a dtype."""
    angles = positions.astype(numpy.float32)[:, None] * w.astype(numpy.float32)
    cos, sin = numpy.cos(angles) * factor, sign * numpy.sin(angles) * factor
    return rotated(x, cos.astype(dtype), sin.astype(dtype), half, distance)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_rounding_is_no_mistake(dtype):
    def fn(x, positions):
        return plain(x, positions, dtype=dtype).astype(dtype)

    found = posenc.probe(fn, "rope", dim=DIM, layout="half", like=numpy.zeros(1, dtype))
    assert found.right is True, str(found)


# ---- mistakes ------------------------------------------------------------------------------------


def yarn(**changed):
    given = YARN | changed
    return (
        numpy.asarray(posenc.frequencies("rope", dtype="f64", **given).inv_freq),
        0.1 * numpy.log(given["factor"]) + 1,
    )


W, FACTOR = yarn()
SWAPPED = numpy.arange(DIM)
SWAPPED[[3, 40]] = 40, 3
MISTAKES = {
    "base-ignored": functools.partial(plain),
    "layout-swapped": functools.partial(plain, half=False),
    "rotated-backwards": functools.partial(plain, sign=-1),
    "off-by-one-position": lambda x, positions: plain(x, positions + 1),
    "positions-f16": lambda x, positions: plain(x, positions.astype("f2")),
    "inv-freq-f16": functools.partial(plain, w=FREQUENCIES.astype("f2")),
    "half-minus-one-divisor": functools.partial(plain, w=10000.0 ** (-numpy.arange(32) / 31)),
    "cos-sin-swapped": lambda x, positions: rotated(
        x,
        numpy.sin(positions[:, None] * FREQUENCIES).astype("f4"),
        numpy.cos(positions[:, None] * FREQUENCIES).astype("f4"),
    ),
    "wrong-width": functools.partial(plain, w=FREQUENCIES[::2]),
    "pairs-across-head": functools.partial(plain, w=FREQUENCIES[::2], distance=32),
    "pairs-permuted": lambda x, positions: plain(x[..., SWAPPED], positions)[..., SWAPPED],
    "truncate-ignored": functools.partial(plain, w=yarn(truncate=True)[0], factor=FACTOR),
    "scaling-wrong": functools.partial(plain, w=yarn(factor=16)[0], factor=yarn(factor=16)[1]),
    "scaling-missing": functools.partial(plain, w=150000.0 ** (-numpy.arange(32) / 32)),
    "attention-factor-missing": functools.partial(plain, w=W),
    "attention-factor-twice": functools.partial(plain, w=W, factor=FACTOR**2),
    "rotated-twice": lambda x, positions: plain(plain(x, positions), positions),
    "not-rotated": lambda x, positions: x,
}
EXPECTED = {
    "base-ignored": {"base": 500000},
    "pairs-across-head": {"rotary_dim": 32},
    "truncate-ignored": YARN,
    "scaling-wrong": YARN,
    "scaling-missing": YARN,
    "attention-factor-missing": YARN,
    "attention-factor-twice": YARN,
}


@pytest.mark.parametrize("code", MISTAKES)
def test_a_planted_mistake_is_named(code):
    expected = {"dim": DIM} | EXPECTED.get(code, {})
    found = posenc.probe(MISTAKES[code], "rope", layout="half", **expected)
    assert found.right is False
    assert found.verdict.startswith(code), str(found)
    assert found.report.verdict in ("known-bug", "unknown")


def test_a_parameter_takes_the_place_of_the_one_of_a_config():
    config = {"model_type": "llama", "head_dim": DIM, "num_attention_heads": 2}
    config |= {"hidden_size": 2 * DIM, "rope_theta": 500000.0, "max_position_embeddings": 4096}
    assert not posenc.probe(plain, config=config).right
    assert posenc.probe(plain, config=config, base=10000).right


def test_two_mistakes_are_both_named():
    found = posenc.probe(
        functools.partial(plain, half=False), "rope", dim=DIM, layout="half", base=500000
    )
    assert found.verdict.startswith("layout-swapped, base-ignored: pairs 1-31, ")
    assert found.report.probe["pairing"]["code"] == "layout-swapped"


def test_the_pairs_that_differ_and_by_how_much():
    """Of gpt-oss, 9 frequencies change where truncate is ignored."""
    found = posenc.probe(MISTAKES["truncate-ignored"], "rope", layout="half", **YARN)
    assert "pairs 9-17, " in found.verdict
    assert [k for k, pair in enumerate(found.pairs) if pair["differs"]] == list(range(9, 18))
    measured = numpy.array([pair["frequency"] for pair in found.pairs])
    assert numpy.allclose(measured, yarn(truncate=True)[0], rtol=1e-5)
    near = posenc.probe(
        MISTAKES["truncate-ignored"],
        "rope",
        layout="half",
        positions=[0, 1, 2, 4, 8, 16, 64, 256, 1024, 4096],
        **YARN,
    )
    assert "pairs 9-17, " in near.verdict and near.verdict.endswith(" at 4096")


def test_what_was_not_expected_is_measured():
    found = posenc.probe(functools.partial(plain, factor=1.5, half=False), dim=DIM)
    assert found.right is None and found.layout == "interleaved"
    assert numpy.allclose([pair["frequency"] for pair in found.pairs], FREQUENCIES, rtol=1e-4)
    assert numpy.allclose([pair["scale"] for pair in found.pairs], 1.5, rtol=1e-6)
    consistent = posenc.probe(plain, dim=DIM)
    assert consistent.verdict.startswith("consistent"), consistent


# ---- no rotations --------------------------------------------------------------------------------


class Counting:
    def __init__(self):
        self.calls = 0

    def __call__(self, x, positions):
        self.calls += 1
        return x * self.calls


def in_one_place(axis):
    def fn(x, positions):
        y = plain(x, positions)
        y[(slice(None),) * axis + (1,)] = 2
        return y

    return fn


FAULTS = {
    "not-linear": lambda x, positions: x * abs(x),
    "mixes-tokens": lambda x, positions: numpy.cumsum(x, axis=-2),
    "depends-on-batch": in_one_place(0),
    "depends-on-head": in_one_place(1),
    "not-deterministic": Counting(),
    "not-finite": lambda x, positions: x + numpy.where(positions == 3, numpy.nan, 0)[:, None],
    "not-pairs": lambda x, positions: x + 0.5 * x[..., :1],
    "not-a-rotation": lambda x, positions: x * numpy.where(numpy.arange(DIM) == 5, 2, 1),
    "changes-shape": lambda x, positions: x[..., :-1],
}


@pytest.mark.parametrize("code", FAULTS)
def test_what_is_no_rotation_is_refused_by_name(code):
    found = posenc.probe(FAULTS[code], "rope", dim=DIM, axes="bhsd")
    assert found.right is False and not found.pairs and found.layout is None
    assert found.verdict.startswith(f"{code}: "), found
    assert found.fault["code"] == code
    assert found.report is None or found.report.verdict == "refused"


# ---- arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", ["sd", "shd", "hsd", "bsd", "bshd", "bhsd"])
def test_axes(axes):
    seen = set()

    def fn(x, positions):
        seen.add(x.shape)
        tokens = axes.index("s")
        moved = numpy.moveaxis(x, tokens, -2)
        return numpy.moveaxis(plain(moved, positions), -2, tokens)

    found = posenc.probe(fn, "rope", dim=DIM, axes=axes, heads=3, batch=5, positions=range(20))
    assert found.right is True, str(found)
    assert seen == {tuple({"b": 5, "h": 3, "s": 20, "d": DIM}[letter] for letter in axes)}


def test_wrong_arguments():
    with pytest.raises(ValueError, match="axes must be one of"):
        posenc.probe(plain, "rope", dim=DIM, axes="sbd")
    with pytest.raises(TypeError, match="the width of a head is required"):
        posenc.probe(plain, "rope")
    with pytest.raises(posenc.Refused, match="rotary"):
        posenc.probe(plain, "sinusoidal", dim=DIM)
    with pytest.raises(TypeError, match="fn returned a tuple"):
        posenc.probe(lambda x, positions: (x, x), "rope", dim=DIM)
    with pytest.raises(TypeError, match="fn takes arrays of no library .*numpy: KeyError: 'a'"):
        posenc.probe(lambda x, positions: {}["a"], "rope", dim=DIM)
    with pytest.raises(KeyError):
        posenc.probe(lambda x, positions: {}["a"], "rope", dim=DIM, like=numpy.zeros(1))
    with pytest.raises(TypeError, match="like is a builtins.int"):
        posenc.probe(plain, "rope", dim=DIM, like=1)
    with pytest.raises(ValueError, match="layer_type is required"):
        posenc.probe(plain, config={"model_type": "gemma3_text", "head_dim": DIM})


class Tensor:
    """An array of a library that is not NumPy: it has no operators for NumPy's arrays."""

    __module__ = "torch"

    def __init__(self, array):
        self.array = array
        self.dtype, self.device = array.dtype, "cpu"

    def to(self, device, dtype):
        assert device == "cpu"
        return Tensor(self.array.astype(dtype or self.array.dtype))

    def __dlpack__(self, **rest):
        return self.array.__dlpack__(**rest)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def of_torch(x, positions):
    assert isinstance(x, Tensor) and isinstance(positions, Tensor)
    return Tensor(plain(x.array, positions.array))


@pytest.mark.parametrize("like", [None, Tensor(numpy.zeros(1, "f8"))])
def test_the_library_of_the_function(like, monkeypatch):
    """One that the process has imported is found where fn refuses NumPy's arrays; `like` names it,
    with the dtype. (The libraries themselves: tests/probe.)"""
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(from_numpy=Tensor))
    found = posenc.probe(of_torch, "rope", dim=DIM, layout="half", like=like)
    assert found.right is True, str(found)


def test_no_library_is_imported():
    assert not {"torch", "jax", "mlx", "tensorflow"} & set(sys.modules)


def test_the_same_over_http(remote, url):
    """By requests that are waited for, and by several probes at once that are awaited."""
    calls = [
        (fn, {"dim": DIM, "layout": "half"} | EXPECTED.get(code, {}))
        for code, fn in MISTAKES.items()
    ]
    here = [posenc.probe(fn, "rope", **given).report for fn, given in calls]
    there = [remote.probe(fn, "rope", **given).report for fn, given in calls]

    async def probes():
        async with posenc.connect_async(url) as server:
            return await asyncio.gather(*(server.probe(fn, "rope", **given) for fn, given in calls))

    assert here == there == [found.report for found in asyncio.run(probes())]


def test_errors_with_asyncio(url):
    """Of the config, of the function and of the encoding, as without."""
    config = {"model_type": "llama", "head_dim": DIM}
    gemma = {"model_type": "gemma3_text", "head_dim": DIM}

    async def probes():
        async with posenc.connect_async(url) as server:
            found = await server.probe(plain, config=config, layout="half")
            assert found.right is True, found
            found = await server.probe(FAULTS["changes-shape"], config=config)
            assert found.fault["code"] == "changes-shape"
            with pytest.raises(posenc.Refused, match="rotary"):
                await server.probe(plain, "sinusoidal", dim=DIM)
            with pytest.raises(ValueError, match="layer_type is required"):
                await server.probe(plain, config=gemma)
            with pytest.raises(KeyError):
                await server.probe(lambda x, positions: {}["a"], "rope", dim=DIM, like=FREQUENCIES)

    asyncio.run(probes())


def test_display():
    found = posenc.probe(MISTAKES["truncate-ignored"], "rope", layout="half", **YARN)
    lines = str(found).splitlines()
    assert lines[0] == found.verdict and lines[1].startswith("fix: ")
    assert lines[2].split()[:3] == ["pair", "elements", "frequency"] and len(lines) == 3 + 9
    assert repr(found) == f"Probe({found.verdict!r})"
    page = found._repr_html_()
    assert found.verdict in page and page.count("<tr>") == 10
    long = posenc.probe(MISTAKES["base-ignored"], "rope", dim=DIM, base=500000, layout="half")
    assert str(long).splitlines()[-1] == "and 19 more"
    refused = posenc.probe(FAULTS["changes-shape"], "rope", dim=DIM)
    assert str(refused) == refused.verdict and "<table>" not in refused._repr_html_()
