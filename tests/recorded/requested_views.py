# SPDX-License-Identifier: MIT
"""Every view of every encoding: the catalogue's own examples, and variants of their parameters."""

import bodies
from request import ask, gets, post, post_file, query

# GET /v1/encodings/{name} gives them as `example`; written out, so that the list is the same
# whatever the server says.
EXAMPLES = """
sinusoidal/table?dim=4&length=3
sinusoidal/frequencies?dim=4
transformer-xl/table?dim=4&length=3
transformer-xl/frequencies?dim=4
sinusoidal-2d/table?dim=8&height=2&width=2
sinusoidal-nd/table?dim=12&ndim=3&shape=1,2,2
all-sin/table?dim=4&length=3
all-sin/frequencies?dim=4
timestep/table?dim=4&length=3
timestep/frequencies?dim=4
index/table?length=3
normalized/table?length=5
binary/table?dim=4&length=3
periodic/table?dim=4&length=3
learned/table?table=sample&length=3
hierarchical/table?table=sample&length=3
rope/table?dim=4&length=3
rope/frequencies?dim=4
mrope/table?dim=12&mrope_section=2,2,2&length=3
mrope/frequencies?dim=12&mrope_section=2,2,2
rope-2d/table?dim=8&width=2&height=2
rope-2d/frequencies?dim=8
xpos/table?dim=4&t_center=2&length=3
xpos/frequencies?dim=4&t_center=2
xpos/scale?dim=4&t_center=2&length=3
alibi/bias?heads=2&query_length=3
t5/bias?query_length=3
kerple-log/bias?heads=2&p=1,0.5&a=0.25&query_length=3
kerple-power/bias?heads=2&a=1,0.5&p=1.5&query_length=3
sandwich/bias?heads=2&dim=16&query_length=3
deberta-log/bias?query_length=3
shaw/bias?max_relative_position=2&query_length=3
shaw/table?max_relative_position=2&vectors=sinusoidal&dim=4
"""

# analysis -> (what is asked of it, the encodings that have it with what they need)
ROWS = [
    "sinusoidal?dim=4",
    "all-sin?dim=4",
    "timestep?dim=4",
    "index?",
    "binary?dim=4",
    "periodic?dim=4",
    "rope?dim=4",
]
BIASES = [
    "alibi?heads=2",
    "t5?",
    "kerple-log?heads=2&p=1,0.5&a=0.25",
    "kerple-power?heads=2&a=1,0.5&p=1.5",
    "sandwich?heads=2&dim=16",
]
PAIRS = [
    "sinusoidal?dim=4",
    "all-sin?dim=4",
    "timestep?dim=4",
    "transformer-xl?dim=4",
    "periodic?dim=4",
    "rope?dim=4",
]
ANALYSES = {
    "similarity": ("length=3", ROWS),
    "decay": ("max_offset=3", ROWS + BIASES),
    "uniqueness": ("length=8", ROWS),
    "wavelengths": (
        "context=1000",
        PAIRS + ["mrope?dim=12&mrope_section=2,2,2", "rope-2d?dim=8", "xpos?dim=4&t_center=2"],
    ),
    "error": ("length=2&start=1000&angle=f32", PAIRS),
    "shift": (
        "position=3&delta=5",
        ["sinusoidal?dim=4", "timestep?dim=4", "transformer-xl?dim=4", "rope?dim=4"],
    ),
}

