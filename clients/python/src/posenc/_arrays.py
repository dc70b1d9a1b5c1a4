# SPDX-License-Identifier: MIT
"""Arrays on their way to a body and back: NumPy's, those of any library with DLPack, bfloat16, and
safetensors as pieces that are not copied together."""

from __future__ import annotations

import base64
import ctypes
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Buffer = bytes | memoryview


class HasDLPack(Protocol):
    """A tensor of another library: torch, jax, cupy (on the CPU), tensorflow."""

    def __dlpack__(self, *, stream: Any = ...) -> Any: ...

    def __dlpack_device__(self) -> tuple[Any, int]: ...


class BF16(np.ndarray[Any, np.dtype[np.uint16]]):
    """Sixteen bits each of bfloat16, where ml_dtypes is not installed: NumPy has no such numbers.
    As an argument it marks bits, which are uint16, as bfloat16 (``bits.view(posenc.BF16)``).

    >>> import numpy
    >>> numpy.array([0x3f80, 0xc000], numpy.uint16).view(BF16).to_float32()
    array([ 1., -2.], dtype=float32)
    """

    def to_float32(self) -> NDArray[np.float32]:
        """The numbers themselves, exactly, in the same shape.

        >>> import posenc
        >>> posenc.table("index", length=3, dtype="bf16").view(posenc.BF16).to_float32().ravel()
        array([0., 1., 2.], dtype=float32)
        """
        wide = np.asarray(self).astype(np.uint32) << np.uint32(16)
        return wide.view(np.float32)


def _bf16_type() -> np.dtype[Any] | None:
    try:
        import ml_dtypes
    except ImportError:
        return None
    found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return found


# The service's names of element types, as safetensors spells them.
_CODES = {
    "f64": "<f8",
    "f32": "<f4",
    "f16": "<f2",
    "i64": "<i8",
    "i32": "<i4",
    "u32": "<u4",
    "bool": "|b1",
    "u8": "|u1",
}
_NAMES = {np.dtype(code): name for name, code in _CODES.items()}
_BF16 = _bf16_type()


def dtype_name(array: Array) -> str:
    """``f32`` and so on. TypeError for elements that the service does not know."""
    name = _NAMES.get(array.dtype)
    if name:
        return name
    if isinstance(array, BF16) or _BF16 is not None and array.dtype == _BF16:
        return "bf16"
    raise TypeError(
        f"elements of {array.dtype} are not taken; there are "
        f"{', '.join(_CODES)} and bf16 (ml_dtypes, or bits viewed as posenc.BF16)"
    )


def shaped(memory: NDArray[np.uint8], dtype: str, shape: Sequence[int]) -> Array:
    """Bytes as an array, where they lie."""
    if dtype != "bf16":
        return memory.view(_CODES[dtype]).reshape(shape)
    return as_bf16(memory.view("<u2")).reshape(shape)


# ---- from other libraries ------------------------------------------------------------------------


class _DLTensor(ctypes.Structure):
    """The tensor at the beginning of a capsule of DLPack before version 1, which is what a library
    hands out that is not asked for a newer one."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_BFLOAT = 4  # kDLBfloat


class _Lent:
    """Memory of another library's tensor; the capsule keeps it alive."""

    def __init__(self, capsule: Any, tensor: _DLTensor) -> None:
        shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
        self.capsule = capsule
        self.__array_interface__ = {
            "version": 3,
            "typestr": "<u2",
            "shape": shape,
            "data": ((tensor.data or 0) + tensor.byte_offset, True),
            "strides": tuple(2 * tensor.strides[i] for i in range(tensor.ndim))
            if tensor.strides
            else None,
        }


def _bf16_lent(value: HasDLPack) -> Array:
    """A bfloat16 tensor, which NumPy's own from_dlpack refuses. Nothing is copied."""
    capsule = value.__dlpack__()
    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(api.PyCapsule_GetPointer(capsule, b"dltensor"))
    if tensor.device_type != 1 or (tensor.code, tensor.bits, tensor.lanes) != (_BFLOAT, 16, 1):
        raise TypeError(
            "a tensor must lie in the memory of the CPU and have elements of "
            f"{', '.join(_CODES)} or bf16"
        )
    return as_bf16(np.asarray(_Lent(capsule, tensor)))


def _from_dlpack(value: HasDLPack) -> Array:
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError):
        return _bf16_lent(value)


def as_bf16(bits: Array) -> Array:
    return bits.view(_BF16) if _BF16 is not None else bits.view(BF16)


def is_array(value: object) -> bool:
    """Is it a tensor, and no parameter?"""
    return isinstance(value, np.ndarray) or hasattr(value, "__dlpack__")


