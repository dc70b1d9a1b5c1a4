# SPDX-License-Identifier: MIT
"""Tables of cosines and sines as engines keep them.

The engines' own lines, of:
  vLLM         vllm-project/vllm, 072d10a, vllm/model_executor/layers/rotary_embedding/base.py
  FlashInfer   flashinfer-ai/flashinfer, ca14df1, flashinfer/rope.py: vLLM's layout, in float32
  Meta         meta-llama/llama3, 453ae54, llama/model.py, precompute_freqs_cis
  ONNX         onnx/onnx, 19b3a5e, onnx/reference/ops/op_rotary_embedding.py
  ggml         ggml-org/llama.cpp, 0034230, ggml/src/ggml-cpu/ops.cpp, ggml_rope_cache_init"""
import numpy
import pytest

from service import get, table

YARN = {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 32}
DIM, ROWS = 12, 9


def angles(inv_freq, rows=ROWS):
    return numpy.outer(numpy.arange(rows), inv_freq)


def vllm_cache(inv_freq, scale):
    """_compute_cos_sin_cache: cat((cos, sin), dim=-1)."""
    return numpy.concatenate([numpy.cos(angles(inv_freq)), numpy.sin(angles(inv_freq))], -1) * scale


def meta_cache(inv_freq, scale):
    """polar(ones_like(freqs), freqs)"""
    return scale * numpy.exp(1j * angles(inv_freq))


def hf_cache(inv_freq, scale):
    """emb = cat((freqs, freqs), dim=-1), then cos and sin of it."""
    emb = numpy.concatenate([angles(inv_freq)] * 2, -1)
    return numpy.stack([numpy.cos(emb), numpy.sin(emb)]) * scale


def onnx_cache(inv_freq, scale):
    """Half as wide as what rotates: x1 = x_rotate[..., :d/2] is multiplied by it as it is."""
    return numpy.stack([numpy.cos(angles(inv_freq)), numpy.sin(angles(inv_freq))]) * scale


CACHES = {"vllm": vllm_cache, "flashinfer": vllm_cache, "meta": meta_cache, "hf": hf_cache,
          "onnx": onnx_cache}


@pytest.mark.parametrize("cache", CACHES)
def test_layout(server, cache):
    """As the engine's own code lays it, attention factor included."""
    frequencies = get(server, "/v1/encodings/rope/frequencies", dim=DIM, dtype="f64", **YARN).json
    inv_freq = numpy.array(frequencies["tensors"]["inv_freq"]["data"])
    expected = CACHES[cache](inv_freq, frequencies["attention_factor"])
    got = table(server, "rope", dim=DIM, length=ROWS, dtype="f64", cache=cache, **YARN)
    assert got.shape == expected.shape and numpy.allclose(got, expected, rtol=0, atol=4e-16)


def test_ggml(server):
    """theta / freq_factors[i] is the angle: of positions there is nothing in the tensor."""
    frequencies = get(server, "/v1/encodings/rope/frequencies", dim=DIM, dtype="f64", **YARN).json
    inv_freq = numpy.array(frequencies["tensors"]["inv_freq"]["data"])
    factors = table(server, "rope", dim=DIM, dtype="f64", cache="ggml", **YARN)
    theta_scale = 10000 ** (-2 / DIM)
    assert numpy.allclose(theta_scale ** numpy.arange(DIM / 2) / factors, inv_freq, rtol=1e-14)


@pytest.mark.parametrize("cache,names", [
    ("hf", {"cos": (ROWS, 8), "sin": (ROWS, 8)}), ("vllm", {"cos_sin_cache": (ROWS, 8)}),
    ("meta", {"freqs_cis": (ROWS, 4, 2)}),
    ("onnx", {"cos_cache": (ROWS, 4), "sin_cache": (ROWS, 4)})])
@pytest.mark.parametrize("encoding", ["rope", "mrope"])
def test_names(server, encoding, cache, names):
    """In every format the tensors have the engine's names; of a part of a head, its width."""
    more = {"mrope_section": "2,1,1"} if encoding == "mrope" else {}
    settings = {"dim": DIM, "rotary_dim": 8, "length": ROWS, "cache": cache, **more}
    path = f"/v1/encodings/{encoding}/table"
    tensors = get(server, path, format="safetensors", **settings).tensors
    assert {name: value.shape for name, value in tensors.items()} == names
    told = get(server, path, **settings).json["tensors"]
    assert {name: tuple(value["shape"]) for name, value in told.items()} == names
    raw = get(server, path, format="raw", **settings).good()
    assert len(raw.body) == 4 * sum(numpy.prod(shape) for shape in names.values())


@pytest.mark.parametrize("asked,parameter", [
    ({"cache": "ggml", "length": 4}, "length"),
    ({"cache": "ggml", "positions": "1,2"}, "positions"),
    ({"cache": "hf", "length": 4, "duplicate": True}, "duplicate"),
    ({"cache": "onnx", "length": 4, "part": "cos"}, "part"), ({"cache": "vllm"}, "length"),
    ({"cache": "torch", "length": 4}, "cache")])
def test_refused(server, asked, parameter):
    answer = get(server, "/v1/encodings/rope/table", dim=8, **asked)
    assert answer.status == 422 and answer.json["errors"][0]["parameter"] == parameter
