# SPDX-License-Identifier: MIT
"""Attention as models have it, restated in numpy in float64 from the formulas: every option, one
after the other, with no block and no table."""

import numpy

from service import alibi_slopes, inv_freq, rotated, softmax


def rms_normed(x, weight=None, epsilon=1e-6, offset=0.0):
    normed = x / numpy.sqrt((x * x).mean(-1, keepdims=True) + epsilon)
    return normed if weight is None else normed * (numpy.float64(weight) + offset)


def where_queries_stand(queries, keys, query_start=None, cu_seqlens=None, cu_seqlens_k=None):
    """(position of each query among all keys, first and last key + 1 of its sequence)."""
    if cu_seqlens is None:
        start = keys - queries if query_start is None else query_start
        zero = numpy.zeros(queries, int)
        return start + numpy.arange(queries), zero, zero + keys
    ends_k = cu_seqlens if cu_seqlens_k is None else cu_seqlens_k
    at, first, last = (numpy.zeros(queries, int) for _ in range(3))
    for i in range(len(cu_seqlens) - 1):
        rows = slice(cu_seqlens[i], cu_seqlens[i + 1])
        at[rows] = ends_k[i + 1] - cu_seqlens[i + 1] + numpy.arange(*rows.indices(queries))
        first[rows], last[rows] = ends_k[i], ends_k[i + 1]
    return at, first, last


def seen(at, first, last, keys, causal=False, window=None, chunk=0):
    """bool [queries, keys]; window is (left, right), None on a side: all."""
    i, j = at[:, None], numpy.arange(keys)[None]
    first, last = first[:, None], last[:, None]
    left, right = window or (None, None)
    see = (j >= first) & (j < last)
    if causal:
        see &= j <= i
    if left is not None:
        see &= j >= i - left
    if right is not None:
        see &= j <= i + right
    if chunk:
        see &= (j - first) // chunk == (i - first) // chunk
    return see


def deberta_rows(distance, buckets, farthest):
    """make_log_bucket_position of transformers' DeBERTa-v2, shifted to rows from 0 on."""
    middle, size = buckets // 2, numpy.abs(distance)
    far = middle + numpy.ceil(
        numpy.log(numpy.maximum(size, 1) / middle)
        / numpy.log((farthest - 1) / middle)
        * (middle - 1)
    )
    bucket = numpy.where(size <= middle, distance, numpy.sign(distance) * far)
    return numpy.clip(bucket + buckets, 0, 2 * buckets - 1).astype(int)


def attended(
    q,
    k,
    v=None,
    *,
    encoding="none",
    layout="half",
    base=1e4,
    scale=None,
    causal=False,
    query_start=None,
    window=None,
    chunk=0,
    cu_seqlens=None,
    cu_seqlens_k=None,
    mask=None,
    bias=None,
    softcap=0.0,
    bias_before_scale=False,
    sinks=None,
    temperature=None,
    norm=None,
    q_norm=None,
    k_norm=None,
    norm_epsilon=1e-6,
    norm_offset=0.0,
    positions=None,
    key_positions=None,
    turn=None,
    pos_key=None,
    pos_query=None,
    buckets=None,
    farthest=None,
):
    """(scores, weights, output). turn(x, positions): a rotation of one's own."""
    q, k = (numpy.asarray(x, numpy.float64) for x in (q, k))
    heads, dim, group = q.shape[1], q.shape[3], q.shape[1] // k.shape[1]
    at, first, last = where_queries_stand(
        q.shape[2], k.shape[2], query_start, cu_seqlens, cu_seqlens_k
    )
    j = numpy.arange(k.shape[2])
    places = at - first if positions is None else numpy.asarray(positions)
    of_keys = key_positions
    if of_keys is None:
        ends_k = cu_seqlens if cu_seqlens_k is None else cu_seqlens_k
        of_keys = (
            positions
            if positions is not None
            else j
            if ends_k is None
            else j - numpy.repeat(ends_k[:-1], numpy.diff(ends_k))
        )
    if norm == "before":
        q, k = (
            rms_normed(q, q_norm, norm_epsilon, norm_offset),
            rms_normed(k, k_norm, norm_epsilon, norm_offset),
        )
    if encoding == "rope":
        turn = turn or (lambda x, t: rotated(x, t, layout, frequencies=inv_freq(dim, base)))
        q, k = turn(q, places), turn(k, numpy.asarray(of_keys))
    if norm == "after":
        q, k = (
            rms_normed(q, q_norm, norm_epsilon, norm_offset),
            rms_normed(k, k_norm, norm_epsilon, norm_offset),
        )
    if temperature:
        strength, length, offset = temperature
        factor = 1 + strength * numpy.log1p(numpy.floor((places + offset) / length))
        q = q * (factor[:, None] if factor.ndim == 1 else factor[:, None, :, None])
    k = numpy.repeat(k, group, axis=1)
    scores = q @ k.swapaxes(-1, -2)
    distance = at[:, None] - j[None]
    if pos_key is not None or pos_query is not None:
        rows = deberta_rows(distance, buckets, farthest)
        for table, x, axes in ((pos_key, q, "bhid,hijd->bhij"), (pos_query, k, "bhjd,hijd->bhij")):
            if table is not None:
                by_head = numpy.float64(table).reshape(-1, heads, dim).swapaxes(0, 1)
                scores = scores + numpy.einsum(axes, x, by_head[:, rows])
    terms = 1 + (pos_key is not None) + (pos_query is not None)
    scale = 1 / numpy.sqrt(dim * terms) if scale is None else scale
    own = 0.0
    if encoding == "alibi":
        own = -alibi_slopes(heads)[:, None, None] * numpy.abs(distance)
    scores = (scores + own) * scale if bias_before_scale else scores * scale
    if softcap:
        scores = softcap * numpy.tanh(scores / softcap)
    scores = scores if bias_before_scale else scores + own
    if bias is not None:
        scores = scores + numpy.float64(bias)
    if mask is not None and mask.dtype != bool:
        scores = scores + numpy.float64(mask)
    see = seen(at, first, last, k.shape[2], causal, window, chunk)
    if mask is not None and mask.dtype == bool:
        see = see & mask
    scores = numpy.where(see, scores, -numpy.inf)
    if sinks is None:
        weights = softmax(scores)
    else:
        column = numpy.broadcast_to(numpy.float64(sinks)[:, None, None], scores.shape[:3] + (1,))
        weights = softmax(numpy.concatenate([scores, column], -1))[..., :-1]
    output = None if v is None else weights @ numpy.repeat(numpy.float64(v), group, axis=1)
    return scores, weights, output
