# SPDX-License-Identifier: MIT
"""A config.json as an encoding of the functions: at the top, in an encoding, or as a side."""

import itertools
import re

import numpy as np
import pytest
import requests

LLAMA31 = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_attention_heads": 8,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}
LLAMA2 = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8}
BLOOM = {"model_type": "bloom", "n_head": 2, "hidden_size": 16}
Q = np.random.default_rng(7).standard_normal((1, 2, 5, 8)).astype(np.float32)


def tensor(values):
    return {"dtype": "f32", "shape": list(values.shape), "data": values.ravel().tolist()}


def post(server, route, body, status=200):
    response = requests.post(f"{server.url}/v1/{route}", json=body, timeout=10)
    assert response.status_code == status, response.text
    return response.json()


def rotate(server, **body):
    return post(server, "rotation", {"tensors": {"q": tensor(Q)}, "axes": "bhsd"} | body)


def attend(server, status=200, **body):
    tensors = {"q": tensor(Q), "k": tensor(Q)}
    return post(server, "attention", {"tensors": tensors, "outputs": "scores"} | body, status)


SCALED = {"name": "rope", "dim": 8, "base": 500000} | {
    key: value for key, value in LLAMA31["rope_scaling"].items()
}


@pytest.mark.parametrize(
    "encoding", [{"config": LLAMA31}, {"config": LLAMA31, "name": "rope"}, LLAMA31]
)
def test_encoding_of_a_config(server, encoding):
    """An encoding that a config tells is the one that its parameters tell."""
    ours = rotate(server, encoding=encoding, start=100000)
    theirs = rotate(server, encoding=SCALED, layout="half", start=100000)
    assert ours["tensors"] == theirs["tensors"]
    assert ours["encoding"]["layout"] == "half"


def test_parameters_beside_a_config_win(server):
    ours = rotate(server, encoding={"config": LLAMA31, "base": 7}, start=3)
    theirs = rotate(server, encoding=SCALED | {"base": 7}, layout="half", start=3)
    assert ours["tensors"] == theirs["tensors"]


def test_from_one_model_to_another(server):
    """What was rotated as one model does, turned into what another one would have made."""
    one = rotate(server, config=LLAMA2, start=40)
    body = {"axes": "bhsd", "start": 40, "tensors": one["tensors"], "dtype": "f64"}
    body |= {"from_encoding": {"config": LLAMA2}, "to_encoding": LLAMA31}
    turned = post(server, "rotation", body)["tensors"]["q"]["data"]
    wanted = rotate(server, config=LLAMA31, start=40, dtype="f64")["tensors"]["q"]["data"]
    assert np.abs(np.array(turned) - np.array(wanted)).max() < 2e-6
    assert np.abs(np.array(turned) - np.array(one["tensors"]["q"]["data"])).max() > 0.1


@pytest.mark.parametrize("where", ["config", "encoding"])
def test_attention(server, where):
    body = {"config": LLAMA31} if where == "config" else {"encoding": {"config": LLAMA31}}
    ours = attend(server, **body)
    theirs = attend(server, encoding=SCALED, layout="half")
    assert ours["tensors"] == theirs["tensors"]
    ours = attend(server, **({"config": BLOOM} if where == "config" else {"encoding": BLOOM}))
    assert ours["tensors"] == attend(server, encoding="alibi")["tensors"]


@pytest.mark.parametrize("side", [{"config": LLAMA31}, LLAMA31])
def test_comparison(server, side):
    same = post(server, "comparison", {"a": side, "b": SCALED, "length": 99})
    assert same["max_ulp"] == 0 and same["elements"] > 0
    other = post(server, "comparison", {"a": side, "b": LLAMA2, "length": 99})
    assert other["first_divergence"]["position"] == 1 and other["max_abs"] > 0.1


REFUSED = [
    ("rotation", {"encoding": {"config": LLAMA2}, "config": LLAMA2}, "config"),
    ("rotation", {"encoding": {"config": LLAMA2, "name": "alibi"}}, "/encoding/name"),
    ("rotation", {"encoding": {"config": 3}}, "/encoding/config"),
    ("rotation", {"encoding": {"config": LLAMA2, "strict": "yes"}}, "/encoding/strict"),
    ("rotation", {"encoding": {"config": LLAMA2, "layer_type": 3}}, "/encoding/layer_type"),
    ("rotation", {"encoding": {"name": "rope", "layer_type": "full"}}, "/encoding/layer_type"),
    ("rotation", {"encoding": {"config": BLOOM}}, "encoding"),
    ("rotation", {"from_encoding": LLAMA2, "to_encoding": BLOOM}, "to_encoding"),
    ("rotation", {"config": LLAMA2, "dtype": ["f16"]}, "dtype"),
    ("rotation", {"config": LLAMA2, "strict": ["true"]}, "strict"),
    ("attention", {"config": LLAMA2, "encoding": "absolute"}, "config"),
    ("attention", {"config": LLAMA2, "encoding": "alibi"}, "config"),
    ("embedding", {"config": LLAMA2}, "encoding"),
]


