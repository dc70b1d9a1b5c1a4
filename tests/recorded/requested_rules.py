# SPDX-License-Identifier: MIT
"""Rules of single routes: caches of engines, tensors beside parameters, positions in all forms,
pictures of one row or column, golden files, and what each of them refuses."""

import json

from bodies import JSON, numbers, safetensors_bytes, tensor
from request import ask, gets, post, post_bytes, post_file

Q = tensor(1, 1, 2, 3, 4)
HALF = {"encoding": "rope", "layout": "half"}
BHSD = HALF | {"axes": "bhsd"}
FACTORS = {"rope_freqs.weight": numbers([1, 1, 2, 8])}
# Rows that are the same twice side by side.
HF = {
    "cos": numbers([1, 0.5, 1, 0.5, 0.25, -1, 0.25, -1, 0, 2, 0, 2], 3, 4),
    "sin": numbers([0, 1, 0, 1, -0.5, 0, -0.5, 0, 1, 1, 1, 1], 3, 4),
}
META = {"freqs_cis": tensor(3, 3, 2, 2)}
ONNX = {"cos_cache": tensor(1, 3, 2), "sin_cache": tensor(2, 3, 2)}
VLLM = {"cos_sin_cache": tensor(4, 3, 4)}


def rule(label, path, parameters, tensors=None, **rest):
    return post("rules", label, "/v1/" + path, parameters, tensors, **rest)


def refused(label, path, parameters, tensors=None, **rest):
    return post("refused rules", f"{path} {label}", "/v1/" + path, parameters, tensors, **rest)


# ---- comparison ---------------------------------------------------------------------------------


def comparisons():
    rope, waves = {"name": "rope", "base": 100}, {"name": "sinusoidal"}
    llama3 = rope | {
        "rope_type": "llama3",
        "factor": 8,
        "low_freq_factor": 1,
        "high_freq_factor": 4,
        "original_max_position_embeddings": 64,
    }

    def compare(label, a, b, tensors=None, **parameters):
        return rule(label, "comparison", {"a": a, "b": b} | parameters, tensors)

    def no(label, a, b, tensors=None, **parameters):
        return refused(label, "comparison", {"a": a, "b": b} | parameters, tensors)

    half, each = rope | {"layout": "half"}, {"per_pair": True, "per_position": True}
    heads = {"x": tensor(1, 2, 2, 3, 4), "y": tensor(2, 2, 2, 3, 4, dtype="f16")}
    turned = {"q": tensor(1, 2, 3, 4), "q_rotated": tensor(2, 2, 3, 4)}
    deep = {"k": tensor(1, 1, 2, 3, 4), "k_rotated": tensor(2, 1, 2, 3, 4)}
    xpos = {"name": "xpos", "t_center": 1, "layout": "half"}
    way = {"tolerance_of": "f32-angle"}
    two = {"x": tensor(1, 2, 4), "y": tensor(2, 3, 4)}
    return [
        compare("cache of hf", "cache:hf", rope, HF, **each),
        compare("cache of vllm", rope, "cache:vllm", VLLM, start=2),
        compare("cache of meta", "cache:meta", rope, META, step=3),
        compare("cache of onnx", "cache:onnx", rope, ONNX, positions=[7, 1, 2]),
        compare("factors of ggml", "cache:ggml", llama3, FACTORS, per_pair=True),
        compare("cos and sin in one", "tensor:t", rope, {"t": tensor(5, 2, 3, 2)}, part="both"),
        compare("by head", "tensor:x", "tensor:y", heads, tolerance=0.25),
        compare("by head of axes", "tensor:y", "tensor:x", heads, axes="lhsd", per_position=True),
        compare("a rotation", "tensor:q_rotated", half, turned, axes="hsd", start=5),
        compare("a rotation of keys", xpos, "tensor:k_rotated", deep, positions=[3, 1, 2]),
        compare("intervals", "tensor:x", waves, {"x": two["x"]}, per_element=True, **way),
        compare("two tensors", "tensor:x", "tensor:y", {"x": two["x"], "y": two["x"]}),
        no("no such tensor", "tensor:x", rope, {"y": Q}),
        no("a tensor of integers", "tensor:x", rope, {"x": numbers([1, 2], 1, 2, dtype="i32")}),
        no("no such cache", "cache:tgi", rope, HF),
        no("cos and sin of two shapes", "cache:hf", rope, HF | {"sin": numbers([1] * 8, 2, 4)}),
        no("rows of no width", "tensor:x", rope, {"x": tensor(1, 3, 0)}),
        no("a list", "tensor:x", rope, {"x": tensor(1, 3)}),
        no("factors of what has none", "cache:ggml", waves, FACTORS),
        no(
            "a rotation of integers",
            "tensor:q_rotated",
            half,
            turned | {"q": numbers([1] * 24, 2, 3, 4, dtype="i32")},
            axes="hsd",
        ),
        no("a rotation without a layout", "tensor:q_rotated", rope, turned, axes="hsd"),
        no("xpos of x", "tensor:x_rotated", xpos, {"x": Q, "x_rotated": Q}),
        no("positions of other rows", "tensor:x", "tensor:x", {"x": two["x"]}, positions=[1, 2, 3]),
        no("length of other rows", "tensor:x", "tensor:x", {"x": two["x"]}, length=3),
        no("a width of no grid", "tensor:x", waves, {"x": two["x"]}, width=2),
        no("axes of an encoding", "tensor:x", waves, {"x": two["x"]}, axes="bhsd"),
        no("shapes", "tensor:x", "tensor:y", {"x": Q, "y": tensor(1, 1, 2, 4, 3)}),
        no("rows", "tensor:x", "tensor:y", two),
        no("a tensor too many", "tensor:x", waves, two),
        no("per_element alone", "tensor:x", waves, {"x": two["x"]}, per_element=True),
    ]


