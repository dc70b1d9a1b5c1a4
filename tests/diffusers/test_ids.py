# SPDX-License-Identifier: MIT
"""Position ids of models that make images, as the code of diffusers makes them."""

import importlib

import classes
import numpy
import pytest
import torch

from service import post_json

ALL = classes.all_classes()
TEXTS = [1, 5, 32, 33]
GRIDS = [(1, 4, 6), (1, 3, 5), (2, 2, 7)]


def checked(server, asked, posted):
    """The ids that the library has, as float32 or integers, are found right."""
    report = post_json(server, "/v1/positions", asked | {"position_ids": posted.tolist()})
    assert report.good().json["verdict"] == "match"


def counted(server, model, text, grids, **more):
    """[axes, tokens], text first."""
    asked = {
        "model_type": model,
        "mm_token_type_ids": [[0] * text + [1] * sum(t * h * w for t, h, w in grids)],
        "image_grid_thw": [list(grid) for grid in grids],
    }
    answer = post_json(server, "/v1/positions", asked | more).good().json
    return numpy.array(answer["tensors"]["position_ids"]["data"])[:, 0]


def pipeline(path, name):
    return getattr(importlib.import_module(f"diffusers.pipelines.{path}"), name)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("sides", [(4, 6), (3, 5)])
def test_flux(server, text, sides):
    """An image, and one that is edited: FluxKontextPipeline gives it 1 on the first axis."""
    make = pipeline("flux.pipeline_flux", "FluxPipeline")._prepare_latent_image_ids
    image = make(1, *sides, "cpu", torch.float64)
    edited = image.clone()
    edited[:, 0] = 1
    expected = torch.cat([torch.zeros(text, 3), image, edited]).T.numpy()
    for model in ("flux", "chroma"):
        got = counted(server, model, text, [(1, *sides), (1, *sides)])
        assert numpy.array_equal(got, expected)


@pytest.mark.parametrize("text", TEXTS)
def test_flux2(server, text):
    made = pipeline("flux2.pipeline_flux2", "Flux2Pipeline")
    image, others = torch.zeros(1, 4, 3, 5), [torch.zeros(1, 4, 2, 7), torch.zeros(1, 4, 6, 1)]
    expected = torch.cat(
        [
            made._prepare_text_ids(torch.zeros(1, text, 8))[0],
            made._prepare_latent_ids(image)[0],
            made._prepare_image_ids(others)[0],
        ]
    ).T.numpy()
    got = counted(server, "flux2", text, [(1, 3, 5), (1, 2, 7), (1, 6, 1)])
    assert numpy.array_equal(got, expected)


def angles(server, encoding, ids):
    """Cosines and sines of posenc at the ids, as complex numbers [tokens, pairs]."""
    answer = post_json(
        server,
        "/v1/encodings/rope-nd/table",
        {"encoding": encoding, "positions": ids.tolist(), "dtype": "f64"},
    )
    tensors = answer.good().json["tensors"]
    return numpy.array(tensors["cos"]["data"]) + 1j * numpy.array(tensors["sin"]["data"])


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("grids", [GRIDS[:1], GRIDS[1:2], GRIDS])
def test_qwen_image(server, text, grids):
    cls = ALL["QwenImageTransformer2DModel"]
    model = classes.make(cls, classes.defaults(cls))
    image, words = model.pos_embed([grids], device=torch.device("cpu"), max_txt_seq_len=text)
    encoding = {"name": "rope-nd", "axes_dim": [16, 56, 56]}
    got = angles(server, encoding, counted(server, "qwen_image", text, grids))
    assert numpy.abs(got - torch.cat([words, image]).numpy()).max() < 1e-5