ABSOLUTE = """
sinusoidal/table?dim=8&length=4&start=-2.5&step=0.25&dtype=f64
sinusoidal/table?dim=5&length=3&base=100&layout=concatenated
sinusoidal/table?d_model=6&length=3&max_wavelength=500&spacing=endpoint
sinusoidal/table? dim=6&positions=7,-3,1000000,0.5&dtype=f16 dim=4&positions=0..3,10&dtype=bf16
sinusoidal/table? dim=4&length=0 dim=1&length=2 dim=4&length=2&start=9007199254740000&dtype=f64
sinusoidal/table?dim=4& length=5&step=-3&flat=true length=2&data_format=base64
sinusoidal/table?dim=64&length=300
sinusoidal/frequencies? dim=7&layout=concatenated&dtype=f64 dim=6&spacing=endpoint&dtype=bf16
all-sin/table? dim=5&length=3&base=2&dtype=f64 dim=3&positions=131071,10000000&dtype=f16
all-sin/frequencies?dim=3&base=100&dtype=f64
timestep/table?dim=6&positions=999,0.5&max_period=100&downscale_freq_shift=1
timestep/table?dim=5&length=3&flip_sin_to_cos=true&scale=1000&dtype=f64
timestep/table?dim=4&length=3&start=500&dtype=bf16
timestep/frequencies?dim=6&downscale_freq_shift=0.5&dtype=f64
transformer-xl/table?dim=6&length=4&direction=past
transformer-xl/table?dim=4&length=2&layout=concatenated&base=100&dtype=f64
transformer-xl/frequencies?dim=6&base=500&dtype=f16
sinusoidal-2d/table?dim=8&height=2&width=3&variant=mae&class_token=true
sinusoidal-2d/table?dim=8&height=3&width=1&normalize=true&scale=6.283185307179586&dtype=f64
sinusoidal-2d/table? dim=12&height=1&width=2&base=20&dtype=f16 dim=6&height=2&width=2
sinusoidal-nd/table? dim=6&ndim=1&shape=4&dtype=f64 dim=10&shape=2,3&layout=concatenated
sinusoidal-nd/table?dim=8&ndim=2&coordinates=1,2;3.5,-4&spacing=endpoint
index/table? length=3&start=5&step=2&dtype=f16 positions=2049,65519,-0.5&dtype=bf16
normalized/table? length=1 length=7&positions=6,0,3&dtype=f64
binary/table? dim=6&length=5&bit_order=lsb dim=53&positions=9007199254740991&dtype=f16
periodic/table? dim=6&length=3&start=-1&dtype=f64 dim=64&positions=1,4503599627370496
learned/table?table=sample& positions=3,0,1&scale=2&dtype=f64 length=2&l2norm=true
learned/table?table=sample&version=1&length=4&start=0&dtype=f16
sample/table? length=2&start=2 length=4&scale=-0.5&dtype=bf16
minilm-l6-v2/table?positions=127,0&format=raw
hierarchical/table?table=sample&start=13&length=3&alpha=0.25
hierarchical/table?table=minilm-l6-v2&positions=16383&format=npy&dtype=f64
"""

LLAMA3 = (
    "rope_type=llama3&factor=8&low_freq_factor=1&high_freq_factor=4"
    "&original_max_position_embeddings=8192&base=500000"
)
LONG = "&short_factor=1,1.5,2,2.5&long_factor=2,4,8,16&original_max_position_embeddings=4096"
ROPE_TYPES = [
    "rope_type=linear&factor=4",
    LLAMA3,
    "rope_type=yarn&factor=4&original_max_position_embeddings=4096",
    "rope_type=yarn&factor=32&original_max_position_embeddings=4096&truncate=false&beta_fast=16"
    "&beta_slow=2",
    "rope_type=yarn&factor=40&original_max_position_embeddings=4096&mscale=1&mscale_all_dim=0.5",
    "rope_type=dynamic&factor=2&max_position_embeddings=2048&seq_len=4096",
    "rope_type=dynamic&factor=2&max_position_embeddings=2048",
    "rope_type=ntk&factor=4",
    "rope_type=ntk&alpha=8",
    "rope_type=longrope&max_position_embeddings=131072" + LONG,
    "rope_type=longrope&seq_len=8192&factor=32" + LONG,
    "rope_type=proportional&partial_rotary_factor=0.5",
    "partial_rotary_factor=0.5&base=1000000",
    "rope_type=yarn&factor=2&original_max_position_embeddings=64&attention_factor=1.25",
    "rotary_dim=4",
]