# ---- rotation -----------------------------------------------------------------------------------


def rotations():
    def rotate(label, parameters, tensors=None):
        return rule(label, "rotation", BHSD | parameters, tensors or {"q": Q})

    def no(label, parameters, tensors=None):
        return refused(label, "rotation", BHSD | parameters, tensors or {"q": Q})

    own = {"inv_freq": numbers([1, 0.25])}
    packed = {"axes": "thd", "cu_seqlens": [0, 2, 5]}
    five, two = {"q": tensor(2, 5, 1, 4)}, {"q": tensor(2, 2, 1, 3, 4)}
    ids = numbers([4, 2, 0], dtype="i64")
    return [
        *(
            rotate(f"by a cache {cache}", {"cache": cache, "start": 0}, {"q": Q} | tensors)
            for cache, tensors in (("hf", HF), ("vllm", VLLM), ("meta", META), ("onnx", ONNX))
        ),
        rotate("by inv_freq", {"start": 1}, {"q": Q} | own),
        rotate("by factors", {"start": 1}, {"q": tensor(2, 1, 1, 2, 8)} | FACTORS),
        rotate("packed from a start", packed | {"start": 2, "step": 3}, five),
        rotate("packed, with a sequence of none", {"cu_seqlens": [0, 3, 3]}, {"q": Q}),
        rotate("one delta", {"delta": 7}),
        rotate("a row for all of a batch", {"positions": [[3, 1, 2]]}, two),
        rotate("positions as a tensor", {}, {"q": Q, "positions": ids}),
        rotate("positions that a tensor names", {"positions": "tensor:ids"}, {"q": Q, "ids": ids}),
        rotate("a delta of each row", {"delta": [[1, 1, 1], [-2, 0, 3]]}, two),
        rotate("inverse of keys alone", {"inverse": True, "start": 1}, {"k": Q}),
        no("encodings and encoding", {"from_encoding": "rope", "to_encoding": "rope"}),
        no("not rotary", {"encoding": "alibi"}),
        no("integers", {"start": 0}, {"q": numbers([1, 2], 1, 1, 1, 2, dtype="i32")}),
        no("no width", {"start": 0}, {"q": tensor(1, 1, 1, 2, 0)}),
        no(
            "no tensor of its own",
            {"start": 0},
            HF | {"cos": tensor(1, 3, 2), "sin": tensor(1, 3, 2)},
        ),
        no("a cache twice", {"cache": "hf", "start": 0}, {"q": Q} | HF | VLLM),
        no(
            "cos of another width",
            {"start": 0},
            {"q": Q, "cos": tensor(1, 3, 3), "sin": tensor(1, 3, 3)},
        ),
        no("no factors", {"cache": "ggml", "start": 0}),
        no("inv_freq twice", {"encoding": {"name": "rope", "inv_freq": [1, 2]}}, {"q": Q} | own),
        no("inv_freq of rows", {}, {"q": Q, "inv_freq": tensor(1, 1, 2)}),
        no("inv_freq of xpos", {"encoding": {"name": "rope-2d", "dim": 4}}, {"q": Q} | own),
        no("xpos of x", {"encoding": {"name": "xpos", "t_center": 1}, "start": 0}, {"x": Q}),
        no("delta and positions", {"delta": 1, "positions": [0, 1, 2]}),
        no("positions and start", {"positions": [0, 1, 2], "start": 1}),
        no("ends and delta", packed | {"delta": 1}, five),
        no("ends as text", packed | {"cu_seqlens": "x"}, five),
        no("ends as an object", packed | {"cu_seqlens": {"start": 1}}, five),
        no("ends of another length", packed | {"cu_seqlens": [0, 2, 4]}, five),
        no("ends from a fraction", packed | {"start": 0.5}, five),
        no("too few positions", {"positions": [0, 1]}),
        no("positions of another batch", {"positions": [[0, 1, 2], [0, 1, 2]]}),
        no("positions of axes", {"positions": [[[0, 1, 2]], [[0, 1, 2]]]}),
        no("positions of no numbers", {"positions": [0, [1], 2]}),
        no("positions too deep", {"positions": [[[[0, 1, 2]]]]}),
        no("positions of no tensor", {"positions": "tensor:none"}),
        no("positions of halves", {}, {"q": Q, "positions": tensor(1, 3, dtype="f16")}),
        no("positions of deep tensors", {}, {"q": Q, "positions": numbers([1] * 3, 1, 1, 1, 3)}),
        no("positions twice", {"positions": [0, 1, 2]}, {"q": Q, "positions": ids}),
        no("a range of too many", {"positions": "0..5000000"}),
    ]


