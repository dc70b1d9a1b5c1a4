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

from service import call, get, inv_freq, post_json, post_tensors, rotated, table, tensors_answer

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


CACHES = {
    "vllm": vllm_cache,
    "flashinfer": vllm_cache,
    "meta": meta_cache,
    "hf": hf_cache,
    "onnx": onnx_cache,
}


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


@pytest.mark.parametrize(
    "cache,names",
    [
        ("hf", {"cos": (ROWS, 8), "sin": (ROWS, 8)}),
        ("vllm", {"cos_sin_cache": (ROWS, 8)}),
        ("meta", {"freqs_cis": (ROWS, 4, 2)}),
        ("onnx", {"cos_cache": (ROWS, 4), "sin_cache": (ROWS, 4)}),
    ],
)
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


@pytest.mark.parametrize(
    "asked,parameter",
    [
        ({"cache": "ggml", "length": 4}, "length"),
        ({"cache": "ggml", "positions": "1,2"}, "positions"),
        ({"cache": "hf", "length": 4, "duplicate": True}, "duplicate"),
        ({"cache": "onnx", "length": 4, "part": "cos"}, "part"),
        ({"cache": "vllm"}, "length"),
        ({"cache": "torch", "length": 4}, "cache"),
    ],
)
def test_refused(server, asked, parameter):
    answer = get(server, "/v1/encodings/rope/table", dim=8, **asked)
    assert answer.status == 422 and answer.json["errors"][0]["parameter"] == parameter


# ---- posted --------------------------------------------------------------------------------------

ROTATION = "/v1/rotation"


def cache_tensors(server, cache, **more):
    """The service's own table in a layout, as the tensors that it is posted back in."""
    if cache != "ggml":
        more = {"length": ROWS, **more}
    return get(
        server,
        "/v1/encodings/rope/table",
        dim=DIM,
        dtype="f32",
        cache=cache,
        format="safetensors",
        **more,
    ).tensors


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("cache", ["hf", "vllm", "meta", "onnx"])
def test_rotation_by_a_cache(server, cache, layout):
    """Bit for bit as by the encoding that it was made of; only hf has to be named."""
    q = numpy.random.default_rng(5).standard_normal((2, 3, ROWS, DIM)).astype(numpy.float32)
    settings = {"encoding": "rope", "layout": layout, "axes": "bhsd", "start": 0}
    expected = post_tensors(server, ROTATION, {"q": q}, **settings, **YARN)["q"]
    posted = {"q": q, **cache_tensors(server, cache, **YARN)}
    named = post_tensors(server, ROTATION, posted, cache=cache, **settings)
    assert set(named) == {"q"} and numpy.array_equal(named["q"], expected)
    if cache != "hf":
        assert numpy.array_equal(post_tensors(server, ROTATION, posted, **settings)["q"], expected)


def vllm_rotate(q, cache, is_neox):
    """forward_static and ApplyRotaryEmb.forward_static, for q [tokens, heads, d]."""
    cos, sin = (part[:, None] for part in numpy.split(cache, 2, axis=-1))
    if is_neox:
        x1, x2 = numpy.split(q, 2, axis=-1)
    else:
        x1, x2 = q[..., ::2], q[..., 1::2]
    o1, o2 = x1 * cos - x2 * sin, x2 * cos + x1 * sin
    if is_neox:
        return numpy.concatenate((o1, o2), axis=-1)
    return numpy.stack((o1, o2), axis=-1).reshape(q.shape)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_as_the_engine_rotates(server, layout):
    q = numpy.random.default_rng(6).standard_normal((ROWS, 3, DIM)).astype(numpy.float32)
    cache = cache_tensors(server, "vllm")["cos_sin_cache"]
    got = post_tensors(
        server,
        ROTATION,
        {"q": q, "cos_sin_cache": cache},
        encoding="rope",
        layout=layout,
        axes="thd",
        start=0,
    )["q"]
    assert numpy.array_equal(got, vllm_rotate(q, cache, layout == "half"))


