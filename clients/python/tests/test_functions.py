# SPDX-License-Identifier: MIT
"""The functions, in the process and against a server; the values are checked elsewhere."""

import json
import pathlib
import pickle
import threading

import numpy
import posenc
import pytest

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "rope_theta": 500000,
    "eos_token_id": [1, 2],
    "scale": float("inf"),
}
Q = numpy.random.default_rng(0).standard_normal((1, 2, 5, 8)).astype(numpy.float32)
ASKED = {
    "table": lambda door: door.table("rope", dim=8, length=3),
    "positions": lambda door: door.table("sinusoidal", dim=4, positions=range(2, 900)),
    "many positions": lambda door: door.table("rope", dim=4, positions=list(range(0, 3000, 3))),
    "config": lambda door: door.table(config=LLAMA, length=4, dtype="f64"),
    "object": lambda door: door.view({"name": "rope", "dim": 8, "base": 50}, "table", length=2),
    "frequencies": lambda door: door.frequencies("rope", dim=8, rope_type="linear", factor=2.0),
    "bias": lambda door: door.bias("alibi", heads=2, query_length=2, key_length=3, causal=True),
    "weights": lambda door: door.bias(
        "t5", weights=numpy.ones((32, 2), "f4"), query_length=2, key_length=2
    ),
    "decay of weights": lambda door: door.view(
        "t5", "decay", weights=numpy.ones((32, 2), "f4"), max_offset=3
    ),
    "rotate": lambda door: door.rotate(
        "rope", q=Q, k=Q[:, :1], axes="bhsd", layout="half", positions=numpy.arange(5)
    ),
    "rotate by config": lambda door: door.rotate(
        q=Q, axes="bhsd", start=7, config={"model_type": "llama", "head_dim": 8}
    ),
    "rotate from to": lambda door: door.rotate(
        q=Q,
        axes="bhsd",
        layout="half",
        start=0,
        from_encoding={"name": "rope", "base": 100},
        to_encoding={"name": "rope", "base": 1000},
    ),
    "attention": lambda door: door.attention("rope", q=Q, k=Q, v=Q, layout="half", causal=True),
    "attention with a mask": lambda door: door.attention(
        "none",
        q=Q,
        k=Q,
        v=Q,
        window=2,
        softcap=3.0,
        sinks=numpy.zeros(Q.shape[1], Q.dtype),
        mask=numpy.eye(Q.shape[2], dtype=bool),
    ),
    "embedding": lambda door: door.embedding("sinusoidal", x=Q[0], start=0, merge_mode="add"),
    "tokens": lambda door: door.embedding("sinusoidal", tokens=["to", "be"], dim=4),
    "layout": lambda door: door.layout("meta", "half", head_dim=8),
    "rows": lambda door: door.layout(
        from_layout="meta",
        to_layout="half",
        head_dim=8,
        kind="projection_rows",
        w=numpy.arange(24, dtype="f4").reshape(8, 3),
    ),
}
REPORTS = {
    "config": lambda door: door.config(LLAMA, base=1000),
    "diagnose positions": lambda door: door.diagnose_positions(
        numpy.arange(1, 4), attention_mask=numpy.array([1, 1, 1])
    ),
    "diagnose": lambda door: door.diagnose("rope", inv_freq=numpy.array([1, 0.01])),
    "diagnose by config": lambda door: door.diagnose(
        config=LLAMA, inv_freq=(500000.0 ** (-numpy.arange(64) / 64)).astype("f4")
    ),
    "compare": lambda door: door.compare(
        {"name": "rope", "dim": 4}, LLAMA | {"head_dim": 4}, length=3
    ),
    "compare an array": lambda door: door.compare(
        numpy.cos(numpy.outer(numpy.arange(3), [1, 0.01])),
        {"name": "rope", "dim": 4},
        length=3,
        part="cos",
    ),
    "encodings": lambda door: door.encodings(),
    "encoding": lambda door: door.encodings("rope"),
}
WRONG = {
    "name": lambda door: door.table("rop", dim=8, length=3),
    "parameter": lambda door: door.table("rope", dim=8, lenght=3),
    "missing": lambda door: door.rotate("rope", q=Q, axes="bhsd", start=0),
    "shape": lambda door: door.rotate(
        "rope", q=Q, axes="bhsd", layout="half", positions=numpy.arange(4)
    ),
    "no json": lambda door: door.config("{"),
}