@pytest.mark.parametrize("route, body, named", REFUSED)
def test_refusals(server, route, body, named):
    tensors = {"q": tensor(Q), "k": tensor(Q)} if route == "attention" else {"q": tensor(Q)}
    body = {"tensors": tensors} | body | ({"axes": "bhsd"} if route == "rotation" else {})
    problem = post(server, route, body | ({"start": 0} if route == "rotation" else {}), 422)
    error = problem["errors"][0]
    assert named in (error.get("parameter"), error.get("pointer")), problem


def attends(server, config, **given):
    """What attention did, and what it warns of."""
    answer = attend(server, config=config, **given)
    return answer["attention"], answer["warnings"]


def test_attention_does_what_the_model_does(server):
    """Scale, cap, window, chunk and temperature are those of the config, unless they are given."""
    granite = LLAMA2 | {"model_type": "granite", "attention_multiplier": 0.0078125}
    assert attends(server, granite)[0]["scale"] == 0.0078125
    assert attends(server, granite, scale=0.5)[0]["scale"] == 0.5
    gemma = LLAMA2 | {
        "model_type": "gemma2",
        "head_dim": 8,
        "query_pre_attn_scalar": 16,
        "attn_logit_softcapping": 30.0,
        "sliding_window": 64,
    }
    sliding = {"layer_type": "sliding_attention"}
    done, warnings = attends(server, gemma, causal=True, **sliding)
    assert (done["scale"], done["softcap"], done["window_left"]) == (0.25, 30, 63)
    assert done["window_right"] == "all" and done["causal"] and warnings == []
    done, warnings = attends(server, gemma, causal=True)
    assert "window_left" not in done and "sliding_attention: give layer_type" in warnings[0]
    done, warnings = attends(server, gemma, causal=True, window=0, softcap=0, **sliding)
    assert warnings == [] and not {"window_left", "softcap"} & set(done)
    assert "causal" in attends(server, gemma, **sliding)[1][0]
    llama4 = LLAMA2 | {"model_type": "llama4_text", "head_dim": 8, "attention_chunk_size": 3}
    done, _ = attends(server, llama4, causal=True)
    assert (done["chunk"], done["norm"]) == (3, "after") and "temperature_strength" not in done
    done, _ = attends(server, llama4, encoding="none")
    assert (done["temperature_strength"], done["temperature_length"]) == (0.1, 8192)
    assert done["temperature_offset"] == 1 and not {"norm", "chunk"} & set(done)


WINDOW = {"window_left", "window_right"}
TEMPERATURE = {"temperature_strength", "temperature_length", "temperature_offset"}
OPTIONS = [  # what a request gives, and the options that it decides
    ({"window": 4}, WINDOW),
    ({"window_left": 5}, WINDOW),
    ({"window_right": 2}, WINDOW),
    ({"window": 0}, WINDOW),
    ({"softcap": 7}, {"softcap"}),
    ({"softcap": 0}, {"softcap"}),
    ({"scale": 0.75}, {"scale"}),
    ({"chunk": 5}, {"chunk"}),
    ({"chunk": 0}, {"chunk"}),
    ({"temperature_strength": 0.5, "temperature_length": 9}, TEMPERATURE),
    ({"temperature_strength": 0}, TEMPERATURE),
    ({"norm": "before"}, {"norm", "norm_epsilon"}),
    ({"norm": "none"}, {"norm", "norm_epsilon"}),
]


@pytest.mark.parametrize("given, decided", OPTIONS, ids=lambda value: "-".join(sorted(value)))
def test_an_option_of_the_request_leaves_the_others_of_the_config(server, given, decided):
    gemma = {
        "model_type": "gemma2",
        "head_dim": 8,
        "query_pre_attn_scalar": 16,
        "attn_logit_softcapping": 30.0,
        "sliding_window": 64,
    }
    llama4 = {"model_type": "llama4_text", "head_dim": 8, "attention_chunk_size": 3}
    plain = LLAMA2 | {"head_dim": 8}
    for config, asked in (
        (LLAMA2 | gemma, {"layer_type": "sliding_attention"}),
        (LLAMA2 | llama4, {}),
        (LLAMA2 | llama4, {"encoding": "none"}),
    ):
        usual, _ = attends(server, config, causal=True, **asked)
        alone, _ = attends(server, plain, causal=True, **given)
        done, _ = attends(server, config, causal=True, **asked, **given)
        kept = {name: value for name, value in usual.items() if name not in decided}
        own = {name: value for name, value in alone.items() if name in decided}
        assert done == kept | own, (config["model_type"], asked)