ROTARY = """
rope/table?dim=8&length=3&start=131071&dtype=f64&part=cos
rope/table? dim=8&positions=131071,1000000,10000000&part=sin dim=4&length=3&part=complex
rope/table?dim=4&length=3&duplicate=true&dtype=f16
rope/table?dim=6&length=2&duplicate=true&part=cos&dtype=bf16
rope/table?head_dim=4&length=3&theta=100&start=-1.5&step=0.5
rope/table? dim=2&positions=9007199254740991&dtype=f64 dim=8&positions= dim=4&head_dim=4&length=1
rope/table?dim=4&length=2&part=complex&dtype=bf16
mrope/table?dim=12&mrope_section=2,2,2&length=2&mrope_type=vision
rope/table?dim=8&positions=0,131071,16777217&arithmetic=hf
rope/table?dim=8&length=3&arithmetic=hf&dtype=f64&rope_type=linear&factor=3
rope/table? dim=128&length=512&format=raw&dtype=f16 dim=96&length=700&dtype=bf16&format=safetensors
rope/table?dim=64&length=3000&format=npy
mrope/table?dim=12&mrope_section=2,2,2&positions=0,1,2;0,1,1;0,1,3
mrope/table?dim=12&mrope_section=2,2,2&length=3&mrope_interleaved=true&dtype=f64
mrope/table?dim=12&mrope_section=3,3&mrope_type=vision&positions=0,1;2,3
mrope/table?dim=16&mrope_section=4,2,2&mrope_type=imrope&positions=5,6;1,2;3,4;0,0&part=complex
mrope/table?dim=12&sections=2,2,2&length=2&arithmetic=hf
mrope/frequencies?dim=16&mrope_section=4,2,2&mrope_type=interleaved&dtype=f64
mrope/frequencies?dim=12&mrope_section=2,2,2&rope_type=linear&factor=2
rope-2d/table?dim=8&width=2&height=2&variant=llama4&dtype=f64
rope-2d/table?dim=8&positions=0,1,2;2,1,0&variant=pixtral&part=cos
rope-2d/table?dim=8&width=3&height=1&base=500&duplicate=true
rope-2d/frequencies?dim=16&variant=pixtral&dtype=f64
xpos/table?dim=4&t_center=0&length=3&side=key&scale_base=64
xpos/table?dim=6&t_center=100.5&positions=0,200&side=query&dtype=f64&part=complex
xpos/scale?dim=6&t_center=2&length=4&side=key&dtype=f64
xpos/frequencies?dim=6&t_center=0&base=500&dtype=f16
"""

BIAS = """
alibi/bias?heads=3&query_length=2&key_length=4&causal=true&dtype=f64
alibi/bias?heads=2&query_length=2&key_length=3&query_start=-1&dtype=f16
alibi/bias?heads=2&query_length=1&key_length=3&slopes=0.5,-0.25
alibi/bias?n_head=12&length=1&alibi_bias_max=16&dtype=bf16
alibi/bias?heads=8&query_length=40&key_length=50&causal=true&format=safetensors
alibi/bias?heads=2&query_length=0&key_length=3
t5/bias?query_length=2&key_length=6&bidirectional=false
t5/bias?query_length=2&num_buckets=8&max_distance=16&query_start=40
t5/bias? query_length=20&key_length=300&format=npy query_length=2&dtype=f32
kerple-log/bias?heads=2&p=1&a=0.25,0.5&query_length=2&key_length=3&causal=true
kerple-log/bias?heads=1&p=2&a=3&query_length=2&dtype=f64
kerple-power/bias?heads=2&a=1&p=0.5&query_length=2&dtype=f16
kerple-power/bias?heads=1&a=2&p=2&query_length=3&query_start=5&dtype=f64
sandwich/bias?heads=2&dim=8&query_length=2&key_length=3&causal=true&base=100
sandwich/bias?heads=2&dim=8&query_length=2&scales=1,-0.5&dtype=f64
deberta-log/bias?query_length=2&key_length=5&position_buckets=4&max_relative_positions=8
deberta-log/bias?query_length=3&direction=j-i&query_start=600
deberta-log/bias?query_length=30&key_length=40&format=raw
shaw/bias?max_relative_position=2&query_length=2&key_length=6&direction=i-j
shaw/bias?clipping_distance=1&query_length=3&query_start=4&format=npy
shaw/table?max_relative_position=1&vectors=sinusoidal&dim=6&base=50&dtype=f64
shaw/table?max_relative_position=2&vectors=sinusoidal&dim=3&direction=i-j&dtype=f16
"""