@pytest.mark.parametrize("padding", [0, 3])
@pytest.mark.parametrize("text", TEXTS)
def test_lumina2(server, text, padding):
    cls = ALL["Lumina2Transformer2DModel"]
    model = classes.make(cls, classes.defaults(cls))
    mask = torch.tensor([[1] * text + [0] * padding], dtype=torch.bool)
    p = model.config.patch_size
    _, words, image, *_ = model.rope_embedder(torch.zeros(1, 4, 3 * p, 5 * p), mask)
    asked = mask[0].int().tolist() + [1] * 15
    ids = counted(server, "lumina2", text + padding, [(1, 3, 5)], attention_mask=[asked])
    got = angles(server, {"name": "rope-nd", "axes_dim": [32, 32, 32]}, ids)
    assert numpy.abs(got[:text] - words[0, :text].numpy()).max() < 1e-5
    assert numpy.abs(got[text + padding :] - image[0].numpy()).max() < 1e-5


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("grid", GRIDS)
def test_z_image(server, text, grid):
    """Tokens that pad an image to a multiple of 32 have ids of 0, and are not counted here."""
    cls = ALL["ZImageTransformer2DModel"]
    model = classes.make(cls, classes.defaults(cls))
    frames, rows, columns = grid
    image = torch.zeros(16, frames, 2 * rows, 2 * columns)
    _, words, _, of_image, of_text, *_ = model.patchify_and_embed(
        [image], [torch.zeros(text, 8)], 2, 1
    )
    count, padded = frames * rows * columns, len(words[0])
    got = counted(server, "z_image", padded, [grid])
    assert numpy.array_equal(got[:, :padded], of_text[0][:padded].T)
    assert numpy.array_equal(got[:, padded:], of_image[0][:count].T)
    # The text without its padding has the same ids, and its image too.
    short = counted(server, "z_image", text, [grid])
    assert numpy.array_equal(short, numpy.delete(got, range(text, padded), axis=1))


# ---- videos and vision towers: grids that begin at 0 -------------------------------------------

VIDEOS = [(2, 3, 4), (1, 5, 2), (3, 1, 7), (1, 1, 1), (2, 30, 45), (2, 16, 16), (1, 33, 20)]


def of_grid(server, model, grid, **more):
    """[axes, tokens] of a grid alone; as a video and as an image they are the same."""
    tokens = {"mm_token_type_ids": [[2] * (grid[0] * grid[1] * grid[2])]}
    asked = {"model_type": model} | more
    video = asked | tokens | {"video_grid_thw": [list(grid)]}
    ids = post_json(server, "/v1/positions", video).good().json["tensors"]["position_ids"]["data"]
    ids = numpy.array(ids)[:, 0]
    assert numpy.array_equal(ids, counted(server, model, 0, [grid], **more))
    return ids


def rotation(server, encoding, ids, cos, sin):
    """The largest difference of cosines and sines from the library's, which repeat each pair."""
    return numpy.abs(angles(server, encoding, ids) - (cos.numpy() + 1j * sin.numpy())).max()


def model_of(name, **config):
    return classes.make(ALL[name], classes.defaults(ALL[name]) | config)


@pytest.mark.parametrize("grid", VIDEOS)
def test_hunyuan_video(server, grid):
    model = model_of("HunyuanVideoTransformer3DModel")
    p, t = model.config.patch_size, model.config.patch_size_t
    frames, rows, columns = grid
    cos, sin = model.rope(torch.zeros(1, 4, frames * t, rows * p, columns * p))
    encoding = {"name": "rope-nd", "axes_dim": [16, 56, 56], "base": 256}
    ids = of_grid(server, "hunyuan_video", grid)
    assert rotation(server, encoding, ids, cos[:, ::2], sin[:, ::2]) < 1e-5


@pytest.mark.parametrize("grid", VIDEOS)
def test_wan(server, grid):
    model = model_of("WanTransformer3DModel")
    sizes = [n * p for n, p in zip(grid, model.config.patch_size, strict=True)]
    cos, sin = (part[0, :, 0, ::2] for part in model.rope(torch.zeros(1, 4, *sizes)))
    encoding = {"name": "rope-nd", "axes_dim": [44, 42, 42]}
    assert rotation(server, encoding, of_grid(server, "wan", grid), cos, sin) < 1e-6


class OfCogVideoX:
    """What a pipeline needs to make its rotation, without weights."""

    vae_scale_factor_spatial = 8

    def __init__(self, base, patch_size_t):
        class Config:
            attention_head_dim, patch_size = 64, 2
            sample_height, sample_width = 2 * base[0], 2 * base[1]

        Config.patch_size_t = patch_size_t
        self.transformer = type("Transformer", (), {"config": Config})


