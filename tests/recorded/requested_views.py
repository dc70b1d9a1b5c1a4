# SPDX-License-Identifier: MIT
"""Every view of every encoding, each parameter that is a word, and every rope type."""

import bodies
from request import ask, gets, post, post_file, query

TABLES = """
sinusoidal/table?dim=5&length=3&base=100&layout=concatenated
sinusoidal/table?dim=6&positions=7,-3,1000000,0.5&dtype=f16
sinusoidal/table?dim=4&length=2&data_format=base64
all-sin/table?dim=3&positions=131071,10000000&dtype=f16
timestep/table?dim=6&positions=999,0.5&max_period=100&downscale_freq_shift=1
timestep/table?dim=5&length=3&flip_sin_to_cos=true&scale=1000&dtype=f64
transformer-xl/table?dim=6&length=4&direction=past
transformer-xl/table?dim=4&length=2&layout=concatenated&base=100&dtype=f64
sinusoidal-2d/table?dim=8&height=2&width=3&variant=mae&class_token=true
sinusoidal-2d/table?dim=8&height=2&width=3&variant=mae&base_size=64&max_size=192&interpolation_scale=2
sinusoidal-2d/table?dim=8&height=3&width=1&normalize=true&scale=6.283185307179586&dtype=f64
sinusoidal-nd/table?dim=10&shape=2,3&layout=concatenated
sinusoidal-nd/table?dim=8&ndim=2&coordinates=1,2;3.5,-4&spacing=endpoint
fourier/table?bands=3&ndim=2&coordinates=0.25,-1;0.1,3&include_input=first&layout=grouped&order=alternating
fourier/table?bands=4&max_resolution=224&axes_coordinates=ends&axes_size=5&shape=5&dtype=f16
fourier/table?matrix=0.5,-1.25,3.7;2.5,0.3,-0.1&axes_coordinates=centres&axes_size=2,2&shape=2,2&dtype=f64
fourier/table?matrix=16.1,0.3&axes_coordinates=logarithm&coordinates=0.01,1,50&flip_sin_to_cos=true
index/table?positions=2049,65519,-0.5&dtype=bf16
normalized/table?length=7&positions=6,0,3&dtype=f64
binary/table?dim=6&length=5&bit_order=lsb
periodic/table?dim=64&positions=1,4503599627370496
learned/table?table=sample&length=2&l2norm=true
sample/table?grid=2,2&to=3,2&mode=bicubic&align_corners=false&antialias=true&length=6
learned/table?table=sample&grid=1,3&prefix=1&to=2,5&mode=bicubic&align_corners=false&antialias=false&interpolate_offset=0.1&positions=0,10,4&dtype=f64
hierarchical/table?table=sample&start=13&length=3&alpha=0.25
sample/table?length=2&start=2
minilm-l6-v2/table?positions=127,0&format=raw
rope/table?head_dim=4&length=3&theta=100&start=-1.5&step=0.5
rope/table?dim=8&positions=131071,1000000,10000000&part=sin
rope/table?dim=8&positions=0,131071,16777217&arithmetic=hf
rope/table?dim=4&length=2&part=complex&dtype=bf16
mrope/table?dim=12&mrope_section=3,3&mrope_type=vision&positions=0,1;2,3
mrope/table?dim=16&mrope_section=4,2,2&mrope_type=imrope&positions=5,6;1,2;3,4;0,0&part=complex
mrope/table?dim=12&sections=2,2,2&length=2&arithmetic=hf
rope-2d/table?dim=8&width=2&height=2&variant=llama4&dtype=f64
rope-2d/table?dim=8&positions=0,1,2;2,1,0&variant=pixtral&part=cos
rope-2d/table?dim=8&width=3&height=1&base=500&duplicate=true
rope-nd/table?axes_dim=4,4&min_period=0.5&max_period=90&unit=turn&axes_coordinates=centres&axes_size=2,2&shape=2,2
rope-nd/table?axes_dim=2,4,6&shape=2,2,3&origin=0,-1,-1.5&steps=1,1,0.5&part=sin
rope-nd/table?axes_dim=4,4&axes_factor=2,3&positions=0,1,-2.25;7,0.5,1e9&part=complex&dtype=f64
rope-nd/table?axes_dim=4,4&base=100&unit=turn&axes_coordinates=centres&axes_size=2,3&shape=2,3&dtype=f64
rope-nd/table?axes_dim=4,4&dim=10&series=rising&unit=quarter-turn&order=alternating&axes_coordinates=fractions&axes_size=20,32&positions=0,0.1;1,2.5&part=sin
xpos/table?dim=4&t_center=0&length=3&side=key&scale_base=64
xpos/table?dim=6&t_center=100.5&positions=0,200&side=query&dtype=f64&part=complex
xpos/scale?dim=6&t_center=2&length=4&side=key&dtype=f64
shaw/table?max_relative_position=2&vectors=sinusoidal&dim=3&direction=i-j&dtype=f16
"""

