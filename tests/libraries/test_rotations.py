# SPDX-License-Identifier: MIT
"""Rotations of ggml, mlx and onnxruntime by the golden files of all published configs: right, and
with the other layout of pairs or the positions one too high wrong, by the names of these bugs."""

import ctypes
import pathlib

import ggml
import mlx.core as mx
import numpy
import onnx
import onnxruntime
import pytest
from test_golden import check, goldens, published


class Kind:
    """Inputs of a kind of layers."""

    def __init__(self, kind, tensors):
        own = {name: tensors[kind["prefix"] + name] for name in ("q", "k", "positions")}
        self.q, self.k, self.positions = own["q"], own["k"], own["positions"]
        self.w = tensors[kind["prefix"] + "inv_freq"]
        self.factor = float(tensors[kind["prefix"] + "attention_factor"][0])
        self.cos, self.sin = (tensors[kind["prefix"] + name] for name in ("cos", "sin"))
        self.interleaved = kind["layout"] == "interleaved"
        self.prefix, self.encoding = kind["prefix"], kind["encoding"]
        self.rotary = 2 * len(self.w)
        self.is_plain = kind["encoding"].get("rope_type", "default") == "default"

    def outputs(self, rotate):
        return {
            f"{self.prefix}{name}_rotated": rotate(self, getattr(self, name)).astype("f4")
            for name in ("q", "k")
        }


# Each rotates x [tokens, heads, width].


def by_mlx(kind, x):
    """Frequencies are mlx's own where the encoding has a base alone; they are handed over as
    wavelengths otherwise."""
    own = {"base": float(kind.encoding["base"])} if kind.is_plain else {"base": None}
    freqs = None if kind.is_plain else mx.array(1 / kind.w)
    rows = [
        mx.fast.rope(
            mx.array(token)[None, :, None],
            kind.rotary,
            traditional=kind.interleaved,
            scale=1.0,
            offset=int(position),
            freqs=freqs,
            **own,
        )
        for token, position in zip(x, kind.positions)
    ]
    out = numpy.stack([numpy.array(row)[0, :, 0] for row in rows])
    out[..., : kind.rotary] *= numpy.float32(kind.factor)
    return out


def by_onnxruntime(kind, x):
    """RotaryEmbedding of ONNX, with the golden file's cosines and sines as its caches."""
    heads, width = x.shape[1:]
    rows = numpy.arange(len(x))
    given = {
        "x": numpy.ascontiguousarray(x.transpose(1, 0, 2)[None]),
        "cos": kind.cos,
        "sin": kind.sin,
        "ids": rows[None].astype(numpy.int64),
    }
    types = {"float32": onnx.TensorProto.FLOAT, "int64": onnx.TensorProto.INT64}
    values = [
        onnx.helper.make_tensor_value_info(name, types[str(value.dtype)], value.shape)
        for name, value in given.items()
    ]
    node = onnx.helper.make_node(
        "RotaryEmbedding",
        list(given),
        ["y"],
        interleaved=int(kind.interleaved),
        num_heads=heads,
        rotary_embedding_dim=0 if kind.rotary == width else kind.rotary,
    )
    made = [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)]
    graph = onnx.helper.make_graph([node], "graph", values, made)
    model = onnx.helper.make_model(
        graph, ir_version=10, opset_imports=[onnx.helper.make_opsetid("", 23)]
    )
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, given)[0][0].transpose(1, 0, 2)


BASE = pathlib.Path(ggml.__file__).parent / "lib/libggml-base.so"


def rope_ext(context, tensors, integers, numbers):
    """As ggml.h of the package declares it: its Python wrapper has an older list of arguments."""
    function = ctypes.CDLL(str(BASE)).ggml_rope_ext
    function.restype = ctypes.c_void_p
    function.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int] * 3 + [ctypes.c_float] * 6
    pointers = [ctypes.cast(tensor, ctypes.c_void_p) for tensor in tensors]
    made = function(context, *pointers, *integers, *numbers)
    return ctypes.cast(made, ctypes.POINTER(ggml.ggml_tensor))


def by_ggml(kind, x):
    """ggml_rope_ext, with ggml's own powers of the base; what scales them is in freq_factors."""
    base, positions = float(kind.encoding["base"]), kind.positions.astype("i4")
    plain = base ** -(numpy.arange(len(kind.w)) * 2 / kind.rotary)
    context = ggml.ggml_init(ggml.ggml_init_params(mem_size=32 << 20, mem_buffer=None))
    try:

        def tensor(array, dtype):
            array = numpy.ascontiguousarray(array)
            made = ggml.ggml_new_tensor(
                context, dtype, array.ndim, (ctypes.c_int64 * array.ndim)(*reversed(array.shape))
            )
            ctypes.memmove(ggml.ggml_get_data(made), array.ctypes.data, array.nbytes)
            return made

        factors = (
            None if kind.is_plain else tensor((plain / kind.w).astype("f4"), ggml.GGML_TYPE_F32)
        )
        inputs = tensor(x, ggml.GGML_TYPE_F32), tensor(positions, ggml.GGML_TYPE_I32), factors
        rotated = rope_ext(
            context,
            inputs,
            (kind.rotary, 0 if kind.interleaved else 2, 0),
            (base, 1, 0, kind.factor, 32, 1),
        )
        graph = ggml.ggml_new_graph(context)
        ggml.ggml_build_forward_expand(graph, rotated)
        ggml.ggml_graph_compute_with_ctx(context, graph, 1)
        out = numpy.empty(x.shape, "f4")
        ctypes.memmove(out.ctypes.data, ggml.ggml_get_data(rotated), out.nbytes)
        return out
    finally:
        ggml.ggml_free(context)


LIBRARIES = {"ggml": by_ggml, "mlx": by_mlx, "onnxruntime": by_onnxruntime}


@pytest.mark.parametrize("name", goldens())
@pytest.mark.parametrize("library", LIBRARIES)
def test_right(server, library, name):
    description, tensors = published(server, name)
    mine = {}
    for kind in description["kinds"]:
        mine |= Kind(kind, tensors).outputs(LIBRARIES[library])
    report = check(server, description, mine).good().json
    assert report["verdict"] == "right", report


@pytest.mark.parametrize("library", LIBRARIES)
def test_other_layout(server, library):
    """The flag for neighbours or halves is the other one, in every published config."""
    named = 0
    for name in goldens():
        description, tensors = published(server, name)
        kind = Kind(description["kinds"][0], tensors)
        kind.interleaved = not kind.interleaved
        report = check(server, description, kind.outputs(LIBRARIES[library])).good().json
        assert (report["verdict"], report["mistake"]) == ("wrong", "layout-swapped"), (name, report)
        named += 1
    assert named >= 40


@pytest.mark.parametrize("library", ["ggml", "mlx"])
def test_positions_one_too_high(server, library):
    """Always wrong. The name may be lost where far angles have large errors of their own: ggml
    multiplies frequencies from pair to pair."""
    unnamed = []
    for name in goldens():
        description, tensors = published(server, name)
        kind = Kind(description["kinds"][0], tensors)
        kind.positions = kind.positions + 1
        report = check(server, description, kind.outputs(LIBRARIES[library])).good().json
        assert report["verdict"] == "wrong", (name, report)
        if report["mistake"] != "off-by-one-position":
            unnamed.append((name, report["mistake"]))
    assert len(unnamed) <= len(goldens()) // 20, unnamed