def test_rotation_by_frequencies(server):
    """inv_freq and rope_freqs.weight as tensors, or as parameters: the rope_type is custom."""
    q = numpy.random.default_rng(7).standard_normal((4, 1, DIM)).astype(numpy.float32)
    settings = {"encoding": "rope", "layout": "half", "axes": "shd", "start": 100}
    linear = post_tensors(server, ROTATION, {"q": q}, rope_type="linear", factor=4, **settings)
    factors = cache_tensors(server, "ggml", rope_type="linear", factor=4)
    assert numpy.array_equal(factors["rope_freqs.weight"], numpy.full(6, 4, numpy.float32))
    got = post_tensors(server, ROTATION, {"q": q, **factors}, **settings)
    assert set(got) == {"q"} and numpy.array_equal(got["q"], linear["q"])
    inv_freq = numpy.array([1, 0.5, 0.25, 0.125, 0.0625, 0], numpy.float32)
    by_tensor = post_tensors(server, ROTATION, {"q": q, "inv_freq": inv_freq}, **settings)["q"]
    listed = post_tensors(
        server, ROTATION, {"q": q}, rope_type="custom", inv_freq=inv_freq.tolist(), **settings
    )["q"]
    assert numpy.array_equal(by_tensor, listed) and not numpy.array_equal(listed, linear["q"])


@pytest.mark.parametrize(
    "tensors,settings,word",
    [
        ({"cos_sin_cache": (4, 6), "freqs_cis": (4, 3, 2)}, {}, "two caches"),
        ({"cos_sin_cache": (4, 6), "cos": (4, 3)}, {}, "beside"),
        ({"cos_sin_cache": (4, 5)}, {}, "even width"),
        ({"cos_sin_cache": (4, 3, 2)}, {}, "rank 3"),
        ({"freqs_cis": (4, 3, 3)}, {}, "imaginary"),
        ({"cos_cache": (4, 3)}, {}, "sin_cache"),
        ({"cos": (4, 6), "sin": (4, 6)}, {"cache": "hf"}, "twice"),
        ({}, {"cache": "vllm"}, "cos_sin_cache"),
        ({}, {"cache": "ggml"}, "rope_freqs.weight"),
        ({"inv_freq": (3, 2)}, {}, "[pairs]"),
        ({"inv_freq": (3,)}, {"inv_freq": "1,2,3"}, "twice"),
        ({"rope_freqs.weight": (3,)}, {"rope_type": "linear", "factor": 2}, "no meaning"),
    ],
)
def test_posted_wrongly(server, tensors, settings, word):
    random = numpy.random.default_rng(1)
    posted = {"q": (4, 1, 6), **tensors}
    answer = tensors_answer(
        server,
        ROTATION,
        {name: random.random(shape) + 1 for name, shape in posted.items()},
        encoding="rope",
        layout="half",
        axes="shd",
        start=0,
        **settings,
    )
    assert answer.status == 422 and word in answer.json["detail"]


DIAGNOSIS = "/v1/diagnosis"


@pytest.mark.parametrize("cache", ["hf", "vllm", "meta", "onnx", "ggml"])
def test_diagnosis(server, cache):
    """A cache matches what it was made of, and a wrong one is named, under the engine's names."""

    def verdict(tensors):
        body = {
            "encoding": {"name": "rope", "dim": DIM, **YARN},
            "cache": cache,
            "tensors": {
                name: {"dtype": "f32", "data": value.tolist()} for name, value in tensors.items()
            },
        }
        answer = post_json(server, DIAGNOSIS, body).good().json
        return answer["verdict"], answer["candidates"][0]["bug"]

    assert verdict(cache_tensors(server, cache, **YARN)) == ("match", None)
    plain = verdict(cache_tensors(server, cache))
    assert plain[0] == "known-bug" and plain[1] is not None


def test_diagnosis_in_other_formats(server):
    """JSON; npy with the tensor's name beside it."""
    cache = table(server, "rope", dim=DIM, length=ROWS, cache="vllm")
    body = {
        "encoding": "rope",
        "tensors": {"cos_sin_cache": {"dtype": "f32", "data": cache.tolist()}},
    }
    assert post_json(server, DIAGNOSIS, body).good().json["verdict"] == "match"
    npy = (
        get(server, "/v1/encodings/rope/table", dim=DIM, length=ROWS, cache="vllm", format="npy")
        .good()
        .body
    )
    answer = (
        call(
            server,
            "POST",
            DIAGNOSIS,
            npy,
            {"Content-Type": "application/x-npy"},
            tensor="cos_sin_cache",
            encoding="rope",
        )
        .good()
        .json
    )
    assert answer["verdict"] == "match" and answer["rows"] == ROWS


