# SPDX-License-Identifier: MIT
"""mrope, rope-2d and xpos over HTTP against numpy in float64, written in the words of the models'
own code: slices, concatenations, outer products."""

import json

import numpy
import pytest

from service import assert_close, get, inv_freq, post_json, post_tensors

ROTATION = "/v1/rotation"
RNG = numpy.random.default_rng(7)


def batch(dim, tokens=12, seed=3):
    return numpy.random.default_rng(seed).standard_normal((2, 3, tokens, dim))


def turned(x, angle, layout, scale=1.0):
    """x [b, h, s, d], angle and scale [.., s, d / 2]."""
    half = x.shape[-1] // 2
    first, second = (
        (slice(0, half), slice(half, None))
        if layout == "half"
        else (slice(0, None, 2), slice(1, None, 2))
    )
    y = numpy.array(x)
    pairs = (x[..., first] + 1j * x[..., second]) * scale * numpy.exp(1j * angle)
    y[..., first], y[..., second] = pairs.real, pairs.imag
    return y


def qwen2_vl(positions, dim, sections, base):
    """transformers 928b5565, modeling_qwen2_vl.py, apply_multimodal_rotary_pos_emb: cos.split(
    mrope_section * 2), the i-th piece from coordinate i % 3; here on the angles of one half."""
    freqs = positions[..., None] * inv_freq(dim, base)
    pieces = numpy.split(freqs, numpy.cumsum(sections)[:-1], axis=-1)
    return numpy.concatenate([piece[i % 3] for i, piece in enumerate(pieces)], axis=-1)


def qwen3_vl(positions, dim, sections, base):
    """transformers 68a7b7e2, modeling_qwen3_vl.py, apply_interleaved_mrope."""
    freqs = positions[..., None] * inv_freq(dim, base)
    out = freqs[0].copy()
    for axis, offset in enumerate((1, 2), start=1):
        at = slice(offset, sections[axis] * 3, 3)
        out[..., at] = freqs[axis, ..., at]
    return out


def image_positions(batch_rows, tokens):
    """Text, an image of 2 x 3, text again, as get_rope_index of Qwen2-VL numbers them."""
    t = [0, 1, 2, *[3] * 6, 6, 7, 8]
    h = [0, 1, 2, 3, 3, 3, 4, 4, 4, 6, 7, 8]
    w = [0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7, 8]
    rows = numpy.array([t, h, w], numpy.int64)[:, :tokens]
    return numpy.stack([rows + 10 * i for i in range(batch_rows)], axis=1)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize(
    "kind, sections, model", [(False, [16, 24, 24], qwen2_vl), (True, [24, 20, 20], qwen3_vl)]
)
def test_mrope(server, kind, sections, model, layout):
    x, positions = batch(128), image_positions(2, 12)
    encoding = {
        "name": "mrope",
        "base": 1000000,
        "mrope_section": sections,
        "mrope_interleaved": kind,
    }
    got = post_tensors(
        server,
        ROTATION,
        {"q": x, "positions": positions},
        layout=layout,
        axes="bhsd",
        encoding="mrope",
        base=1000000,
        mrope_section=sections,
        mrope_interleaved=kind,
    )["q"]
    angle = model(positions, 128, sections, 1e6)[:, None]
    assert_close(got, turned(x, angle, layout), 1e-13)
    body = {
        "encoding": encoding,
        "axes": "bhsd",
        "layout": layout,
        "positions": positions.tolist(),
        "tensors": {"q": {"dtype": "f64", "data": x.tolist()}},
    }
    answer = post_json(server, ROTATION, body).good().json
    assert numpy.array_equal(numpy.array(answer["tensors"]["q"]["data"]), got)
    one = post_tensors(
        server,
        ROTATION,
        {"q": x, "positions": positions[:, 0]},
        layout=layout,
        axes="bhsd",
        encoding="mrope",
        base=1000000,
        mrope_section=sections,
        mrope_interleaved=kind,
    )["q"]
    assert_close(one, turned(x, angle[:1], layout), 1e-13)
    text = ";".join(",".join(map(str, row)) for row in positions[:, 0])
    again = post_tensors(
        server,
        ROTATION,
        {"q": x},
        layout=layout,
        axes="bhsd",
        positions=text,
        encoding="mrope",
        base=1000000,
        mrope_section=sections,
        mrope_interleaved=kind,
    )["q"]
    assert numpy.array_equal(one, again)


