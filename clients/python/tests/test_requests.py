# SPDX-License-Identifier: MIT
"""Every parameter of every function arrives at the service under its name, and every kind of value
and array as it is. The requests are read and not sent."""

import functools
import inspect
import json
import pathlib
import typing

import numpy
import posenc
import pytest
import scripted
from posenc import _arrays
from posenc._functions import Functions

SAFETENSORS, JSON = "application/x-safetensors", "application/json"
Q = numpy.arange(8, dtype="f4").reshape(1, 1, 2, 4)

# How each function is called, its path, the media type that it accepts, and the names of the
# arguments before the keywords.
FUNCTIONS = {
    "table": (["rope"], "/v1/encodings/rope/table", SAFETENSORS, ()),
    "frequencies": (["rope"], "/v1/encodings/rope/frequencies", JSON, ()),
    "bias": (["t5"], "/v1/encodings/t5/bias", SAFETENSORS, ()),
    "view": (["rope", "decay"], "/v1/encodings/rope/analysis/decay", JSON, ()),
    "rotate": (["rope"], "/v1/rotation", SAFETENSORS, ("encoding",)),
    "attention": (["rope"], "/v1/attention", SAFETENSORS, ("encoding",)),
    "embedding": (["sinusoidal"], "/v1/embedding", SAFETENSORS, ("encoding",)),
    "layout": (["half", "meta"], "/v1/layout", JSON, ("from_layout", "to_layout")),
    "config": ([{"model_type": "x"}], "/v1/config", JSON, ("config",)),
    "diagnose": (["rope"], "/v1/diagnosis", JSON, ("encoding",)),
    "positions": (["qwen2_vl"], "/v1/positions", SAFETENSORS, ("model_type",)),
    "diagnose_positions": ([[1, 2]], "/v1/positions", JSON, ("position_ids",)),
    "compare": (["rope", {"name": "alibi"}], "/v1/comparison", JSON, ("a", "b")),
}
# Tensors by argument, as lists of numbers too; other arguments that are arrays are tensors as well.
TENSORS = {
    "rotate": {"q", "k"},
    "attention": {"q", "k", "v"},
    "embedding": {"x"},
    "diagnose": {"inv_freq", "cos", "sin", "table", "q", "q_rotated", "k", "k_rotated"},
}
CONFIG = {"model_type": "llama", "head_dim": 8}


@functools.cache
def hints(name):
    return typing.get_type_hints(getattr(Functions, name))


def keywords():
    for name in FUNCTIONS:
        for key, parameter in inspect.signature(getattr(posenc.Local, name)).parameters.items():
            if parameter.kind in (
                parameter.KEYWORD_ONLY,
                parameter.POSITIONAL_OR_KEYWORD,
            ) and key not in ("self", "config", "from_layout", "to_layout"):
                yield name, key


def values_of(name, key):
    """(an argument, what arrives as a text, what arrives in JSON)"""
    if key in TENSORS.get(name, ()):
        return []
    if key == "against":
        return [(CONFIG, None, CONFIG)]
    if key not in hints(name):
        return [(3, "3", 3)]
    kinds = typing.get_args(hints(name)[key]) or (hints(name)[key],)
    if key == "dtype":
        return [(numpy.float16, "float16", "float16"), ("bf16", "bf16", "bf16")]
    if bool in kinds:
        return [(True, "true", True), (False, "false", False)]
    if int in kinds:
        return [(7, "7", 7)]
    if float in kinds:
        return [(2.5, "2.5", 2.5)]
    return [("a,b&c", "a,b&c", "a,b&c"), ([1, 2], "1,2", [1, 2])]


def sent(name, *arguments, **parameters):
    client, requests = scripted.recording()
    with pytest.raises(scripted.Sent):
        getattr(client, name)(*arguments, **parameters)
    return scripted.understood(requests[0])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_its_path(name):
    arguments, path, accept, names = FUNCTIONS[name]
    found = sent(name, *arguments)
    assert (found.path, found.accept) == (path, accept)
    expected = dict(zip(names, arguments)) if names != ("config",) else arguments[0]
    if name == "config":
        assert found.parameters == {"config": arguments[0]}
    else:
        assert found.parameters == expected
    assert not found.tensors