def as_array(value: object) -> Array:
    """A tensor of any library as an array over the same memory; lists of numbers become float32.
    Rows that do not lie one behind the other are copied together."""
    if isinstance(value, np.ndarray):
        array: Array = value
    elif hasattr(value, "__dlpack__"):
        array = _from_dlpack(cast(HasDLPack, value))
    else:
        array = np.asarray(value)
        array = array.astype(np.float32) if array.dtype.kind == "f" else array
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    return array if array.flags.c_contiguous else np.array(array, order="C", subok=True)


def bytes_of(array: Array) -> memoryview:
    """An array's memory as bytes, not copied."""
    flat: NDArray[np.uint8] = np.asarray(array).reshape(-1).view(np.uint8)
    return flat.data


def check_in_place(arrays: Sequence[Any]) -> None:
    """TypeError for what is no array of memory that can be written to, by itself and alone;
    ValueError for arrays that share memory."""
    for array in arrays:
        if isinstance(array, np.ma.MaskedArray):
            raise TypeError(
                "a masked array is not rotated in place, for its masked elements would "
                "be rotated too; pass its .data"
            )
        if not (
            isinstance(array, np.ndarray)
            and array.flags.writeable
            and array.flags.c_contiguous
            and array.flags.aligned
        ):
            raise TypeError(
                "an array that is rotated in place is a NumPy array whose rows lie "
                "one behind the other, aligned, and can be written to"
            )
    spans = sorted(
        (array.ctypes.data, array.ctypes.data + array.nbytes, at)
        for at, array in enumerate(arrays)
        if array.nbytes
    )
    for (_, end, one), (begin, _, other) in zip(spans, spans[1:]):
        if begin < end:
            first, second = sorted((one, other))
            raise ValueError(
                f"arrays {first + 1} and {second + 1} share memory, which would be rotated twice"
            )


# ---- bodies --------------------------------------------------------------------------------------


def safetensors_pieces(
    tensors: Mapping[str, Array], parameters: Mapping[str, str]
) -> tuple[Buffer, ...]:
    """A safetensors file: its header, then each array's own memory."""
    header: dict[str, Any] = {}
    if parameters:
        header["__metadata__"] = {f"posenc.{key}": text for key, text in parameters.items()}
    end = 0
    for name, array in tensors.items():
        begin, end = end, end + array.nbytes
        header[name] = {
            "dtype": dtype_name(array).upper(),
            "shape": array.shape,
            "data_offsets": (begin, end),
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return (len(text).to_bytes(8, "little") + text, *map(bytes_of, tensors.values()))


def safetensors_arrays(parts: Sequence[NDArray[np.uint8]]) -> Iterator[tuple[str, Array]]:
    """The arrays of a file, where it lies: in one part, or in two where the header is the first."""
    body = parts[0]
    size = 8 + int.from_bytes(body[:8].tobytes(), "little")
    header: dict[str, Any] = json.loads(body[8:size].tobytes())
    header.pop("__metadata__", None)
    if len(parts) > 1:
        body = parts[1] if len(parts) == 2 and len(body) == size else np.concatenate(parts)[size:]
    else:
        body = body[size:]
    for name, told in sorted(header.items(), key=lambda item: item[1]["data_offsets"][0]):
        begin, end = told["data_offsets"]
        yield name, shaped(body[begin:end], told["dtype"].lower(), told["shape"])


def safetensors_file(path: str | os.PathLike[str]) -> tuple[dict[str, str], dict[str, Array]]:
    """The metadata and the arrays of a file. ValueError: it is none of safetensors."""
    body = np.fromfile(path, np.uint8)
    size = int.from_bytes(body[:8].tobytes(), "little")
    if len(body) < 8 or size > len(body) - 8:
        raise ValueError(f"{os.fspath(path)} is no safetensors file, or is cut off")
    metadata: dict[str, str] = json.loads(body[8 : 8 + size].tobytes()).get("__metadata__", {})
    return metadata, dict(safetensors_arrays([body]))


def json_tensor(array: Array) -> dict[str, Any]:
    """A tensor inside of a JSON body."""
    return {
        "dtype": dtype_name(array),
        "shape": array.shape,
        "base64": base64.b64encode(bytes_of(array)).decode(),
    }


def json_arrays(tensors: Mapping[str, Any]) -> Iterator[tuple[str, Array]]:
    for name, told in tensors.items():
        memory = np.frombuffer(bytearray(base64.b64decode(told["base64"])), np.uint8)
        yield name, shaped(memory, told["dtype"], told["shape"])