def test_mrope_of_a_config(server):
    """The file of Qwen2.5-VL alone says everything, the layout too."""
    config = {
        "model_type": "qwen2_5_vl",
        "hidden_size": 256,
        "num_attention_heads": 2,
        "rope_theta": 1000000.0,
        "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
    }
    x, positions = batch(128), image_positions(1, 12)[:, 0]
    got = post_tensors(
        server, ROTATION, {"q": x, "positions": positions}, axes="bhsd", config=json.dumps(config)
    )["q"]
    assert_close(got, turned(x, qwen2_vl(positions, 128, [16, 24, 24], 1e6), "half"), 1e-13)


def test_mrope_table_of_lists(server):
    positions = image_positions(1, 12)[:, 0]
    body = {
        "dim": 128,
        "mrope_section": [16, 24, 24],
        "positions": positions.tolist(),
        "dtype": "f64",
        "part": "complex",
    }
    answer = post_json(server, "/v1/encodings/mrope/table", body, format="npy").npy
    assert_close(answer.real, numpy.cos(qwen2_vl(positions, 128, [16, 24, 24], 1e4)), 1e-14)
    text = ";".join(",".join(map(str, row)) for row in positions)
    again = get(
        server,
        "/v1/encodings/mrope/table",
        dim=128,
        mrope_section=[16, 24, 24],
        positions=text,
        dtype="f64",
        part="complex",
        format="npy",
    ).npy
    assert numpy.array_equal(answer, again)
    flat = text.replace(";", ",")
    tags = {
        get(server, "/v1/encodings/mrope/table", dim=6, mrope_section=[1, 1, 1], positions=p)
        .good()
        .headers["etag"]
        for p in (text, flat)
    }
    assert len(tags) == 2


