# SPDX-License-Identifier: MIT
"""Lists of positions, configs, formats and conditions at their ends: empty, of one element, at a
limit and one behind it, and two features at once."""

import json
import math

from bodies import (
    JSON,
    NPY,
    RAW,
    SAFETENSORS,
    json_bytes,
    npy_bytes,
    numbers,
    safetensors_bytes,
    tensor,
)
from request import ask, gets, post, post_bytes, post_file

VIEWS = "/v1/encodings/"


def edge(label, path, parameters, tensors=None, **rest):
    return post("edges", label, f"/v1/{path}", parameters, tensors, **rest)


def refused(label, path, parameters, tensors=None, **rest):
    return post("refused edges", label, f"/v1/{path}", parameters, tensors, **rest)


# ---- positions of a rotation --------------------------------------------------------------------

HALF = {"encoding": "rope", "layout": "half"}
BHSD, THD = HALF | {"axes": "bhsd"}, HALF | {"axes": "thd"}


def q(*shape, seed=21, dtype="f32"):
    return {"q": tensor(seed, *shape, dtype=dtype)}


def places():
    """Positions, deltas and ends of sequences beside tensors of each number of rows."""

    def turn(label, given, tensors, encoding=None, **rest):
        return edge("turn " + label, "rotation", given | (encoding or {}), tensors, **rest)

    def no(label, given, tensors, **changes):
        return refused("turn " + label, "rotation", given | changes, tensors)

    one, two, square = q(1, 1, 3, 4), q(2, 1, 3, 4), q(3, 1, 3, 4)
    packed = q(4, 1, 4)
    long = [float(i) for i in range(70)]
    wide = {"encoding": {"name": "rope-nd", "axes_dim": [2, 2]}, "layout": "half", "axes": "bhsd"}
    vision = {"encoding": {"name": "mrope", "mrope_section": [1, 1, 0]}, "layout": "half"}
    return [
        turn("one position of each", BHSD | {"positions": [1, 2, 3]}, two),
        turn("one row of one", BHSD | {"positions": [[1, 2, 3]]}, two),
        turn("a number for one token", BHSD | {"positions": 5}, q(1, 1, 1, 4)),
        turn("text of one", BHSD | {"positions": "5"}, q(1, 1, 1, 4)),
        turn("text of rows", BHSD | {"positions": "1..3;4..6"}, two),
        turn("a long list", BHSD | {"positions": long}, q(1, 1, 70, 4)),
        turn("two long rows", BHSD | {"positions": [long, long[::-1]]}, q(2, 1, 70, 4)),
        turn("an object of a start", BHSD | {"positions": {"start": 4}}, one),
        turn("delta of all", BHSD | {"delta": 7}, one),
        turn("delta of each row", BHSD | {"delta": [7, -2]}, two),
        turn("delta of each token", BHSD | {"delta": [7, -2, 0.5]}, two),
        turn("delta of each of both", BHSD | {"delta": [[1, 2, 3], [4, 5, 6]]}, two),
        turn("delta of rows of no width", BHSD | {"delta": [7, -2]}, q(2, 0, 3, 4)),
        turn("ends of two", THD | {"cu_seqlens": [0, 1, 4]}, packed),
        turn("ends of an empty one", THD | {"cu_seqlens": [0, 0, 2, 2, 4]}, packed),
        turn("ends and a start", THD | {"cu_seqlens": [0, 3, 4], "start": 5, "step": 2}, packed),
        turn("ends of no heads", THD | {"cu_seqlens": [0, 3, 4]}, q(4, 0, 4)),
        turn("ends of nothing", THD | {"cu_seqlens": [0]}, q(0, 1, 4)),
        turn("planes", wide | {"positions": [[1, 2, 3], [0, 5, 9]]}, one),
        turn("planes of rows", wide | {"positions": [[[1, 2, 3]] * 2, [[0, 5, 9]] * 2]}, two),
        turn("planes of one row", wide | {"positions": [[[1, 2, 3]], [[0, 5, 9]]]}, two),
        turn(
            "mrope of text",
            vision | {"axes": "bhsd", "positions": [[[1, 2, 3]]] * 3},
            q(1, 1, 3, 4),
        ),
        no("delta of a square", BHSD, square, delta=[1, 2, 3]),
        no("delta of four", BHSD, two, delta=[1, 2, 3, 4]),
        no("positions and a delta", BHSD, two, positions=[1, 2, 3], delta=1),
        no("positions and a start", BHSD, two, positions=[1, 2, 3], start=1),
        no("positions and ends", THD, packed, positions=[1, 2, 3, 4], cu_seqlens=[0, 4]),
        no("positions of four", BHSD, two, positions=[1, 2, 3, 4]),
        no("three rows of positions", BHSD, two, positions=[[1, 2, 3]] * 3),
        no("planes for one axis", BHSD, two, positions=[[[1, 2, 3]]] * 2),
        no("four depths", BHSD, two, positions=[[[[1, 2, 3]]]]),
        no("a boolean", BHSD, two, positions=True),
        no("text of nothing", BHSD, two, positions="x"),
        no("a tensor of nothing", BHSD, two, positions="tensor:none"),
        no("a list with text", BHSD, two, positions=[1, "x", 3]),
        no("a list of two depths", BHSD, two, positions=[1, [2], 3]),
        no("an object with another", BHSD, two, positions={"start": 1, "stop": 2}),
        no("an object of text", BHSD, two, positions={"start": "1"}),
        no("a range too long", BHSD, two, positions="0..9999999"),
        no("a range of one too many", BHSD, two, positions="0..3"),
        no("ends of rows", THD, packed, cu_seqlens=[[0, 4], [0, 4]]),
        no("ends of batches", BHSD, two, cu_seqlens=[0, 3]),
        no("ends with half a start", THD, packed, cu_seqlens=[0, 4], start=0.5),
        no("ends with half a step", THD, packed, cu_seqlens=[0, 4], step=0.5),
        no("ends from one", THD, packed, cu_seqlens=[1, 4]),
        no("half an end", THD, packed, cu_seqlens=[0, 1.5, 4]),
        no("ends too far", THD, packed, cu_seqlens=[0, 5]),
        no("ends too near", THD, packed, cu_seqlens=[0, 3]),
        no("planes too many", wide, one, positions=[[1, 2, 3]] * 3),
        no("planes of other rows", wide, two, positions=[[[1, 2, 3]] * 3] * 2),
        no("planes too short", wide, one, positions=[[1, 2], [0, 5]]),
        no(
            "cos of two encodings",
            {"layout": "half", "axes": "bhsd", "start": 0},
            one | {"cos": tensor(1, 4, 2), "sin": tensor(2, 4, 2)},
            from_encoding="rope",
            to_encoding="rope",
        ),
    ]