def test_a_rotation_by_two_configs_warns_of_both(server):
    configs = {
        "nothing": LLAMA2,
        "scheme": LLAMA2 | {"rope_scaling": {"rope_type": "linear", "factor": 0.5}},
        "config": LLAMA2 | {"rope_scaling": {"rope_type": "linear", "factor": 2, "zap": 1}},
        "both": LLAMA2 | {"rope_scaling": {"rope_type": "linear", "factor": 0.5, "zoom": 1}},
    }

    def warned(**encodings):
        body = {"tensors": {"q": tensor(Q)}, "axes": "bhsd", "start": 0} | encodings
        return post(server, "rotation", body)["warnings"]

    alone = {name: warned(config=config) for name, config in configs.items()}
    assert [len(alone[name]) for name in configs] == [0, 1, 1, 2], alone
    for (a, undone), (b, applied) in itertools.product(configs.items(), configs.items()):
        told = warned(from_encoding={"config": undone}, to_encoding={"config": applied})
        assert sorted(told) == sorted(alone[a] + alone[b]), (a, b)


@pytest.mark.parametrize("own", [{}, {"2": 9}, {"0": 9}, {"1": 9, "3": 5}])
def test_the_layer_whose_window_is_taken_is_named(server, own):
    """Of layers of one type with several windows: the named layer has the window that is applied,
    as /v1/config lists it."""
    config = LLAMA2 | {
        "model_type": "neomme",
        "head_dim": 8,
        "num_hidden_layers": 4,
        "sliding_window": 7,
        "layer_types": ["sliding_attention"] * 4,
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 5},
            "full_attention": {"rope_type": "default", "rope_theta": 6},
        },
    }
    if own:
        each = {layer: {"sliding_window": window} for layer, window in own.items()}
        config |= {"per_layer_config": each}
    rows = post(server, "config", {"config": config})["layers"]
    windows = {layer: row["attention"]["window"] for row in rows for layer in row["layers"]}
    assert len(windows) == 4 and len(set(windows.values())) > 1
    told = attends(server, config, layer_type="sliding_attention")[1]
    (layer, window), *others = [
        re.search(r"different windows.* that of layer (\d+): (\d+)", text).groups()
        for text in told
        if "different windows" in text
    ]
    assert not others and windows[int(layer)] == int(window), (told, windows)


@pytest.mark.parametrize(
    "types, warns",
    [
        ("linear_attention full_attention", False),
        ("full_attention full_attention", False),
        ("sliding_attention full_attention", True),
        ("sliding_attention sliding_attention", False),
        ("linear_attention sliding_attention", False),
    ],
)
def test_other_layers_that_attend_are_warned_of(server, types, warns):
    """Layers without attention have no options of it."""
    config = {"model_type": "qwen3_next", "num_hidden_layers": 2, "sliding_window": 4}
    config |= {"layer_types": types.split(), "partial_rotary_factor": 1, "head_dim": 8}
    told = attends(server, LLAMA2 | config, causal=True)[1]
    assert any("give layer_type" in text for text in told) == warns, told


def test_attention_tells_what_it_lacks(server):
    """Weights that are not posted are not applied, and that is said."""
    qwen = LLAMA2 | {"model_type": "qwen3", "head_dim": 8}
    assert "q_norm" in attends(server, qwen)[1][0]
    oss = LLAMA2 | {"model_type": "gpt_oss", "sliding_window": None, "head_dim": 8}
    assert any("sinks" in warning for warning in attends(server, oss)[1])
    qwen1 = LLAMA2 | {"model_type": "qwen", "use_logn_attn": True}
    assert any("use_logn_attn" in warning for warning in attends(server, qwen1)[1])


@pytest.mark.parametrize(
    "model_type, all_dim, warns", [("ministral3", 1, False), ("x", 1, True), ("x", 0, False)]
)
def test_mscale_all_dim_is_told_where_it_may_scale(server, model_type, all_dim, warns):
    """The code of ministral3 does not multiply its scale by it; of a model that is not known nobody
    can say."""
    yarn = {
        "rope_type": "yarn",
        "factor": 4,
        "original_max_position_embeddings": 64,
        "mscale": 1,
        "mscale_all_dim": all_dim,
    }
    config = LLAMA2 | {"model_type": model_type, "head_dim": 8, "rope_scaling": yarn}
    given = {} if model_type == "ministral3" else {"layout": "half"}
    assert warns == any(
        "mscale_all_dim" in warning for warning in attends(server, config, **given)[1]
    )