# ---- attention ----------------------------------------------------------------------------------


def attentions():
    qkv = {"q": Q, "k": tensor(2, 1, 2, 3, 4), "v": tensor(3, 1, 2, 3, 4)}
    whole = {
        "x": tensor(10, 1, 3, 6),
        "p": tensor(11, 3, 6),
        "w_q": tensor(12, 4, 6),
        "w_k": tensor(13, 4, 6),
        "w_v": tensor(14, 4, 6),
    }
    norms = {"q_norm": numbers([1, 0.5, 2, -1]), "k_norm": numbers([0.25, 1, 1, 1])}
    gemma = {
        "model_type": "gemma3_text",
        "head_dim": 4,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "num_hidden_layers": 2,
        "query_pre_attn_scalar": 16,
        "rope_theta": 1000,
    }

    def attend(label, parameters, tensors=None, encoding="none"):
        return rule(label, "attention", {"encoding": encoding} | parameters, tensors or qkv)

    def no(label, parameters, tensors=None, encoding="none"):
        return refused(label, "attention", {"encoding": encoding} | parameters, tensors or qkv)

    absolute = {"heads": 2}
    scores = {"outputs": "scores"}
    return [
        attend("norms", norm_offset := {"norm_offset": 1, "norm_epsilon": 0.01}, qkv | norms),
        attend("a norm without weights", scores | {"norm": "before", "norm_epsilon": 0.5}),
        attend("windows", {"window_left": 1, "window_right": 0, "outputs": "weights"}),
        attend("a window", {"window": 2, "causal": True, "outputs": "weights"}),
        attend(
            "a temperature",
            scores
            | {"temperature_strength": 2, "temperature_length": 2, "temperature_offset": 1}
            | {"query_start": 5},
        ),
        attend("absolute of a batch", absolute, whole | {"p": tensor(11, 1, 3, 6)}, "absolute"),
        rule(
            "attention of gemma",
            "attention",
            {"config": gemma, "layer_type": "full_attention"},
            qkv | norms,
        ),
        attend(
            "config and encoding", {"config": {"model_type": "bloom", "n_head": 2}}, None, "alibi"
        ),
        no("components", {"outputs": "components"}),
        no("heads", {"heads": 2}),
        no("rope without a layout", {}, None, "rope"),
        no("window and window_left", {"window": 1, "window_left": 1}),
        no("temperature_length alone", {"temperature_length": 3}),
        no("temperature_offset alone", {"temperature_offset": 3}),
        no("temperature_strength alone", {"temperature_strength": 3}),
        no("norm_epsilon alone", {"norm_epsilon": 0.1}),
        no("norm_offset alone", norm_offset),
        no("norm_offset without weights", {"norm": "before", "norm_offset": 1}),
        no("another tensor", {}, qkv | {"z": Q}),
        no("no axes", {}, qkv | {"scale": {"dtype": "f32", "shape": [], "values": 1.0}}),
        no("x of none", {}, qkv | {"x": Q}),
        no("weights of none", {}, qkv | {"weights": tensor(4, 4, 2)}),
        no("q of absolute", absolute, whole | {"q": Q}, "absolute"),
        no("no x", absolute, {name: whole[name] for name in whole if name != "x"}, "absolute"),
        no("x of one row", absolute, whole | {"x": tensor(1, 6)}, "absolute"),
        no("x in halves", absolute, whole | {"x": tensor(10, 1, 3, 6, dtype="f16")}, "absolute"),
        no("p in f64", absolute, whole | {"p": tensor(11, 3, 6, dtype="f64")}, "absolute"),
        no("w_q of another width", absolute, whole | {"w_q": tensor(12, 4, 5)}, "absolute"),
        no("w_k narrower", absolute, whole | {"w_k": tensor(13, 2, 6)}, "absolute"),
        no("three heads", {"heads": 3}, whole, "absolute"),
    ]


