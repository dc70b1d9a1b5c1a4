# SPDX-License-Identifier: MIT
"""Arrays for functions of other libraries, by modules that stand in for those: what is made has the
numbers, and, where there is a sample, its dtype for real numbers alone."""

import sys
import types

import numpy
import pytest
from posenc import _foreign


class Sample(numpy.ndarray):
    """An array of a library by the name of its module."""


def cast(array, dtype):
    return array.astype(dtype)


def stand_in():
    module = types.SimpleNamespace(array=numpy.array, cast=cast, convert_to_tensor=numpy.array)
    module.numpy = types.SimpleNamespace(asarray=numpy.asarray)
    return module


LIBRARIES = {"jax": "jax", "mlx": "mlx.core", "tensorflow": "tensorflow"}


@pytest.fixture(params=["numpy", *LIBRARIES])
def library(request, monkeypatch):
    name = request.param
    if name != "numpy":
        monkeypatch.setitem(sys.modules, LIBRARIES[name], stand_in())
    return name


def test_positions_keep_their_numbers(library):
    """The largest that 32 bits hold is among them."""
    positions = numpy.array([0, 5, -3, 40000, 2**31 - 1, -(2**31)])
    made = _foreign.maker_of_library(library)(positions)
    assert (numpy.asarray(made) == positions).all() and made.dtype.kind == "i"


def test_a_sample_decides_the_type_of_real_numbers_alone(library):
    kind = type(library, (Sample,), {"__module__": f"{library}.arrays"})
    make = _foreign.maker_of(numpy.zeros(2, numpy.float16).view(kind))
    assert make(numpy.array([0.5, 2.0], numpy.float32)).dtype == numpy.float16
    whole = numpy.array([1, 100000])
    assert make(whole).dtype.kind == "i" and (numpy.asarray(make(whole)) == whole).all()


def test_what_is_no_array_of_a_library_is_named():
    with pytest.raises(TypeError, match="builtins.list"):
        _foreign.maker_of([1.0])