# ---- diagnoses -----------------------------------------------------------------------------------


def rope_tables():
    """name -> tensors of cos and sin of four positions and four pairs, in each form."""
    angles = [[m * 100 ** (-k / 4) for k in range(4)] for m in range(4)]
    cos, sin = ([[part(one) for one in row] for row in angles] for part in (math.cos, math.sin))

    def form(made, *shape):
        values = [value for row in zip(cos, sin) for value in made(*row)]
        return numbers(values, *shape)

    def both(made, *shape):
        return {
            "cos": form(lambda c, s: made(c), *shape),
            "sin": form(lambda c, s: made(s), *shape),
        }

    def turns(c, s):
        return [value for pair in zip(c, s) for value in pair]

    return {
        "a pair once": both(lambda row: row, 4, 4),
        "halves": both(lambda row: row + row, 4, 8),
        "pairs side by side": both(lambda row: [one for one in row for _ in range(2)], 4, 8),
        "complex": {"freqs_cis": form(turns, 4, 4, 2)},
        "one cache": {"cos_sin_cache": form(lambda c, s: c + s, 4, 8)},
    }


def not_finite():
    """An element of each table that is no number: where it is said to be."""
    found = []
    for name, tensors in rope_tables().items():
        for which, one in tensors.items():
            width = len(one["values"]) // 4
            for at in (0, 1, width - 2, width - 1):
                values = list(one["values"])
                values[width + at] = math.nan
                changed = tensors | {which: numbers(values, *one["shape"])}
                # Copies of a sine are counted as bad rows.
                copies = {"halves": (6, 7), "pairs side by side": (1, 7)}.get(name, ())
                group = "edges" if which == "sin" and at in copies else "refused edges"
                label = f"diagnosis of {name}, element {at} of a row of {which} is no number"
                found.append(
                    post_file(group, label, "/v1/diagnosis", {"encoding": "rope"}, changed)
                )
    return found


# ---- positions of tokens ------------------------------------------------------------------------