# ---- golden files -------------------------------------------------------------------------------


def goldens():
    kind = {
        "prefix": "",
        "encoding": {"name": "rope", "dim": 4},
        "layout": "half",
        "positions": [0, 3],
    }
    posted = {"cos": tensor(1, 2, 2)}

    def golden(label, **config):
        sizes = {"model_type": "llama", "head_dim": 4, "max_position_embeddings": 16}
        return rule("golden " + label, "golden", {"config": sizes | config})

    def no(label, parameters):
        return refused(label, "golden", parameters)

    def check(label, tensors, **changes):
        description = {"format": 1, "kinds": [kind | changes]}
        return rule("check " + label, "check", {"golden": description}, tensors)

    def no_check(label, description, tensors=posted):
        return refused(label, "check", {"golden": description}, tensors)

    def with_kind(**changes):
        return {"format": 1, "kinds": [kind | changes]}

    windows = {
        "model_type": "gemma3_text",
        "num_hidden_layers": 6,
        "sliding_window": 8,
        "rope_theta": 1000,
        "rope_local_base_freq": 100,
    }
    longrope = {"rope_type": "longrope", "short_factor": [1, 2], "long_factor": [2, 4]}
    yarn = {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 8}
    text = json.dumps(with_kind())
    return [
        golden("of yarn", rope_scaling=yarn),
        golden("of two kinds of layers", **windows),
        golden(
            "of two lengths",
            model_type="phi3",
            original_max_position_embeddings=8,
            rope_scaling=longrope,
        ),
        golden("of part of a head", partial_rotary_factor=0.5, head_dim=8, model_type="phi"),
        check("of both", {"cos": tensor(1, 2, 2), "sin": tensor(2, 2, 2)}),
        check("of doubled cosines", {"cos": tensor(1, 1, 2, 4)}),
        check("of interleaved rotations", {"q_rotated": tensor(1, 2, 2, 4)}, layout="interleaved"),
        check("of the first position", {"cos": numbers([1, 1, 1, 1], 2, 2)}, positions=[0, 0]),
        post_bytes(
            "rules",
            "check of a description in the file",
            "/v1/check",
            "application/x-safetensors",
            safetensors_bytes(posted, {"golden": text}),
        ),
        post("rules", "check of text", "/v1/check", {"golden": text}, posted),
        no("of nothing", {}),
        no("of a config that does not rotate", {"config": {"model_type": "bloom", "n_head": 2}}),
        no("of weights", {"config": {"model_type": "bert", "hidden_size": 8}}),
        no("without a context", {"config": {"model_type": "llama", "head_dim": 4}}),
        no("of an unknown model", {"config": {"head_dim": 4, "max_position_embeddings": 16}}),
        refused("without a description", "check", {}, posted),
        refused("without tensors", "check", {"golden": with_kind()}, {}),
        refused("of text that is none", "check", {"golden": "{"}, posted),
        no_check("without kinds", {"format": 1}),
        no_check("of another format", with_kind() | {"format": 2}),
        no_check("of no layout", with_kind(layout="meta")),
        no_check("of no encoding", with_kind(encoding={"name": "none"})),
        no_check("of two coordinates", with_kind(encoding={"name": "rope-2d", "dim": 8})),
        no_check("of no positions", with_kind(positions=[])),
        no_check("of too many positions", with_kind(positions=list(range(17)))),
        no_check("of half a position", with_kind(positions=[0.5])),
        no_check("without a prefix", {"format": 1, "kinds": [{"layout": "half"}]}),
        no_check("of another tensor", with_kind(), {"tan": tensor(1, 2, 2)}),
        no_check("of another shape", with_kind(), {"cos": tensor(1, 3, 2)}),
        no_check("of integers", with_kind(), {"cos": numbers([1] * 4, 2, 2, dtype="i64")}),
        no_check("of another q", with_kind(), posted | {"q": tensor(9, 1, 2, 2, 4)}),
    ]


# ---- diagnosis, embedding, layout ---------------------------------------------------------------