FREQUENCIES = """
sinusoidal/frequencies?dim=6&spacing=endpoint&dtype=bf16
all-sin/frequencies?dim=3&base=100&dtype=f64
timestep/frequencies?dim=6&downscale_freq_shift=0.5&dtype=f64
transformer-xl/frequencies?dim=6&base=500&dtype=f16
rope/frequencies?dim=4
mrope/frequencies?dim=16&mrope_section=4,2,2&mrope_type=interleaved&dtype=f64
mrope/frequencies?dim=12&mrope_section=2,2,2&rope_type=linear&factor=2
rope-2d/frequencies?dim=16&variant=pixtral&dtype=f64
rope-nd/frequencies?axes_dims_rope=4,6,8&axes_base=10000,2000,256&dim=20&dtype=f64
rope-nd/frequencies?axes_dim=6,4&base=112&series=linear&unit=half-turn&axes_coordinates=ratio&axes_size=7,5&ref_feat_shape=16,16
"""

BIASES = """
alibi/bias?heads=3&query_length=2&key_length=4&causal=true&dtype=f64
alibi/bias?heads=2&query_length=0&key_length=3
t5/bias?query_length=2&key_length=6&bidirectional=false
kerple-log/bias?heads=2&p=1&a=0.25,0.5&query_length=2&key_length=3&causal=true
kerple-power/bias?heads=1&a=2&p=2&query_length=3&query_start=5&dtype=f64
sandwich/bias?heads=2&dim=8&query_length=2&key_length=3&causal=true&base=100
deberta-log/bias?query_length=2&key_length=5&position_buckets=4&max_relative_positions=8
deberta-log/bias?query_length=3&direction=j-i&query_start=600
shaw/bias?clipping_distance=1&query_length=3&query_start=4&format=npy
"""

ANALYSES = """
sinusoidal/analysis/similarity?dim=6&length=4&anchor=2
index/analysis/similarity?length=3&start=-1&normalize=true
binary/analysis/similarity?dim=3&length=4&anchor=1&dtype=f16
periodic/analysis/similarity?dim=4&length=3
rope/analysis/similarity?dim=8&length=60&format=raw
rope/analysis/decay?dim=8&min_offset=-2&max_offset=4&base=500000&dtype=f64
index/analysis/decay?max_offset=3
binary/analysis/decay?dim=4&anchor=3&max_offset=2&normalize=true
periodic/analysis/decay?dim=4&anchor=7&min_offset=-1&max_offset=2
alibi/analysis/decay?heads=2&min_offset=-2&max_offset=1&slopes=1,0.5&dtype=f64
kerple-log/analysis/decay?heads=2&p=1,0.5&a=0.25&max_offset=3
sandwich/analysis/decay?heads=2&dim=16&max_offset=3
sinusoidal/analysis/uniqueness?dim=4&positions=0,10,11,500&dtype=f64
index/analysis/uniqueness?positions=2048,2049,2050&rounded=true&dtype=f16
rope/analysis/uniqueness?dim=4&length=300&rounded=true&dtype=bf16
timestep/analysis/wavelengths?dim=6&context=1000&max_period=100&dtype=f16
transformer-xl/analysis/wavelengths?dim=4&context=1000
periodic/analysis/wavelengths?dim=4&context=1000
rope/analysis/wavelengths?dim=8&max_position_embeddings=4096&rope_type=linear&factor=2
rope-2d/analysis/wavelengths?dim=8&context=1000
xpos/analysis/wavelengths?dim=4&t_center=2&context=1000
sinusoidal/analysis/error?dim=4&length=2&angle=bf16&dtype=f64
transformer-xl/analysis/error?dim=4&length=2&start=1000&angle=f32
rope/analysis/error?dim=4&positions=70000&angle=f16
rope/analysis/error?dim=4&positions=131071&arithmetic=hf
sinusoidal/analysis/shift?dim=6&position=1000000&delta=-7&dtype=f64
transformer-xl/analysis/shift?dim=4&position=3&delta=1&dtype=bf16
rope/analysis/shift?dim=4&position=3&delta=0.5&rope_type=linear&factor=4
"""