def ids():
    """POST /v1/positions: lists of every depth, and what goes together."""

    def of(label, **given):
        return edge("ids " + label, "positions", given)

    def no(label, **given):
        return refused("ids " + label, "positions", given)

    flux = {"model_type": "flux2", "image_grid_thw": [[1, 2, 2]]}
    ltx = {"model_type": "ltx_video", "image_grid_thw": [[2, 2, 2]]}
    qwen = {"model_type": "qwen2_vl"}
    seen = qwen | {"mm_token_type_ids": [0, 1, 1], "image_grid_thw": [1, 2, 4]}
    text = {"lengths": [1, 3], "padding_side": "left"}
    return [
        of("of one list", **seen),
        of("merged otherwise", **seen | {"image_grid_thw": [1, 1, 2]}, spatial_merge_size=1),
        of("merged otherwise in time", **seen, temporal_merge_size=1),
        of("of model names", model_type="Qwen2-VL", length=2),
        of("of padding on the right", lengths=[1, 3], padding_side="right"),
        of("of equal lengths", lengths=[2, 2]),
        of("of one length", lengths=3),
        of("of no tokens", length=0),
        of("of a length and a list", attention_mask=[0, 1], length=2),
        of("of a chunk at the end", length=3, chunk_start=3, chunk_length=1),
        of("of a chunk of nothing", length=3, chunk_start=3),
        of("of input ids", input_ids=[5, 6, 7]),
        of(
            "of videos by id",
            **qwen,
            input_ids=[[5, 8, 7]],
            video_token_id=8,
            video_grid_thw=[[1, 2, 2]],
        ),
        of(
            "of both by id",
            **qwen,
            input_ids=[[8, 5, 9, 7]],
            video_token_id=8,
            image_token_id=9,
            video_grid_thw=[[1, 2, 2]],
            image_grid_thw=[[1, 2, 2]],
        ),
        of("of ends", cu_seqlens=[0, 1, 1, 4]),
        of("posted of four planes", **seen, position_ids=[[[0, 1, 2]]] * 4),
        of("posted of three planes", **seen, position_ids=[[[0, 1, 2]]] * 3),
        of("posted alone", position_ids=[0, 1, 3]),
        of("posted in two rows", position_ids=[[0, 1, 3], [0, 1, 2]]),
        *(
            of(
                f"posted from {start} on with a wrong one",
                length=6,
                chunk_start=start,
                position_ids=[start, start + 5, start + 2],
            )
            for start in (0, 2, 3)
        ),
        of("posted of fractions", **ltx, frame_rate=24, position_ids=[[0] * 8] * 3),
        no("of no rate", **ltx),
        of("of a made image", **flux, mm_token_type_ids=[0, 1, 1, 1, 1]),
        of("of a made video", **ltx, frame_rate=24),
        of("of steps", **ltx, frame_rate=24, grid_step=[1, 2, 4]),
        no("of two steps", **ltx, grid_step=[1, 2]),
        no("of a step of qwen", **seen, grid_step=[1, 2, 3]),
        no("of a base of qwen", **seen, base_size=[1, 2, 3]),
        no("of two bases", **ltx, base_size=[1, 2]),
        no("a tensor of nothing", **text, tensors={"x": {"shape": [1], "data": [1]}}),
        no("of one end", cu_seqlens=[0]),
        of("lengths beside kinds", **text | {"lengths": [1, 2]}, mm_token_type_ids=[[0, 1]] * 2),
        no("lengths beside a mask", **text | {"lengths": [1, 2]}, attention_mask=[[1, 1]] * 2),
        no("equal lengths beside a mask", lengths=[2, 2], attention_mask=[[1, 0]] * 2),
        no("lengths beside other rows", **text, input_ids=[[1, 2, 3]]),
        no("a length of another", attention_mask=[[0, 1]], length=3),
        no("two lists of two sizes", attention_mask=[[0, 1]], input_ids=[[1, 2, 3]]),
        no("posted of other rows", **seen, position_ids=[[0, 1, 2]] * 2),
        no("posted of other tokens", length=3, position_ids=[0, 1], chunk_length=3),
        no("half an id", length=3, position_ids=[0, 0.5, 1]),
        no("a fraction of a mask", attention_mask=[0, 0.5]),
        no("a kind of -1", **seen | {"mm_token_type_ids": [0, -1, 1]}),
        of("a model of dots", model_type="qwen2.vl", length=2),
        no("behind the last", length=3, chunk_start=4),
        no("a grid of planes", **seen | {"image_grid_thw": [[[1, 2, 4]]] * 2}),
        no("a list of text", input_ids=["x"]),
        no("text for a list", input_ids="x"),
    ]


# ---- configs ------------------------------------------------------------------------------------