def test_vision_tower(server):
    """Qwen2-VL's tower, transformers 928b5565: VisionRotaryEmbedding(head_dim / 2) of h, then w."""
    dim, h, w = 80, 3, 4
    down, across = (axis.reshape(-1) for axis in numpy.mgrid[0:h, 0:w])
    freqs = inv_freq(dim // 2)
    angle = numpy.concatenate([numpy.outer(down, freqs), numpy.outer(across, freqs)], axis=-1)
    x, positions = batch(dim), numpy.stack([down, across])
    got = post_tensors(
        server,
        ROTATION,
        {"q": x, "positions": positions},
        layout="half",
        axes="bhsd",
        encoding="mrope",
        mrope_type="vision",
        mrope_section=[20, 20],
    )["q"]
    assert_close(got, turned(x, angle, "half"), 1e-13)


@pytest.mark.parametrize("variant", ["axial", "llama4", "pixtral"])
def test_rope_2d(server, variant):
    """naver-ai/rope-vit 2e801b6a, compute_axial_cis; transformers 63210d0e, modeling_llama4.py, and
    4a1e279e, modeling_pixtral.py."""
    dim, width, height = 48, 4, 3
    cells = numpy.arange(width * height)
    x, y = cells % width, cells // width
    if variant == "pixtral":
        freqs = inv_freq(dim)
        angle = numpy.concatenate([numpy.outer(y, freqs[::2]), numpy.outer(x, freqs[1::2])], -1)
    else:
        further = variant == "llama4"
        freqs = inv_freq(dim // 2, 1e4 if further else 100)
        angle = numpy.concatenate(
            [numpy.outer(x + further, freqs), numpy.outer(y + further, freqs)], -1
        )
    tokens = batch(dim)
    got = post_tensors(
        server,
        ROTATION,
        {"q": tokens, "positions": numpy.stack([x, y])},
        layout="interleaved",
        axes="bhsd",
        encoding="rope-2d",
        variant=variant,
    )["q"]
    assert_close(got, turned(tokens, angle, "interleaved"), 1e-13)
    grid = get(
        server,
        "/v1/encodings/rope-2d/table",
        dim=dim,
        width=width,
        height=height,
        variant=variant,
        dtype="f64",
        format="npy",
    ).npy
    assert_close(grid, numpy.stack([numpy.cos(angle), numpy.sin(angle)]), 1e-14)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_rope_nd(server, layout):
    """diffusers 0.42.1, models/embeddings.py: get_1d_rotary_pos_embed axis by axis; rows and
    columns centred as in transformer_qwenimage.py."""
    widths, (frames, height, width) = (8, 12, 20), (2, 3, 2)
    cells = numpy.arange(frames * height * width)
    places = numpy.stack(
        [
            cells // (height * width),
            cells // width % height - height // 2,
            cells % width - width // 2,
        ]
    )
    angle = numpy.concatenate(
        [numpy.outer(p, inv_freq(d)) for p, d in zip(places, widths, strict=True)], -1
    )
    tokens = batch(sum(widths))
    got = post_tensors(
        server,
        ROTATION,
        {"q": tokens, "positions": places},
        layout=layout,
        axes="bhsd",
        encoding="rope-nd",
        axes_dim=widths,
    )["q"]
    assert_close(got, turned(tokens, angle, layout), 1e-13)
    grid = get(
        server,
        "/v1/encodings/rope-nd/table",
        axes_dim="8,12,20",
        shape=f"{frames},{height},{width}",
        origin=f"0,{-(height // 2)},{-(width // 2)}",
        dtype="f64",
        format="npy",
    ).npy
    assert_close(grid, numpy.stack([numpy.cos(angle), numpy.sin(angle)]), 1e-14)


def test_rope_nd_at_centres(server):
    """transformers 5.23.0, modeling_dinov3_vit.py: 2 pi ((2 i + 1) / n - 1) base^(-4 k / dim)."""
    height, width = 3, 5
    rows, columns = numpy.divmod(numpy.arange(height * width), width)
    places = numpy.stack([rows, columns])
    centres = [(2 * rows + 1) / height - 1, (2 * columns + 1) / width - 1]
    angle = (
        2 * numpy.pi * numpy.concatenate([numpy.outer(c, inv_freq(16, 100)) for c in centres], 1)
    )
    scheme = {
        "encoding": "rope-nd",
        "axes_dim": [16, 16],
        "base": 100,
        "unit": "turn",
        "axes_coordinates": "centres",
        "axes_size": [height, width],
    }
    tokens = batch(32, tokens=height * width)
    tensors = {"q": tokens, "positions": places}
    got = post_tensors(server, ROTATION, tensors, layout="half", axes="bhsd", **scheme)["q"]
    assert_close(got, turned(tokens, angle, "half"), 1e-13)


def test_rope_nd_from_a_start_and_by_a_distance(server):
    """A distance has no offset: from 1 by 2 is 3, and so by lists."""
    scheme = {
        "encoding": "rope-nd",
        "layout": "half",
        "axes": "bhsd",
        "axes_dim": [8],
        "series": "rising",
        "unit": "half-turn",
        "axes_coordinates": "ends",
        "axes_size": [15],
    }
    q = batch(8)

    def rotated(x, **where):
        return post_tensors(server, ROTATION, {"q": x}, **scheme, **where)["q"]

    expected = rotated(q, start=3)
    frequencies = numpy.pi * 10000 ** (numpy.arange(4) / 3)
    angle = numpy.outer(2 * (numpy.arange(12) + 3) / 14 - 1, frequencies)
    assert_close(expected, turned(q, angle, "half"), 1e-10)
    assert_close(rotated(rotated(q, start=1), delta=2), expected, 1e-13)
    assert_close(rotated(q, positions=list(range(3, 15))), expected, 0)


def xpos_scale(dim, positions, center, base=512):
    """microsoft/torchscale 776b070d, torchscale/component/xpos_relative_position.py."""
    scale = (numpy.arange(0, dim, 2) + 0.4 * dim) / (1.4 * dim)
    return scale ** ((positions - center)[:, None] / base)


def test_xpos(server):
    dim, positions = 16, numpy.arange(100, 112)
    q, k = batch(dim), batch(dim, seed=4)
    angle, scale = numpy.outer(positions, inv_freq(dim)), xpos_scale(dim, positions, 106)
    got = post_tensors(
        server,
        ROTATION,
        {"q": q, "k": k},
        layout="interleaved",
        axes="bhsd",
        encoding="xpos",
        t_center=106,
        start=100,
    )
    assert_close(got["q"], turned(q, angle, "interleaved", scale), 1e-13)
    assert_close(got["k"], turned(k, angle, "interleaved", 1 / scale), 1e-13)
    back = post_tensors(
        server,
        ROTATION,
        got,
        layout="interleaved",
        axes="bhsd",
        encoding="xpos",
        t_center=106,
        start=100,
        inverse=True,
    )
    assert_close(back["q"], q, 1e-14)
    assert_close(back["k"], k, 1e-14)
    body = {
        "encoding": {"name": "xpos", "t_center": 0},
        "axes": "sd",
        "dim": 2,
        "layout": "half",
        "positions": [0],
        "tensors": {"x": {"data": [[1, 2]]}},
    }
    refused = post_json(server, ROTATION, body)
    assert refused.status == 422 and refused.json["errors"][0]["tensor"] == "x"
    far = post_json(
        server, ROTATION, body | {"positions": [10**6], "tensors": {"q": {"data": [[1, 2]]}}}
    )
    assert far.status == 422 and far.json["errors"][0]["parameter"] == "positions"


@pytest.mark.parametrize("queries", [5, 2])
def test_xpos_attention(server, queries):
    """Scores fall with the distance, whatever the center."""
    q, k = RNG.standard_normal((1, 2, queries, 8)), RNG.standard_normal((1, 2, 5, 8))
    i, j = numpy.arange(5 - queries, 5), numpy.arange(5)
    freqs = inv_freq(8)
    left = turned(q, numpy.outer(i, freqs), "half", xpos_scale(8, i, 0, 4))
    right = turned(k, numpy.outer(j, freqs), "half", 1 / xpos_scale(8, j, 0, 4))
    expected = left @ right.swapaxes(-1, -2) / numpy.sqrt(8)
    for center in (0, 3):
        body = {
            "encoding": {"name": "xpos", "t_center": center, "scale_base": 4},
            "layout": "half",
            "outputs": "scores",
            "tensors": {
                name: {"dtype": "f64", "data": t.tolist()} for name, t in (("q", q), ("k", k))
            },
        }
        answer = post_json(server, "/v1/attention", body).good().json
        assert_close(numpy.array(answer["tensors"]["scores"]["data"]), expected, 1e-13)


def test_text_of_mrope_in_attention_is_rope(server):
    q, k = RNG.standard_normal((1, 2, 5, 12)), RNG.standard_normal((1, 2, 5, 12))
    tensors = {name: {"data": t.tolist()} for name, t in (("q", q), ("k", k))}
    answers = [
        post_json(
            server,
            "/v1/attention",
            {"encoding": encoding, "layout": "half", "outputs": "scores", "tensors": tensors},
        )
        .good()
        .json["tensors"]
        for encoding in ("rope", {"name": "mrope", "mrope_section": [2, 2, 2]})
    ]
    assert answers[0] == answers[1]


DYNAMIC = {
    "name": "rope",
    "dim": 4,
    "rope_type": "dynamic",
    "factor": 2,
    "max_position_embeddings": 8,
}


def test_positions_beyond_seq_len_are_told(server):
    """Frequencies never follow from the length: who forgets seq_len is warned, wherever tokens
    stand."""
    rest = {key: value for key, value in DYNAMIC.items() if key != "name"}
    tensors = {name: {"shape": [1, 1, 9, 4], "data": [0.5] * 36} for name in ("q", "k")}

    def warnings(length=None, seq_len=None, path="table"):
        if path == "table":
            return (
                get(server, "/v1/encodings/rope/table", length=length, seq_len=seq_len, **rest)
                .good()
                .json["warnings"]
            )
        encoding = DYNAMIC | ({"seq_len": seq_len} if seq_len else {})
        body = {"encoding": encoding, "layout": "half", "tensors": tensors}
        if path == "rotation":
            body |= {"axes": "bhsd", "positions": {"start": length - 9}}
        else:
            body |= {"outputs": "scores"}
        return post_json(server, "/v1/" + path, body).good().json["warnings"]

    assert warnings(8) == [] and warnings(9, 9) == [] and warnings(9, 10) == []
    told = warnings(9)
    assert len(told) == 1 and "position 8 " in told[0] and "seq_len" in told[0]
    assert warnings(9, path="rotation") == told and warnings(9, 9, "rotation") == []
    assert warnings(8, path="rotation") == []
    assert warnings(path="attention") == told and warnings(seq_len=9, path="attention") == []
    longrope = {
        "dim": 4,
        "rope_type": "su",
        "short_factor": [1, 1],
        "long_factor": [2, 2],
        "factor": 2,
        "original_max_position_embeddings": 8,
    }
    for seq_len, count in ((0, 1), (8, 1), (9, 0)):
        answer = (
            get(
                server,
                "/v1/encodings/rope/table",
                positions="3,8,-100",
                seq_len=seq_len,
                **longrope,
            )
            .good()
            .json
        )
        assert len(answer["warnings"]) == count and answer["encoding"]["rope_type"] == "longrope"


def test_deepseeks_softmax_multiplier(server):
    """DeepSeek-V3, inference/model.py: softmax_scale * mscale * mscale."""
    yarn = {
        "dim": 64,
        "rope_type": "yarn",
        "factor": 40,
        "mscale": 1,
        "mscale_all_dim": 1,
        "original_max_position_embeddings": 4096,
    }
    for view in ("table", "frequencies"):
        length = {"length": 2} if view == "table" else {}
        answer = get(server, f"/v1/encodings/rope/{view}", **yarn, **length).good().json
        assert answer["attention_factor"] == 1
        assert abs(answer["softmax_scale_multiplier"] - (0.1 * numpy.log(40) + 1) ** 2) < 1e-15
        answer = (
            get(server, f"/v1/encodings/rope/{view}", **yarn | {"mscale_all_dim": 0}, **length)
            .good()
            .json
        )
        assert "softmax_scale_multiplier" not in answer
