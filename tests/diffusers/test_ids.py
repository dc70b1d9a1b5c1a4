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