def configs():
    """A config beside parameters of the request, as a member, in text, and of several kinds."""
    llama = {"model_type": "llama", "head_dim": 4, "max_position_embeddings": 8}
    gemma = {
        "model_type": "gemma3_text",
        "head_dim": 4,
        "num_hidden_layers": 6,
        "sliding_window": 512,
        "rope_local_base_freq": 100,
    }
    bloom = {"model_type": "bloom", "n_head": 2, "hidden_size": 8}
    table, full = VIEWS + "rope/table", {"layer_type": "full_attention"}

    def config(label, config, **more):
        return edge("config " + label, "config", config, **more)

    def view(label, group="edges", **given):
        return post(group, "view " + label, table, {"length": 2} | given)

    def no_view(label, **given):
        return view(label, "refused edges", **given)

    def lint(label, **given):
        return edge("lint " + label, "lint", given)

    # The layers of one type are the first four, or all six.
    rotating = ([1, 0, 1, 0, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1])
    types = (["full_attention"] * 6, ["full_attention"] * 4 + ["sliding_attention"] * 2)
    smol = {"model_type": "smollm3", "head_dim": 4, "num_hidden_layers": 6, "sliding_window": 64}

    def turned(label, member, make=edge):
        return make(
            "turn by " + label,
            "rotation",
            {"encoding": member, "layout": "half", "axes": "bhsd", "start": 1},
            q(1, 1, 2, 4),
        )

    return [
        config("of llama", llama),
        config("of text", llama | {"rope_scaling": None, "torch_dtype": "bfloat16"}),
        config("of bloom", bloom),
        config("of gemma", gemma),
        config("of one layer of gemma", gemma, query_of=full),
        config("strict by 1", llama, query_of={"strict": "1"}),
        config("strict by FALSE", llama, query_of={"strict": "FALSE"}),
        config("strict by 0", llama, query_of={"strict": "0"}),
        edge("config in config", "config", {"config": llama}),
        edge("config of text in config", "config", {"config": json.dumps(llama)}),
        edge("config strict in the body", "config", {"config": llama, "strict": True}),
        view("of a config", config=llama),
        view("of a config with a base", config=llama, base=5),
        view("of a config with its dim", config=llama, dim=4),
        view("of a layer", config=gemma, layer_type="sliding_attention"),
        view("of another layer", config=gemma, layer_type="full_attention"),
        *(
            (view if any(of_layers[: names.count("full_attention")]) else no_view)(
                f"of layers of one type, of which {of_layers} rotate, {len(set(names))} types",
                config=smol | {"no_rope_layers": of_layers, "layer_types": names},
                layer_type="full_attention",
            )
            for of_layers in rotating
            for names in types
        ),
        *(
            edge(
                f"turn by a config, layout {layout}",
                "rotation",
                {"config": llama, "layout": layout, "axes": "bhsd", "start": 1},
                q(1, 1, 2, 4),
            )
            for layout in ("half", "interleaved")
        ),
        no_view("of no layer", config=gemma),
        view("of another dim", config=llama, dim=8),
        no_view("of a layer that is not there", config=gemma, layer_type="chunked_attention"),
        no_view("of bloom", config=bloom),
        turned("a config", {"config": llama}),
        turned("a config of a layer", {"config": gemma, "layer_type": "full_attention"}),
        turned("a strict config", {"config": llama, "strict": True}),
        turned("a config by itself", llama),
        turned("a config of text", {"config": "llama"}, refused),
        turned("a layer that is a number", {"config": llama, "layer_type": 3}, refused),
        turned("strictness that is text", {"config": llama, "strict": "true"}, refused),
        turned("a config of bloom", {"config": bloom}, refused),
        refused("config twice", "config", llama, query_of={"config": "{}"}),
        refused("config of a list", "config", {"config": [1]}),
        refused(
            "config strict",
            "config",
            llama | {"rope_thet": 3, "rope_scaling": {"type": "x"}},
            query_of={"strict": "true"},
        ),
        refused("config of a layer", "config", llama, query_of={"layer_type": "none"}),
        lint("for all", config=llama),
        lint("for one", config=llama, **{"for": ["vllm"]}),
        lint("for two of text", config=llama, **{"for": "vllm,mlx-lm"}),
        lint("for gemma", config=gemma, **{"for": "vllm,llama.cpp,mlx-lm"}),
        lint(
            "as sarif against another",
            config=llama,
            against=llama | {"rope_theta": 7},
            report="sarif",
        ),
        lint("against itself", config=llama, against=llama),
        lint("of a file", config=llama, report="sarif", file="x/y.json"),
        edge("golden of a golden context", "golden", {"config": llama}, query_of={"context": 4}),
        edge("golden of a layout", "golden", {"config": llama, "layout": "interleaved"}),
        edge(
            "golden of an unknown model with a layout",
            "golden",
            {
                "config": {"head_dim": 4, "max_position_embeddings": 8, "rope_theta": 7},
                "layout": "half",
            },
        ),
        edge("golden of gemma", "golden", {"config": gemma | {"max_position_embeddings": 16}}),
        edge("golden as json", "golden", {"config": llama, "format": "json"}),
        edge("extend of one engine", "extend", {"config": llama, "to": 16, "for": "vllm"}),
        edge("extend of linear", "extend", {"config": llama, "to": 16, "type": "linear"}),
        edge("extend of every engine", "extend", {"config": llama, "to": 16}),
        edge("extend by a half", "extend", {"config": llama, "to": 12, "for": "transformers"}),
    ]


# ---- formats ------------------------------------------------------------------------------------

# Each format of each dtype, of headers of each length: names, ranks and sizes differ.
FORMATS = """
rope/table?dim=4&length=1&part=cos&format=npy &dtype=f64 &dtype=f16 &dtype=u8
rope/table?dim=4&length=1&part=complex&format=npy &dtype=f64
rope/table?dim=4&length=1000&part=cos&format=npy
rope/frequencies?dim=2&format=npy
rope/frequencies?dim=2000&format=npy
alibi/bias?heads=2&query_length=2&format=npy
alibi/bias?heads=12&query_length=10&key_length=100&format=npy
rope/table?dim=4&length=2&format=raw &dtype=bf16 &dtype=u8
rope/table?dim=4&length=2&format=safetensors &dtype=bf16 &dtype=u8 &dtype=f64 &part=sin
rope/table?dim=2&length=1&format=safetensors
sinusoidal/table?dim=3&length=1&dtype=f16&format=safetensors
sinusoidal/table?dim=3&length=11&base=12&format=safetensors
sinusoidal/table?dim=3&length=12&base=123&format=safetensors
sinusoidal/table?dim=3&length=13&base=1234&format=safetensors
sinusoidal/table?dim=3&length=14&base=12345&format=safetensors
sinusoidal/table?dim=3&length=15&base=123456&format=safetensors
rope/table?dim=4&length=3&format=csv &dtype=f64 &dtype=f16 &part=sin
rope/table?dim=4&positions=3,-1.5,0&format=csv
rope/frequencies?dim=6&format=csv &dtype=f64
sinusoidal/table?dim=1&length=1&format=csv
sinusoidal/table?dim=2&length=400&format=csv
binary/table?dim=3&length=5&format=csv
index/table?length=3&format=csv
rope/table?dim=4&length=0&format= npy safetensors raw csv json
sinusoidal/table?dim=1&length=1&data_format=base64 &dtype=f16 &dtype=f64 &dtype=bf16
sinusoidal/table?dim=1&length=2&data_format=base64 &dtype=f16 &dtype=f64
sinusoidal/table?dim=3&length=1&data_format=base64 &dtype=f16 &dtype=f64
rope/table?dim=4&length=2&format=npy
rope/table?dim=4&length=2&format=csv&part=complex
rope/table?dim=4&length=2&data_format=base64&flat=true
rope/table?dim=4&length=2&flat=true&dtype=f16
rope/table?dim=4&length=2&download=true&format= json npy csv raw safetensors
rope/table?dim=4&length=2&download=true&start=2&step=3&dtype=bf16
rope/frequencies?dim=4&download=true&format=npy
alibi/bias?heads=2&query_length=2&download=true&format=raw
"""
REFUSED_FORMATS = """
alibi/bias?heads=1&query_length=2&format=csv
rope/table?dim=4&length=2&data_format= hex flat
rope/table?dim=4&length=2&flat=perhaps
rope/table?dim=4&length=2&download=7
"""