# Frequencies exactly and as transformers computes them, and cosines, which have the factor too.
ROPE_TYPES = """
rope/frequencies?dim=8&rope_type=proportional&partial_rotary_factor=0.5&dtype=f64
rope/frequencies?dim=8&rope_type=dynamic&factor=2&max_position_embeddings=2048&arithmetic=hf
rope/table?dim=8&rope_type=ntk&alpha=8&positions=1,5000&part=cos
"""
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8,
    "low_freq_factor": 1,
    "high_freq_factor": 4,
    "original_max_position_embeddings": 8192,
    "base": 500000,
}
YARN = {"rope_type": "yarn", "factor": 32, "original_max_position_embeddings": 4096}
DYNAMIC = {"rope_type": "dynamic", "factor": 2, "max_position_embeddings": 2048, "seq_len": 4096}
LONGROPE = {
    "rope_type": "longrope",
    "short_factor": [1, 1.5, 2, 2.5],
    "long_factor": [2, 4, 8, 16],
    "original_max_position_embeddings": 4096,
}


def rope_types():
    def rope(view, given, **more):
        target = f"/v1/encodings/rope/{view}?" + query({"dim": 8} | given | more)
        return ask("rope types", target)

    cosines = {"positions": [1, 5000], "part": "cos"}
    return [
        *gets("rope types", ROPE_TYPES),
        rope("frequencies", LLAMA3, dtype="f64"),
        rope("frequencies", LLAMA3, arithmetic="hf"),
        rope("table", YARN, truncate=False, beta_fast=16, beta_slow=2, **cosines),
        rope("frequencies", YARN, mscale=1, mscale_all_dim=0.5, arithmetic="hf"),
        rope("frequencies", DYNAMIC, dtype="f64"),
        rope("frequencies", LONGROPE, max_position_embeddings=131072, dtype="f64"),
        rope("frequencies", LONGROPE, seq_len=8192, factor=32, arithmetic="hf"),
    ]


CONFIG = (
    '{"model_type":"llama","hidden_size":64,"num_attention_heads":8,"rope_theta":500000,'
    '"max_position_embeddings":4096}'
)


def posted():
    """The same views, their parameters in a body."""
    path = "/v1/encodings/rope/table"
    config = {"config": {"model_type": "llama", "head_dim": 8, "rope_theta": 100}, "length": 2}
    weights, own = {"weights": bodies.tensor(1, 32, 2)}, {"table": bodies.tensor(2, 5, 3)}
    return [
        post("post", "positions as a list", path, {"dim": 4, "positions": [5, -3, 0.5]}),
        post("post", "part of it in the query", path, {"dim": 4}, query_of={"length": 2}),
        post("post", "a config", path, config),
        ask(
            "post",
            path + "?" + query({"config": CONFIG, "length": 2, "base": 100}),
            "a parameter beside a config in the query",
        ),
        post(
            "post",
            "an analysis",
            "/v1/encodings/sinusoidal/analysis/decay",
            {"dim": 4, "max_offset": 3, "normalize": True},
        ),
        post(
            "post", "weights of t5", "/v1/encodings/t5/bias", {"query_length": 3}, weights, "flat"
        ),
        post_file(
            "post",
            "weights of t5 as npy",
            "/v1/encodings/t5/bias",
            {"query_length": 3, "tensor": "weights"},
            weights,
            "npy",
        ),
        post_file(
            "post",
            "decay of weights",
            "/v1/encodings/t5/analysis/decay",
            {"min_offset": -2, "max_offset": 2, "format": "json"},
            weights,
        ),
        post(
            "post",
            "a posted table",
            "/v1/encodings/learned/table",
            {"table": "tensor:table", "positions": [4, 0]},
            own,
        ),
        post_file(
            "post",
            "a posted table decomposed",
            "/v1/encodings/hierarchical/table",
            {"table": "tensor:table", "start": 22, "length": 3},
            own,
        ),
    ]


PICTURES = """
rope/table?dim=8&length=4&format=svg&theme=auto
rope/analysis/decay?dim=16&max_offset=100&plot=spectrum&format=svg&lang=zh-CN
sinusoidal/table?dim=16&length=9&plot_scale=3&format=png
sinusoidal/table?dim=32&length=64&plot=spectrum&format=png
rope/table?dim=8&length=4&plot=circle&format=png&theme=dark&lang=zh-CN&title=%E4%BD%8D%E7%BD%AE+%CE%A9
"""


def pictures():
    decay = "/v1/encodings/rope/analysis/decay?dim=32&max_offset=999&plot_scale=1&plot_width=333"
    waves = "/v1/encodings/rope/analysis/wavelengths?dim=8&context=100&lang=zh-CN"
    return [
        *gets("pictures", PICTURES),
        ask("pictures", decay, headers={"Accept": "image/png"}),
        ask("pictures", waves, headers={"Accept": "image/svg+xml"}),
    ]


def requests():
    return [
        *gets("tables of encodings", TABLES),
        *gets("frequencies", FREQUENCIES),
        *gets("bias", BIASES),
        *gets("analysis", ANALYSES),
        *rope_types(),
        *posted(),
        *pictures(),
    ]
