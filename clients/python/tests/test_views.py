# SPDX-License-Identifier: MIT
"""Views of every encoding: the number of their arrays decides the type; their pictures and plots;
an array of an answer beside one of NumPy."""

import asyncio
import base64
import copy
import inspect
import pickle
import re
import sys
import typing
import xml.etree.ElementTree
from urllib.parse import parse_qsl, urlsplit

import numpy
import posenc
import pytest
import scripted
from matplotlib import pyplot
from posenc import _functions, _http

TABLE = numpy.arange(12, dtype="f4").reshape(4, 3)
OWN = {"hierarchical": TABLE, "learned": TABLE}  # their examples name a stored table


def examples():
    """(encoding, view, URL, parameters) of the catalogue."""
    for encoding in posenc.encodings().encodings:
        for operation in posenc.encodings(encoding["name"]).operations:
            given = dict(parse_qsl(urlsplit(operation["example"]).query))
            yield encoding["name"], operation["name"], operation["example"], given


EXAMPLES = {f"{name} {view}": (name, view, url, given) for name, view, url, given in examples()}
FETCHED = {key: one for key, one in EXAMPLES.items() if one[0] not in OWN}


def viewed(door, key):
    name, view, _, given = EXAMPLES[key]
    return door.view(name, view, **given | ({"table": OWN[name]} if name in OWN else {}))


@pytest.fixture(autouse=True)
def _without_warnings(recwarn):
    """Some views warn, which is tested elsewhere; figures are closed."""
    yield
    pyplot.close("all")


def html(answer):
    """The elements of what a notebook shows."""
    return xml.etree.ElementTree.fromstring(f"<div>{answer._repr_html_()}</div>")


def picture(answer):
    """The bytes of the SVG in it. None: there is none."""
    image = html(answer).find("img")
    if image is None:
        return None
    return base64.b64decode(image.get("src").removeprefix("data:image/svg+xml;base64,"))


def shapes(answer):
    return [[cell.text for cell in row.iter("td")] for row in html(answer).iter("tr")][1:]


# ---- one array or several ------------------------------------------------------------------------


def test_the_catalogue_has_examples():
    assert len(EXAMPLES) > 60 and len({one[0] for one in EXAMPLES.values()}) > 20


@pytest.mark.parametrize("key", EXAMPLES)
def test_the_number_of_arrays_decides_the_type(door, key):
    """By what the service says in JSON; every array is the one of its name."""
    found = viewed(door, key)
    if key in FETCHED:
        names = list(posenc.request("GET", FETCHED[key][2]).json()["tensors"])
        assert list(found.names) == names
    assert type(found) is (posenc.Tensor if len(found.names) == 1 else posenc.Tensors)
    assert found.encoding["name"] == EXAMPLES[key][0]
    arrays = found.as_dict()
    for name, array in arrays.items():
        assert type(array) is numpy.ndarray and array.flags.writeable
        for other in (found[name], getattr(found, name)):
            assert numpy.shares_memory(other, array) and other.shape == array.shape
        assert not hasattr(numpy.ndarray, name) and not hasattr(tuple, name)
    if len(arrays) == 1:
        assert numpy.shares_memory(found, array) and (found == array).all()
    else:
        assert [one.tobytes() for one in found] == [one.tobytes() for one in arrays.values()]


def test_functions_give_named_tuples():
    """Even where they have one array."""
    q = numpy.ones((1, 1, 2, 4), "f4")
    for found in (
        posenc.rotate("rope", q=q, axes="bhsd", layout="half", start=0),
        posenc.attention("alibi", q=q, k=q, outputs="weights"),
        posenc.embedding("sinusoidal", x=q[0], start=0),
        posenc.layout("interleaved", "half", head_dim=8),
        posenc.positions(length=3),
    ):
        assert type(found) is posenc.Tensors and len(found) == 1
        assert found._repr_html_() is None


def literals(name):
    return set(typing.get_args(getattr(_functions, name)))