def accepted():
    """Accept: the best of a list, of ranges and of equal ones; and what none of them takes."""
    table = VIEWS + "sinusoidal/table?dim=4&length=2"

    def accept(value, group="edges", target=table, loose=False):
        return ask(group, target, headers={"Accept": value}, loose=loose)

    return [
        accept("application/*"),
        accept("*/*"),
        accept(f"{NPY};q=0.2, {RAW};q=0.3, {JSON};q=0.1"),
        accept(f"*/*;q=0.1, {NPY};q=0"),
        accept(f"{JSON};q=0, */*"),
        accept(f"application/*;q=0.5, {RAW};q=0.4"),
        accept("text/csv"),
        accept("text/*"),
        accept("image/*"),
        accept(f'{NPY};a="x,y";q=0.5, {RAW};q=0.4'),
        accept(f"{NPY};q=1.000, {RAW};q=0.999"),
        accept(f" {NPY} ; q=0.9 ,{RAW};q=0.8"),
        accept("text/html", target="/", loose=True),
        accept("text/html;q=0.5, application/json;q=0.6", target="/"),
        accept("text/html", target="/v1/encodings/rope"),
        accept("*/*;q=0", "refused edges"),
        accept("nonsense", "refused edges"),
        accept("application/pdf, text/html", "refused edges"),
        ask("edges", table + "&format=raw", headers={"Accept": "text/html"}),
    ]


# ---- bodies of tensors --------------------------------------------------------------------------