@pytest.mark.parametrize("base", [(30, 45), (48, 85)])
@pytest.mark.parametrize("grid", VIDEOS)
def test_cogvideox(server, grid, base):
    make = pipeline("cogvideo.pipeline_cogvideox", "CogVideoXPipeline")
    frames, rows, columns = grid
    asked = [{}] if base == (30, 45) else []
    cos, sin = make._prepare_rotary_positional_embeddings(
        OfCogVideoX(base, None), 16 * rows, 16 * columns, frames, "cpu"
    )
    encoding = {"name": "rope-nd", "axes_dim": [16, 24, 24]}
    for more in [*asked, {"base_size": [1, *base]}]:
        ids = of_grid(server, "cogvideox", grid, **more)
        assert rotation(server, encoding, ids, cos[:, ::2], sin[:, ::2]) < 1e-5


@pytest.mark.parametrize("grid", VIDEOS)
def test_cogvideox1_5(server, grid):
    make = pipeline("cogvideo.pipeline_cogvideox", "CogVideoXPipeline")
    frames, rows, columns = grid
    cos, sin = make._prepare_rotary_positional_embeddings(
        OfCogVideoX((150, 150), 2), 16 * rows, 16 * columns, 2 * frames, "cpu"
    )
    ids = of_grid(server, "CogVideoX1.5", grid)
    encoding = {"name": "rope-nd", "axes_dim": [16, 24, 24]}
    assert rotation(server, encoding, ids, cos[:, ::2], sin[:, ::2]) < 1e-5


def test_cogvideox1_5_fails_where_its_code_does(server):
    make = pipeline("cogvideo.pipeline_cogvideox", "CogVideoXPipeline")
    for height, width in ((151, 2), (2, 151)):
        with pytest.raises(RuntimeError):
            make._prepare_rotary_positional_embeddings(
                OfCogVideoX((150, 150), 2), 16 * height, 16 * width, 2, "cpu"
            )
        asked = {
            "model_type": "cogvideox1_5",
            "mm_token_type_ids": [[1] * (height * width)],
            "image_grid_thw": [[1, height, width]],
        }
        refused = post_json(server, "/v1/positions", asked)
        assert refused.status == 422 and refused.json["code"] == "out-of-range"


@pytest.mark.parametrize("base", [(192, 192), (100, 60)])
@pytest.mark.parametrize("grid", VIDEOS)
def test_mochi(server, grid, base):
    from diffusers.models.transformers.transformer_mochi import MochiRoPE

    made = MochiRoPE(*base)._get_positions(*grid, dtype=torch.float64).T.numpy()
    ids = of_grid(server, "mochi", grid, base_size=[1, *base])
    assert numpy.abs(ids - made).max() < 1e-12
    if base == (192, 192):
        assert numpy.array_equal(ids, of_grid(server, "mochi", grid))
        single = MochiRoPE(*base)._get_positions(*grid, dtype=torch.float32).T
        asked = {"model_type": "mochi", "image_grid_thw": [list(grid)]}
        asked["mm_token_type_ids"] = [[1] * len(single[0])]
        checked(server, asked, single)


def test_mochi_by_its_class():
    """The model makes its module with the bases that are the default here."""
    model = model_of("MochiTransformer3DModel", num_attention_heads=2, attention_head_dim=24)
    assert model.rope.target_area == 192 * 192


@pytest.mark.parametrize("sides", [(480, 854), (512, 768), (1280, 768)])
def test_kandinsky5(server, sides):
    make = pipeline("kandinsky5.pipeline_kandinsky", "Kandinsky5T2VPipeline")
    factor = make._get_scale_factor(None, *sides)
    model = model_of("Kandinsky5Transformer3DModel")
    encoding = {"name": "rope-nd", "axes_dim": [16, 24, 24]}
    for grid in VIDEOS:
        places = [torch.arange(n) for n in grid]
        out = model.visual_rope_embeddings((1, *grid), places, factor).flatten(0, 3)[:, 0]
        ids = of_grid(server, "kandinsky5", grid, scale_factor=list(factor))
        assert rotation(server, encoding, ids, out[..., 0, 0], out[..., 1, 0]) < 1e-5
    refused = post_json(
        server,
        "/v1/positions",
        {"model_type": "kandinsky5", "image_grid_thw": [[1, 1, 1]], "mm_token_type_ids": [[1]]},
    )
    assert refused.status == 422 and "scale_factor" in refused.json["detail"]