def test_type_checkers_know_how_many_arrays_there_are():
    """The names in the overloads are those of the catalogue, with the number that they have."""
    found = {key: type(viewed(posenc, key)) for key in EXAMPLES}

    def having(view, kind):
        names = {one[0] for one in EXAMPLES.values() if one[1] == view}
        return {name for name in names if found[f"{name} {view}"] is kind}

    assert having("table", posenc.Tensor) == literals("OneTableName")
    assert having("table", posenc.Tensors) == literals("RotaryName")
    assert having("bias", posenc.Tensor) == literals("OneBiasName")
    assert having("bias", posenc.Tensors) == {"alibi"}
    views = {one[1] for one in EXAMPLES.values()} - {"table", "bias"}
    assert views == literals("OneViewName") | literals("SeveralViewName")
    for view in views:
        kind = posenc.Tensor if view in literals("OneViewName") else posenc.Tensors
        assert having(view, kind) == {one[0] for one in EXAMPLES.values() if one[1] == view}


@pytest.mark.parametrize(
    "given,names",
    [
        ({"part": "cos"}, ["cos"]),
        ({"part": "both"}, ["cos", "sin"]),
        ({"part": "complex"}, ["complex"]),
        ({"cache": "vllm"}, ["cos_sin_cache"]),
        ({"cache": "onnx"}, ["cos_cache", "sin_cache"]),
    ],
)
def test_parameters_decide_as_well(door, given, names):
    found = door.table("rope", dim=8, length=5, **given)
    assert list(found.names) == names
    assert type(found) is (posenc.Tensor if len(names) == 1 else posenc.Tensors)


def test_a_bias_of_weights_is_one_array(door):
    weights = numpy.ones((32, 2), "f4")
    found = door.bias("t5", weights=weights, query_length=3)
    assert type(found) is posenc.Tensor and found.names == ("bias",) and found.shape == (2, 3, 3)
    shaw = {"max_relative_position": 2, "query_length": 3}
    assert type(door.bias("shaw", **shaw)) is posenc.Tensor


def test_a_table_of_a_config(door, tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "llama", "head_dim": 8}')
    cos, sin = door.table(config=tmp_path, length=5)
    assert cos.shape == sin.shape == (5, 4)
    bias = door.bias(config={"model_type": "bloom", "n_head": 2}, query_length=2)
    assert bias.names == ("bias", "slopes")


# ---- an array ------------------------------------------------------------------------------------


def table(**given):
    return posenc.table("sinusoidal", **{"dim": 8, "length": 5} | given)


PLAIN = {
    "a row": lambda one: one[0],
    "rows": lambda one: one[1:],
    "chosen": lambda one: one[one > 0],
    "the first of an iteration": lambda one: next(iter(one)),
    "sum": lambda one: one + 1,
    "sum from the right": lambda one: 1 + one,
    "sum of two": lambda one: one + one,
    "sum with an array": lambda one: one + numpy.ones(8),
    "negative": lambda one: -one,
    "comparison": lambda one: one == one,
    "product": lambda one: one @ numpy.ones((8, 2), "f4"),
    "function": numpy.sin,
    "mean of rows": lambda one: one.mean(axis=1),
    "rounded": lambda one: one.round(2),
    "clipped": lambda one: one.clip(0, 1),
    "joined": lambda one: numpy.concatenate([one, one]),
    "stacked": lambda one: numpy.stack([one, numpy.ones_like(one)]),
    "where": lambda one: numpy.where(one > 0, one, 0),
    "einsum": lambda one: numpy.einsum("ij,kj", one, one),
    "singular values": lambda one: numpy.linalg.svd(one)[1],
    "asarray": numpy.asarray,
    "by its name": lambda one: one["table"],
    "into another": lambda one: numpy.add(one, 1, out=numpy.zeros((5, 8), "f4")),
}
# NumPy makes these of the same type.
NAMELESS = {
    "transposed": lambda one: one.T,
    "copy": lambda one: one.copy(),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "f64": lambda one: one.astype("f8"),
    "reshaped": lambda one: one.reshape(-1),
    "a view": lambda one: one.view(),
    "bits": lambda one: one.view("u4"),
}
SCALARS = {
    "element": lambda one: one[1, 2],
    "sum": lambda one: one.sum(),
    "largest": lambda one: one.max(),
    "norm": numpy.linalg.norm,
    "median": numpy.median,
}


@pytest.mark.parametrize("how", PLAIN)
def test_what_is_made_of_an_array_is_plain(how):
    found, expected = (
        PLAIN[how](table()),
        PLAIN[how](table()["table"] if how != "by its name" else table()),
    )
    assert type(found) is numpy.ndarray
    assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("how", NAMELESS)