@pytest.mark.filterwarnings("ignore::posenc.EncodingWarning")
@pytest.mark.parametrize("name", ASKED)
def test_the_same_arrays_through_both_doors(remote, name):
    here, there = ASKED[name](posenc), ASKED[name](remote)
    assert here.names == there.names and len(here) > 0 and type(here) is type(there)
    for one, other in zip(here.as_dict().values(), there.as_dict().values()):
        assert one.dtype == other.dtype and one.shape == other.shape and one.flags.writeable
        assert one.tobytes() == other.tobytes()
    assert (here.encoding, here.info) == (there.encoding, there.info)


@pytest.mark.parametrize("name", REPORTS)
def test_the_same_report_through_both_doors(remote, name):
    assert REPORTS[name](posenc) == REPORTS[name](remote)


@pytest.mark.parametrize("name", WRONG)
def test_the_same_refusal_through_both_doors(remote, name):
    found = []
    for door in (posenc, remote):
        with pytest.raises(posenc.Refused) as refused:
            WRONG[name](door)
        found.append({**refused.value.problem, "request_id": None})
        assert str(refused.value) == refused.value.detail and refused.value.status >= 400
    assert found[0] == found[1] and found[0]["code"]


def test_a_config_is_a_dict_a_text_a_file_or_its_folder(tmp_path):
    text = json.dumps({"model_type": "llama", "head_dim": 64})
    (tmp_path / "config.json").write_text(text)

    class Object:
        def to_dict(self):
            return json.loads(text)

    told = [
        posenc.config(one)
        for one in (json.loads(text), text, tmp_path, str(tmp_path / "config.json"), Object())
    ]
    assert told.count(told[0]) == 5 and told[0].encoding["dim"] == 64


def test_a_config_is_a_gguf_file(door, tmp_path):
    """Its tensors behind the head are not looked at."""
    head = (pathlib.Path(__file__).parents[3] / "tests/data/gguf/llama-3.1.gguf").read_bytes()
    (tmp_path / "m.gguf").write_bytes(head + bytes(1000))
    report = door.config(tmp_path / "m.gguf")
    assert report.encoding["rope_type"] == "custom" and report.encoding["layout"] == "interleaved"
    table = door.table(config=str(tmp_path / "m.gguf"), length=3)
    assert table.cos.shape == (3, report.encoding["dim"] // 2)
    assert table.cos.tobytes() == door.table(report.encoding, length=3).cos.tobytes()
    with pytest.raises(ValueError, match="give the encoding"):
        door.rotate(q=Q, axes="bhsd", config=tmp_path / "m.gguf")


def test_layers_that_differ_are_named():
    gemma = {"model_type": "gemma3_text", "num_hidden_layers": 6, "head_dim": 4}
    q = numpy.ones((1, 2, 1, 4), numpy.float32)
    with pytest.raises(ValueError, match="sliding_attention, full_attention"):
        posenc.rotate_in_place(None, q, config=gemma, axes="bshd")
    posenc.rotate_in_place(None, q, config=gemma, axes="bshd", start=0, layer_type="full_attention")
    assert q[0, 1, 0, 0] != 1


@pytest.mark.parametrize("dtype", [numpy.float16, numpy.dtype("float16"), "float16", "f16"])
def test_a_dtype_by_any_name(dtype):
    assert posenc.table("rope", dim=4, length=2, dtype=dtype).cos.dtype == numpy.float16


def test_arguments_of_no_request():
    with pytest.raises(TypeError, match="an encoding is required"):
        posenc.table(dim=8, length=2)
    with pytest.raises(TypeError, match="posenc.request"):
        posenc.table("rope", dim=8, length=2, format="npy")
    with pytest.raises(FileNotFoundError):
        posenc.config("no-such-config.json")
    with pytest.raises(ValueError, match="setting:memory-budget"):
        posenc.Local(memory_budget="x").encodings()


def test_answers_and_refusals_travel_between_processes():
    answer = pickle.loads(pickle.dumps(posenc.table("rope", dim=4, length=2)))
    assert answer.names == ("cos", "sin") and answer.encoding["dim"] == 4 and answer.cos[0, 0] == 1
    with pytest.raises(posenc.Refused) as refused:
        posenc.table("rope", dim=4)
    assert pickle.loads(pickle.dumps(refused.value)).problem == refused.value.problem


def test_an_answer_is_a_tuple_with_names():
    angles = posenc.table("rope", dim=4, length=2)
    cos, sin = angles
    assert angles.cos is cos and angles["sin"] is sin and angles[1] is sin and len(angles[:1]) == 1
    assert dict(angles.as_dict()).keys() == {"cos", "sin"}
    with pytest.raises(KeyError, match="there are cos, sin"):
        print(angles["tan"])
    with pytest.raises(AttributeError, match="tan; there are cos, sin"):
        print(angles.tan)
    with pytest.raises(AttributeError, match="verdic; there are verdict, ambiguous"):
        print(posenc.diagnose(inv_freq=[1, 0.01]).verdic)
    assert posenc.frequencies("rope", dim=4).info == {"attention_factor": 1}


def test_what_an_answer_warns_of_is_a_warning():
    with pytest.warns(posenc.EncodingWarning, match="oscillate"):
        answer = posenc.view("sinusoidal", "decay", dim=8, max_offset=2)
    assert len(answer.warnings) == 1


def test_rotation_in_place_is_the_rotation():
    expected = posenc.rotate("rope", q=Q, axes="bhsd", layout="half", start=3).q
    one, other = Q.copy(), Q.copy()
    posenc.rotate_in_place("rope", one, other, axes="bhsd", layout="half", start=3)
    assert one.tobytes() == other.tobytes() == expected.tobytes()
    posenc.rotate_in_place(
        None, one, axes="bhsd", start=3, inverse=True, config={"model_type": "llama", "head_dim": 8}
    )
    assert abs(one - Q).max() < 1e-6
    with pytest.raises(posenc.Refused, match="layot"):
        posenc.rotate_in_place("rope", other, axes="bhsd", layot="half", start=3)
    assert other.tobytes() == expected.tobytes()
    named = Q.copy()
    posenc.rotate_in_place({"name": "rope", "layout": "half"}, named, axes="bhsd", start=3)
    assert named.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "options", [{"strict": True}, {"strict": False}, {"layer_type": "full_attention"}]
)
def test_options_of_a_config_are_those_of_a_rotation_in_place(options):
    gemma = {"model_type": "gemma3_text", "num_hidden_layers": 6, "head_dim": 8}
    given = {"config": gemma, "axes": "bhsd", "start": 3, "layer_type": "sliding_attention"}
    q = Q.copy()
    posenc.rotate_in_place(None, q, **given | options)
    assert q.tobytes() == posenc.rotate(q=Q, **given | options).q.tobytes()