def files():
    """Heads of files at each length and with each member, and those that are wrong in one place."""
    one = {"q": tensor(22, 1, 1, 2, 4)}
    target = "/v1/rotation?encoding=rope&layout=half&axes=bhsd&start=1"
    npy, good = npy_bytes(one["q"]), safetensors_bytes(one)
    shape = {"Tensor-Dtype": "f32", "Tensor-Shape": "1,1,2,4"}

    def sent(label, media, body, headers=None, group="edges"):
        return post_bytes(group, "file " + label, target, media, body, headers=headers)

    def no(label, media, body, headers=None):
        return sent(label, media, body, headers, "refused edges")

    def renamed(change):
        head = json.loads(good[8 : 8 + int.from_bytes(good[:8], "little")])
        change(head)
        text = json.dumps(head, separators=(",", ":")).encode()
        return len(text).to_bytes(8, "little") + text + good[-32:]

    def entry(**members):
        return renamed(lambda head: head["q"].update(members))

    def without(name):
        return renamed(lambda head: head["q"].pop(name))

    text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 2, 4), }\n"

    def with_head(head, version=1):
        width = 2 if version == 1 else 4
        size = len(head).to_bytes(width, "little")
        return b"\x93NUMPY" + bytes([version, 0]) + size + head + npy[-32:]

    return [
        sent("npy of version 2", NPY, with_head(text, 2)),
        sent("npy of version 3", NPY, with_head(text[:-1] + b" \n", 3)),
        sent("npy without blanks", NPY, with_head(text.replace(b" ", b""))),
        sent("npy of other quotes", NPY, with_head(text.replace(b"'", b'"'))),
        sent(
            "npy of another order",
            NPY,
            with_head(b"{'shape': (1, 1, 2, 4), 'fortran_order': False, 'descr': '<f4'}\n"),
        ),
        no("npy of longs", NPY, with_head(text.replace(b"1, 1,", b"1L, 1L,"))),
        sent("safetensors with blanks", SAFETENSORS, safetensors_bytes(one, {"a": "b"})),
        sent("raw in capitals", RAW, npy[-32:], {"Tensor-Dtype": "F32", "Tensor-Shape": "1,1,2,4"}),
        sent("raw with blanks", RAW, npy[-32:], shape | {"Tensor-Shape": "1, 1, 2, 4"}),
        sent("json as text", "application/json; charset=utf-8", json_bytes({}, one)),
        no("npy of two axes twice", NPY, with_head(text.replace(b"}", b"'shape': (8,)}"))),
        no("npy without a shape", NPY, with_head(b"{'descr': '<f4', 'fortran_order': False}\n")),
        no("npy without an order", NPY, with_head(b"{'descr': '<f4', 'shape': (1, 1, 2, 4)}\n")),
        no("npy without a dtype", NPY, with_head(b"{'fortran_order': False, 'shape': (8,)}\n")),
        no("npy of big ends", NPY, with_head(text.replace(b"<f4", b">f4"))),
        no("npy of a negative size", NPY, with_head(text.replace(b"2, 4", b"-2, 4"))),
        no("npy of another name", NPY, with_head(text.replace(b"descr", b"descs"))),
        no("npy of an order of 1", NPY, with_head(text.replace(b"False", b"1"))),
        no("npy of an open tuple", NPY, with_head(text.replace(b")", b""))),
        no("npy with more", NPY, with_head(text[:-1] + b"x\n")),
        no("npy of a cut head", NPY, with_head(text)[:40]),
        no("npy of a huge head", NPY, npy[:8] + b"\xff\xff" + npy[10:]),
        no("npy of eight bytes", NPY, npy[:8]),
        no("npy of seven bytes", NPY, npy[:7]),
        no("npy cut", NPY, npy[:-1]),
        no("npy long", NPY, npy + b"\0"),
        no("npy of too many axes", NPY, with_head(text.replace(b"1, 1,", b"1," * 40))),
        no("safetensors of seven bytes", SAFETENSORS, good[:7]),
        no("safetensors of a cut head", SAFETENSORS, good[:20]),
        no("safetensors cut", SAFETENSORS, good[:-1]),
        no("safetensors of a list", SAFETENSORS, (2).to_bytes(8, "little") + b"[]"),
        no("safetensors of nothing", SAFETENSORS, (2).to_bytes(8, "little") + b"{}"),
        no("safetensors without a dtype", SAFETENSORS, without("dtype")),
        no("safetensors without a shape", SAFETENSORS, without("shape")),
        no("safetensors without offsets", SAFETENSORS, without("data_offsets")),
        no("safetensors with a member more", SAFETENSORS, entry(more=1)),
        no("safetensors of one offset", SAFETENSORS, entry(data_offsets=[0])),
        no("safetensors of offsets that fall", SAFETENSORS, entry(data_offsets=[32, 0])),
        no("safetensors of offsets too far", SAFETENSORS, entry(data_offsets=[0, 64])),
        no("safetensors of text offsets", SAFETENSORS, entry(data_offsets=["0", 32])),
        no("safetensors of an unknown dtype", SAFETENSORS, entry(dtype="F8")),
        no("safetensors of a number as dtype", SAFETENSORS, entry(dtype=32)),
        no("safetensors of a negative size", SAFETENSORS, entry(shape=[1, 1, -2, 4])),
        no("safetensors of a large shape", SAFETENSORS, entry(shape=[1 << 40, 1 << 40, 2, 4])),
        no("safetensors of a text shape", SAFETENSORS, entry(shape=["1"])),
        no("safetensors of another shape", SAFETENSORS, entry(shape=[1, 1, 2, 3])),
        no("safetensors of many axes", SAFETENSORS, entry(shape=[1] * 40)),
        no(
            "safetensors of metadata in numbers",
            SAFETENSORS,
            renamed(lambda head: head.update(__metadata__={"a": 1})),
        ),
        no(
            "safetensors of metadata in a list",
            SAFETENSORS,
            renamed(lambda head: head.update(__metadata__=[])),
        ),
        no(
            "safetensors of an entry of text", SAFETENSORS, renamed(lambda head: head.update(k="x"))
        ),
        no("raw of an unknown dtype", RAW, npy[-32:], shape | {"Tensor-Dtype": "f8"}),
        no("raw of a negative size", RAW, npy[-32:], shape | {"Tensor-Shape": "1,1,-2,4"}),
        no("raw of a comma", RAW, npy[-32:], shape | {"Tensor-Shape": "1,1,2,4,"}),
        no("raw of no axes", RAW, npy[-32:], shape | {"Tensor-Shape": ""}),
        no("raw of many axes", RAW, npy[-32:], shape | {"Tensor-Shape": "1," * 40 + "8"}),
        no("raw without a dtype", RAW, npy[-32:], {"Tensor-Shape": "1,1,2,4"}),
        no("raw long", RAW, npy[-32:] + b"\0", shape),
        no("of html", "text/html", b"<html>"),
        no("of a form", "application/x-www-form-urlencoded", b"a=b"),
        no("npy that is json", NPY, b'{"dim":4}'),
        no("safetensors that is npy", SAFETENSORS, npy),
        no("json that is npy", JSON, npy),
        no("json that is safetensors", JSON, good),
        no("a png", "image/png", b"\x89PNG\r\n\x1a\n"),
        no("zip", "application/zip", b"PK\x03\x04"),
        no("nothing of no type", "", b""),
    ]