def test_copies_have_nothing_of_the_answer(how):
    found, expected = NAMELESS[how](table()), NAMELESS[how](table()["table"])
    assert (found.names, found.encoding, found.warnings, found.info) == ((), {}, (), {})
    assert found.tobytes() == expected.tobytes() and repr(found) == repr(expected)
    assert found._repr_html_() is None and found.as_dict() == {}
    with pytest.raises(AttributeError):
        print(found.table)
    again = pickle.loads(pickle.dumps(found))
    assert type(again) is numpy.ndarray and again.tobytes() == expected.tobytes()


@pytest.mark.parametrize("how", SCALARS)
def test_an_element_is_a_number(how):
    found, expected = SCALARS[how](table()), SCALARS[how](table()["table"])
    assert type(found) is type(expected) and found == expected


def test_an_array_is_written_to_where_it_is():
    found = same = table()
    found += 1
    found[0] = 7
    numpy.multiply(found, 2, out=found)
    assert found is same and found.names == ("table",) and (found[0] == 14).all()
    assert found.table[1, 1] == found[1, 1] and found.encoding["dim"] == 8


def test_an_array_is_shown_as_numpy_shows_it():
    found = table()
    assert repr(found) == repr(numpy.asarray(found)) and str(found) == str(numpy.asarray(found))
    assert {"names", "table", "plot", "shape"} <= set(dir(found))
    with pytest.raises(KeyError, match="cos; there are table"):
        print(found["cos"])
    with pytest.raises(AttributeError, match="cos; there are table"):
        print(found.cos)


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16"])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_array_travels_between_processes(protocol, dtype):
    found = table(dtype=dtype)
    again = pickle.loads(pickle.dumps(found, protocol))
    assert type(again) is type(found) and again.dtype == found.dtype
    assert again.tobytes() == found.tobytes() and again.flags.writeable
    assert (again.names, again.encoding) == (("table",), found.encoding)
    assert again._repr_html_() is None


def test_a_pickle_copies_no_array():
    found, buffers = table(), []
    text = pickle.dumps(found, 5, buffer_callback=buffers.append)
    assert [len(one.raw()) for one in buffers] == [found.nbytes] and len(text) < 1000
    assert pickle.loads(text, buffers=buffers).tobytes() == found.tobytes()


def test_bits_of_bfloat16_are_marked():
    """Whether ml_dtypes is there or not, the array goes in as it came out."""
    found = table(dtype="bf16")
    assert isinstance(found, posenc.Tensor) and found.names == ("table",)
    assert posenc.diagnose("sinusoidal", found).verdict == "match"
    if isinstance(found, posenc.BF16):
        assert found.to_float32().shape == (5, 8) and found.to_float32()[0, 1] == 1
        assert type(found[1:]) is type(found.table) is posenc.BF16
        assert isinstance(found.copy(), posenc.BF16)


def test_an_array_is_an_argument_like_any():
    found = table()
    assert posenc.diagnose(found).verdict == posenc.diagnose(found.copy()).verdict == "consistent"
    assert posenc.compare(found, {"name": "sinusoidal"}).unequal == 0
    again = posenc.table("learned", table=found, length=5)
    assert again.tobytes() == found.tobytes()
    with pytest.raises(TypeError, match="similarity has nothing to diagnose"):
        posenc.diagnose(posenc.view("rope", "similarity", dim=4, length=3))
    posenc.rotate_in_place("rope", found[:, None], axes="shd", layout="half", start=0)
    assert (found[1] != posenc.table("sinusoidal", dim=8, length=5)[1]).any()


# ---- pictures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", EXAMPLES)
def test_a_notebook_shows_the_picture_of_the_request(door, key):
    found = viewed(door, key)
    svg = picture(found)
    assert xml.etree.ElementTree.fromstring(svg).tag.endswith("svg")
    if key in FETCHED:
        assert svg == posenc.request("GET", f"{FETCHED[key][2]}&format=svg").content
    for name, array in found.as_dict().items():
        assert f"{name}: {array.dtype}{list(array.shape)}" in html(found).find("img").get("alt")


def test_pictures_with_asyncio(url):
    """Also when the connections are closed, and while the loop runs."""

    async def ask():
        async with posenc.connect_async(url) as remote:
            inside = [(await viewed(remote, "rope table"))._repr_html_()]
            return inside, [await viewed(remote, key) for key in EXAMPLES]

    inside, found = asyncio.run(ask())
    assert inside == [viewed(posenc, "rope table")._repr_html_()]
    for key, one in zip(EXAMPLES, found):
        here = viewed(posenc, key)
        assert type(one) is type(here) and one._repr_html_() == here._repr_html_()