def test_diagnosis_of_factors_alone(server):
    answer = tensors_answer(server, DIAGNOSIS, cache_tensors(server, "ggml"))
    assert answer.status == 422 and "base" in answer.json["detail"]


COMPARISON = "/v1/comparison"


def difference(server, tensors, **settings):
    return tensors_answer(server, COMPARISON, tensors, **settings).good().json


@pytest.mark.parametrize("cache", ["hf", "vllm", "flashinfer", "meta", "onnx", "ggml"])
def test_comparison(server, cache):
    """Pair by pair with an encoding, whatever the layout; width and length are read off it."""
    posted = cache_tensors(server, cache)
    same = difference(server, posted, a=f"cache:{cache}", b="rope")
    assert same["max_abs"] == 0 and same["a"]["cache"] == cache.replace("flashinfer", "vllm")
    scaled = cache_tensors(server, cache, rope_type="linear", factor=2)
    assert difference(server, scaled, a=f"cache:{cache}", b="rope")["max_abs"] > 0.1


def test_comparison_of_two_engines(server):
    meta, onnx = cache_tensors(server, "meta"), cache_tensors(server, "onnx")
    onnx["cos_cache"][3, 2] += 0.25
    answer = difference(server, {**meta, **onnx}, a="cache:meta", b="cache:onnx")
    where = answer["first_divergence"]
    assert (where["row"], where["pair"]) == (3, 2)
    assert abs(answer["max_abs"] - 0.25) < 1e-6


@pytest.mark.parametrize(
    "settings,word",
    [
        ({"a": "cache:torch", "b": "rope"}, "names no cache"),
        ({"a": "cache:onnx", "b": "rope"}, "cos_cache"),
        ({"a": "cache:vllm", "b": "sinusoidal"}, "tables"),
    ],
)
def test_compared_wrongly(server, settings, word):
    answer = tensors_answer(server, COMPARISON, cache_tensors(server, "vllm"), **settings)
    assert answer.status == 422 and word in answer.json["detail"]


# ---- caches of keys and values -------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape,axes,cells",
    [
        ((3, 2, 1, 4, 5, 8), None, "lkh"),
        ((3, 1, 4, 5, 8), None, "lh"),
        ((2, 4, 5, 8), None, "h"),
        ((6, 2, 5, 4, 8), "bkshd", "kh"),
        ((2, 3, 6, 4, 8), "klshd", "kl"),
    ],
)
def test_keys_and_values(server, shape, axes, cells):
    """The largest difference of each layer and head, and where the first one stands."""
    random = numpy.random.default_rng(8)
    a = random.standard_normal(shape).astype(numpy.float32)
    b = a + (random.random(shape) < 0.1) * random.standard_normal(shape).astype(numpy.float32)
    b[(0,) * len(shape)] = a[(0,) * len(shape)]
    names = axes or {6: "lkbhsd", 5: "lbhsd", 4: "bhsd"}[len(shape)]
    answer = difference(
        server,
        {"a": a, "b": b.astype(numpy.float32)},
        a="tensor:a",
        b="tensor:b",
        **({"axes": axes} if axes else {}),
    )
    apart = numpy.abs(a.astype(float) - b.astype(numpy.float32).astype(float))
    told = [name for name in names if name in "lkh"]
    expected = apart.max(axis=tuple(i for i, name in enumerate(names) if name not in told))
    got = answer["per_head"]
    assert got["axes"] == "".join(told) and got["shape"] == list(expected.shape)
    assert numpy.array_equal(numpy.reshape(got["max_abs"], expected.shape), expected)
    first = dict(zip(names, numpy.argwhere(apart > 0)[0].tolist()))
    assert answer["first_divergence"]["column"] == first.pop("d")
    assert answer["first_divergence"]["place"] == first and set(cells) <= set(told)