def functions():
    rope = {"encoding": {"name": "rope", "base": 100}}
    turned = {"q": tensor(1, 2, 6, 8), "q_rotated": tensor(2, 2, 6, 8)}
    x = {"x": tensor(4, 3, 4)}

    def no_diagnosis(label, parameters, tensors):
        return refused(label, "diagnosis", parameters, tensors)

    def no_embedding(label, parameters, tensors=None):
        sine = {"encoding": "sinusoidal", "start": 0}
        return refused(label, "embedding", sine | parameters, x if tensors is None else tensors)

    def no_layout(label, parameters, tensors=None):
        ways = {"from_layout": "half", "to_layout": "meta", "kind": "table"}
        return refused(label, "layout", ways | parameters, {"t": tensor(1, 3, 4)} | (tensors or {}))

    words = {"encoding": "sinusoidal", "tokens": ["a", "b"]}
    return [
        rule("diagnosis of a cache of vllm", "diagnosis", rope, {"cos_sin_cache": tensor(1, 6, 4)}),
        rule("diagnosis of factors", "diagnosis", rope, FACTORS),
        post_file("rules", "diagnosis of npy", "/v1/diagnosis", {}, {"t": tensor(1, 6, 4)}, "npy"),
        post_file("rules", "diagnosis of a list", "/v1/diagnosis", {}, {"t": tensor(1, 4)}, "npy"),
        rule(
            "diagnosis at positions",
            "diagnosis",
            rope | {"positions": [5, 0, 1, 2, 3, 4], "axes": "hsd"},
            turned,
        ),
        no_diagnosis("of integers", rope, {"cos": numbers([1, 2], 1, 2, dtype="i32")}),
        no_diagnosis("of a bias", {"encoding": "alibi"}, {"cos": tensor(1, 3, 2)}),
        no_diagnosis(
            "of another width", {"encoding": {"name": "rope", "dim": 6}, "axes": "hsd"}, turned
        ),
        no_diagnosis("of rows to add", {"encoding": "sinusoidal", "axes": "hsd"}, turned),
        no_diagnosis("per_head of a table", rope | {"per_head": True}, {"table": tensor(1, 6, 4)}),
        no_diagnosis("k alone", rope | {"axes": "hsd"}, turned | {"k": tensor(3, 2, 6, 8)}),
        no_diagnosis("axes", rope | {"axes": "xyz"}, turned),
        no_diagnosis("axes of a table", rope | {"axes": "hsd"}, {"table": tensor(1, 6, 4)}),
        no_diagnosis("factors and inv_freq", rope, FACTORS | {"inv_freq": numbers([1, 2, 3, 4])}),
        no_diagnosis("factors of rows", rope, {"rope_freqs.weight": tensor(1, 2, 2)}),
        no_diagnosis("factors of nothing", {}, FACTORS),
        no_diagnosis("two caches", rope, VLLM | META),
        no_diagnosis("a cache and cos", rope, VLLM | HF),
        no_embedding("of a bias", {"encoding": "alibi"}),
        no_embedding("seed", {"seed": 3}),
        no_embedding("no dim", words, {}),
        no_embedding("tokens of numbers", words | {"dim": 4, "tokens": [1]}, {}),
        no_embedding("no tokens", words | {"dim": 4, "tokens": []}, {}),
        no_embedding("integers", {}, {"x": numbers([1, 2], 1, 2, dtype="i32")}),
        no_embedding("a list", {}, {"x": tensor(1, 4)}),
        no_embedding("no width", {}, {"x": tensor(1, 4, 0)}),
        no_embedding("widths", {"dim": 6}),
        no_layout("axes", {"axes": "sd"}),
        no_layout("head_dim", {"head_dim": 6}),
        no_layout("no width", {}, {"z": tensor(1, 3, 0)}),
        no_layout("heads of one", {"kind": "activations"}),
    ]


# ---- positions ----------------------------------------------------------------------------------