ANALYSIS = """
sinusoidal/analysis/similarity?dim=6& positions=0,5,100&normalize=true&dtype=f64 length=4&anchor=2
rope/analysis/similarity? dim=8&length=60&format=raw dim=6&positions=0,5,100&anchor=3&dtype=bf16
index/analysis/similarity?length=3&start=-1&normalize=true
binary/analysis/similarity?dim=3&length=4&anchor=1&dtype=f16
sinusoidal/analysis/decay?dim=6&min_offset=-3&max_offset=2&normalize=true
rope/analysis/decay?dim=8&min_offset=-2&max_offset=4&base=500000&dtype=f64
periodic/analysis/decay?dim=4&anchor=7&min_offset=-1&max_offset=2
binary/analysis/decay?dim=4&anchor=3&max_offset=2&normalize=true
alibi/analysis/decay?heads=2&min_offset=-2&max_offset=1&slopes=1,0.5&dtype=f64
t5/analysis/decay?min_offset=-20&max_offset=20&num_buckets=8&max_distance=16
sinusoidal/analysis/uniqueness?dim=4&positions=0,10,11,500&dtype=f64
rope/analysis/uniqueness? dim=2&length=1000 dim=4&length=300&rounded=true&dtype=bf16
index/analysis/uniqueness?positions=2048,2049,2050&rounded=true&dtype=f16
rope/analysis/wavelengths?dim=8&max_position_embeddings=4096&rope_type=linear&factor=2
rope/analysis/wavelengths?dim=8&context=0.5&dtype=f64
timestep/analysis/wavelengths?dim=6&context=1000&max_period=100&dtype=f16
rope/analysis/error?dim=4& positions=1000,131071&angle=f32&dtype=f16 positions=70000&angle=f16
rope/analysis/error?dim=4&positions=131071&arithmetic=hf
sinusoidal/analysis/error?dim=4&length=2& angle=bf16&dtype=f64 start=3
sinusoidal/analysis/shift?dim=6&position=1000000&delta=-7&dtype=f64
rope/analysis/shift?dim=4&position=3&delta=0.5&rope_type=linear&factor=4
transformer-xl/analysis/shift?dim=4&position=3&delta=1&dtype=bf16
"""

CONFIG = (
    '{"model_type":"llama","hidden_size":64,"num_attention_heads":8,"rope_theta":500000,'
    '"max_position_embeddings":4096}'
)


def analyses():
    found = []
    for name, (asked, encodings) in ANALYSES.items():
        for encoding in encodings:
            path, given = encoding.split("?")
            found.append(f"{path}/analysis/{name}?{given}{'&' * bool(given)}{asked}")
    return "\n".join(found)


def rope_types():
    """Frequencies and cosines of each, exactly and as transformers computes them."""
    found = []
    for given in ROPE_TYPES:
        found += [
            f"rope/frequencies?dim=8&{given}&dtype=f64",
            f"rope/frequencies?dim=8&{given}&arithmetic=hf",
            f"rope/table?dim=8&{given}&positions=1,5000&part=cos",
        ]
    return "\n".join(found)