LONG = list(range(0, 3000, 3))
BODIES = {
    "config": {"config": {"model_type": "llama", "head_dim": 8}, "length": 9},
    "long": {"encoding": "rope", "dim": 8, "positions": LONG},
    "object": {"encoding": {"name": "rope", "dim": 8, "base": 50}, "length": 9},
    "f16": {"encoding": "sinusoidal", "dim": 8, "length": 9, "dtype": "f16"},
    "bf16": {"encoding": "sinusoidal", "dim": 8, "length": 9, "dtype": "bf16"},
}


@pytest.mark.parametrize("name", BODIES)
def test_pictures_of_requests_with_a_body(door, name):
    given = dict(BODIES[name])
    svg = picture(door.table(given.pop("encoding", None), **given)).decode()
    assert "position" in svg and "base 50" in svg or name != "object"


RECIPROCALS = [1 / number for number in range(1, 999)]


def test_pictures_of_posted_arrays(door):
    weights = numpy.arange(64, dtype="f4").reshape(32, 2)
    assert b"head 1" in picture(door.bias("t5", weights=weights, query_length=9))
    assert b"<svg" in picture(door.view("t5", "decay", weights=weights, max_offset=9))
    assert b"<svg" in picture(
        door.frequencies("rope", dim=1996, rope_type="custom", inv_freq=RECIPROCALS)
    )


def test_a_picture_is_drawn_when_it_is_displayed():
    answer = b'{"tensors": {"table": {"dtype": "f32", "shape": [1], "base64": "AAAAAA=="}}}'
    client, requests = scripted.recording(
        scripted.reply(answer), scripted.reply(b"<svg/>", "image/svg+xml")
    )
    found = client.frequencies("sinusoidal", dim=4)
    repr(found), str(found), found.table, pickle.dumps(found)
    assert len(requests) == 1 and found.info == {}
    assert picture(found) == b"<svg/>"
    assert requests[1].target == "/v1/encodings/sinusoidal/frequencies?dim=4&format=svg"
    assert (requests[1].method, requests[1].fields, requests[1].body) == ("GET", (), ())


def test_a_table_of_shapes_where_there_is_no_picture(door):
    found = door.table("rope", dim=8, length=5, part="complex")
    assert picture(found) is None and shapes(found) == [["complex", "float32", "[5, 4, 2]"]]


ANSWER = (
    b'{"tensors": {"a<b": {"dtype": "f32", "shape": [1], "base64": "AAAAAA=="},'
    b' "c": {"dtype": "i64", "shape": [0, 2], "base64": ""}}}'
)
ANSWERED = (
    scripted.OK.replace(b": 2\r\n", b": %d\r\n" % len(ANSWER))
    + b"Connection: close\r\n\r\n"
    + ANSWER
)
SHAPES = [["a<b", "float32", "[1]"], ["c", "int64", "[0, 2]"]]


def test_a_table_of_shapes_when_the_server_is_gone():
    with scripted.server([ANSWERED]) as found:
        answer = posenc.connect(found.url).frequencies("rope", dim=4)
    assert shapes(answer) == SHAPES


@pytest.mark.parametrize(
    "second", [scripted.NEVER, scripted.refusal(503, "30"), b"no HTTP\r\n\r\n", scripted.WHOLE[:20]]
)
def test_a_table_of_shapes_when_the_server_does_not_draw(second, monkeypatch):
    """A notebook does not wait for long."""
    monkeypatch.setattr(_http, "PICTURE_TIMEOUT", 0.3)
    with scripted.server([ANSWERED], [second]) as found:
        answer = posenc.connect(found.url, token="a-secret").frequencies("rope", dim=4)
        assert shapes(answer) == SHAPES
    assert found.lines[1] == "GET /v1/encodings/rope/frequencies?dim=4&format=svg HTTP/1.1"
    assert found.requests[1].fields["authorization"] == "Bearer a-secret"
    assert len(found.requests) == 2


# ---- plots ---------------------------------------------------------------------------------------


def drawn(ax):
    """The numbers of a curve or a heat map."""
    return ax.images[0].get_array() if ax.images else ax.lines[0].get_ydata()