def positions():
    def ask_for(label, **parameters):
        return rule("positions " + label, "positions", parameters)

    def no(label, **parameters):
        return refused(label, "positions", parameters)

    seen = {
        "model_type": "qwen2_5_vl",
        "mm_token_type_ids": [[0, 1, 1, 2]],
        "image_grid_thw": [[1, 2, 4]],
        "video_grid_thw": [[1, 2, 2]],
    }
    video = {"model_type": "hunyuan_video", "mm_token_type_ids": [[0, 1, 1, 1, 1, 0]]}
    large = {"model_type": "cogvideox1_5", "mm_token_type_ids": [[1] * 151]}
    tower = {"model_type": "qwen2_vl_vision", "mm_token_type_ids": [[1] * 6]}
    flux = {"model_type": "flux2", "mm_token_type_ids": [[0, 1]], "image_grid_thw": [[1, 1, 1]]}
    return [
        ask_for(
            "by tokens",
            model_type="qwen2_vl",
            input_ids=[[5, 9, 9, 7]],
            image_token_id=9,
            image_grid_thw=[[1, 2, 4]],
        ),
        ask_for("by a mask", attention_mask=[[0, 1, 1], [1, 1, 0]]),
        ask_for("of a length", length=3),
        ask_for("compared", lengths=[2, 2], position_ids=[[0, 1], [0, 2]]),
        ask_for("of a rope of video", **seen),
        no("no model", model_type="none", length=3),
        no("no length"),
        no("a length below 0", lengths=[-1, 2], padding_side="left"),
        no("no side", lengths=[1, 2]),
        no("lengths and a mask", lengths=[1, 2], attention_mask=[[1]], padding_side="left"),
        no("half a token", lengths=[1.5], padding_side="left"),
        ask_for("lengths of rows", lengths=[[1], [2]], padding_side="left"),
        no("an object", lengths={"start": 1}, padding_side="left"),
        no("a grid of two", **seen | {"image_grid_thw": [[2, 4]]}),
        no("seconds of no video", **seen, second_per_grid_ts=[1, 2]),
        no("ends that fall", cu_seqlens=[0, 3, 2]),
        ask_for("ids behind the prompt", attention_mask=[[1, 1]], position_ids=[[0, 1, 2]]),
        no("two rows of ends", cu_seqlens=[0, 2], mm_token_type_ids=[[0, 0], [0, 0]]),
        no("ends before the last token", cu_seqlens=[0, 2], length=3),
        no("ends from 1", cu_seqlens=[1, 3], length=3),
        no("videos of images", **flux, video_grid_thw=[[1, 1, 1]]),
        no("two images of one", **video, image_grid_thw=[[1, 2, 2], [1, 1, 1]]),
        no("an image and a video", **video, image_grid_thw=[[1, 2, 2]], video_grid_thw=[[1, 1, 1]]),
        no("text of wan", **video | {"model_type": "wan"}, image_grid_thw=[[1, 2, 2]]),
        no("too large for its base", **large, image_grid_thw=[[1, 151, 1]]),
        no("odd blocks", **tower, image_grid_thw=[[1, 3, 2]]),
        no("text among a grid", **seen | {"mm_token_type_ids": [[0, 1, 0, 1, 2]]}),
        no("an end among a grid", **seen | {"mm_token_type_ids": [[0, 1]]}),
        no("a grid of none", **seen | {"image_grid_thw": [[0, 2, 4]]}),
        no("no grid", model_type="qwen2_vl", mm_token_type_ids=[[0, 1]]),
        no("a known model that is not counted", model_type="hunyuan_vl", length=3),
        ask_for("behind a start", **seen, chunk_start=3, chunk_length=2),
        ask_for("of text behind a start", length=9, chunk_start=4, chunk_length=2),
        no("a kind of 3", **seen | {"mm_token_type_ids": [[0, 3]]}),
        no("no kinds", model_type="qwen2_vl", image_grid_thw=[[1, 2, 2]], length=3),
        no("scale_factors of qwen", **seen, scale_factors=[1, 2, 3]),
        no("frame_rate of flux", **flux, frame_rate=24),
        no("a chunk without a length", **seen, chunk_start=5),
        ask_for("ids of the first chunk", length=3, position_ids=[[0, 1]]),
    ]


# ---- views and pictures -------------------------------------------------------------------------

