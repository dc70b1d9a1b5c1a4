# SPDX-License-Identifier: MIT
"""Rotation of [1, tokens, 32, 128] as other libraries do it; cos and sin are at hand. Each function
gives one that runs it. A library is imported by who asks for it."""

import ctypes

import numpy

HEADS, DIM = 32, 128
HALF = DIM // 2
OPSET = 23  # of ONNX: the first with RotaryEmbedding
GGML_MODE_NEOX = 2


def torch_of():
    """torch with one thread and without gradients."""
    import torch

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    torch.manual_seed(1)
    return torch


def turned(torch, x, cos, sin):
    """As transformers writes it."""
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin


def by_torch(dtype, tokens):
    torch = torch_of()
    kind = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[dtype]
    x = torch.randn(1, tokens, HEADS, DIM).to(kind)
    cos, sin = (torch.randn(1, tokens, 1, DIM).to(kind) for _ in range(2))
    return lambda: turned(torch, x, cos, sin)


def rotary_model(tokens):
    """A model of one node, of x as [batch, heads, tokens, dim]."""
    from onnx import TensorProto, helper

    def tensor(name, *shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    node = helper.make_node(
        "RotaryEmbedding", ["x", "cos", "sin", "at"], ["y"], interleaved=0, num_heads=HEADS
    )
    at = helper.make_tensor_value_info("at", TensorProto.INT64, [1, tokens])
    graph = helper.make_graph(
        [node],
        "rotation",
        [
            tensor("x", 1, tokens, HEADS * DIM),
            tensor("cos", tokens, HALF),
            tensor("sin", tokens, HALF),
            at,
        ],
        [tensor("y", 1, tokens, HEADS * DIM)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = 10
    return model.SerializeToString()


def by_onnxruntime(dtype, tokens):
    """Its result is written into memory that is there already."""
    import onnxruntime

    assert dtype == "f32"
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        rotary_model(tokens), options, providers=["CPUExecutionProvider"]
    )
    random = numpy.random.default_rng(1)
    values = {
        "x": random.standard_normal((1, tokens, HEADS * DIM), numpy.float32),
        "cos": random.standard_normal((tokens, HALF), numpy.float32),
        "sin": random.standard_normal((tokens, HALF), numpy.float32),
        "at": numpy.arange(tokens)[None],
    }
    binding = session.io_binding()
    kept = [onnxruntime.OrtValue.ortvalue_from_numpy(value) for value in values.values()]
    for name, value in zip(values, kept):
        binding.bind_ortvalue_input(name, value)
    out = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.empty_like(values["x"]))
    binding.bind_ortvalue_output("y", out)
    return lambda: session.run_with_iobinding(binding)


def by_ggml(dtype, tokens):
    """ggml_rope_ext in place, in ggml's own graph on one thread; it computes cos and sin itself."""
    import ggml

    assert dtype == "f32"
    size = tokens * HEADS * DIM * 4
    context = ggml.ggml_init(
        ggml.ggml_init_params(mem_size=size + (64 << 20), mem_buffer=None, no_alloc=False)
    )
    x = ggml.ggml_new_tensor_3d(context, ggml.GGML_TYPE_F32, DIM, HEADS, tokens)
    at = ggml.ggml_new_tensor_1d(context, ggml.GGML_TYPE_I32, tokens)
    numbers = numpy.random.default_rng(1).standard_normal(tokens * HEADS * DIM, numpy.float32)
    ctypes.memmove(ggml.ggml_get_data(x), numbers.ctypes.data, size)
    places = numpy.arange(tokens, dtype=numpy.int32)
    ctypes.memmove(ggml.ggml_get_data(at), places.ctypes.data, places.nbytes)
    y = ggml.ggml_rope_ext_inplace(
        context, x, at, None, DIM, GGML_MODE_NEOX, 0, 0, 10000.0, 1.0, 0.0, 1.0, 32.0, 1.0
    )
    graph = ggml.ggml_new_graph(context)
    ggml.ggml_build_forward_expand(graph, y)
    return lambda: ggml.ggml_graph_compute_with_ctx(context, graph, 1)


ROTATIONS = {"onnxruntime-rotate": by_onnxruntime, "ggml-rotate": by_ggml, "torch-rotate": by_torch}