@pytest.mark.parametrize("rate", [None, 24, 30, 12.5])
def test_cosmos(server, rate):
    model = model_of("CosmosTransformer3DModel")
    encoding = {"name": "rope-nd", "axes_dim": [44, 42, 42], "axes_factor": [2, 1, 1]}
    more = {} if rate is None else {"fps": rate}
    for grid in VIDEOS:
        sizes = [n * p for n, p in zip(grid, model.config.patch_size, strict=True)]
        cos, sin = model.rope(torch.zeros(1, 4, *sizes), fps=rate)
        ids = of_grid(server, "cosmos", grid, **more)
        assert rotation(server, encoding, ids, cos[:, :64], sin[:, :64]) < 1e-5


@pytest.mark.parametrize("rate", [25, 29.97])
@pytest.mark.parametrize("grid", VIDEOS)
def test_ltx(server, grid, rate):
    """rope_interpolation_scale as LTXPipeline makes it of the VAE's compression."""
    model = model_of("LTXVideoTransformer3DModel")
    frames, rows, columns = grid
    made = model.rope._prepare_video_coords(1, frames, rows, columns, (8 / rate, 32, 32), "cpu")
    ids = of_grid(server, "ltx_video", grid, frame_rate=rate)
    assert numpy.abs(ids - made[0].T.numpy()).max() < 1e-6
    tokens = {"mm_token_type_ids": [[1] * len(ids[0])], "image_grid_thw": [list(grid)]}
    checked(server, {"model_type": "ltx_video", "frame_rate": rate} | tokens, made[0].T)


IMAGES = [[(1, 3, 4)], [(1, 2, 5), (1, 7, 1), (1, 6, 6)]]


def of_tower(server, model, grids, **more):
    """Without mm_token_type_ids: all tokens are of the grids."""
    asked = {"model_type": model, "image_grid_thw": [list(grid) for grid in grids]} | more
    answer = post_json(server, "/v1/positions", asked).good().json
    return numpy.array(answer["tensors"]["position_ids"]["data"])[:, 0]


@pytest.mark.parametrize("grids", IMAGES)
def test_pixtral(server, monkeypatch, grids):
    """What the tower gives to its module of positions."""
    from transformers import PixtralVisionConfig, PixtralVisionModel

    size, taken = 4, []
    config = PixtralVisionConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, patch_size=size,
        image_size=16 * size, intermediate_size=16,
    )  # fmt: skip
    model = PixtralVisionModel(config).eval()
    monkeypatch.setattr(
        model.patch_positional_embedding,
        "forward",
        lambda x, ids: taken.append(ids) or (torch.ones(len(ids), 8), torch.zeros(len(ids), 8)),
    )
    height, width = (size * max(grid[axis] for grid in grids) for axis in (1, 2))
    with torch.no_grad():
        model(
            torch.zeros(len(grids), 3, height, width),
            image_sizes=[(size * h, size * w) for _, h, w in grids],
        )
    assert numpy.array_equal(of_tower(server, "pixtral", grids), taken[0].T)


@pytest.mark.parametrize("model", ["qwen2_vl", "qwen3_vl", "glm4v"])
@pytest.mark.parametrize("merge", [1, 2, 3])
def test_towers_by_blocks(server, model, merge):
    """The function that the three towers import."""
    module = importlib.import_module(f"transformers.models.{model}.modeling_{model}")
    grids = [(1, 6, 12), (2, 12, 6), (3, 6, 6)]
    made = module.get_vision_position_ids(torch.tensor(grids), merge).T
    more = {} if merge == 2 else {"spatial_merge_size": merge}
    assert numpy.array_equal(of_tower(server, f"{model}_vision", grids, **more), made)


@pytest.mark.parametrize("sides", [(4, 6), (5, 3), (64, 64)])
def test_sam2(server, sides):
    from transformers import Sam2VideoConfig
    from transformers.models.sam2_video import modeling_sam2_video

    height, width = sides
    config = Sam2VideoConfig(memory_attention_rope_feat_sizes=[width, height])
    made = modeling_sam2_video.Sam2VideoMemoryAttention.precompute_positions(config)
    ids = counted(server, "sam2", 3, [(1, height, width)])
    assert not ids[:, :3].any()
    assert numpy.array_equal(ids[:, 3:], made.T)