@pytest.mark.filterwarnings("ignore::posenc.EncodingWarning")
def test_configs_are_read_alike_for_a_rotation_in_place():
    """Every published config: the same bytes, or a refusal where rotate() or layers give one."""
    alike = refused = 0
    folder = pathlib.Path(__file__).parents[3] / "tests/data/configs"
    for path in sorted(folder.glob("*.json")):
        config = json.loads(path.read_text())["config"]
        try:
            report = posenc.config(config)
        except posenc.Refused:
            continue
        told = [row["encoding"] for row in report.get("layers", ()) if row["encoding"]]
        if not report.encoding or report.encoding["name"] != "rope":
            continue
        q = numpy.random.default_rng(0).standard_normal((1, 3, 1, report.encoding["dim"]))
        q = q.astype("f4")
        how = {"config": config, "axes": "bshd", "start": 3}
        if any(encoding != report.encoding for encoding in told):
            with pytest.raises(ValueError, match="layer_type is required"):
                posenc.rotate_in_place(None, q, **how)
            refused += 1
            continue
        try:
            expected = posenc.rotate(q=q, **how).q.tobytes()
        except posenc.Refused:
            with pytest.raises(posenc.Refused):
                posenc.rotate_in_place(None, q, **how)
            continue
        posenc.rotate_in_place(None, q, **how)
        assert q.tobytes() == expected, path
        alike += 1
    assert alike > 20 and refused > 2


def unaligned():
    return numpy.frombuffer(bytearray(Q.nbytes + 1), numpy.uint8)[1:].view("f4").reshape(Q.shape)


HOW = {"axes": "bhsd", "layout": "half", "start": 3}
WHOLE = numpy.arange(2 * Q.size, dtype="f4")
SHAPE = Q.shape

