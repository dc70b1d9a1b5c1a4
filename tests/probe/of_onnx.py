# SPDX-License-Identifier: MIT
"""The RotaryEmbedding operators of onnx's reference evaluator and of onnxruntime, probed; prints
{name: verdict}."""

import json

import numpy
import onnx.reference
import onnxruntime
import posenc
from onnx import TensorProto, helper

DIM, CONTEXT = 64, 4096
found = {}


def tables(width):
    cos, sin = posenc.table("rope", dim=width, length=CONTEXT)
    return numpy.asarray(cos), numpy.asarray(sin)


def model(domain, interleaved, width):
    """Of the inputs x [b, h, s, d], ids [b, s] and the caches."""
    standard = domain == ""
    inputs = ["x", "cos", "sin", "ids"] if standard else ["x", "ids", "cos", "sin"]
    partial = {"rotary_embedding_dim": width} if width < DIM else {}
    partial |= {"num_heads": 2} if partial and not standard else {}
    node = helper.make_node(
        "RotaryEmbedding", inputs, ["y"], domain=domain, interleaved=interleaved, **partial
    )
    shape = ["b", "h", "s", DIM]
    graph = helper.make_graph(
        [node],
        "rotation",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
            helper.make_tensor_value_info("ids", TensorProto.INT64, ["b", "s"]),
            helper.make_tensor_value_info("cos", TensorProto.FLOAT, [CONTEXT, width // 2]),
            helper.make_tensor_value_info("sin", TensorProto.FLOAT, [CONTEXT, width // 2]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    versions = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=10)


def probe(name, run, layout, width, **given):
    cos, sin = tables(width)

    def fn(x, positions):
        ids = numpy.broadcast_to(positions, (len(x), len(positions))).astype(numpy.int64)
        return run(None, {"x": x, "ids": numpy.ascontiguousarray(ids), "cos": cos, "sin": sin})[0]

    part = {"rotary_dim": width} if width < DIM else {}
    given = {"dim": DIM, "layout": layout, "axes": "bhsd"} | part | given
    found[name] = posenc.probe(fn, "rope", **given).verdict


for interleaved in (0, 1):
    for width in (DIM, DIM // 2):
        layout = "interleaved" if interleaved else "half"
        told = f"{layout}, {width} of {DIM}"
        standard = model("", interleaved, width)
        probe(f"onnx, {told}", onnx.reference.ReferenceEvaluator(standard).run, layout, width)
        microsoft = model("com.microsoft", interleaved, width)
        for name, graph in (("", standard), (" of Microsoft", microsoft)):
            session = onnxruntime.InferenceSession(
                graph.SerializeToString(), providers=["CPUExecutionProvider"]
            )
            probe(f"onnxruntime{name}, {told}", session.run, layout, width)
session = onnxruntime.InferenceSession(
    model("", 0, DIM).SerializeToString(), providers=["CPUExecutionProvider"]
)
probe("onnxruntime as neighbours", session.run, "interleaved", DIM)
print(json.dumps(found))