def elements():
    """Tensors in JSON: each form of data, each dtype, and one fault at a time."""
    path = "layout"
    table = {"kind": "table", "from_layout": "half", "to_layout": "meta", "format": "json"}

    def of(label, make=edge, **told):
        return make("data " + label, path, table | {"tensors": {"t": told}})

    def no(label, **told):
        return of(label, refused, **told)

    return [
        of("nested", data=[[1, 2, 3, 4]]),
        of("of a shape", shape=[1, 4], data=[1, 2, 3, 4]),
        of("nested of its shape", shape=[1, 4], data=[[1, 2, 3, 4]]),
        of("base64 of f32", shape=[1, 2], base64="AACAPwAAAEA="),
        of("base64 of f16", dtype="f16", shape=[1, 2], base64="ADwAQA=="),
        of("base64 of f64", dtype="f64", shape=[1, 2], base64="AAAAAAAA8D8AAAAAAAAAQA=="),
        of("base64 of bytes", dtype="u8", shape=[1, 6], base64="AQIDBAUG"),
        of("of integers", dtype="i64", data=[[1, -9007199254740991]]),
        of("of bytes", dtype="u8", data=[[0, 255]]),
        of("of i32", dtype="i32", data=[[-2147483648, 2147483647]]),
        of("of f16", dtype="f16", data=[[65504, -65519.99]]),
        of("of bf16", dtype="bf16", data=[[3.3e38, 1]]),
        of("of no rows", shape=[0, 4], data=[]),
        no("of no rows without a shape", data=[]),
        no("ragged", data=[[1, 2], [3]]),
        no("of two depths", data=[[1, 2], 3]),
        no("of text", data=[["x", 2]]),
        no("of null", data=[[None, 2]]),
        no("of true", data=[[True, 2]]),
        no("of an object", data=[{}, 2]),
        no("a number", data=3),
        no("text for data", data="AAAA"),
        no("of a byte of 256", dtype="u8", data=[[256, 1]]),
        no("of a byte of -1", dtype="u8", data=[[-1, 1]]),
        no("of half a byte", dtype="u8", data=[[0.5, 1]]),
        no("of an i32 too large", dtype="i32", data=[[2147483648, 1]]),
        no("of an i32 too small", dtype="i32", data=[[-2147483649, 1]]),
        no("of an f16 too large", dtype="f16", data=[[65520, 1]]),
        no("of an unknown dtype", dtype="f8", data=[[1, 2]]),
        no("of a dtype in numbers", dtype=1, data=[[1, 2]]),
        no("of too few", shape=[2, 2], data=[1, 2, 3]),
        no("of too many", shape=[2, 2], data=[1, 2, 3, 4, 5]),
        no("nested of another shape", shape=[2, 2], data=[[1, 2, 3, 4]]),
        no("a shape of text", shape="2", data=[1, 2]),
        no("a shape of halves", shape=[1.5, 2], data=[1, 2, 3]),
        no("a shape of many", shape=[1] * 40, data=[1]),
        no("base64 without a shape", base64="AAAA"),
        no("base64 of a number", shape=[1, 2], base64=7),
        no("base64 too short", shape=[1, 2], base64="AACAPw=="),
        no("base64 too long", shape=[1, 1], base64="AACAPwAAAEA="),
        no("base64 of another letter", shape=[1, 2], base64="AACAPwAAAE*="),
        no("base64 without an end", dtype="f16", shape=[1, 2], base64="ADwAQA"),
        no("base64 with an end within", shape=[1, 2], base64="AACAPw==AEA="),
        no("base64 of one letter more", shape=[1, 2], base64="AACAPwAAAEA=A"),
        no("base64 of odd bits", dtype="f16", shape=[1, 2], base64="ADwAQB=="),
        no("an unknown member", data=[[1, 2]], values=[1]),
        no("nothing", dtype="f32"),
        refused("data of a list", path, table | {"tensors": {"t": [1, 2]}}),
        refused("data of no tensors", path, table | {"tensors": {}}),
        refused("data of no object", path, table | {"tensors": None}),
    ]


# ---- conditions, ranges, methods ----------------------------------------------------------------

RAW_VIEW = VIEWS + "rope/table?dim=8&length=4&format=raw"  # 128 bytes


WITH_A_SLASH = """
/v1/encodings/
/v1/encodings/rope/
/v1/encodings/ROPE
/problems/
/livez?x=1
"""
NOWHERE = """
/v1/encodings//table
/v1/encodings/rope/analysis
/v1/encodings/rope/analysis/
/v1/encodings/rope/analysis/table?dim=4
/v1/encodings/rope/decay?dim=4
/v1/encodings/rope%2Ftable
/v1//
//v1
/problems/Out-Of-Range
/v1/encodings?family=
/v1/encodings?famly=bias
/v1/engines?engine=vllm&engine=mlx-lm
/openapi.jso
/%76%31x
"""