# What cannot be rotated in place beside an array that can: the arrays, and other parameters.
REFUSED_IN_PLACE = {
    "a part of each row": lambda good: ([good, numpy.repeat(Q, 2, -1)[..., ::2]], {}),
    "a list": lambda good: ([good, Q.tolist()], {}),
    "read only": lambda good: ([good, numpy.frombuffer(Q.tobytes(), "f4").reshape(SHAPE)], {}),
    "Fortran order": lambda good: ([good, numpy.asfortranarray(Q.copy())], {}),
    "unaligned": lambda good: ([good, unaligned()], {}),
    "masked": lambda good: ([good, numpy.ma.masked_greater(Q.copy(), 0)], {}),
    "masked by nothing": lambda good: ([good, numpy.ma.array(Q.copy())], {}),
    "the other byte order": lambda good: ([good, Q.astype(">f4")], {}),
    "objects": lambda good: ([good, Q.astype(object)], {}),
    "complex numbers": lambda good: ([good, Q.astype("c8")], {}),
    "whole numbers": lambda good: ([good, Q.astype("i4")], {}),
    "too narrow": lambda good: ([good, Q[..., :3].copy()], {}),
    "too few axes": lambda good: ([good, Q[0].copy()], {}),
    "an infinite width": lambda good: ([good, numpy.zeros((1, 1, 1, 0), "f4")], {}),
    "the same one": lambda good: ([good, good], {}),
    "the same one at the end": lambda good: ([good, Q.copy(), good], {}),
    "a view of it": lambda good: ([good, good[:]], {}),
    "a part of it": lambda good: ([good, good[:, :1]], {}),
    "the whole of it": lambda good: ([good[:, :1], good], {}),
    "bits of it": lambda good: ([good, good.view("i4").view("f4")], {}),
    "half of it and more": lambda good: (
        [good, WHOLE[: Q.size].reshape(SHAPE), WHOLE[4 : Q.size + 4].reshape(SHAPE)],
        {},
    ),
    "another dtype": lambda good: ([good], {"dtype": "f64"}),
    "text": lambda good: ([good], {"format": "json"}),
    "a parameter that is none": lambda good: ([good], {"layot": "half"}),
    "a sum in a wider dtype": lambda good: (
        [good, Q.astype("f2")],
        {"encoding": None, "from_encoding": "rope", "to_encoding": "rope"},
    ),
}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", REFUSED_IN_PLACE)
def test_all_are_rotated_in_place_or_none(name, turned):
    """In any order nothing is written to any of them."""
    good = Q.copy()
    arrays, parameters = REFUSED_IN_PLACE[name](good)
    arrays = arrays[::-1] if turned else arrays
    before = [numpy.asarray(array).tobytes() for array in arrays]
    given = {"encoding": "rope", **HOW, **parameters}
    with pytest.raises((TypeError, ValueError, posenc.Refused)):
        posenc.rotate_in_place(given.pop("encoding"), *arrays, **given)
    assert [numpy.asarray(array).tobytes() for array in arrays] == before


def test_neighbours_in_one_memory_are_rotated():
    """They share no byte; neither do empty arrays with anything."""
    both = numpy.concatenate([Q.ravel(), Q.ravel()])
    q, k = both[: Q.size].reshape(SHAPE), both[Q.size :].reshape(SHAPE)
    posenc.rotate_in_place("rope", k, q, **HOW)
    expected = posenc.rotate("rope", q=Q, **HOW).q
    assert q.tobytes() == k.tobytes() == expected.tobytes()
    posenc.rotate_in_place("rope", **HOW)


def test_no_timeout_in_the_middle_of_a_rotation_in_place():
    """It is over before anything is written, or the rotation ends."""
    arrays = [numpy.ones((1, 8, 4096, 64), "f4") for _ in range(4)]
    expected = posenc.rotate("rope", q=arrays[0], **HOW).q.tobytes()
    for timeout in (1e-9, 1e-4, 1e-3, 5e-3, 2e-2, 1):
        local = posenc.Local(timeout=timeout, threads=1)
        try:
            local.rotate_in_place("rope", *arrays, **HOW)
        except (TimeoutError, posenc.Refused):
            assert all((array == 1).all() for array in arrays), timeout
        else:
            assert all(array.tobytes() == expected for array in arrays), timeout
            for array in arrays:
                array[...] = 1


def test_threads_ask_at_once(door):
    expected, found = posenc.table("rope", dim=64, length=500).sin.tobytes(), []

    def ask():
        found.extend(door.table("rope", dim=64, length=500).sin.tobytes() for _ in range(5))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 30
