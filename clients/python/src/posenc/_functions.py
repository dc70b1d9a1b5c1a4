# SPDX-License-Identifier: MIT
"""All functions, written once for every way to the service."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, Literal, TypeVar, overload

from . import _audit, _probe, _requests
from ._answers import Report
from ._messages import Request
from ._requests import Config, Encoding
from ._steps import Steps

# Views by how many arrays they give, for type checkers: the answer itself decides.
RotaryName = Literal["rope", "mrope", "rope-2d", "rope-nd", "xpos"]
OneTableName = Literal[
    "sinusoidal", "all-sin", "timestep", "transformer-xl", "sinusoidal-2d", "sinusoidal-nd",
    "fourier", "index", "normalized", "binary", "periodic", "learned", "hierarchical", "shaw"]
OneBiasName = Literal[
    "t5", "kerple-log", "kerple-power", "sandwich", "deberta-log", "shaw"]
OneViewName = Literal["scale", "similarity"]
SeveralViewName = Literal["frequencies", "decay", "uniqueness", "wavelengths", "error", "shift"]

TensorT = TypeVar("TensorT")
TensorsT = TypeVar("TensorsT")
ReportT = TypeVar("ReportT")
ReplyT = TypeVar("ReplyT")
ProbeT = TypeVar("ProbeT")
AuditT = TypeVar("AuditT")


def _given(names: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a method that are not None, of its locals(): those of `parameters` too."""
    given = {key: value for key, value in names.items()
             if value is not None and key not in ("self", "parameters")}
    others: dict[str, Any] = names["parameters"]
    return given | others