def conditions():
    def part(text, group="edges", target=RAW_VIEW, **more):
        return ask(group, target, headers={"Range": text} | more)

    def method(name, target, group="edges", **headers):
        return ask(group, target, method=name, headers=headers)

    pages = {"Origin": "https://example.org", "Access-Control-Request-Method": "GET"}
    return [
        *(
            part(text)
            for text in (
                "bytes=0-0",
                "bytes=127-127",
                "bytes=0-127",
                "bytes=0-128",
                "bytes=126-",
                "bytes=-1",
                "bytes=-128",
                "bytes=-129",
                "bytes=10-19,0-4",
                "bytes= 3-9",
                "bytes=3-9 ",
                "BYTES=3-9",
                "bytes=",
                "bytes=-",
                "bytes=a-b",
                "bytes=3",
                "items=0-1",
                "bytes=3-9x",
                "bytes=00003-9",
                "bytes=3-99999999999999999999999",
            )
        ),
        part("bytes=128-128", "refused edges"),
        part("bytes=99999999999999999999999-", "refused edges"),
        part("bytes=-0", "refused edges"),
        part("bytes=4-9", target=VIEWS + "rope/table?dim=4&length=3"),
        part("bytes=4-9", target=VIEWS + "rope/table?dim=4&length=3&format=csv"),
        part("bytes=4-90", target=VIEWS + "rope/table?dim=4&length=3&format=safetensors"),
        part("bytes=4-9", **{"If-None-Match": '"x"'}),
        part("bytes=4-9", **{"If-None-Match": "*"}),
        part("bytes=4-9", **{"If-Range": '"x"'}),
        ask("edges", RAW_VIEW, headers={"If-None-Match": 'W/"a", {etag}, "b"'}),
        ask("edges", RAW_VIEW, headers={"If-None-Match": '"a" , "b"'}),
        ask("edges", RAW_VIEW, headers={"If-None-Match": "x"}),
        ask("edges", RAW_VIEW, headers={"If-Match": "*"}),
        ask("edges", RAW_VIEW, headers={"Accept-Encoding": "gzip"}),
        ask("edges", VIEWS + "rope", headers={"Accept-Encoding": "gzip;q=0, identity"}),
        ask("edges", VIEWS + "rope", headers={"Accept-Encoding": "br, zstd;q=0.1"}),
        ask("edges", VIEWS + "rope", headers={"Accept-Encoding": "identity;q=0, gzip"}),
        ask("edges", VIEWS + "rope", headers={"Accept-Encoding": ""}),
        ask("refused edges", VIEWS + "rope", headers={"Accept-Encoding": "identity;q=0"}),
        ask("refused edges", VIEWS + "rope", headers={"Accept-Encoding": "*;q=0"}),
        *gets("edges", WITH_A_SLASH, ""),
        method("OPTIONS", "/v1/rotation"),
        method("OPTIONS", "/v1/encodings/rope/table"),
        method("OPTIONS", "/v1/encodings/mine"),
        method("OPTIONS", "/v1/config", **pages),
        method("OPTIONS", "/livez", **pages | {"Access-Control-Request-Headers": "x-a, x-b"}),
        *(
            method(name, target, "refused edges")
            for name, target in (
                ("DELETE", "/v1/rotation"),
                ("PATCH", "/v1/encodings/rope"),
                ("GET", "/v1/golden"),
                ("POST", "/livez"),
                ("PUT", "/v1"),
                ("HEAD", "/v1/rotation"),
                ("GET", "/v1/lint"),
            )
        ),
        *gets("refused edges", NOWHERE, ""),
    ]


def narrow():
    """At the limits of the narrow server and one behind them."""

    def asked(label, target, group="edges narrow"):
        return ask(group, "/p" + VIEWS + target, label, server="narrow")

    def sent(label, size, group="edges narrow"):
        text = json_bytes({"dim": 4, "length": 1})
        body = text + b" " * (size - len(text))
        return post_bytes(group, label, "/p" + VIEWS + "rope/table", JSON, body, server="narrow")

    def filed(label, size, group="edges narrow"):
        sent = {"encoding": "rope", "layout": "half", "axes": "sd", "dim": 4, "start": 0}
        head = len(safetensors_bytes({"q": tensor(1, 100, 4)})) - 1600
        rows = (size - head) // 16
        tensors = {"q": tensor(1, rows, 4)}
        return post_file(
            group, label, "/p/v1/rotation", sent | {"format": "raw"}, tensors, server="narrow"
        )

    no = "refused edges narrow"
    return [
        asked("a hundred elements", "rope/table?dim=10&length=10"),
        asked("more than a hundred", "rope/table?dim=6&length=17", no),
        asked("a width of 64", "sinusoidal/table?dim=64&length=1"),
        asked("a width of 65", "sinusoidal/table?dim=65&length=1", no),
        asked("64 KiB", "sinusoidal/table?dim=64&length=256&format=raw&dtype=f32"),
        asked("more than 64 KiB", "sinusoidal/table?dim=64&length=257&format=raw&dtype=f32", no),
        sent("2 KiB of json", 2048),
        sent("2 KiB of json and a byte", 2049, no),
        filed("almost 4 KiB", 4096),
        filed("4 KiB and a row", 4096 + 16, no),
    ]


def requests():
    return [
        *places(),
        *not_finite(),
        *ids(),
        *configs(),
        *gets("edges", FORMATS),
        *gets("refused edges", REFUSED_FORMATS),
        *accepted(),
        *files(),
        *elements(),
        *conditions(),
        *narrow(),
    ]
