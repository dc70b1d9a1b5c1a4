# SPDX-License-Identifier: MIT
"""All functions, written once for every way to the service."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from . import _requests
from ._messages import Report, Request
from ._requests import Config, Encoding

TensorsT = TypeVar("TensorsT")
ReportT = TypeVar("ReportT")
ReplyT = TypeVar("ReplyT")


class Functions(ABC, Generic[TensorsT, ReportT, ReplyT]):
    """The functions of the service. Parameters are those of its documentation, under the same
    names; None means that nothing is said. What is wrong is told by posenc.Refused.

    Tensors are NumPy arrays, anything with DLPack whose memory the CPU reads (torch, jax), or
    lists of numbers, which are float32; none of them is changed."""

    @abstractmethod
    def _tensors(self, request: Request) -> TensorsT: ...

    @abstractmethod
    def _report(self, request: Request) -> ReportT: ...

    @abstractmethod
    def _reply(self, request: Request) -> ReplyT: ...

    @abstractmethod
    def _tensors_after(self, request: Request, then: Callable[[Report], Request]) -> TensorsT:
        """The answer to a request that takes another one's report to write."""

    def view(self, encoding: Encoding | None, view: str, /, *, config: Config | None = None,
             **parameters: Any) -> TensorsT:
        """Any view of an encoding: ``table``, ``frequencies``, ``bias``, ``scale``, and analyses
        (``similarity``, ``decay``, ``uniqueness``, ``wavelengths``, ``error``, ``shift``).

        `encoding` is a name, or what an answer calls encoding; None: the one that the config tells.

        >>> import posenc
        >>> posenc.view("rope", "wavelengths", dim=4, context=100).turns
        array([15.915494  ,  0.15915494], dtype=float32)
        """
        told = {"config": config, **parameters}
        if encoding is None and config is not None:
            layer = {key: parameters[key] for key in ("layer_type",) if key in parameters}
            read = _requests.config(config, layer)
            if _requests.gguf_head(config) is not None:
                rest = {key: told[key] for key in told.keys() - {"config", "layer_type"}}
                return self._tensors_after(
                    read, lambda report: _requests.view(report["encoding"], view, rest))
            return self._tensors_after(
                read, lambda report: _requests.view(report["encoding"]["name"], view, told))
        if encoding is None:
            raise TypeError("an encoding is needed, or a config that tells one")
        return self._tensors(_requests.view(encoding, view, told))

    def table(self, encoding: Encoding | None = None, /, *, config: Config | None = None,
              **parameters: Any) -> TensorsT:
        """The values of an encoding at positions: ``cos`` and ``sin`` of a rotary one, ``table``
        of another.

        >>> import posenc
        >>> cos, sin = posenc.table("rope", dim=4, positions=[0, 131071])
        >>> sin
        array([[ 0.        ,  0.        ],
               [-0.5752417 , -0.61773837]], dtype=float32)
        >>> config = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32}
        >>> posenc.table(config=config, length=4096)
        Tensors(cos: float32[4096, 64], sin: float32[4096, 64])
        """
        return self.view(encoding, "table", config=config, **parameters)

    def frequencies(self, encoding: Encoding | None = None, /, *, config: Config | None = None,
                    **parameters: Any) -> TensorsT:
        """``inv_freq`` in radians a position, ``wavelengths`` in positions a turn; `info` tells the
        attention factor.

        >>> import posenc
        >>> posenc.frequencies("rope", dim=4, base=500000).inv_freq
        array([1.        , 0.00141421], dtype=float32)
        """
        return self.view(encoding, "frequencies", config=config, **parameters)

    def bias(self, encoding: Encoding | None = None, /, *, config: Config | None = None,
             **parameters: Any) -> TensorsT:
        """Numbers that are added to scores: ``bias`` [heads, queries, keys], or ``buckets`` where
        there are no weights.

        >>> import posenc
        >>> posenc.bias("alibi", heads=2, query_length=1, key_length=3).bias
        array([[[-0.125     , -0.0625    ,  0.        ]],
        <BLANKLINE>
               [[-0.0078125 , -0.00390625,  0.        ]]], dtype=float32)
        """
        return self.view(encoding, "bias", config=config, **parameters)

    def rotate(self, encoding: Encoding | None = None, /, *, q: Any = None, k: Any = None,
               axes: str | None = None, layout: str | None = None, positions: Any = None,
               config: Config | None = None, **parameters: Any) -> TensorsT:
        """Queries and keys turned by their positions; the answer has the names that were given.

        `axes` names the axes in order: ``bhsd`` is batch, heads, tokens, numbers of a head. The
        `layout` of pairs is ``half`` or ``interleaved``: no default, unless the config tells it.
        `positions` is a list, a tensor [tokens] or [batch, tokens], or `start` is given instead.
        Other arrays among the parameters are tensors too: more to rotate, or ``cos`` and ``sin``.

        >>> import numpy, posenc
        >>> q = numpy.array([[[1, 0, 0, 0]], [[1, 0, 0, 0]]], numpy.float32)
        >>> posenc.rotate("rope", q=q, axes="shd", layout="half", start=1).q[1, 0]
        array([-0.41614684,  0.        ,  0.9092974 ,  0.        ], dtype=float32)
        """
        return self._tensors(_requests.function(
            "/v1/rotation", {"q": q, "k": k},
            {"encoding": encoding, "config": config, "axes": axes, "layout": layout,
             "positions": positions, **parameters}))

    def attention(self, encoding: Encoding | None = None, /, *, q: Any = None, k: Any = None,
                  v: Any = None, config: Config | None = None, **parameters: Any) -> TensorsT:
        """Attention [batch, heads, tokens, numbers of a head] with positions: ``output``, or what
        `outputs` names (``scores``, ``weights``, ``components``). Queries and keys come unrotated.
        Other arrays are tensors by name: ``mask`` (bool or added), ``bias``, ``sinks``, ``q_norm``,
        ``cu_seqlens``. With a `config`, attention is that of its model.

        >>> import numpy, posenc
        >>> x = numpy.ones((1, 2, 3, 4), numpy.float32)
        >>> weights = posenc.attention("alibi", q=x, k=x, outputs="weights", causal=True).weights
        >>> weights[0, 0, 1].round(4)
        array([0.4844, 0.5156, 0.    ], dtype=float32)
        """
        return self._tensors(_requests.function(
            "/v1/attention", {"q": q, "k": k, "v": v},
            {"encoding": encoding, "config": config, **parameters}))

    def embedding(self, encoding: Encoding | None = None, /, *, x: Any = None,
                  tokens: list[str] | None = None, config: Config | None = None,
                  **parameters: Any) -> TensorsT:
        """Embeddings [tokens, width] or [batch, tokens, width] joined with a table, as
        `merge_mode` says; or vectors made of words.

        >>> import posenc
        >>> posenc.embedding("sinusoidal", x=[[0.5, 0.5], [0.5, 0.5]], start=0).x
        array([[0.5      , 1.5      ],
               [1.341471 , 1.0403023]], dtype=float32)
        """
        return self._tensors(_requests.function(
            "/v1/embedding", {"x": x},
            {"encoding": encoding, "config": config, "tokens": tokens, **parameters}))

    def layout(self, from_layout: str, to_layout: str, **parameters: Any) -> TensorsT:
        """Tensors from one layout of pairs to another, as `kind` says (``activations``,
        ``projection_rows``, ``table``); without tensors the ``permutation`` itself.

        >>> import posenc
        >>> posenc.layout("interleaved", "half", head_dim=8).permutation
        array([0, 2, 4, 6, 1, 3, 5, 7])
        """
        told = {"from_layout": from_layout, "to_layout": to_layout, **parameters}
        return self._tensors(_requests.layout(told))

    def config(self, config: Config, /, **parameters: Any) -> ReportT:
        """A config.json as an encoding, with the key that each value came from.

        >>> import posenc
        >>> report = posenc.config({"model_type": "llama", "head_dim": 64, "rope_theta": 500000})
        >>> report.encoding["base"], report.provenance["base"], report.encoding["layout"]
        (500000, 'rope_theta', 'half')
        """
        return self._report(_requests.config(config, parameters))

    def diagnose(self, encoding: Encoding | None = None, /, *, config: Config | None = None,
                 inv_freq: Any = None, cos: Any = None, sin: Any = None, table: Any = None,
                 q: Any = None, q_rotated: Any = None, **parameters: Any) -> ReportT:
        """Which scheme, or which known mistake, explains values: ``verdict`` and ``candidates``.
        With an encoding or a config: what was expected.

        >>> import posenc
        >>> report = posenc.diagnose({"name": "rope", "base": 500000},
        ...                          inv_freq=[1, 0.037597656, 0.0014114380, 0.000053167343])
        >>> report.verdict, report.candidates[0]["bug"]
        ('known-bug', 'inv-freq-bf16')
        """
        return self._report(_requests.function(
            "/v1/diagnosis", {"inv_freq": inv_freq, "cos": cos, "sin": sin, "table": table, "q": q,
                              "q_rotated": q_rotated},
            {"encoding": encoding, "config": config, **parameters}, report=True))

    def positions(self, model_type: str | None = None, /, **parameters: Any) -> TensorsT:
        """Position ids of tokens, and of models with images ``rope_deltas`` beside them.

        >>> import posenc
        >>> ids = posenc.positions("qwen2_vl", mm_token_type_ids=[0, 1, 1, 0],
        ...                        image_grid_thw=[[1, 2, 4]])
        >>> ids.position_ids[:, 0].tolist(), ids.rope_deltas.tolist()
        ([[0, 1, 1, 3], [0, 1, 1, 3], [0, 1, 2, 3]], [[0]])
        """
        return self._tensors(_requests.function("/v1/positions", {},
                                                {"model_type": model_type, **parameters}))

    def diagnose_positions(self, position_ids: Any, /, model_type: str | None = None,
                           **parameters: Any) -> ReportT:
        """Whether position ids are those of the tokens, or which known mistake explains them.

        >>> import posenc
        >>> posenc.diagnose_positions([1, 2, 3]).bug
        'one-too-high'
        """
        return self._report(_requests.function(
            "/v1/positions", {}, {"model_type": model_type, "position_ids": position_ids,
                                  **parameters}, report=True))

    def compare(self, a: Any, b: Any, /, **parameters: Any) -> ReportT:
        """How far two tables are apart, and where that begins. Each side is an encoding with its
        parameters (a dict), a config.json (a dict), or an array.

        >>> import posenc
        >>> report = posenc.compare({"name": "rope", "dim": 4},
        ...                         {"name": "rope", "dim": 4, "base": 500000}, length=3)
        >>> report.unequal, report.first_divergence["position"]
        (4, 1)
        """
        return self._report(_requests.comparison(a, b, parameters))

    def encodings(self, name: str | None = None, /) -> ReportT:
        """The catalogue, or what it says of one encoding: formula, source, every parameter.

        >>> import posenc
        >>> len(posenc.encodings()["encodings"]) > 20, posenc.encodings("alibi").family
        (True, 'bias')
        """
        return self._report(_requests.catalogue(name))

    def request(self, method: str, target: str, body: bytes = b"",
                fields: dict[str, str] | None = None) -> ReplyT:
        """A request as it is, for everything that has no function here; a refusal is a reply too.

        >>> import posenc
        >>> reply = posenc.request("GET", "/v1/encodings/index/table?length=2&format=csv")
        >>> reply.status, reply.fields.get("Content-Type")
        (200, 'text/csv; charset=utf-8; header=present')
        """
        return self._reply(Request(method, target, tuple((fields or {}).items()),
                                   (body,) if body else ()))