@pytest.mark.parametrize("key", EXAMPLES)
def test_each_array_is_drawn_on_axes_of_its_own(key):
    found = viewed(posenc, key)
    axes = found.plot() if isinstance(found, posenc.Tensors) else [found.plot()]
    assert [ax.get_title() for ax in axes] == list(found.names)
    for ax, array in zip(axes, found.as_dict().values()):
        assert len(ax.images) == (array.ndim > 1) and len(ax.lines) == (array.ndim == 1)
        expected = array.reshape(-1, array.shape[-1]) if array.ndim > 1 else array
        assert numpy.array_equal(numpy.ma.filled(drawn(ax), numpy.nan), expected, equal_nan=True)
        assert ax.get_xlabel() and (array.ndim == 1 or ax.get_ylabel())


def test_plots_on_axes_that_are_given():
    figure, axes = pyplot.subplots(1, 2)
    angles = posenc.table("rope", dim=8, length=5)
    assert angles.plot(axes) == list(axes) and len(pyplot.get_fignums()) == 1
    assert table().plot(axes[1]) is axes[1] and len(axes[1].images) == 2
    with pytest.raises(ValueError, match="2 arrays are drawn on 2 axes, not on 1"):
        angles.plot(axes[:1])
    assert axes[0].get_ylabel() == "row" and axes[0].yaxis_inverted()


def test_colours_and_scales_of_plots():
    """White is zero where there are both signs; frequencies are on a logarithmic axis."""
    image = table().plot().images[0]
    assert image.get_clim() == (-1, 1) and image.get_cmap().name == "RdBu_r"
    image = posenc.view("index", "similarity", length=4).plot().images[0]
    assert image.get_clim() == (0, 9) and image.get_cmap().name == "viridis"
    scales = [ax.get_yscale() for ax in posenc.frequencies("rope", dim=128).plot()]
    assert scales == ["log", "log", "linear"]
    bias = posenc.bias("alibi", heads=2, query_length=3, key_length=4)
    assert bias.plot()[0].get_ylabel() == "row of 2 × 3"


@pytest.mark.parametrize(
    "values,scale",
    [
        ([1, 1001], "log"),
        ([1, 1000], "linear"),
        ([1, 1001, numpy.nan, numpy.inf], "log"),
        ([0, 1, 1001], "linear"),
        ([-1, 1, 1001], "linear"),
        ([-1001, -1], "linear"),
        ([1e-9, 1e-5], "log"),
        ([5], "linear"),
        ([], "linear"),
        ([numpy.nan], "linear"),
    ],
)
def test_the_axis_of_a_curve(values, scale):
    """Logarithmic where all numbers are positive and over a factor of 1000 apart."""
    array = numpy.array(values, "f4")
    (ax,) = posenc.Tensors([("a", array)]).plot()
    assert ax.get_yscale() == scale and len(ax.lines) == 1


@pytest.mark.parametrize(
    "given",
    [{"length": 0}, {"dtype": "bf16"}, {"dtype": "f16"}, {"dtype": "f64"}, {"length": 1, "dim": 1}],
)
def test_plots_of_any_array(given):
    found = table(**given)
    ax = found.plot()
    ax.figure.canvas.draw()
    assert len(ax.images) == (found.size > 0)
    assert table()[0:1].view(posenc.Tensor).plot().get_title() == ""


def test_values_that_are_not_finite_are_left_out():
    found = table()
    found[0, 0], found[1, 1] = numpy.inf, numpy.nan
    image = found.plot().images[0]
    image.axes.figure.canvas.draw()
    assert image.get_clim() == (-1, 1)


def test_a_plot_needs_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for found in (table(), posenc.table("rope", dim=8, length=5)):
        with pytest.raises(ImportError, match=re.escape("pip install posenc[plot]")):
            found.plot()
    assert inspect.signature(posenc.Tensor.plot).parameters["ax"].default is None


@pytest.mark.parametrize("side", ("a", "b"))
def test_a_side_of_a_comparison_is_one_array(door, side):
    """An answer of one array is that array; one of two is refused with their names."""
    one = door.table("sinusoidal", dim=4, length=3)
    two = door.table("rope", dim=4, length=3)
    assert door.compare(one, one).unequal == 0
    sides = {"a": one, "b": one} | {side: two}
    with pytest.raises(TypeError, match=r"answer\.cos or answer\.sin"):
        door.compare(sides["a"], sides["b"])
