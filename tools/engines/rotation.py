# SPDX-License-Identifier: MIT
"""A rotation as a black box: which elements are paired and how fast each pair rotates, read off
rotated unit vectors. Needs NumPy alone: it runs in the environment of each engine."""

import numpy

STEP = 16  # between positions; a frequency found at one position is refined at the next
TINY = 1e-10


class NotARotation(Exception):
    """What was intercepted does not rotate pairs by an angle that grows with the position."""


def positions(length):
    """0, 1, 16, 256 ... and the last one of a sequence."""
    found = [0, 1]
    while found[-1] * STEP < length - 1:
        found.append(found[-1] * STEP)
    return found + [length - 1] if length > 2 else found


def ordered(matrices):
    """The matrices without what position 0 does: a factor, and an order of the outputs that no
    product of q and k depends on. Also that factor."""
    first = matrices[0]
    factor = numpy.abs(first).max(0)
    factor = float(numpy.max(factor)) if len(factor) else 1.0
    order = first / factor
    if numpy.abs(numpy.abs(order).round() - numpy.abs(order)).max() > 1e-3 and not near(order):
        raise NotARotation("position 0 is no permutation")
    order = order.round() if not near(order) else order
    return order.T @ matrices / factor, factor


def near(order):
    """Is it a diagonal? Elements that do not rotate may lack the factor."""
    return numpy.abs(order - numpy.diag(numpy.diag(order))).max() < 1e-6


def partners(matrices):
    """By element: the other element of its pair, or -1 where it never moves."""
    moved = numpy.abs(matrices).max(0)
    numpy.fill_diagonal(moved, 0)
    other = moved.argmax(0)
    return numpy.where(moved.max(0) > TINY, other, -1)


def frequency(angles, at):
    """Radians a position, from angles modulo one turn at rising positions."""
    value = angles[0] / at[0]
    for angle, position in zip(angles[1:], at[1:]):
        turns = numpy.round((value * position - angle) / (2 * numpy.pi))
        value = (angle + 2 * numpy.pi * turns) / position
    return float(value)


def read(matrices, at):
    """What rotates: {width, pairs: [[i, j], ...], frequencies, factor}. `matrices` is [n, d, d],
    column j of each the rotated unit vector j; `at` begins with positions 0 and 1."""
    matrices = numpy.asarray(matrices, dtype=float)
    if not numpy.isfinite(matrices).all():
        raise NotARotation("it gives values that are not finite")
    turned, factor = ordered(matrices)
    other = partners(turned)
    pairs, frequencies = [], []
    for first, second in enumerate(other):
        if second < 0 or second < first:
            continue
        if other[second] != first:
            raise NotARotation(f"elements {first} and {second} are no pair")
        angles = numpy.arctan2(turned[1:, second, first], turned[1:, first, first])
        pairs.append([first, int(second)])
        frequencies.append(frequency(angles, at[1:]))
    return {
        "width": matrices.shape[1],
        "pairs": pairs,
        "frequencies": frequencies,
        "factor": factor,
    }


def layout(pairs):
    """'half', 'interleaved', 'none', or 'other'."""
    if not pairs:
        return "none"
    if all(second == first ^ 1 for first, second in pairs):
        return "interleaved"
    if len({second - first for first, second in pairs}) == 1:
        return "half"
    return "other"


def of_caches(cos, sin, at, interleaved=False):
    """The same of tables of cos and sin, a row a position and a column a pair."""
    cos, sin = numpy.asarray(cos, dtype=float)[at], numpy.asarray(sin, dtype=float)[at]
    count, angles = cos.shape[1], numpy.arctan2(sin, cos)
    pairs = [[2 * i, 2 * i + 1] if interleaved else [i, i + count] for i in range(count)]
    return {
        "width": 2 * count,
        "pairs": pairs,
        "frequencies": [frequency(angles[1:, i], at[1:]) for i in range(count)],
        "factor": float(numpy.max(cos[0])),
    }