@pytest.mark.parametrize(
    "settings,word",
    [
        ({"axes": "bhds"}, "d last"),
        ({"axes": "bhhd"}, "once"),
        ({"axes": "hsd"}, "number of letters"),
        ({"b": "tensor:c"}, "different shapes"),
        ({"a": "tensor:c", "b": "tensor:c", "axes": "sd"}, "leave"),
    ],
)
def test_keys_and_values_refused(server, settings, word):
    tensors = {
        "a": numpy.ones((1, 2, 3, 4)),
        "b": numpy.ones((1, 2, 3, 4)),
        "c": numpy.ones((6, 4)),
    }
    used = {"a": "tensor:a", "b": "tensor:b"} | settings
    posted = {name: tensors[name] for name in tensors if f"tensor:{name}" in used.values()}
    answer = tensors_answer(server, COMPARISON, posted, **used)
    assert answer.status == 422 and word in answer.json["detail"]


# ---- a cache diagnosed ---------------------------------------------------------------------------


def cache_of(axes, sizes):
    """Keys of a seed, and those rotated at 0, 1, 2 ... in halves of 8 elements."""
    keys = numpy.random.default_rng(9).standard_normal([sizes[name] for name in axes[:-1]] + [8])
    keys = numpy.moveaxis(keys.astype(numpy.float32), axes.index("s"), -2)
    after = rotated(keys, numpy.arange(sizes["s"]), "half").astype(numpy.float32)
    return [numpy.ascontiguousarray(numpy.moveaxis(x, -2, axes.index("s"))) for x in (keys, after)]


def by_head(server, keys, after, **more):
    answer = tensors_answer(
        server, DIAGNOSIS, {"q": keys, "q_rotated": after}, encoding="rope", **more
    )
    return answer.good().json


def turned(keys, first):
    return rotated(keys, first + numpy.arange(keys.shape[-2]), "half").astype(numpy.float32)


@pytest.mark.parametrize(
    "axes,more",
    [
        ("lbhsd", {}),
        ("lbshd", {"axes": "lbshd"}),
        ("bhsd", {"per_head": True}),
        ("hsd", {"axes": "hsd", "per_head": True}),
        ("blhsd", {"axes": "blhsd"}),
    ],
)
def test_each_head(server, axes, more):
    """Of what is wrong with one head, all others keep their verdict."""
    keys, after = cache_of(axes, {"l": 3, "b": 2, "h": 4, "s": 300})
    report = by_head(server, keys, after, **more)
    cells = report["per_head"]
    assert (report["verdict"], report["first_head"], report["bad_rows"]) == ("match", None, 0)
    assert cells["axes"] == "".join(name for name in axes if name in "lh")
    assert cells["verdict"] == ["match"] * numpy.prod(cells["shape"])
    assert set(cells["explanation"]) == {0} and 0 < max(cells["max_abs"]) < 1e-6

    at = tuple({"l": 1, "b": 1, "h": 2, "s": slice(None), "d": slice(None)}[name] for name in axes)
    after[at] = turned(keys[at], 1)
    damaged = tuple({"l": 2, "b": 1, "h": 3, "s": 222, "d": 7}[name] for name in axes)
    after[damaged] += 0.5
    report = by_head(server, keys, after, **more)
    cells, place = report["per_head"], {"l": 1, "b": 1, "h": 2}
    verdicts = numpy.reshape(cells["verdict"], cells["shape"])
    assert report["verdict"] == "known-bug" and report["bad_rows"] == sum(cells["bad_rows"]) == 1
    assert report["first_head"] == {name: place[name] for name in axes if name in place}
    assert report["candidates"][0]["bug"] == "off-by-one-position"
    assert verdicts[tuple(place[name] for name in cells["axes"])] == "known-bug"
    assert verdicts.flat[-1] == "unknown" and (verdicts == "match").sum() == verdicts.size - 2
    assert [one["candidate"]["bug"] for one in report["explanations"]] == [
        None,
        "off-by-one-position",
    ]