@pytest.mark.parametrize("name,key", list(keywords()))
def test_a_parameter_arrives_under_its_name(name, key):
    arguments = FUNCTIONS[name][0]
    for value, as_text, in_json in values_of(name, key):
        found = sent(name, *arguments, **{key: value})
        expected = in_json if found.type == JSON else as_text
        assert found.parameters.pop(key) == expected
        assert set(found.parameters) <= set(FUNCTIONS[name][3]) and not found.tensors


@pytest.mark.parametrize(
    "name,key",
    [
        (name, key)
        for name, key in keywords()
        if FUNCTIONS[name][1].count("/") == 2
        and name not in ("config", "compare")
        and hints(name)[key] is typing.Any
        and key != "dtype"
    ],
)
def test_a_tensor_arrives_under_its_name(name, key):
    arguments = FUNCTIONS[name][0]
    found = sent(name, *arguments, **{key: Q})
    assert found.tensors == {key: ("f32", [1, 1, 2, 4], Q.tobytes())}
    assert key not in found.parameters
    if key in TENSORS.get(name, ()):
        found = sent(name, *arguments, **{key: [[1, 2], [3, 4]]})
        assert found.tensors[key][1] == [2, 2]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters_without_a_name_here_arrive_too(name):
    found = sent(name, *FUNCTIONS[name][0], of_tomorrow=3)
    assert found.parameters["of_tomorrow"] in ("3", 3)
    nothing = sent(name, *FUNCTIONS[name][0], of_tomorrow=None)
    assert "of_tomorrow" not in nothing.parameters


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in FUNCTIONS
        if name not in ("config", "compare", "layout", "positions", "diagnose_positions")
    ],
)
def test_a_config_goes_along(name):
    found = sent(name, *FUNCTIONS[name][0], config=CONFIG)
    assert found.parameters["config"] == CONFIG
    if name in TENSORS:  # beside tensors all goes as text
        found = sent(name, *FUNCTIONS[name][0], config=CONFIG, **{sorted(TENSORS[name])[0]: Q})
        assert json.loads(found.parameters["config"]) == CONFIG


def test_signatures_name_what_the_contract_has():
    """Editors complete keywords; the keywords are those of each route."""
    for name, least in (
        ("table", 50),
        ("rotate", 40),
        ("attention", 70),
        ("diagnose", 15),
        ("compare", 12),
        ("layout", 5),
        ("config", 3),
        ("positions", 15),
    ):
        for door in (posenc.Local, posenc.Remote, posenc.AsyncRemote):
            parameters = inspect.signature(getattr(door, name)).parameters
            named = [key for key, one in parameters.items() if one.kind is not one.VAR_KEYWORD]
            assert len(named) >= least, name
        assert inspect.signature(getattr(posenc, name)).parameters.keys() == parameters.keys() - {
            "self"
        }
    named = inspect.signature(posenc.table).parameters.keys()
    assert {"dim", "base", "length", "rope_type"} <= named
    own = {
        one["name"]: one["parameters"]["properties"]
        for one in posenc.encodings("rope")["operations"]
    }
    given = inspect.signature(posenc.view).parameters.keys()
    assert (
        not {key for view in own.values() for key in view}
        - set(given)
        - {
            "format",
            "flat",
            "data_format",
            "download",
            "revision",
            "plot",
            "plot_columns",
            "plot_width",
            "plot_height",
            "plot_scale",
            "colormap",
            "theme",
            "title",
            "lang",
        }
    )


# ---- functions whose requests have a form of their own -------------------------------------------

