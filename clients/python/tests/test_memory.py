# SPDX-License-Identifier: MIT
"""Arrays of other libraries, and whose memory an array is."""

import ctypes
import gc
import os

import numpy
import posenc
import pytest
from posenc import _arrays

ROTATION = {"axes": "bhsd", "layout": "half", "start": 0}
BITS = numpy.array([0x3F80, 0x4000, 0x3F00, 0xBF80], numpy.uint16).reshape(1, 1, 1, 4)


class Tensor:
    """A tensor that knows DLPack and nothing else, as another library would hand it out."""

    def __init__(self, array, code=None, device=(1, 0)):
        self.array, self.code, self.device = array, code, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **_):
        capsule = self.array.__dlpack__()
        if self.code is not None:
            get = ctypes.pythonapi.PyCapsule_GetPointer
            get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
            told = _arrays._DLTensor.from_address(get(capsule, b"dltensor"))
            told.code, told.device_type = self.code, self.device[0]
        return capsule


def test_tensors_of_other_libraries_are_not_copied():
    array = numpy.arange(8, dtype="f4").reshape(1, 1, 2, 4)
    taken = _arrays.as_array(Tensor(array))
    assert taken.ctypes.data == array.ctypes.data
    rotated = posenc.rotate("rope", q=Tensor(array), **ROTATION).q
    assert rotated.tobytes() == posenc.rotate("rope", q=array, **ROTATION).q.tobytes()
    assert array.ravel().tolist() == list(range(8))


def test_bfloat16_goes_in_and_comes_out():
    taken = _arrays.as_array(Tensor(BITS, code=4))
    assert taken.ctypes.data == BITS.ctypes.data and _arrays.dtype_name(taken) == "bf16"
    marked = posenc.rotate("rope", q=BITS.view(posenc.BF16), **ROTATION | {"start": 1}).q
    lent = posenc.rotate("rope", q=Tensor(BITS, code=4), **ROTATION | {"start": 1}).q
    assert marked.tobytes() == lent.tobytes() and marked.shape == BITS.shape
    expected = posenc.rotate(
        "rope", q=BITS.view(posenc.BF16).to_float32(), **ROTATION | {"start": 1}
    ).q
    assert abs(lent.view(numpy.uint16).view(posenc.BF16).to_float32() - expected).max() < 0.02


def moved(capsule, by):
    """The same tensor, with a byte offset behind an earlier address."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _arrays._DLTensor.from_address(get(capsule, b"dltensor"))
    tensor.data, tensor.byte_offset = tensor.data - by, tensor.byte_offset + by
    return capsule


def test_bfloat16_with_strides_and_an_offset():
    bits = numpy.arange(48, dtype=numpy.uint16).reshape(6, 8)
    for part in (bits[2:, ::2], bits[1:].T, bits[::-1], bits):
        lent = Tensor(part, code=4)
        assert _arrays.as_array(lent).view(numpy.uint16).tolist() == part.tolist()
    lent = Tensor(bits[2:], code=4)
    lent.__class__ = type(
        "Moved", (Tensor,), {"__dlpack__": lambda self, **_: moved(Tensor.__dlpack__(self), 16)}
    )
    assert _arrays._bf16_lent(lent).view(numpy.uint16).tolist() == bits[2:].tolist()


def test_what_no_service_takes_is_a_type_error():
    with pytest.raises(TypeError, match="complex64"):
        posenc.rotate("rope", q=numpy.ones((1, 1, 1, 4), "c8"), **ROTATION)
    with pytest.raises(TypeError, match="memory of the CPU"):
        posenc.rotate("rope", q=Tensor(BITS, code=4, device=(2, 0)), **ROTATION)


@pytest.mark.parametrize(
    "array",
    [
        numpy.ones((1, 2, 3, 8), "f4")[..., ::2],
        numpy.ones((1, 2, 3, 4), ">f4"),
        numpy.ones((1, 3, 2, 4), "f4").swapaxes(1, 2),
    ],
    ids=["strides", "big-endian", "transposed"],
)
def test_arrays_of_any_order(array):
    plain = numpy.ascontiguousarray(array, "<f4")
    rotated = posenc.rotate("rope", q=array, **ROTATION).q
    assert rotated.tobytes() == posenc.rotate("rope", q=plain, **ROTATION).q.tobytes()


def test_tensors_without_elements():
    empty = numpy.ones((1, 2, 0, 4), "f4")
    assert posenc.rotate("rope", q=empty, **ROTATION).q.shape == empty.shape
    assert posenc.table("rope", dim=4, length=0).cos.shape == (0, 2)


def test_a_large_result_lies_in_the_memory_of_the_library():
    """The array is one over a request, which lives as long as the array."""
    q = numpy.random.default_rng(0).standard_normal((1, 8, 1024, 128)).astype("f4")
    local = posenc.Local(threads=2)
    rotated = local.rotate("rope", q=q, **ROTATION).q
    expected = rotated.tobytes()
    base = rotated
    while isinstance(base.base, numpy.ndarray):
        base = base.base
    assert type(base.base).__name__ == "_Answered"
    del local, base
    gc.collect()
    assert rotated.flags.writeable and rotated.tobytes() == expected
    rotated[:] = 0


def test_an_array_that_is_written_to_changes_no_later_answer():
    """Tables are kept by the service for those who ask again."""
    before = posenc.table("rope", dim=128, length=300).cos.copy()
    for _ in range(3):
        posenc.table("rope", dim=128, length=300).cos[:] = 7
    assert posenc.table("rope", dim=128, length=300).cos.tobytes() == before.tobytes()


def test_garbage_of_a_service_with_its_answers():
    """Where both lie in one cycle, Python finalizes them in any order."""
    for _ in range(20):
        local = posenc.Local(threads=1)
        cycle = [local, local._service.send(posenc._requests.catalogue("rope"))]
        cycle.append(cycle)
        del local, cycle
    assert gc.collect() > 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_a_service_of_its_own():
    """Threads of the pool are not in it."""
    local = posenc.Local(threads=2)
    large = {"dim": 128, "length": 200_000, "dtype": "f32"}
    expected = local.table("rope", **large).sin[-1].tobytes()
    child = os.fork()
    if child == 0:
        same = local.table("rope", **large).sin[-1].tobytes() == expected
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_setting_that_does_not_exist():
    with pytest.raises(ValueError, match="no setting"):
        posenc.Local(thread=1).encodings()
    with pytest.raises(posenc.Refused, match="--dim-max"):
        posenc.Local(dim_max=8).table("rope", dim=16, length=1)


def test_work_that_takes_too_long_ends():
    hasty = posenc.Local(timeout=0.05)
    for view, length in (("similarity", 8000), ("uniqueness", 100_000)):
        with pytest.raises((TimeoutError, posenc.Refused)):
            hasty.view("rope", view, dim=128, length=length)