def test_first_bad_of_a_head(server):
    """Where nothing else is wrong; nothing but zeros is unknown; NaN is bad."""
    keys, after = cache_of("lbhsd", {"l": 2, "b": 1, "h": 3, "s": 2000})
    after[1, 0, 1, 1501, 6] *= 2
    keys[1, 0, 2] = after[1, 0, 2] = 0
    report = by_head(server, keys, after, layout="half", start=0)
    assert report["first_head"] == {"l": 1, "b": 0, "h": 1} and report["verdict"] == "unknown"
    assert (report["first_bad"]["row"], report["first_bad"]["pair"]) == (1501, 2)
    assert report["per_head"]["explanation"] == [0, 0, 0, 0, 0, None]
    assert report["warnings"] == [] and report["rows"] == 12000
    assert by_head(server, keys, after, layout="interleaved")["verdict"] == "known-bug"
    after[0, 0, 0, 1501, 6] = numpy.nan
    report = by_head(server, keys, after)
    assert report["first_head"] == {"l": 0, "b": 0, "h": 0}
    assert report["first_bad"]["seen"] == "Infinity"


def test_values_do_not_rotate(server):
    keys, after = cache_of("lhsd", {"l": 2, "h": 2, "s": 40})
    values = numpy.random.default_rng(1).standard_normal(keys.shape).astype(numpy.float32)
    values[1, 1, 39] = numpy.nan  # as memory that was never written may be
    both, made = numpy.stack([keys, values], 1), numpy.stack([after, values], 1)
    assert by_head(server, both, made, axes="lkhsd")["per_head"]["verdict"] == ["match"] * 8
    made[1, 1, 0] = turned(values[1, 0], 0)
    report = by_head(server, both, made, axes="lkhsd")
    assert report["first_head"] == {"l": 1, "k": 1, "h": 0} and report["bad_rows"] == 39
    assert report["per_head"]["verdict"] == ["match"] * 6 + ["unknown", "match"]


def test_heads_that_do_not_rotate(server):
    """Ten of a layer leave those of others an explanation; the last of nine elements has none to
    turn with."""
    keys, after = (
        numpy.pad(x, [(0, 0)] * 3 + [(0, 1)], constant_values=1)
        for x in cache_of("lhsd", {"l": 3, "h": 10, "s": 40})
    )
    after[0], after[2, 9, :, 8] = keys[0], 2
    report = by_head(server, keys, after, axes="lhsd", dim=8)
    assert report["per_head"]["verdict"] == ["known-bug"] * 10 + ["match"] * 19 + ["unknown"]
    assert report["explanations"][0]["candidate"]["bug"] == "not-rotated"


def test_more_explanations_than_are_looked_for(server):
    keys, after = cache_of("lhsd", {"l": 1, "h": 10, "s": 60})
    for head in range(10):
        after[0, head] = rotated(
            keys[0, head], numpy.arange(60), "half", frequencies=inv_freq(8, 3.0 ** (head + 4))
        )
    report = by_head(server, keys, after, axes="lhsd")
    assert len(report["explanations"]) == 8 and "2 heads" in report["warnings"][-1]
    assert report["per_head"]["explanation"] == [*range(8), None, None]
    assert report["per_head"]["verdict"][8:] == ["unknown"] * 2


@pytest.mark.parametrize(
    "shape,settings,word",
    [
        ((2, 3, 4, 8), {"axes": "lhds"}, "d last"),
        ((2, 3, 4, 8), {"axes": "xyz"}, "one of bhsd"),
        ((2, 3, 4, 5, 8), {"axes": "bhsd"}, "number of letters"),
        ((3, 4, 8), {"per_head": True}, "required for rank 3"),
        ((3, 3, 4, 8), {"axes": "kbsd"}, "has 3 entries"),
        ((1, 0, 3, 4, 8), {}, "one head"),
        ((1, 2, 3, 4, 8), {"positions": "1,2"}, "has 4"),
        ((1, 1, 1, 1, 1, 1, 2), {}, "six at most"),
        ((1, 2, 3, 4, 8), {"encoding": "sinusoidal"}, "to be rotated"),
    ],
)
def test_heads_refused(server, shape, settings, word):
    tensors = {name: numpy.ones(shape) for name in ("q", "q_rotated")}
    answer = tensors_answer(server, DIAGNOSIS, tensors, **settings)
    assert answer.status == 422 and word in answer.json["detail"]