DRAWN = """
rope/table?dim=8&length=6&plot=curves&format=svg
rope/table?dim=8&length=6&plot=curves&plot_columns=0,3&format=png&start=5&plot_width=300&plot_height=200
rope/table?dim=8&plot=rows&format=svg&positions=3,1,4,1,5,9
rope/table?dim=8&length=20&plot=circle&plot_columns=1,2&format=svg&lang=zh-CN
alibi/bias?heads=2&query_length=5&key_length=7&format=svg
alibi/bias?heads=1&query_length=700&key_length=900&format=png&plot_width=300&plot_height=200
alibi/bias?heads=1&query_length=90&key_length=90&pool=minmax&format=svg&plot_width=300
alibi/bias?heads=2&query_length=6&query_start=40&key_length=8&pool=max&rows=3&columns=4
alibi/bias?heads=2&query_length=8&key_length=9&causal=true&pool=mean&rows=3&columns=2&dtype=f64
alibi/bias?heads=2&query_length=8&key_length=8&causal=true&format=png&theme=dark&plot_width=300&plot_height=200
sinusoidal/analysis/similarity?dim=6&length=9&format=svg&anchor=2
learned/table?table=sample&length=2&format=svg&title=a%20%26%20%3Cb%3E
rope/frequencies?dim=8&format=svg
rope/analysis/wavelengths?dim=8&rope_type=proportional&partial_rotary_factor=0.5&context=50&format=png&plot_width=300&plot_height=200
rope/analysis/wavelengths?dim=8&rope_type=proportional&partial_rotary_factor=0.5&context=50&format=svg
alibi/bias?heads=1&query_length=9&key_length=12&causal=true&format=png&plot_width=300&plot_height=200
alibi/bias?heads=2&query_length=300&key_length=700&causal=true&format=png&plot_width=300&plot_height=200
"""
NOT_DRAWN = """
rope/table?dim=8&length=6&format=svg&title=a%0Ab
rope/table?dim=8&length=6&format=png&theme=auto
rope/table?dim=8&length=6&format=svg&plot=heatmap&plot_columns=1
rope/table?dim=8&length=6&format=svg&plot=curves&plot_columns=8
rope/table?dim=8&length=6&format=svg&plot=points
rope/table?dim=8&length=6&format=svg&part=complex
rope/table?dim=8&length=0&format=svg
rope/table?dim=8&length=3&format=svg&plot=spectrum
rope/table?dim=8&positions=0,1,2,4,8,16,32,64&format=svg&plot=spectrum
rope/frequencies?dim=8&format=svg&plot=heatmap
rope/frequencies?dim=8&format=svg&plot=circle
deberta-log/bias?query_length=8&key_length=8&format=svg&dtype=u8
alibi/bias?heads=2&query_length=5&key_length=7&format=svg&plot=curves&pool=mean
"""
VIEWS_OF_PARTS = """
mrope/table?dim=8&mrope_section=1,2,1&cache=ggml
t5/bias?num_buckets=8&max_distance=16&query_length=3&key_length=3&pool=mean
alibi/bias?heads=2&query_length=5&key_length=7&pool=minmax&rows=9
rope/table?dim=8&length=9&pool=minmax&rows=3&part=complex
rope/analysis/similarity?dim=8&length=4&anchor=9
"""
VIEWS_REFUSED = """
rope/table?dim=8&length=3&cache=hf&part=cos
rope/table?dim=8&length=3&cache=vllm&duplicate=true
rope/table?dim=8&length=3&part=complex&duplicate=true
rope/table?dim=8&length=3&cache=ggml
rope/table?dim=8&cache=ggml&positions=1,2
rope/table?dim=8&positions=0..5&length=6
rope/table?dim=8&positions=0..5&start=2
rope/table?dim=8&positions=9007199254740988..9007199254740993
rope/table?dim=8&positions=0..5000000,7&step=2
rope/table?dim=8&length=4503599627370496&start=9007199254740992
t5/bias?num_buckets=8&max_distance=16&query_length=3&key_length=3&causal=true
alibi/bias?heads=2&query_length=5&key_length=7&rows=3
rope/analysis/shift?dim=8
rope/analysis/decay?dim=8&length=0
rope/analysis/error?dim=8&length=3&path=no
fourier/table?ndim=2&frequencies=3&shape=2,3,4
fourier/table?ndim=2&frequencies=3&shape=2,1.5
fourier/table?ndim=2&frequencies=3&coordinates=0,1,2
fourier/table?ndim=2&frequencies=3&coordinates=0,1&shape=2,2
"""
OTHER_NAMES = """
rope/tables?dim=8&length=3
xpos/frequency?dim=8
yarn/table?dim=8&length=3
rotary/table?dim=8&length=3
sinusoidal/bias?heads=8
alibi/table
none/table
rop/table
"""