GGUF = b"GGUF" + bytes(60)
GOLDEN = posenc.Tensors([("q", Q)], info={"golden": {"format": 1}})
# How each is called, its path, and what arrives beside what is asked for. A path in the place of a
# config is that of a GGUF file.
FILE = pathlib.Path("model.gguf")
OWN_FORMS = {
    "engines": ("engines", [], "/v1/engines", {}),
    "lint": ("lint", [CONFIG], "/v1/lint", {"config": CONFIG}),
    "extend": ("extend", [CONFIG, 9], "/v1/extend", {"config": CONFIG, "to": 9}),
    "golden": ("golden", [CONFIG], "/v1/golden", {"config": CONFIG}),
    "check": ("check", [{"q": Q}, GOLDEN], "/v1/check", {"golden": '{"format":1}'}),
    "golden of a GGUF file": ("golden", [FILE], "/v1/golden", {}),
    "config of a GGUF file": ("config", [FILE], "/v1/config", {}),
}
# Names of arguments that are words of Python in the service's place.
NAMED_OTHERWISE = {("lint", "engines"): "for", ("extend", "engines"): "for"}


@pytest.fixture
def gguf(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FILE.write_bytes(GGUF)


def keywords_of(name):
    for key, parameter in inspect.signature(getattr(posenc.Local, name)).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            yield key


@pytest.mark.parametrize("form", OWN_FORMS)
def test_every_argument_of_another_form_arrives(form, gguf):
    """Alone, together with all others, and one of which this package has no name."""
    name, arguments, path, beside = OWN_FORMS[form]
    every = {}
    for key in [*keywords_of(name), "of_tomorrow"]:
        value, as_text, in_json = values_of(name, key)[0]
        found = sent(name, *arguments, **{key: value})
        expected = {
            NAMED_OTHERWISE.get((name, key), key): in_json if found.type == JSON else as_text
        }
        assert (found.path, found.parameters) == (path, beside | expected)
        every[key] = value, expected
    found = sent(name, *arguments, **{key: value for key, (value, _) in every.items()})
    together = [expected for _, expected in every.values()]
    assert found.parameters == beside | {k: v for one in together for k, v in one.items()}


def test_every_function_is_in_a_list():
    """Besides those without parameters of the service, which have tests of their own."""
    own = {"encodings", "request", "probe", "audit", "rotate_in_place"}
    public = {name for name in dir(posenc.Local) if not name.startswith("_")}
    assert public == own | FUNCTIONS.keys() | {one[0] for one in OWN_FORMS.values()}


@pytest.mark.parametrize("view", ["table", "bias", "scale", "decay"])
def test_parameters_beside_a_gguf_file_arrive(view, gguf):
    """Those of the file in its request, all others in that of the view."""
    told = scripted.reply(b'{"encoding": {"name": "rope", "base": 7}}')
    given = {key: values_of("view", key)[0] for key in keywords_of("view") if key != "config"}
    client, requests = scripted.recording(told)
    with pytest.raises(scripted.Sent):
        client.view(None, view, config=FILE, **{key: one[0] for key, one in given.items()})
    first, second = map(scripted.understood, requests)
    assert first.parameters == {"layer_type": given.pop("layer_type")[1]}
    assert second.parameters.pop("encoding") == {"name": "rope", "base": 7}
    assert second.parameters == {key: in_json for key, (_, _, in_json) in given.items()}


# ---- views ---------------------------------------------------------------------------------------

VIEW_PATHS = {
    "table": "table",
    "frequencies": "frequencies",
    "bias": "bias",
    "scale": "scale",
    "decay": "analysis/decay",
    "similarity": "analysis/similarity",
    "analysis/shift": "analysis/shift",
}


@pytest.mark.parametrize("view", VIEW_PATHS)
def test_paths_and_formats_of_views(view):
    """Large answers come as safetensors; small ones as JSON, whose tensors are bytes."""
    client, requests = scripted.recording()
    with pytest.raises(scripted.Sent):
        client.view("rope/x", view, dim=4)
    binary = view in ("table", "bias", "similarity")
    assert requests[0].target == f"/v1/encodings/rope%2Fx/{VIEW_PATHS[view]}?dim=4" + (
        "" if binary else "&data_format=base64"
    )
    assert dict(requests[0].fields) == {"Accept": SAFETENSORS if binary else JSON}


def test_an_encoding_is_a_name_or_an_object():
    rope = {"name": "rope", "dim": 8, "base": 50}
    found = sent("table", rope, length=2)
    assert (found.method, found.path) == ("POST", "/v1/encodings/rope/table")
    assert found.parameters == {"encoding": rope, "length": 2}
    found = sent("rotate", rope, q=Q, axes="bhsd")
    assert found.parameters == {"encoding": "rope", "dim": "8", "base": "50", "axes": "bhsd"}
    found = sent("rotate", rope, q=Q, base=7)  # given twice: the service refuses
    assert found.parameters == {"encoding": rope, "base": 7} and found.type == JSON


def test_a_long_query_is_a_body():
    short, long = list(range(0, 900, 3)), list(range(0, 3000, 3))
    found = sent("table", "rope", positions=short)
    assert (found.method, found.parameters) == ("GET", {"positions": ",".join(map(str, short))})
    found = sent("table", "rope", positions=long)
    assert (found.method, found.parameters) == ("POST", {"positions": long})
    client, requests = scripted.recording()
    with pytest.raises(scripted.Sent):
        client.frequencies("rope", inv_freq=long)
    assert requests[0].target.endswith("?data_format=base64")


@pytest.mark.parametrize("name", ["rope", "n" * 300])
@pytest.mark.parametrize("size", [1999, 2000, 2001])
def test_a_query_of_over_2000_characters_is_a_body(name, size):
    for call in (
        lambda client: client.table(name, given="x" * (size - 6)),
        lambda client: client.view(name, "decay", given="x" * (size - 6)),
    ):
        client, requests = scripted.recording()
        with pytest.raises(scripted.Sent):
            call(client)
        assert requests[0].method == ("GET" if size <= 2000 else "POST")
        assert scripted.understood(requests[0]).parameters == {"given": "x" * (size - 6)}


def test_tensors_of_views():
    for name in ("table", "weights"):
        found = sent("bias", "t5", heads=2, **{name: Q})
        assert found.tensors == {name: ("f32", [1, 1, 2, 4], Q.tobytes())}
        own = {"table": "tensor:table"} if name == "table" else {}
        assert found.parameters == {"heads": "2"} | own and found.method == "POST"
    assert sent("table", "x", table="a").parameters == {"table": "a"}


def test_a_view_of_a_config_reads_its_encoding_first():
    config = CONFIG | {"layers": [1]}
    told = scripted.reply(b'{"encoding": {"name": "alibi"}}')
    client, requests = scripted.recording(told)
    with pytest.raises(scripted.Sent):
        client.view(None, "bias", config=config, layer_type="full", length=2)
    first, second = map(scripted.understood, requests)
    assert first.path == "/v1/config"
    assert first.parameters == {"config": config, "layer_type": "full"}
    assert second.path == "/v1/encodings/alibi/bias"
    assert second.parameters == {"config": config, "layer_type": "full", "length": 2}


@pytest.mark.parametrize("given", [{}, {"height": 2}, {"width": 3}, {"height": 2, "width": 3}])
@pytest.mark.parametrize("kind", ["_class_name", "model_type"])
def test_the_size_of_latents_goes_with_a_config_of_diffusers(given, kind):
    """Of the other configs nothing but the type of layers."""
    told = scripted.reply(b'{"encoding": {"name": "rope"}}')
    client, requests = scripted.recording(told)
    with pytest.raises(scripted.Sent):
        client.view(None, "bias", config={kind: "x"}, layer_type="y", dim=4, **given)
    first, second = map(scripted.understood, requests)
    beside = given if kind == "_class_name" else {}
    assert first.parameters == {"config": {kind: "x"}, "layer_type": "y", **beside}
    assert second.parameters == {"config": {kind: "x"}, "layer_type": "y", "dim": 4, **given}


def test_a_gguf_file_goes_as_its_head(tmp_path):
    head = b"GGUF" + bytes(60)
    (tmp_path / "m.gguf").write_bytes(head)
    told = scripted.reply(b'{"encoding": {"name": "rope", "base": 7}}')
    client, requests = scripted.recording(told)
    with pytest.raises(scripted.Sent):
        client.table(config=tmp_path / "m.gguf", layer_type="full", length=2)
    assert requests[0].target == "/v1/config?layer_type=full"
    assert dict(requests[0].fields) == {"Content-Type": "application/x-gguf", "Accept": JSON}
    assert requests[0].body == (head,)
    found = scripted.understood(requests[1])
    assert found.parameters == {"encoding": {"name": "rope", "base": 7}, "length": 2}
    client, requests = scripted.recording()
    with pytest.raises(scripted.Sent):
        client.config(str(tmp_path / "m.gguf"))
    assert requests[0].target == "/v1/config"
    (tmp_path / "other").write_bytes(b"GG\xff\xff")
    with pytest.raises(UnicodeDecodeError):  # it is read as a text
        client.config(tmp_path / "other")


def test_the_text_of_a_config_is_not_written_anew():
    text = ' \n {"rope_theta": 1e4, "big": 1E400, "note": "%s"}' % ("x" * 5000)
    client, requests = scripted.recording()
    with pytest.raises(scripted.Sent):
        client.config(text, strict=True)
    assert b"".join(requests[0].body) == b'{"config":' + text.encode() + b',"strict":true}'


# ---- values --------------------------------------------------------------------------------------

TEXTS = [
    (True, "true"),
    (numpy.bool_(False), "false"),
    (3, "3"),
    (numpy.int64(-3), "-3"),
    (0.1, "0.1"),
    (numpy.float32(0.5), "0.5"),
    (1e300, "1e+300"),
    ("a b", "a b"),
    (range(2, 5), "2..4"),
    (range(0, 6, 2), "0,2,4"),
    (range(3, 3), ""),
    ([1, 2.5], "1,2.5"),
    ((1, True), "1,true"),
    ([[1, 2], [3]], "1,2;3"),
    ([(1, 2), (3, 4)], "1,2;3,4"),
    (numpy.float64(numpy.inf), "inf"),
]


@pytest.mark.parametrize("value,text", TEXTS, ids=[text for _, text in TEXTS])
def test_the_text_of_a_value(value, text):
    found = sent("table", "rope", given=value)
    assert found.parameters == {"given": text}
    assert sent("rotate", q=Q, given=value).parameters == {"given": text}


VALUES = [
    (range(2, 5), "2..4"),
    (numpy.float32(0.5), 0.5),
    (numpy.bool_(True), True),
    (float("inf"), "Infinity"),
    (float("-inf"), "-Infinity"),
    ([float("nan"), 1.5], ["NaN", 1.5]),
    ({"a": float("inf"), "b": 1.25}, {"a": "Infinity", "b": 1.25}),
    ((1, 2), [1, 2]),
    ({"a": numpy.int32(4)}, {"a": 4}),
    ([numpy.array([1, 2])], [[1, 2]]),
]


@pytest.mark.parametrize("value,expected", VALUES, ids=[str(one) for _, one in VALUES])
def test_a_value_in_json(value, expected):
    found = sent("compare", "rope", "alibi", given=value, other=0.5)
    assert found.parameters["given"] == expected and found.parameters["other"] == 0.5


class Torch:
    """As torch writes the names of its types."""

    def __str__(self):
        return "torch.bfloat16"


@pytest.mark.parametrize(
    "dtype,name",
    [
        ("f16", "f16"),
        (numpy.float64, "float64"),
        (numpy.dtype("<f2"), "float16"),
        (float, "float64"),
        (Torch(), "bfloat16"),
    ],
)
def test_the_name_of_a_dtype(dtype, name):
    assert sent("table", "rope", dtype=dtype).parameters == {"dtype": name}


# ---- arrays --------------------------------------------------------------------------------------

BITS = numpy.arange(16, dtype="u1")
DTYPES = {
    "f64": "<f8",
    "f32": "<f4",
    "f16": "<f2",
    "i64": "<i8",
    "i32": "<i4",
    "u32": "<u4",
    "u8": "u1",
    "bool": "?",
    "bf16": posenc.BF16,
}


def of_dtype(name):
    if name == "bf16":
        return _arrays.as_bf16(BITS.view("<u2")).reshape(2, -1)
    return (BITS % 2 if name == "bool" else BITS).view(DTYPES[name]).reshape(2, -1)


@pytest.mark.parametrize("name", DTYPES)
def test_arrays_of_every_dtype(name):
    """There, in both kinds of bodies; and back, in one part, two, and several."""
    array = of_dtype(name)
    expected = (name, list(array.shape), array.tobytes())
    assert sent("rotate", q=array).tensors == {"q": expected}
    assert sent("rotate", {"name": "rope", "base": 2}, base=1, q=array).tensors == {"q": expected}
    pieces = list(map(bytes, _arrays.safetensors_pieces({"b": Q, "a": array}, {"x": "y"})))
    whole = b"".join(pieces)
    cuts = [
        [whole],
        [pieces[0], whole[len(pieces[0]) :]],
        pieces,
        [whole[:30], whole[30:]],
        [pieces[0] + whole[len(pieces[0]) : len(pieces[0]) + 5], whole[len(pieces[0]) + 5 :]],
    ]
    for parts in cuts:
        if len(parts[0]) < len(pieces[0]):
            continue  # the header comes as a whole
        client, _ = scripted.recording(scripted.reply(b"", SAFETENSORS, parts=parts))
        found = client.rotate(q=Q)
        assert found.names == ("b", "a") and found.b.tobytes() == Q.tobytes()
        assert found.a.dtype == array.dtype and found.a.shape == array.shape
        assert found.a.tobytes() == array.tobytes() and type(found.a) is type(array)
    body = json.dumps({"tensors": {"a": _arrays.json_tensor(array)}, "x": 1}).encode()
    client, _ = scripted.recording(scripted.reply(body))
    found = client.frequencies("rope")
    assert found.a.dtype == array.dtype and found.a.tobytes() == array.tobytes()
    assert found.a.shape == array.shape and found.a.flags.writeable and found.info == {"x": 1}


def test_the_header_of_a_body_is_aligned():
    for length in range(1, 9):
        pieces = _arrays.safetensors_pieces({"n" * length: Q}, {})
        assert len(pieces[0]) % 8 == 0
        assert int.from_bytes(pieces[0][:8], "little") == len(pieces[0]) - 8


def test_bits_of_bfloat16_are_their_numbers():
    bits = numpy.array([0x3F80, 0xC000, 0x7F80, 0x0001], "u2").view(posenc.BF16)
    assert bits.to_float32().tolist() == [1, -2, float("inf"), 2.0**-133]


@pytest.mark.parametrize("given,dtype", [([1, 2], "i64"), ([1.0, 2], "f32"), ([True], "bool")])
def test_lists_as_arrays(given, dtype):
    assert sent("rotate", q=given).tensors["q"][0] == dtype


def test_arrays_that_are_not_in_order():
    wide = numpy.arange(16, dtype="f4").reshape(2, 8)
    for array in (wide[:, ::2], wide.T, wide.astype(">f4"), wide[::-1], wide[:, ::2].astype(">f4")):
        plain = numpy.ascontiguousarray(array, "<f4")
        assert sent("rotate", q=array).tensors["q"] == ("f32", list(array.shape), plain.tobytes())


WIDE = numpy.arange(24).reshape(2, 3, 4)
ORDERS = {
    "C": lambda one: one,
    "Fortran": numpy.asfortranarray,
    "transposed": numpy.transpose,
    "every second": lambda one: one[..., ::2],
    "backwards": lambda one: one[::-1, :, ::-1],
    "broadcast": lambda one: numpy.broadcast_to(one[:1], one.shape),
    "no axes": lambda one: one[1, 2, 3],
    "no elements": lambda one: one[:, :0],
    "odd address": lambda one: numpy.frombuffer(b"x" + one.tobytes(), one.dtype, offset=1),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ends", "<>")
@pytest.mark.parametrize("name", [name for name in DTYPES if name != "bf16"])
def test_arrays_of_every_order(name, ends, order):
    """Of elements and of their bytes, in every kind of body; the array itself stays as it was."""
    dtype = numpy.dtype(DTYPES[name])
    values = (WIDE % 2 == 0 if name == "bool" else WIDE).astype(dtype.newbyteorder(ends))
    array = numpy.asanyarray(ORDERS[order](values))
    before = array.tobytes(), array.strides, array.dtype
    plain = numpy.array(array, dtype.newbyteorder("<"), order="C")
    expected = {"q": (name, list(array.shape), plain.tobytes())}
    assert sent("rotate", q=array).tensors == expected
    assert sent("rotate", {"name": "rope", "base": 2}, base=1, q=array).tensors == expected
    assert sent("diagnose", q=array).tensors == expected
    table = {"table": expected["q"]}
    assert sent("bias", "t5", table=array).tensors == table
    assert sent("compare", array, {"name": "x"}).tensors == {"a": expected["q"]}
    assert (array.tobytes(), array.strides, array.dtype) == before


# ---- arrays of a diagnosis and a comparison ------------------------------------------------------


def test_a_diagnosis_takes_answers():
    """Under the names that they have; with and without what was expected."""
    rope = {"dim": 8, "length": 20}
    angles, table = posenc.table("rope", **rope), posenc.table("sinusoidal", **rope)
    frequencies = posenc.frequencies("rope", dim=8, base=500000)
    named = {"cos": angles.cos, "sin": angles.sin}
    for given in (angles, (angles.cos, angles.sin), named):
        assert sent("diagnose", given) == sent("diagnose", **named)
        assert sent("diagnose", "rope", given) == sent("diagnose", "rope", **named)
        assert sent("diagnose", given, config=CONFIG) == sent("diagnose", config=CONFIG, **named)
    assert sent("diagnose", {"name": "rope"}, angles).parameters == {"encoding": {"name": "rope"}}
    for given in (table, table.table, table.table.tolist()):
        assert sent("diagnose", given).tensors.keys() == {"table"}
    assert sent("diagnose", frequencies) == sent("diagnose", inv_freq=frequencies.inv_freq)
    assert posenc.diagnose(angles).verdict == "consistent"
    assert posenc.diagnose("rope", angles).verdict == "match"
    assert posenc.diagnose(table).verdict == "consistent"
    assert posenc.diagnose("rope", frequencies).verdict != "match"
    with pytest.raises(TypeError, match="bias, slopes has nothing to diagnose: inv_freq"):
        posenc.diagnose(posenc.bias("alibi", heads=2, query_length=2, key_length=2))


def test_a_comparison_takes_answers_of_one_array():
    table = posenc.table("sinusoidal", dim=4, length=3)
    for a, b in ((table, {"name": "sinusoidal"}), ({"name": "sinusoidal"}, table)):
        found = sent("compare", a, b)
        name = "a" if a is table else "b"
        assert found.tensors == {name: ("f32", [3, 4], table.table.tobytes())}
        assert found.parameters == {"a": a, "b": b} | {name: f"tensor:{name}"}
    with pytest.raises(TypeError, match="answer.cos or answer.sin"):
        posenc.compare(posenc.table("rope", dim=4, length=3), {"name": "rope"})


def test_a_request_is_sent_as_it_is():
    client, requests = scripted.recording()
    with pytest.raises(scripted.Sent):
        client.request("PUT", "/v1/x?y", b"body", {"If-Match": "*"})
    with pytest.raises(scripted.Sent):
        client.request("DELETE", "/v1/x")
    assert (requests[0].method, requests[0].target, requests[0].fields, requests[0].body) == (
        "PUT",
        "/v1/x?y",
        (("If-Match", "*"),),
        (b"body",),
    )
    assert (requests[1].method, requests[1].fields, requests[1].body) == ("DELETE", (), ())


def test_the_catalogue_is_asked_by_name():
    for arguments, path in (((), ""), (("a/b",), "/a%2Fb")):
        assert sent("encodings", *arguments).path == "/v1/encodings" + path