class Functions(ABC, Generic[TensorT, TensorsT, ReportT, ReplyT, ProbeT, AuditT]):
    """The functions of the service. Parameters have the names of its documentation; None is as if
    the parameter was absent.

    Tensors are NumPy arrays, anything with DLPack whose memory the CPU reads (torch, jax), or
    lists of numbers, which are float32; none of them is changed. Positions and lengths are in
    tokens, angles in radians, wavelengths in positions a turn, base and factors are plain numbers.

    Every function raises posenc.Refused, a ValueError, for what the service refuses, and TypeError
    for arrays of a dtype that it does not take. A server adds posenc.ConnectionFailed and
    TimeoutError, and ValueError for an answer that is not posencd's."""

    @abstractmethod
    def _tensors(self, request: Request) -> TensorsT: ...

    @abstractmethod
    def _report(self, request: Request) -> ReportT: ...

    @abstractmethod
    def _reply(self, request: Request) -> ReplyT: ...

    @abstractmethod
    def _view(self, request: Request) -> Any:
        """TensorT or TensorsT, by the number of arrays in the answer."""

    @abstractmethod
    def _view_after(self, request: Request, then: Callable[[Report], Request]) -> Any:
        """The view of a request that is written from another one's report."""

    @abstractmethod
    def _result(self, steps: Steps[Any]) -> Any:
        """What a function of several requests returns."""

    @overload
    def view(self, encoding: Encoding | None, view: OneViewName, /,
             **parameters: Any) -> TensorT: ...

    @overload
    def view(self, encoding: Encoding | None, view: SeveralViewName, /,
             **parameters: Any) -> TensorsT: ...

    @overload
    def view(self, encoding: Encoding | None, view: str, /, *, config: Config | None = None,
             # generated: parameters of views
             a: Any = None, alibi_bias_max: float | None = None, align_corners: bool | None = None,
             alpha: float | None = None, anchor: float | None = None, angle: str | None = None,
             antialias: bool | None = None, arithmetic: str | None = None,
             attention_factor: float | None = None, axes_base: Any = None,
             axes_coordinates: str | None = None, axes_dim: Any = None, axes_factor: Any = None,
             axes_reference: Any = None, axes_size: Any = None, bands: int | None = None,
             base: float | None = None, base_size: int | None = None,
             beta_fast: float | None = None, beta_slow: float | None = None,
             bidirectional: bool | None = None, bit_order: str | None = None,
             cache: str | None = None, causal: bool | None = None, class_token: bool | None = None,
             columns: int | None = None, context: float | None = None, coordinates: Any = None,
             delta: float | None = None, dim: int | None = None, direction: str | None = None,
             downscale_freq_shift: float | None = None, dtype: Any = None,
             duplicate: bool | None = None, factor: float | None = None,
             flip_sin_to_cos: bool | None = None, freq_factors: Any = None, frequencies: Any = None,
             grid: Any = None, heads: int | None = None, height: int | None = None,
             high_freq_factor: float | None = None, include_input: str | None = None,
             interpolate_offset: float | None = None, interpolation_scale: float | None = None,
             inv_freq: Any = None, key_length: int | None = None, l2norm: bool | None = None,
             layer_type: Any = None, layout: str | None = None, length: int | None = None,
             long_factor: Any = None, low_freq_factor: float | None = None, matrix: Any = None,
             max_distance: int | None = None, max_offset: int | None = None,
             max_period: float | None = None, max_position_embeddings: int | None = None,
             max_relative_position: int | None = None, max_relative_positions: int | None = None,
             max_resolution: Any = None, max_size: int | None = None, min_offset: int | None = None,
             min_period: float | None = None, mixed_b: float | None = None, mode: str | None = None,
             mrope_interleaved: bool | None = None, mrope_section: Any = None,
             mrope_type: str | None = None, mscale: float | None = None,
             mscale_all_dim: float | None = None, ndim: int | None = None,
             normalize: bool | None = None, num_buckets: int | None = None,
             order: str | None = None, origin: Any = None,
             original_max_position_embeddings: int | None = None, p: Any = None,
             part: str | None = None, partial_rotary_factor: float | None = None,
             pool: str | None = None, position: float | None = None,
             position_buckets: int | None = None, positions: Any = None, prefix: int | None = None,
             query_length: int | None = None, query_start: int | None = None,
             rope_type: str | None = None, rotary_dim: int | None = None,
             rounded: bool | None = None, rows: int | None = None,
             sample_spacing: str | None = None, samples: int | None = None,
             scale: float | None = None, scale_base: float | None = None, scales: Any = None,
             seq_len: int | None = None, series: str | None = None, shape: Any = None,
             short_factor: Any = None, side: str | None = None, slopes: Any = None,
             spacing: str | None = None, start: float | None = None, step: float | None = None,
             steps: Any = None, strict: bool | None = None, t_center: float | None = None,
             table: Any = None, to: Any = None, truncate: bool | None = None,
             unit: str | None = None, variant: str | None = None, vectors: str | None = None,
             version: int | None = None, weights: Any = None, width: int | None = None,
             # end
             **parameters: Any) -> TensorT | TensorsT: ...

    def view(self, encoding: Encoding | None, view: str, /, *, config: Config | None = None,
             # generated: parameters of views
             a: Any = None, alibi_bias_max: float | None = None, align_corners: bool | None = None,
             alpha: float | None = None, anchor: float | None = None, angle: str | None = None,
             antialias: bool | None = None, arithmetic: str | None = None,
             attention_factor: float | None = None, axes_base: Any = None,
             axes_coordinates: str | None = None, axes_dim: Any = None, axes_factor: Any = None,
             axes_reference: Any = None, axes_size: Any = None, bands: int | None = None,
             base: float | None = None, base_size: int | None = None,
             beta_fast: float | None = None, beta_slow: float | None = None,
             bidirectional: bool | None = None, bit_order: str | None = None,
             cache: str | None = None, causal: bool | None = None, class_token: bool | None = None,
             columns: int | None = None, context: float | None = None, coordinates: Any = None,
             delta: float | None = None, dim: int | None = None, direction: str | None = None,
             downscale_freq_shift: float | None = None, dtype: Any = None,
             duplicate: bool | None = None, factor: float | None = None,
             flip_sin_to_cos: bool | None = None, freq_factors: Any = None, frequencies: Any = None,
             grid: Any = None, heads: int | None = None, height: int | None = None,
             high_freq_factor: float | None = None, include_input: str | None = None,
             interpolate_offset: float | None = None, interpolation_scale: float | None = None,
             inv_freq: Any = None, key_length: int | None = None, l2norm: bool | None = None,
             layer_type: Any = None, layout: str | None = None, length: int | None = None,
             long_factor: Any = None, low_freq_factor: float | None = None, matrix: Any = None,
             max_distance: int | None = None, max_offset: int | None = None,
             max_period: float | None = None, max_position_embeddings: int | None = None,
             max_relative_position: int | None = None, max_relative_positions: int | None = None,
             max_resolution: Any = None, max_size: int | None = None, min_offset: int | None = None,
             min_period: float | None = None, mixed_b: float | None = None, mode: str | None = None,
             mrope_interleaved: bool | None = None, mrope_section: Any = None,
             mrope_type: str | None = None, mscale: float | None = None,
             mscale_all_dim: float | None = None, ndim: int | None = None,
             normalize: bool | None = None, num_buckets: int | None = None,
             order: str | None = None, origin: Any = None,
             original_max_position_embeddings: int | None = None, p: Any = None,
             part: str | None = None, partial_rotary_factor: float | None = None,
             pool: str | None = None, position: float | None = None,
             position_buckets: int | None = None, positions: Any = None, prefix: int | None = None,
             query_length: int | None = None, query_start: int | None = None,
             rope_type: str | None = None, rotary_dim: int | None = None,
             rounded: bool | None = None, rows: int | None = None,
             sample_spacing: str | None = None, samples: int | None = None,
             scale: float | None = None, scale_base: float | None = None, scales: Any = None,
             seq_len: int | None = None, series: str | None = None, shape: Any = None,
             short_factor: Any = None, side: str | None = None, slopes: Any = None,
             spacing: str | None = None, start: float | None = None, step: float | None = None,
             steps: Any = None, strict: bool | None = None, t_center: float | None = None,
             table: Any = None, to: Any = None, truncate: bool | None = None,
             unit: str | None = None, variant: str | None = None, vectors: str | None = None,
             version: int | None = None, weights: Any = None, width: int | None = None,
             # end
             **parameters: Any) -> TensorT | TensorsT:
        """Any view of an encoding: ``table``, ``frequencies``, ``bias``, ``scale``, and analyses
        (``similarity``, ``decay``, ``uniqueness``, ``wavelengths``, ``error``, ``shift``).

        `encoding` is a name, or what an answer has as `encoding`; None: that of the config. A view
        of one array is that array (posenc.Tensor), one of several is posenc.Tensors:

        - ``scale`` [positions, pairs] of xpos: factors of queries, or of keys (``side="key"``).
        - ``similarity`` [positions, positions]: products of each row with each; [positions] with
          an `anchor`.
        - ``decay`` [offsets] or [heads, offsets], with ``envelope`` and ``offsets`` in positions.
        - ``uniqueness``: ``distance`` [1] of the two nearest rows, and their ``positions`` [2].
        - ``wavelengths`` [pairs] in positions a turn, and ``turns`` [pairs] within `context`.
        - ``error`` [positions, pairs], |table - exact value|, and ``ulps`` of the dtype.
        - ``shift``: ``blocks`` [pairs, 2, 2] that move a position by `delta`, ``left``, ``right``
          and ``residual`` [pairs, 2].

        posenc.Refused: the encoding does not have this view, or lacks a parameter. TypeError:
        neither an encoding nor a config is given.

        >>> import posenc
        >>> posenc.view("rope", "wavelengths", dim=4, context=100).turns
        array([15.915494  ,  0.15915494], dtype=float32)
        >>> posenc.view("index", "similarity", length=3)
        array([[0., 0., 0.],
               [0., 1., 2.],
               [0., 2., 4.]], dtype=float32)
        """
        given = _given(locals())
        for name in ("encoding", "view"):
            given.pop(name, None)
        if encoding is None and config is not None:
            named = {"layer_type": layer_type} if layer_type is not None else {}
            is_gguf = _requests.gguf_head(config) is not None
            if not is_gguf and "_class_name" in _requests.config_text(config):
                # Some classes of diffusers need the size of the latents.
                named |= {key: given[key] for key in ("height", "width") if key in given}
            read = _requests.config(config, named)
            if is_gguf:
                rest = {key: given[key] for key in given.keys() - {"config", "layer_type"}}
                found: TensorT | TensorsT = self._view_after(
                    read, lambda report: _requests.view(report["encoding"], view, rest))
            else:
                found = self._view_after(
                    read, lambda report: _requests.view(report["encoding"]["name"], view, given))
            return found
        if encoding is None:
            raise TypeError("an encoding is required, or a config that has one")
        found = self._view(_requests.view(encoding, view, given))
        return found

    @overload
    def table(self, encoding: OneTableName, /, **parameters: Any) -> TensorT: ...

    @overload
    def table(self, encoding: RotaryName, /, *, part: None = None, cache: None = None,
              **parameters: Any) -> TensorsT: ...

    @overload
    def table(self, encoding: Encoding | None = None, /, *, config: Config | None = None,
              # generated: parameters of table
              align_corners: bool | None = None, alpha: float | None = None,
              antialias: bool | None = None, arithmetic: str | None = None,
              attention_factor: float | None = None, axes_base: Any = None,
              axes_coordinates: str | None = None, axes_dim: Any = None, axes_factor: Any = None,
              axes_reference: Any = None, axes_size: Any = None, bands: int | None = None,
              base: float | None = None, base_size: int | None = None,
              beta_fast: float | None = None, beta_slow: float | None = None,
              bit_order: str | None = None, cache: str | None = None,
              class_token: bool | None = None, columns: int | None = None, coordinates: Any = None,
              dim: int | None = None, direction: str | None = None,
              downscale_freq_shift: float | None = None, dtype: Any = None,
              duplicate: bool | None = None, factor: float | None = None,
              flip_sin_to_cos: bool | None = None, freq_factors: Any = None,
              frequencies: Any = None, grid: Any = None, height: int | None = None,
              high_freq_factor: float | None = None, include_input: str | None = None,
              interpolate_offset: float | None = None, interpolation_scale: float | None = None,
              inv_freq: Any = None, l2norm: bool | None = None, layer_type: Any = None,
              layout: str | None = None, length: int | None = None, long_factor: Any = None,
              low_freq_factor: float | None = None, matrix: Any = None,
              max_period: float | None = None, max_position_embeddings: int | None = None,
              max_relative_position: int | None = None, max_resolution: Any = None,
              max_size: int | None = None, min_period: float | None = None,
              mixed_b: float | None = None, mode: str | None = None,
              mrope_interleaved: bool | None = None, mrope_section: Any = None,
              mrope_type: str | None = None, mscale: float | None = None,
              mscale_all_dim: float | None = None, ndim: int | None = None,
              normalize: bool | None = None, order: str | None = None, origin: Any = None,
              original_max_position_embeddings: int | None = None, part: str | None = None,
              partial_rotary_factor: float | None = None, pool: str | None = None,
              positions: Any = None, prefix: int | None = None, rope_type: str | None = None,
              rotary_dim: int | None = None, rows: int | None = None, scale: float | None = None,
              scale_base: float | None = None, seq_len: int | None = None,
              series: str | None = None, shape: Any = None, short_factor: Any = None,
              side: str | None = None, spacing: str | None = None, start: float | None = None,
              step: float | None = None, steps: Any = None, strict: bool | None = None,
              t_center: float | None = None, table: Any = None, to: Any = None,
              truncate: bool | None = None, unit: str | None = None, variant: str | None = None,
              vectors: str | None = None, version: int | None = None, width: int | None = None,
              # end
              **parameters: Any) -> TensorT | TensorsT: ...

    def table(self, encoding: Encoding | None = None, /, *, config: Config | None = None,
              # generated: parameters of table
              align_corners: bool | None = None, alpha: float | None = None,
              antialias: bool | None = None, arithmetic: str | None = None,
              attention_factor: float | None = None, axes_base: Any = None,
              axes_coordinates: str | None = None, axes_dim: Any = None, axes_factor: Any = None,
              axes_reference: Any = None, axes_size: Any = None, bands: int | None = None,
              base: float | None = None, base_size: int | None = None,
              beta_fast: float | None = None, beta_slow: float | None = None,
              bit_order: str | None = None, cache: str | None = None,
              class_token: bool | None = None, columns: int | None = None, coordinates: Any = None,
              dim: int | None = None, direction: str | None = None,
              downscale_freq_shift: float | None = None, dtype: Any = None,
              duplicate: bool | None = None, factor: float | None = None,
              flip_sin_to_cos: bool | None = None, freq_factors: Any = None,
              frequencies: Any = None, grid: Any = None, height: int | None = None,
              high_freq_factor: float | None = None, include_input: str | None = None,
              interpolate_offset: float | None = None, interpolation_scale: float | None = None,
              inv_freq: Any = None, l2norm: bool | None = None, layer_type: Any = None,
              layout: str | None = None, length: int | None = None, long_factor: Any = None,
              low_freq_factor: float | None = None, matrix: Any = None,
              max_period: float | None = None, max_position_embeddings: int | None = None,
              max_relative_position: int | None = None, max_resolution: Any = None,
              max_size: int | None = None, min_period: float | None = None,
              mixed_b: float | None = None, mode: str | None = None,
              mrope_interleaved: bool | None = None, mrope_section: Any = None,
              mrope_type: str | None = None, mscale: float | None = None,
              mscale_all_dim: float | None = None, ndim: int | None = None,
              normalize: bool | None = None, order: str | None = None, origin: Any = None,
              original_max_position_embeddings: int | None = None, part: str | None = None,
              partial_rotary_factor: float | None = None, pool: str | None = None,
              positions: Any = None, prefix: int | None = None, rope_type: str | None = None,
              rotary_dim: int | None = None, rows: int | None = None, scale: float | None = None,
              scale_base: float | None = None, seq_len: int | None = None,
              series: str | None = None, shape: Any = None, short_factor: Any = None,
              side: str | None = None, spacing: str | None = None, start: float | None = None,
              step: float | None = None, steps: Any = None, strict: bool | None = None,
              t_center: float | None = None, table: Any = None, to: Any = None,
              truncate: bool | None = None, unit: str | None = None, variant: str | None = None,
              vectors: str | None = None, version: int | None = None, width: int | None = None,
              # end
              **parameters: Any) -> TensorT | TensorsT:
        """The values of an encoding at positions: ``cos`` and ``sin`` of a rotary one, each
        [positions, pairs], or the table of another, [positions, dim], as the array itself.

        Positions are `positions`, or `length` of them from `start` (0) by `step` (1). `dtype` is
        f32 (default), f64, f16 or bf16. Of a rotary encoding ``part="cos"`` gives one array,
        ``duplicate=True`` each column twice, `cache` the names and shapes of an engine.

        posenc.Refused: a parameter is missing, unknown or out of its range.

        >>> import posenc
        >>> table = posenc.table("sinusoidal", dim=8, length=5)
        >>> table.shape, table.encoding["layout"]
        ((5, 8), 'interleaved')
        >>> cos, sin = posenc.table("rope", dim=4, positions=[0, 131071])
        >>> sin
        array([[ 0.        ,  0.        ],
               [-0.5752417 , -0.61773837]], dtype=float32)
        >>> config = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32}
        >>> posenc.table(config=config, length=4096)
        Tensors(cos: float32[4096, 64], sin: float32[4096, 64])
        """
        given = _given(locals())
        return self.view(given.pop("encoding", None), "table", **given)

    def frequencies(self, encoding: Encoding | None = None, /, *, config: Config | None = None,
                    # generated: parameters of frequencies
                    alpha: float | None = None, arithmetic: str | None = None,
                    attention_factor: float | None = None, axes_base: Any = None,
                    axes_coordinates: str | None = None, axes_dim: Any = None,
                    axes_factor: Any = None, axes_reference: Any = None, axes_size: Any = None,
                    base: float | None = None, beta_fast: float | None = None,
                    beta_slow: float | None = None, dim: int | None = None,
                    direction: str | None = None, downscale_freq_shift: float | None = None,
                    dtype: Any = None, factor: float | None = None,
                    flip_sin_to_cos: bool | None = None, freq_factors: Any = None,
                    high_freq_factor: float | None = None, inv_freq: Any = None,
                    layer_type: Any = None, layout: str | None = None, long_factor: Any = None,
                    low_freq_factor: float | None = None, max_period: float | None = None,
                    max_position_embeddings: int | None = None, min_period: float | None = None,
                    mixed_b: float | None = None, mrope_interleaved: bool | None = None,
                    mrope_section: Any = None, mrope_type: str | None = None,
                    mscale: float | None = None, mscale_all_dim: float | None = None,
                    order: str | None = None, original_max_position_embeddings: int | None = None,
                    partial_rotary_factor: float | None = None, rope_type: str | None = None,
                    rotary_dim: int | None = None, scale: float | None = None,
                    scale_base: float | None = None, seq_len: int | None = None,
                    series: str | None = None, short_factor: Any = None, spacing: str | None = None,
                    strict: bool | None = None, t_center: float | None = None,
                    truncate: bool | None = None, unit: str | None = None,
                    variant: str | None = None,
                    # end
                    **parameters: Any) -> TensorsT:
        """``inv_freq`` [pairs] in radians a position, ``wavelengths`` [pairs] in positions a turn;
        of RoPE also ``freq_factors`` [pairs], unscaled over scaled, and where positions have more
        coordinates, ``axes`` [pairs], which of them turns a pair. `info` has the attention factor.

        posenc.Refused: the encoding has no frequencies, or lacks a parameter.

        >>> import posenc
        >>> posenc.frequencies("rope", dim=4, base=500000).inv_freq
        array([1.        , 0.00141421], dtype=float32)
        """
        given = _given(locals())
        found: TensorsT = self.view(given.pop("encoding", None), "frequencies", **given)
        return found

    @overload
    def bias(self, encoding: OneBiasName, /, **parameters: Any) -> TensorT: ...

    @overload
    def bias(self, encoding: Literal["alibi"], /, **parameters: Any) -> TensorsT: ...

    @overload
    def bias(self, encoding: Encoding | None = None, /, *, config: Config | None = None,
             # generated: parameters of bias
             a: Any = None, alibi_bias_max: float | None = None, base: float | None = None,
             bidirectional: bool | None = None, causal: bool | None = None,
             columns: int | None = None, dim: int | None = None, direction: str | None = None,
             dtype: Any = None, heads: int | None = None, key_length: int | None = None,
             layer_type: Any = None, max_distance: int | None = None,
             max_relative_position: int | None = None, max_relative_positions: int | None = None,
             num_buckets: int | None = None, p: Any = None, pool: str | None = None,
             position_buckets: int | None = None, query_length: int | None = None,
             query_start: int | None = None, rows: int | None = None, scales: Any = None,
             slopes: Any = None, strict: bool | None = None, vectors: str | None = None,
             weights: Any = None,
             # end
             **parameters: Any) -> TensorT | TensorsT: ...

    def bias(self, encoding: Encoding | None = None, /, *, config: Config | None = None,
             # generated: parameters of bias
             a: Any = None, alibi_bias_max: float | None = None, base: float | None = None,
             bidirectional: bool | None = None, causal: bool | None = None,
             columns: int | None = None, dim: int | None = None, direction: str | None = None,
             dtype: Any = None, heads: int | None = None, key_length: int | None = None,
             layer_type: Any = None, max_distance: int | None = None,
             max_relative_position: int | None = None, max_relative_positions: int | None = None,
             num_buckets: int | None = None, p: Any = None, pool: str | None = None,
             position_buckets: int | None = None, query_length: int | None = None,
             query_start: int | None = None, rows: int | None = None, scales: Any = None,
             slopes: Any = None, strict: bool | None = None, vectors: str | None = None,
             weights: Any = None,
             # end
             **parameters: Any) -> TensorT | TensorsT:
        """Numbers that are added to scores: ``bias`` [heads, queries, keys], or where there are no
        weights, ``buckets`` [queries, keys], the row of the weights of each pair of tokens. ALiBi
        has ``slopes`` [heads] beside them; the others are the array itself.

        `query_length` and `key_length` are in tokens, `weights` are [buckets, heads].
        posenc.Refused: the encoding has no bias, or lacks a parameter.

        >>> import posenc
        >>> posenc.bias("alibi", heads=2, query_length=1, key_length=3).bias
        array([[[-0.125     , -0.0625    ,  0.        ]],
        <BLANKLINE>
               [[-0.0078125 , -0.00390625,  0.        ]]], dtype=float32)
        >>> posenc.bias("t5", query_length=1, key_length=3)
        array([[2, 1, 0]])
        """
        given = _given(locals())
        return self.view(given.pop("encoding", None), "bias", **given)

    def rotate(self, encoding: Encoding | None = None, /, *, q: Any = None, k: Any = None,
               axes: str | None = None, layout: str | None = None, positions: Any = None,
               config: Config | None = None,
               # generated: parameters of rotate
               alpha: float | None = None, apply_attention_factor: bool | None = None,
               arithmetic: str | None = None, attention_factor: float | None = None,
               axes_base: Any = None, axes_coordinates: str | None = None, axes_dim: Any = None,
               axes_factor: Any = None, axes_reference: Any = None, axes_size: Any = None,
               base: float | None = None, beta_fast: float | None = None,
               beta_slow: float | None = None, cache: str | None = None, cos: Any = None,
               cu_seqlens: Any = None, delta: Any = None, dim: int | None = None, dtype: Any = None,
               factor: float | None = None, freq_factors: Any = None, from_encoding: Any = None,
               high_freq_factor: float | None = None, inv_freq: Any = None,
               inverse: bool | None = None, layer_type: Any = None, long_factor: Any = None,
               low_freq_factor: float | None = None, max_period: float | None = None,
               max_position_embeddings: int | None = None, min_period: float | None = None,
               mixed_b: float | None = None, mrope_interleaved: bool | None = None,
               mrope_section: Any = None, mrope_type: str | None = None,
               mscale: float | None = None, mscale_all_dim: float | None = None,
               order: str | None = None, original_max_position_embeddings: int | None = None,
               output_layout: str | None = None, partial_rotary_factor: float | None = None,
               rope_type: str | None = None, rotary_dim: int | None = None,
               scale_base: float | None = None, seq_len: int | None = None,
               series: str | None = None, short_factor: Any = None, sin: Any = None,
               start: float | None = None, step: float | None = None, strict: bool | None = None,
               t_center: float | None = None, to_encoding: Any = None, truncate: bool | None = None,
               unit: str | None = None, variant: str | None = None,
               # end
               **parameters: Any) -> TensorsT:
        """Queries and keys rotated by their positions; the answer has the names, shapes and dtypes
        of the arrays that were given.

        `axes` names the axes in order: ``bhsd`` is batch, heads, tokens, elements of a head. The
        `layout` of pairs is ``half`` or ``interleaved``: no default, unless the config has it.
        `positions` is a list, a tensor [tokens] or [batch, tokens], or `start` is given instead.
        Other arrays among the parameters are tensors too: more to rotate, or ``cos`` and ``sin``.

        posenc.Refused: `layout` or positions are missing, or shapes do not fit.

        >>> import numpy, posenc
        >>> q = numpy.array([[[1, 0, 0, 0]], [[1, 0, 0, 0]]], numpy.float32)
        >>> posenc.rotate("rope", q=q, axes="shd", layout="half", start=1).q[1, 0]
        array([-0.41614684,  0.        ,  0.9092974 ,  0.        ], dtype=float32)
        """
        return self._tensors(_requests.function("/v1/rotation", ("q", "k"), _given(locals())))

    def attention(self, encoding: Encoding | None = None, /, *, q: Any = None, k: Any = None,
                  v: Any = None, config: Config | None = None,
                  # generated: parameters of attention
                  a: Any = None, alibi_bias_max: float | None = None, alpha: float | None = None,
                  arithmetic: str | None = None, attention_factor: float | None = None,
                  axes_base: Any = None, axes_coordinates: str | None = None, axes_dim: Any = None,
                  axes_factor: Any = None, axes_reference: Any = None, axes_size: Any = None,
                  base: float | None = None, beta_fast: float | None = None,
                  beta_slow: float | None = None, bias: Any = None,
                  bias_before_scale: bool | None = None, bidirectional: bool | None = None,
                  causal: bool | None = None, chunk: int | None = None, cu_seqlens: Any = None,
                  cu_seqlens_k: Any = None, dim: int | None = None, direction: str | None = None,
                  factor: float | None = None, freq_factors: Any = None, heads: int | None = None,
                  high_freq_factor: float | None = None, inv_freq: Any = None, k_norm: Any = None,
                  key_positions: Any = None, layer_type: Any = None, layout: str | None = None,
                  long_factor: Any = None, low_freq_factor: float | None = None, mask: Any = None,
                  max_distance: int | None = None, max_period: float | None = None,
                  max_position_embeddings: int | None = None,
                  max_relative_position: int | None = None,
                  max_relative_positions: int | None = None, min_period: float | None = None,
                  mixed_b: float | None = None, mrope_interleaved: bool | None = None,
                  mrope_section: Any = None, mrope_type: str | None = None,
                  mscale: float | None = None, mscale_all_dim: float | None = None,
                  norm: str | None = None, norm_epsilon: float | None = None,
                  norm_offset: float | None = None, num_buckets: int | None = None,
                  order: str | None = None, original_max_position_embeddings: int | None = None,
                  outputs: str | None = None, p: Any = None,
                  partial_rotary_factor: float | None = None, pos_bias_u: Any = None,
                  pos_bias_v: Any = None, pos_key: Any = None, pos_query: Any = None,
                  position_buckets: int | None = None, positions: Any = None, q_norm: Any = None,
                  query_start: int | None = None, rel_k: Any = None, rel_v: Any = None,
                  rope_type: str | None = None, rotary_dim: int | None = None,
                  scale: float | None = None, scale_base: float | None = None, scales: Any = None,
                  seq_len: int | None = None, series: str | None = None, short_factor: Any = None,
                  sinks: Any = None, slopes: Any = None, softcap: float | None = None,
                  spacing: str | None = None, strict: bool | None = None,
                  t_center: float | None = None, temperature_length: float | None = None,
                  temperature_offset: float | None = None,
                  temperature_strength: float | None = None, truncate: bool | None = None,
                  unit: str | None = None, variant: str | None = None, vectors: str | None = None,
                  w_k: Any = None, w_q: Any = None, w_r: Any = None, w_v: Any = None,
                  weights: Any = None, window: int | None = None, window_left: int | None = None,
                  window_right: int | None = None, x: Any = None,
                  # end
                  **parameters: Any) -> TensorsT:
        """Attention with positions: ``output`` [batch, heads, tokens, elements of a head], or what
        `outputs` names: ``scores``, ``weights`` [batch, heads, queries, keys], ``components``.

        `q`, `k` and `v` are [batch, heads, tokens, elements of a head]; queries and keys come
        unrotated. Other arrays are tensors by name: ``mask`` (bool, or added), ``bias``,
        ``sinks``, ``q_norm``, ``cu_seqlens``. With a `config`, attention is that of its model.

        posenc.Refused: shapes do not fit, or a rotary encoding has no `layout`.

        >>> import numpy, posenc
        >>> x = numpy.ones((1, 2, 3, 4), numpy.float32)
        >>> weights = posenc.attention("alibi", q=x, k=x, outputs="weights", causal=True).weights
        >>> weights[0, 0, 1].round(4)
        array([0.4844, 0.5156, 0.    ], dtype=float32)
        """
        return self._tensors(_requests.function("/v1/attention", ("q", "k", "v"),
                                                _given(locals())))

    def embedding(self, encoding: Encoding | None = None, /, *, x: Any = None,
                  tokens: list[str] | None = None, config: Config | None = None,
                  # generated: parameters of embedding
                  align_corners: bool | None = None, alpha: float | None = None,
                  antialias: bool | None = None, base: float | None = None,
                  bit_order: str | None = None, dim: int | None = None,
                  downscale_freq_shift: float | None = None, dtype: Any = None,
                  flip_sin_to_cos: bool | None = None, grid: Any = None,
                  interpolate_offset: float | None = None, l2norm: bool | None = None,
                  layer_type: Any = None, layout: str | None = None,
                  max_period: float | None = None, merge_mode: str | None = None,
                  mode: str | None = None, positions: Any = None, prefix: int | None = None,
                  scale: float | None = None, seed: int | None = None, spacing: str | None = None,
                  start: float | None = None, step: float | None = None, strict: bool | None = None,
                  table: Any = None, to: Any = None, version: int | None = None,
                  xscale: float | None = None,
                  # end
                  **parameters: Any) -> TensorsT:
        """Embeddings `x` [tokens, width] or [batch, tokens, width] joined with a table, as
        `merge_mode` says (``add``, ``mul``, ``concat``); or vectors [tokens, dim] made of words.
        posenc.Refused: the encoding has no table, or its width is not that of `x`.

        >>> import posenc
        >>> posenc.embedding("sinusoidal", x=[[0.5, 0.5], [0.5, 0.5]], start=0).x
        array([[0.5      , 1.5      ],
               [1.341471 , 1.0403023]], dtype=float32)
        """
        return self._tensors(_requests.function("/v1/embedding", ("x",), _given(locals())))

    def layout(self, from_layout: str, to_layout: str, *,
               # generated: parameters of layout
               axes: str | None = None, dim: int | None = None, head_dim: int | None = None,
               heads: int | None = None, kind: str | None = None, rotary_dim: int | None = None,
               # end
               **parameters: Any) -> TensorsT:
        """Tensors from one layout of pairs to another (``half``, ``interleaved``, ...), as `kind`
        says (``activations``, ``projection_rows``, ``table``), with the shapes that they had;
        without tensors the ``permutation`` [head_dim] of a head's elements itself.

        posenc.Refused: a layout is unknown, or an axis is not a whole number of heads.

        >>> import posenc
        >>> posenc.layout("interleaved", "half", head_dim=8).permutation
        array([0, 2, 4, 6, 1, 3, 5, 7])
        """
        return self._tensors(_requests.layout(_given(locals())))

    def config(self, config: Config, /, *,
               # generated: parameters of config
               layer_type: Any = None, strict: bool | None = None,
               # end
               **parameters: Any) -> ReportT:
        """A config.json as an encoding: ``encoding``, ``provenance`` (the key of each value),
        ``layers``, ``attention``, ``warnings``, and ``unused`` keys.

        `config` is a dict, the text, the path of the file or of its folder, an object with
        ``to_dict``, or the path of a GGUF file, whose head is read. posenc.Refused: a model of
        such a config would not do what it says. OSError: the file cannot be read.

        >>> import posenc
        >>> report = posenc.config({"model_type": "llama", "head_dim": 64, "rope_theta": 500000})
        >>> report.encoding["base"], report.provenance["base"], report.encoding["layout"]
        (500000, 'rope_theta', 'half')
        """
        given = _given(locals())
        return self._report(_requests.config(given.pop("config"), given))

    def engines(self, *, engine: str | None = None, model_type: str | None = None,
                **parameters: Any) -> ReportT:
        """What inference engines rotate for a config, as measured by running them: ``engines`` with
        their measured ``versions`` and numbers of cells; with `engine` (a name, for the newest
        version, or ``"mlx-lm==0.31.3"``) or `model_type` also ``cells``.

        posenc.Refused: that engine, version or model_type was not measured.

        >>> import posenc
        >>> cells = posenc.engines(engine="mlx-lm", model_type="gpt_oss").cells
        >>> [cell["keys"] for cell in cells if cell["config"] == "gpt-oss-120b"][0]
        ['rope_scaling.truncate']
        """
        return self._report(_requests.query("/v1/engines", _given(locals())))

    def lint(self, config: Config, /, *, engines: str | list[str] | None = None,
             against: Config | None = None, **parameters: Any) -> ReportT:
        """Which inference engines read a config.json otherwise than its model's own code, and by
        how much: ``verdict`` (``same``, ``differs`` or ``not-measured``) and ``engines``, each with
        its ``findings``.

        `engines` is a list of names, or of names with a version; None: all that were measured, or
        none with `against`, a config that must agree with the first, such as a drafter's with its
        target's. Configs are those of `config`, but no GGUF file.

        posenc.Refused: an engine or a version that was not measured.

        >>> import posenc
        >>> config = {"model_type": "llama", "head_dim": 64, "max_position_embeddings": 4096,
        ...           "rope_parameters": {"rope_type": "default", "rope_theta": 500000}}
        >>> report = posenc.lint(config, engines=["mlx-lm==0.32.2"])
        >>> report.verdict, report.engines[0]["findings"][0]["reads"]
        ('differs', 'rope_theta=10000')
        """
        given = _given(locals())
        return self._report(_requests.judged("/v1/lint", given.pop("config"), given))

    def extend(self, config: Config, /, to: int, *, type: str | None = None,
               engines: str | list[str] | None = None, **parameters: Any) -> ReportT:
        """What changes a config.json to a context of `to` positions: ``forms``, with a merge patch
        (RFC 7396) and its reading in the forms of transformers 4 and 5; ``layers``, with the pairs
        that change and what becomes of cached keys; ``engines``, with their verdict on the patched
        config and the flags of their commands.

        `type` is ``yarn`` (None), ``linear``, ``dynamic`` or ``ntk``; `engines` is a list of names,
        or of names with a version, None: none.

        posenc.Refused: the config is scaled already, has no rotary frequencies, or has a context
        that is not shorter; or the model's code does not read this type.

        >>> import posenc
        >>> config = {"model_type": "llama", "head_dim": 64, "max_position_embeddings": 4096,
        ...           "rope_theta": 500000.0}
        >>> report = posenc.extend(config, 16384, engines="llama.cpp")
        >>> report.forms["4"]["patch"]["rope_scaling"]["factor"], report.layers[0]["cache"]
        (4.0, 'void')
        >>> report.engines[0]["command"]
        '--rope-scaling yarn --rope-scale 4 --yarn-orig-ctx 4096 --ctx-size 16384'
        """
        given = _given(locals())
        return self._report(_requests.judged("/v1/extend", given.pop("config"), given))

    def diagnose(self, encoding: Any = None, values: Any = None, /, *,
                 config: Config | None = None, inv_freq: Any = None, cos: Any = None,
                 sin: Any = None, table: Any = None, q: Any = None, q_rotated: Any = None,
                 k: Any = None, k_rotated: Any = None,
                 # generated: parameters of diagnose
                 axes: Any = None, cache: str | None = None, layer_type: Any = None,
                 layout: str | None = None, per_head: bool | None = None, positions: Any = None,
                 start: float | None = None, step: float | None = None, strict: bool | None = None,
                 # end
                 **parameters: Any) -> ReportT:
        """Which scheme, or which known mistake, explains values: ``verdict`` and ``candidates``.
        With an encoding or a config: what was expected.

        Values are named, or come as one argument: the answer of `table` or `frequencies`, a pair
        of cos and sin, a mapping of names to arrays, or one array, which is a table. `inv_freq` is
        [pairs] in radians a position, `cos` and `sin` are [positions, pairs] or twice as wide,
        `table` [positions, dim]; `q` before and `q_rotated` after a rotation have `axes`, and so
        do `k` and `k_rotated` beside them, which have to be rotated in the same layout.

        ``verdict`` is match, consistent (nothing was expected), known-bug or unknown.
        posenc.Refused: shapes do not fit each other. TypeError: an answer has none of these.

        >>> import posenc
        >>> report = posenc.diagnose({"name": "rope", "base": 500000},
        ...                          inv_freq=[1, 0.037597656, 0.0014114380, 0.000053167343])
        >>> report.verdict, report.candidates[0]["bug"]
        ('known-bug', 'inv-freq-bf16')
        >>> posenc.diagnose("rope", posenc.table("rope", dim=8, length=20)).verdict
        'match'
        """
        given = _given(locals())
        if values is None and _requests.is_values(encoding):
            values = given.pop("encoding")
        given.pop("values", None)
        given |= _requests.named_values(values)
        return self._report(_requests.function("/v1/diagnosis", _requests.DIAGNOSED, given,
                                               report=True))

    def positions(self, model_type: str | None = None, /, *,
                  # generated: parameters of positions
                  attention_mask: Any = None, base_size: Any = None,
                  chunk_length: int | None = None, chunk_start: int | None = None,
                  continues: str | None = None, cu_seqlens: Any = None,
                  frame_rate: float | None = None, grid_step: Any = None,
                  image_grid_thw: Any = None, image_token_id: int | None = None,
                  input_ids: Any = None, length: int | None = None, lengths: Any = None,
                  mm_token_type_ids: Any = None, padding_side: str | None = None,
                  position_ids: Any = None, second_per_grid_ts: Any = None,
                  spatial_merge_size: int | None = None, temporal_merge_size: int | None = None,
                  tokens_per_second: int | None = None, video_grid_thw: Any = None,
                  video_token_id: int | None = None,
                  # end
                  **parameters: Any) -> TensorsT:
        """Position ids of tokens, ``position_ids`` [batch, tokens] or [axes, batch, tokens], and of
        models with images ``rope_deltas`` [batch, 1] beside them. `model_type` is that of the
        config; without it, ids of text. posenc.Refused: the tensors are not of such a model.

        >>> import posenc
        >>> ids = posenc.positions("qwen2_vl", mm_token_type_ids=[0, 1, 1, 0],
        ...                        image_grid_thw=[[1, 2, 4]])
        >>> ids.position_ids[:, 0].tolist(), ids.rope_deltas.tolist()
        ([[0, 1, 1, 3], [0, 1, 1, 3], [0, 1, 2, 3]], [[0]])
        """
        return self._tensors(_requests.function("/v1/positions", (), _given(locals())))

    def diagnose_positions(self, position_ids: Any, /, model_type: str | None = None, *,
                           # generated: parameters of diagnose_positions
                           attention_mask: Any = None, base_size: Any = None,
                           chunk_length: int | None = None, chunk_start: int | None = None,
                           continues: str | None = None, cu_seqlens: Any = None,
                           frame_rate: float | None = None, grid_step: Any = None,
                           image_grid_thw: Any = None, image_token_id: int | None = None,
                           input_ids: Any = None, length: int | None = None, lengths: Any = None,
                           mm_token_type_ids: Any = None, padding_side: str | None = None,
                           second_per_grid_ts: Any = None, spatial_merge_size: int | None = None,
                           temporal_merge_size: int | None = None,
                           tokens_per_second: int | None = None, video_grid_thw: Any = None,
                           video_token_id: int | None = None,
                           # end
                           **parameters: Any) -> ReportT:
        """Whether `position_ids` [tokens], [batch, tokens] or [axes, batch, tokens] are those of
        the tokens, or which known mistake explains them: ``verdict``, ``bug``, ``fix``, ``first``.

        posenc.Refused: shapes do not fit each other.

        >>> import posenc
        >>> posenc.diagnose_positions([1, 2, 3]).bug
        'one-too-high'
        """
        return self._report(_requests.function("/v1/positions", (), _given(locals()),
                                               report=True))

    def compare(self, a: Any, b: Any, /, *,
                # generated: parameters of compare
                axes: Any = None, dtype: Any = None, duplicate: bool | None = None,
                height: int | None = None, length: int | None = None, part: str | None = None,
                per_element: bool | None = None, per_pair: bool | None = None,
                per_position: bool | None = None, positions: Any = None, shape: Any = None,
                start: float | None = None, step: float | None = None,
                tolerance: float | None = None, tolerance_of: str | None = None,
                width: int | None = None,
                # end
                **parameters: Any) -> ReportT:
        """How far two tables are apart, and where that begins: ``unequal`` of ``elements``,
        ``max_abs``, ``max_ulp``, ``rms``, ``first_divergence``. Each side is an encoding with its
        parameters (a dict), a config.json (a dict), or an array [positions, dim].

        posenc.Refused: the shapes differ, or `length` is missing. TypeError: an answer of several
        arrays is given.

        >>> import posenc
        >>> report = posenc.compare({"name": "rope", "dim": 4},
        ...                         {"name": "rope", "dim": 4, "base": 500000}, length=3)
        >>> report.unequal, report.first_divergence["position"]
        (4, 1)
        """
        given = _given(locals())
        return self._report(_requests.comparison(given.pop("a"), given.pop("b"), given))

    def golden(self, config: Config, /, *,
               # generated: parameters of golden
               context: int | None = None, layout: str | None = None, strict: bool | None = None,
               # end
               **parameters: Any) -> TensorsT:
        """A golden file for a rotary kernel, from a config.json: for each kind of layers inputs
        (``positions`` [tokens], ``q`` [tokens, 2, d], ``k`` [tokens, 1, d]) and the outputs that
        are expected of it: ``inv_freq``, ``cos``, ``sin``, ``q_rotated``, ``k_rotated``,
        ``attention_factor``, ``softmax_scale``. ``info["golden"]`` describes them; `check` takes
        the answer. Names begin with the type of the layers where their positions differ.

        `context` is in positions. posenc.Refused: the positions of the config are no rotation, or
        nothing names their layout or context.

        >>> import posenc
        >>> golden = posenc.golden({"model_type": "llama", "head_dim": 64,
        ...                         "max_position_embeddings": 4096})
        >>> golden.positions.tolist(), golden.q.shape
        ([0, 1, 255, 256, 257, 4095], (6, 2, 64))
        """
        given = _given(locals())
        return self._tensors(_requests.golden(given.pop("config"), given))

    def check(self, mine: Any, golden: Any, /, *,
              # generated: parameters of check
              tolerance_of: str | None = None,
              # end
              **parameters: Any) -> ReportT:
        """Whether outputs of a kernel are right, by a golden file: ``verdict`` is right or wrong,
        ``mistake`` its name, ``tensors`` has a row for each output, ``missing`` the others.

        `golden` is an answer of `golden`, or the path of a golden file; `mine` is a mapping of the
        names to arrays, or the path of a safetensors file with them.

        posenc.Refused: a name is none of the golden file's, a shape differs, or the golden file was
        changed. OSError: a file cannot be read.

        >>> import posenc
        >>> golden = posenc.golden({"model_type": "llama", "head_dim": 64,
        ...                         "max_position_embeddings": 4096})
        >>> posenc.check({"q_rotated": golden.q_rotated}, golden).verdict
        'right'
        >>> posenc.check({"q_rotated": golden.q}, golden).mistake
        'not-rotated'
        """
        given = _given(locals())
        return self._report(_requests.check(given.pop("mine"), given.pop("golden"), given))

    def probe(self, fn: Callable[[Any, Any], Any], encoding: Encoding | None = None, /, *,
              config: Config | None = None, layer_type: str | None = None,
              layout: str | None = None, positions: Any = None, axes: str = "sd",
              heads: int = 2, batch: int = 2, like: Any = None,
              **parameters: Any) -> ProbeT:
        """What a rotation of queries or keys does: ``fn(x, positions)`` returns the rotated x. It
        is called with unit vectors and others, and is a black box: no weights, no source.

        Found are the pairs of elements, each one's frequency, direction, scale and offset, and how
        that differs from an `encoding` (with its parameters) or from a `config` (with the
        `layer_type`). A function that is not linear, mixes tokens, depends on the head, the batch
        row or the call, changes the shape or returns NaN is refused by name.

        x has the `axes` tokens s, elements of a head d, heads h and batch rows b, such as "sd" or
        "bhsd", with as many `heads` and rows of a `batch`; it is a NumPy array, or where fn refuses
        that, one of torch, jax, mlx or tensorflow, whichever the process has imported. `like` is an
        array whose library, dtype and device x has. `positions` are [tokens] or, for encodings of
        several coordinates, [axes, tokens]; by default some 16 to 50 up to the length that the
        frequencies are intended for, so that fn must have its cache up to there. They ascend from
        two positions that are at most 3 apart, so that frequencies up to 1 are found.

        fn is called in the thread of the caller, for asyncio that of the event loop, between the
        requests, and never by two threads at once.

        TypeError: fn takes arrays of no library, or returns none. posenc.Refused: there is no such
        encoding, or the positions are not for it. Errors of fn, where `like` is given.

        >>> import numpy, posenc
        >>> def rotate(x, positions):
        ...     angles = positions[:, None] * 10000.0 ** -(numpy.arange(4) / 4)
        ...     cos, sin, a, b = numpy.cos(angles), numpy.sin(angles), x[:, :4], x[:, 4:]
        ...     return numpy.concatenate([a * cos - b * sin, b * cos + a * sin], axis=1)
        >>> posenc.probe(rotate, "rope", dim=8, layout="half").right
        True
        >>> posenc.probe(rotate, "rope", dim=8, layout="half", base=500000).verdict
        'base-ignored: pairs 1-3, 3.1 rad at 373'
        """
        found: ProbeT = self._result(_probe.steps(
            fn, encoding, config=config, layer_type=layer_type, layout=layout,
            positions=positions, axes=axes, heads=heads, batch=batch, like=like,
            parameters=parameters))
        return found

    def audit(self, model: Any, config: Config | None = None, *,
              positions: Any = None) -> AuditT:
        """The rotary parts of a torch model beside its config: ``right``, ``verdict``, and each of
        the ``findings``.

        Buffers of frequencies are diagnosed: those that were never written, as after ``to_empty``
        of a model on the meta device, rounded ones, and those of another base or scaling are named.
        The rotary modules and the function with which attention rotates (as those of transformers
        have them) are probed for each kind of layers. Where there is none, or there are several,
        cos and sin alone are compared. `config` is by default the model's own.

        Copies of the rotary modules are called, in the thread of the caller: no hook, dtype,
        device, mode or buffer of the model is changed, and the state of torch's random numbers is
        the same. The model stays in the process; a server is sent buffers and rotated vectors.
        TypeError: it is no torch module, or has no config. posenc.Refused: the config is refused.

        >>> import posenc
        >>> posenc.audit(object())
        Traceback (most recent call last):
        TypeError: a model is a torch module, not a builtins.object
        """
        found: AuditT = self._result(_audit.steps(model, config, positions))
        return found

    def encodings(self, name: str | None = None, /) -> ReportT:
        """The catalogue, ``encodings``, or one entry of it: formula, source, every parameter with
        its range, default and unit, and ``operations``. posenc.Refused: there is no such encoding.

        >>> import posenc
        >>> len(posenc.encodings()["encodings"]) > 20, posenc.encodings("alibi").family
        (True, 'bias')
        """
        return self._report(_requests.catalogue(name))

    def request(self, method: str, target: str, body: bytes = b"",
                fields: dict[str, str] | None = None) -> ReplyT:
        """A request as it is, for everything that has no function here; a refusal is a reply too.
        `target` is a path with its query, `fields` are header fields.

        >>> import posenc
        >>> reply = posenc.request("GET", "/v1/encodings/index/table?length=2&format=csv")
        >>> reply.status, reply.fields.get("Content-Type")
        (200, 'text/csv; charset=utf-8; header=present')
        """
        return self._reply(Request(method, target, tuple((fields or {}).items()),
                                   (body,) if body else ()))