def views():
    def no(label, path, parameters, tensors=None):
        return refused(label, "encodings/" + path, parameters, tensors)

    def many(count):
        """As many mistakes as a problem lists, and one more."""
        return "/v1/encodings/rope/table?" + "&".join(f"x{i}=1" for i in range(count))

    config = {"model_type": "llama", "head_dim": 8, "num_attention_heads": 2}
    wide = {"table": tensor(2, 5, 3)}
    return [
        *gets("rules drawn", DRAWN),
        *gets("refused pictures", NOT_DRAWN),
        *gets("refused views", OTHER_NAMES),
        *gets("refused views", VIEWS_REFUSED),
        *gets("rules views", VIEWS_OF_PARTS),
        *(ask("refused views", many(count), f"{count} mistakes") for count in (32, 33)),
        rule(
            "view with its encoding",
            "encodings/rope/table",
            {"encoding": "rope", "dim": 4, "length": 2},
        ),
        rule(
            "view with an object",
            "encodings/rope/table",
            {"encoding": {"name": "rope", "dim": 4, "base": 100}, "length": 2},
        ),
        rule(
            "config of an encoding",
            "config",
            {"encoding": {"name": "rope", "dim": 8, "layout": "half"}},
        ),
        rule(
            "config of a size", "config", {"encoding": {"name": "learned", "length": 16, "dim": 8}}
        ),
        no("table", "learned/table", {"length": 2}, wide),
        no(
            "another tensor", "learned/table", {"table": "tensor:table"}, wide | {"z": tensor(1, 2)}
        ),
        no("a tensor of rope", "rope/table", {"dim": 4, "length": 2}, {"z": tensor(1, 2)}),
        no("no such tensor", "learned/table", {"table": "tensor:z"}, wide),
        no(
            "a version of a posted table",
            "learned/table",
            {"table": "tensor:table", "version": 1},
            wide,
        ),
        no("another encoding", "rope/table", {"encoding": "alibi", "dim": 4, "length": 2}),
        no("another name", "rope/table", {"encoding": {"name": "xpos"}, "dim": 4, "length": 2}),
        refused(
            "a layout of no text", "rotation", {"encoding": {"name": "rope", "layout": 1}}, {"q": Q}
        ),
        refused(
            "two names",
            "rotation?encoding=alibi",
            {"encoding": {"name": "rope"}, "layout": "half"},
            {"q": Q},
        ),
        refused(
            "config of another",
            "rotation",
            {"encoding": {"name": "xpos", "config": config}, "layout": "half"},
            {"q": Q},
        ),
        refused("a dtype of text", "encodings/rope/table", {"dim": 4, "length": 1, "dtype": 1}),
        refused("a list for a number", "encodings/rope/table", {"dim": [4], "length": 1}),
        refused(
            "a list for a word", "encodings/rope/table", {"dim": 4, "length": 1, "part": ["cos"]}
        ),
        refused(
            "a list for a truth", "encodings/rope/table", {"dim": 4, "length": 1, "duplicate": [1]}
        ),
        refused("an element of text", "encodings/rope/table", {"dim": 4, "positions": [0, "x"]}),
        refused(
            "rows of two lengths", "encodings/rope-2d/table", {"dim": 8, "positions": [[0, 1], [1]]}
        ),
    ]


# ---- pages and bodies ---------------------------------------------------------------------------

PAGES = """
/problems
/problems/invalid-parameter
/problems/too-large
"""
STRUCTURE = {
    "a hole": '{"q":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}',
    "an overlap": '{"q":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
    '"k":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
    "backwards": '{"q":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}',
    "no offsets": '{"q":{"dtype":"F32","shape":[1]}}',
    "a dtype": '{"q":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}}',
    "a length": '{"q":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}',
    "a deep shape": '{"q":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}}',
    "metadata of a list": '{"__metadata__":[]}',
    "metadata of a number": '{"__metadata__":{"a":1}}',
}
NESTS = {
    "not closed": '{"tensors":{"q":{"data":[[1,2]',
    "no comma": '{"tensors":{"q":{"data":[[1 2]]}}}',
    "ragged": '{"tensors":{"q":{"data":[[1,2],[3]]}}}',
    "ragged depth": '{"tensors":{"q":{"data":[[1,2],3]}}}',
    "nine deep": '{"tensors":{"q":{"data":[[[[[[[[[1]]]]]]]]]}}}',
}


def bodies():
    target = "/v1/rotation?encoding=rope&layout=half&axes=sd&dim=4&start=1"
    apart = '{"tensors":{"a":{"dtype":"f64","data":[[0.1,2,3,4]]},"b":{"data":[[0.1,2,3,4]]}}}'
    escaped = '{"t\\u0065nsors":{"q":{"d\\u0061ta":[[1,2,3,4]],"dtype":"f32"}}}'

    def file(header):
        head = header.encode() + b" " * (-len(header) % 8)
        return len(head).to_bytes(8, "little") + head + bytes(8)

    kind = "application/x-safetensors"
    return [
        *gets("rules pages", PAGES, ""),
        ask("rules pages", "/problems", headers={"Accept": "text/html"}),
        ask("rules pages", "/problems/malformed", headers={"Accept": "text/html"}),
        post_bytes("rules", "keys with escapes", target, JSON, escaped),
        post_bytes("rules", "a dtype is of one tensor", target, JSON, apart),
        *(
            post_bytes("refused bodies of rules", label, target, kind, file(header))
            for label, header in STRUCTURE.items()
        ),
        post_bytes("refused bodies of rules", "seven bytes", target, kind, bytes(7)),
        *(
            post_bytes("refused bodies of rules", label, target, JSON, text)
            for label, text in NESTS.items()
        ),
        post_bytes("refused bodies of rules", "empty", target, JSON, ""),
    ]


def requests():
    return [
        *comparisons(),
        *rotations(),
        *attentions(),
        *goldens(),
        *functions(),
        *positions(),
        *views(),
        *bodies(),
    ]