def posted():
    """The same views, their parameters in a body."""
    rope, path = {"dim": 4, "length": 3}, "/v1/encodings/rope/table"
    places = {"dim": 4, "positions": [5, -3, 0.5]}
    weights = bodies.tensor(1, 32, 2)
    own = {"table": bodies.tensor(2, 5, 3)}
    config = {"config": {"model_type": "llama", "head_dim": 8, "rope_theta": 100}, "length": 2}
    return [
        post("post", "parameters", path, rope),
        post("post", "positions as a list", path, places),
        post("post", "start and step", path, {"dim": 4, "start": 3, "step": 2, "length": 2}),
        post("post", "part of it in the query", path, {"dim": 4}, query_of={"length": 2}),
        post("post", "npy", path, rope, query_of={"format": "npy"}),
        post("post", "Accept: raw", path, rope, headers={"Accept": bodies.RAW}),
        post("post", "a config", path, config),
        post(
            "post",
            "rows of a grid",
            "/v1/encodings/mrope/table",
            {"dim": 12, "mrope_section": [2, 2, 2], "positions": [[0, 1], [0, 2], [0, 3]]},
        ),
        post(
            "post",
            "slopes",
            "/v1/encodings/alibi/bias",
            {"heads": 2, "slopes": [1, 0.5], "query_length": 2, "causal": True},
        ),
        post(
            "post",
            "an analysis",
            "/v1/encodings/sinusoidal/analysis/decay",
            {"dim": 4, "max_offset": 3, "normalize": True},
        ),
        post(
            "post",
            "weights of t5",
            "/v1/encodings/t5/bias",
            {"query_length": 3},
            {"weights": weights},
            "flat",
        ),
        post_file(
            "post",
            "weights of t5 as npy",
            "/v1/encodings/t5/bias",
            {"query_length": 3, "tensor": "weights"},
            {"weights": weights},
            "npy",
        ),
        post_file(
            "post",
            "decay of weights",
            "/v1/encodings/t5/analysis/decay",
            {"min_offset": -2, "max_offset": 2, "format": "json"},
            {"weights": weights},
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
        ask("pictures", "/v1/encodings/rope/table?dim=8&length=4&format=svg&theme=auto"),
        ask(
            "pictures",
            "/v1/encodings/rope/analysis/wavelengths?dim=8&context=100&lang=zh-CN",
            headers={"Accept": "image/svg+xml"},
        ),
        ask("pictures", "/v1/encodings/sinusoidal/table?dim=16&length=9&plot_scale=3&format=png"),
        ask(
            "pictures",
            "/v1/encodings/rope/table?dim=8&length=4&plot=circle&format=png"
            "&theme=dark&lang=zh-CN&" + query({"title": "位置 Ω ∑"}),
        ),
        ask(
            "pictures",
            "/v1/encodings/rope/analysis/decay?dim=32&max_offset=999&plot_scale=1&plot_width=333",
            headers={"Accept": "image/png"},
        ),
        ask("pictures", "/v1/encodings/sinusoidal/table?dim=32&length=64&plot=spectrum&format=png"),
        ask(
            "pictures",
            "/v1/encodings/rope/analysis/decay?dim=16&max_offset=100&plot=spectrum"
            "&format=svg&lang=zh-CN",
        ),
        ask(
            "post",
            "/v1/encodings/rope/table?" + query({"config": CONFIG, "length": 2}),
            "a config in the query of a GET",
        ),
        ask(
            "post",
            "/v1/encodings/rope/table?" + query({"config": CONFIG, "length": 2, "base": 100}),
            "a parameter beside a config in the query",
        ),
    ]


def requests():
    return [
        *gets("examples", EXAMPLES),
        *gets("examples", analyses()),
        *gets("absolute", ABSOLUTE),
        *gets("rope types", rope_types()),
        *gets("rotary", ROTARY),
        *gets("bias", BIAS),
        *gets("analysis", ANALYSIS),
        *posted(),
    ]
