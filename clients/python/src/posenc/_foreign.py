# SPDX-License-Identifier: MIT
"""Arrays of the library that a caller's function works with. No library is imported: what a
function needs is imported already."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import _arrays
from ._arrays import Array

Make = Callable[[Array], Any]
"""An array of the library, with the numbers of one of NumPy."""


def _numpy(like: Any) -> Make:
    def make(array: Array) -> Any:
        is_float = like is not None and array.dtype.kind == "f"
        return array.astype(like.dtype) if is_float else array.copy()

    return make


def _torch(like: Any) -> Make:
    torch = sys.modules["torch"]

    def make(array: Array) -> Any:
        made = torch.from_numpy(array.copy())
        if like is None:
            return made
        return made.to(like.device, like.dtype if array.dtype.kind == "f" else None)

    return make


def _narrow(array: Array) -> Array:
    """Integers in 32 bits where these libraries have no others by default."""
    return array.astype(np.int32) if array.dtype == np.int64 else array


def _jax(like: Any) -> Make:
    jax = sys.modules["jax"]

    def make(array: Array) -> Any:
        is_float = like is not None and array.dtype.kind == "f"
        return jax.numpy.asarray(_narrow(array), like.dtype if is_float else None)

    return make


def _mlx(like: Any) -> Make:
    core = sys.modules["mlx.core"]

    def make(array: Array) -> Any:
        made = core.array(_narrow(array))
        is_float = like is not None and array.dtype.kind == "f"
        return made.astype(like.dtype) if is_float else made

    return make


def _tensorflow(like: Any) -> Make:
    tensorflow = sys.modules["tensorflow"]

    def make(array: Array) -> Any:
        is_float = like is not None and array.dtype.kind == "f"
        made = tensorflow.convert_to_tensor(_narrow(array))
        return tensorflow.cast(made, like.dtype) if is_float else made

    return make


# By the first name of the module that has the library's arrays.
_MAKERS: dict[str, tuple[str, Callable[[Any], Make]]] = {
    "numpy": ("numpy", _numpy),
    "torch": ("torch", _torch),
    "jax": ("jax", _jax),
    "jaxlib": ("jax", _jax),
    "mlx": ("mlx.core", _mlx),
    "tensorflow": ("tensorflow", _tensorflow),
}


def library_of(value: Any) -> str | None:
    """The library of an array, of those that there is a maker for."""
    for kind in type(value).__mro__:
        name = kind.__module__.partition(".")[0]
        if name in _MAKERS:
            return name
    return None


def maker_of(like: Any) -> Make:
    """Arrays of the library, dtype and device of a sample."""
    name = library_of(like)
    if name is None:
        raise TypeError(
            f"like is a {type(like).__module__}.{type(like).__qualname__}; there are arrays of "
            "NumPy, torch, jax, mlx and tensorflow"
        )
    return _MAKERS[name][1](like)


def maker_of_library(name: str) -> Make:
    return _MAKERS[name][1](None)


def makers() -> Iterator[tuple[str, Make]]:
    """NumPy, then each library that the process has imported."""
    for name, (module, make) in _MAKERS.items():
        if name != "jaxlib" and module in sys.modules:
            yield name, make(None)


def read(value: Any) -> Array:
    """What a function gave, copied, as an array of NumPy. TypeError: it is no array of numbers."""
    if isinstance(value, (tuple, list, dict)):
        raise TypeError(
            f"fn returned a {type(value).__name__}; it must return the rotated x, an array"
        )
    for step in ("detach", "cpu"):  # of torch: out of the graph, into the memory of the CPU
        value = getattr(value, step, lambda value=value: value)()
    array = _arrays.as_array(value) if _arrays.is_array(value) else np.asarray(value)
    if array.dtype.kind not in "fV" and not isinstance(array, _arrays.BF16):
        raise TypeError(f"fn returned an array of {array.dtype}; y is real numbers")
    return np.array(array, subok=True)
