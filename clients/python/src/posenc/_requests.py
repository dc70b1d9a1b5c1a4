# SPDX-License-Identifier: MIT
"""Arguments of Python as requests: a parameter is a text in the query or a value in JSON, an array
is a tensor of the body."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from urllib.parse import quote

import numpy as np

from . import _arrays
from ._answers import Tensor, Tensors
from ._arrays import Array
from ._messages import JSON, RAW, SAFETENSORS, Request


@runtime_checkable
class HasToDict(Protocol):
    """A config of transformers."""

    def to_dict(self) -> dict[str, Any]: ...


Config = Mapping[str, Any] | str | os.PathLike[str] | HasToDict
"""A config.json as a dict, as text, as the path of the file or of its folder, or as an object with
to_dict; or the path of a GGUF file."""
Encoding = str | Mapping[str, Any]
"""The name of an encoding, or what an answer calls `encoding`."""

# A query is longer than this in no server's log; what does not fit travels in a body.
_QUERY_MAX = 2000
# Views in a folder of their own have their folder before their name, unless it was given.
_VIEWS = ("table", "frequencies", "bias", "scale")
# Small answers, which have more to tell than tensors: they come as JSON.
_BINARY_VIEWS = ("table", "bias", "analysis/similarity")
_BASE64 = "data_format=base64"
# The metadata of a GGUF file, vocabulary included, end before this; its tensors are not sent.
_GGUF, _GGUF_HEAD_MAX = "application/x-gguf", 64 << 20


def gguf_head(config: Config | None) -> bytes | None:
    """The first bytes of a GGUF file. None: the config is none."""
    if not isinstance(config, (str, os.PathLike)) or str(config).lstrip()[:1] == "{":
        return None
    path = Path(config)
    if not path.is_file():
        return None
    with path.open("rb") as file:
        magic = file.read(4)
        return magic + file.read(_GGUF_HEAD_MAX) if magic == b"GGUF" else None


def config_text(config: Config) -> str:
    """The JSON text of a config."""
    if isinstance(config, str) and config.lstrip()[:1] == "{":
        return config
    if isinstance(config, (str, os.PathLike)):
        path = Path(config)
        if gguf_head(config) is not None:
            raise ValueError(
                f"{path} is a GGUF file, which goes to posenc.config and to views; "
                "here give the encoding that posenc.config reads from it"
            )
        return (path / "config.json" if path.is_dir() else path).read_text(encoding="utf-8")
    return json_text(config.to_dict() if isinstance(config, HasToDict) else config)


def _plain(value: Any) -> Any:
    """A form for values that json does not know: numbers of NumPy, mappings, dtypes of torch."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    return dict(value) if isinstance(value, Mapping) else str(value)


def _finite(value: Any) -> Any:
    """Infinity and NaN as strings, which is how the service reads and writes them."""
    if isinstance(value, float):
        return value if np.isfinite(value) else json.dumps(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value


def json_text(value: Any) -> str:
    try:
        return json.dumps(value, default=_plain, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(_finite(value), default=_plain, separators=(",", ":"))


def text(value: Any) -> str:
    """A parameter in a query or in safetensors metadata."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, range) and value.step == 1 and value:
        return f"{value[0]}..{value[-1]}"
    if isinstance(value, (np.generic, np.ndarray)):
        return text(value.tolist())
    if isinstance(value, (list, tuple, range)):
        rows = any(isinstance(item, (list, tuple)) for item in value)
        return (";" if rows else ",").join(map(text, value))
    return str(value)


def _query(parameters: Mapping[str, Any]) -> str:
    return "&".join(f"{key}={quote(text(value), safe=',.:;')}" for key, value in parameters.items())


def _value(value: Any) -> Any:
    """A parameter in JSON."""
    return text(value) if isinstance(value, range) else value


def _spread(parameters: dict[str, Any]) -> dict[str, Any]:
    """An encoding's own parameters beside its name, where none of them is given twice."""
    encoding = parameters.get("encoding")
    if not isinstance(encoding, Mapping):
        return parameters
    own = {**encoding, "encoding": encoding.get("name")}
    own.pop("name", None)
    return parameters if own.keys() & parameters.keys() > {"encoding"} else parameters | own


def _flat(parameters: Mapping[str, Any]) -> dict[str, str] | None:
    """Parameters as texts. None: one has no such form."""
    if any(isinstance(value, Mapping) for value in parameters.values()):
        return None
    return {key: text(value) for key, value in parameters.items()}


def _json_body(parameters: Mapping[str, Any], tensors: Mapping[str, Array]) -> bytes:
    parts = {key: _value(value) for key, value in parameters.items() if key != "config"}
    if tensors:
        parts["tensors"] = {name: _arrays.json_tensor(array) for name, array in tensors.items()}
    body = json_text(parts)
    if "config" not in parameters:
        return body.encode()
    comma = "," if parts else ""
    return f'{{"config":{parameters["config"]}{comma}{body[1:]}'.encode()


def _post(
    target: str, parameters: Mapping[str, Any], tensors: Mapping[str, Array], accept: str
) -> Request:
    """Arrays lie in a safetensors body as they are; where a parameter has no form as a text, all
    is JSON."""
    flat = _flat(parameters) if tensors else None
    if flat is None:
        return Request(
            "POST",
            target,
            (("Content-Type", JSON), ("Accept", accept)),
            (_json_body(parameters, tensors),),
        )
    return Request(
        "POST",
        target,
        (("Content-Type", SAFETENSORS), ("Accept", accept)),
        _arrays.safetensors_pieces(tensors, flat),
    )


def _dtype_name(dtype: Any) -> str:
    """Of "f16", numpy.float16, numpy.dtype("float16") or torch.float16."""
    if isinstance(dtype, str):
        return dtype
    if isinstance(dtype, (type, np.dtype)):
        return np.dtype(dtype).name
    return str(dtype).removeprefix("torch.")


def told(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that were given; a config as its text, a dtype by its name."""
    found = {key: value for key, value in arguments.items() if value is not None}
    if "format" in found:
        raise TypeError("answers come as arrays; posenc.request gives other formats")
    if "config" in found:
        found["config"] = config_text(found["config"])
    if "dtype" in found:
        found["dtype"] = _dtype_name(found["dtype"])
    return found


def view(name: Encoding, which: str, arguments: Mapping[str, Any]) -> Request:
    """A view: GET, or POST where something does not fit a URL."""
    parameters = told(arguments)
    tensors = {
        key: _arrays.as_array(parameters.pop(key))
        for key in ("table", "weights")
        if _arrays.is_array(parameters.get(key))
    }
    if "table" in tensors:
        parameters["table"] = "tensor:table"
    if isinstance(name, Mapping):
        parameters["encoding"] = name
        name = str(name.get("name", ""))
    which = which if "/" in which or which in _VIEWS else f"analysis/{which}"
    path = f"/v1/encodings/{quote(name, safe='')}/{quote(which)}"
    accept = SAFETENSORS if which in _BINARY_VIEWS else JSON
    if not tensors and not parameters.keys() & {"config", "encoding"}:
        query = _query(parameters)
        if len(query) <= _QUERY_MAX:
            tail = "" if accept != JSON else f"&{_BASE64}" if query else _BASE64
            return Request("GET", f"{path}?{query}{tail}", (("Accept", accept),))
    return _post(path if accept != JSON else f"{path}?{_BASE64}", parameters, tensors, accept)


def picture(view: Request) -> Request:
    """The same view as an SVG."""
    target = view.target.removesuffix(_BASE64).rstrip("?&")
    fields = tuple(field for field in view.fields if field[0] != "Accept")
    join = "&" if "?" in target else "?"
    return Request(view.method, f"{target}{join}format=svg", fields, view.body)


def query(path: str, parameters: Mapping[str, Any]) -> Request:
    """A GET of a report."""
    target = f"{path}?{_query(parameters)}" if parameters else path
    return Request("GET", target, (("Accept", JSON),))


def function(
    path: str, tensors: Collection[str], arguments: Mapping[str, Any], *, report: bool = False
) -> Request:
    """A function of posted tensors: arguments of these names, and all others that are arrays."""
    parameters = told(arguments)
    arrays = {
        name: _arrays.as_array(parameters.pop(name))
        for name in list(parameters)
        if name in tensors or _arrays.is_array(parameters[name])
    }
    if report:
        return _post(path, parameters, arrays, JSON)
    return _post(path, _spread(parameters), arrays, SAFETENSORS)


DIAGNOSED = ("inv_freq", "cos", "sin", "table", "q", "q_rotated", "k", "k_rotated")


def is_values(value: Any) -> bool:
    """Is it arrays, and no encoding?"""
    if isinstance(value, Mapping):
        return bool(value) and "name" not in value
    return _arrays.is_array(value) or isinstance(value, (list, tuple))


def named_values(value: Any) -> dict[str, Any]:
    """The tensors of a diagnosis: an answer, a mapping, a pair of cos and sin, or a table."""
    if value is None:
        return {}
    if isinstance(value, Tensors) or isinstance(value, Tensor) and value.names:
        found = {name: value[name] for name in value.names if name in DIAGNOSED}
        if not found:
            raise TypeError(
                f"an answer of {', '.join(value.names)} has nothing to diagnose: "
                f"{', '.join(DIAGNOSED)}"
            )
        return found
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple) and len(value) == 2:
        return {"cos": value[0], "sin": value[1]}
    return {"table": value}


def probe(
    x: Array,
    y: Array,
    axes: str,
    positions: Array,
    config: Config | None,
    encoding: Mapping[str, Any],
    arguments: Mapping[str, Any],
) -> Request:
    """What a function took and gave, [calls, ...]."""
    given = {"axes": axes, "x": x, "y": y, "positions": positions, **arguments}
    if config is not None:
        given["config"] = config
    elif encoding.get("name"):
        given = {
            "encoding": dict(encoding),
            **{k: given[k] for k in given.keys() - encoding.keys()},
        }
    else:
        given.pop("dim", None)
    parameters = _spread(told(given))
    arrays = {key: _arrays.as_array(parameters.pop(key)) for key in ("x", "y", "positions")}
    return _post("/v1/diagnosis", parameters, arrays, JSON)


def rotation_in_place(array: Array, arguments: Mapping[str, Any]) -> Request:
    """Raw bytes, whose parameters stand in the query and which are rotated where they lie."""
    shape = ",".join(map(str, array.shape))
    return Request(
        "POST",
        f"/v1/rotation?{_query(_spread(told(arguments)))}",
        (
            ("Content-Type", RAW),
            ("Accept", RAW),
            ("Tensor-Shape", shape),
            ("Tensor-Dtype", _arrays.dtype_name(array)),
        ),
    )


def _one_array(side: Any) -> Any:
    """The array of an answer that has one."""
    if not isinstance(side, Tensors):
        return side
    if len(side) != 1:
        names = " or ".join(f"answer.{name}" for name in side.names)
        raise TypeError(f"a side of a comparison is one array: {names}")
    return side[0]


def comparison(a: Any, b: Any, arguments: Mapping[str, Any]) -> Request:
    """Two sides: an encoding, a config as a mapping, or an array."""
    sides = {"a": _one_array(a), "b": _one_array(b)}
    arrays = {
        name: _arrays.as_array(side) for name, side in sides.items() if _arrays.is_array(side)
    }
    named = {name: f"tensor:{name}" if name in arrays else side for name, side in sides.items()}
    return _post("/v1/comparison", named | told(arguments), arrays, JSON)


def config(given: Config, arguments: Mapping[str, Any]) -> Request:
    head = gguf_head(given)
    if head is None:
        return _post("/v1/config", told({"config": given, **arguments}), {}, JSON)
    query = _query(told(arguments))
    return Request(
        "POST",
        "/v1/config" + (f"?{query}" if query else ""),
        (("Content-Type", _GGUF), ("Accept", JSON)),
        (head,),
    )


def golden(given: Config, arguments: Mapping[str, Any]) -> Request:
    """The description of the file is in JSON answers, beside the tensors in base64."""
    target = f"/v1/golden?{_BASE64}"
    head = gguf_head(given)
    if head is None:
        return _post(target, told({"config": given, **arguments}), {}, JSON)
    query = _query(told(arguments))
    return Request(
        "POST",
        target + (f"&{query}" if query else ""),
        (("Content-Type", _GGUF), ("Accept", JSON)),
        (head,),
    )


def _golden_parts(golden: Any) -> tuple[str, dict[str, Array]]:
    """The description and the tensors of an answer, or of a file."""
    if isinstance(golden, Tensors):
        if "golden" not in golden.info:
            raise TypeError("golden is no answer of posenc.golden: it has no description")
        return json_text(golden.info["golden"]), golden.as_dict()
    metadata, arrays = _arrays.safetensors_file(golden)
    if "golden" not in metadata:
        raise ValueError(f"{golden} is no golden file: its metadata have no description")
    return metadata["golden"], arrays


def check(mine: Any, golden: Any, arguments: Mapping[str, Any]) -> Request:
    """Outputs, and a golden file whose tensors are verified."""
    description, expected = _golden_parts(golden)
    if isinstance(mine, (str, os.PathLike)):
        mine = _arrays.safetensors_file(mine)[1]
    elif isinstance(mine, Tensors):
        mine = mine.as_dict()
    arrays = {name: _arrays.as_array(array) for name, array in mine.items()}
    arrays |= {f"golden.{name}": array for name, array in expected.items()}
    query = _query(told(arguments))
    return Request(
        "POST",
        "/v1/check" + (f"?{query}" if query else ""),
        (("Content-Type", SAFETENSORS), ("Accept", JSON)),
        _arrays.safetensors_pieces(arrays, {"golden": description}),
    )


def judged(target: str, given: Config, arguments: Mapping[str, Any]) -> Request:
    """Configs go as the texts that they are, so that lines of keys are those of their files."""
    others = {"for" if key == "engines" else key: value for key, value in arguments.items()}
    against = others.pop("against", None)
    texts = [f'"config":{config_text(given)}']
    texts += [f'"against":{config_text(against)}'] if against is not None else []
    rest = json_text(others)[1:]
    body = "{" + ",".join(texts) + ("," if others else "") + rest
    return Request("POST", target, (("Content-Type", JSON), ("Accept", JSON)), (body.encode(),))


def only_encoding(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """The encoding of all layers that have positions; of a config whose layers differ, none."""
    others = [
        row
        for row in report.get("layers", ())
        if row["encoding"] and row["encoding"] != report["encoding"]
    ]
    if others:
        raise ValueError(
            "layer_type is required, the layers of this config differ: "
            + ", ".join(row.get("layer_type", "?") for row in report["layers"])
        )
    encoding: Mapping[str, Any] = report["encoding"]
    return encoding


def layout(arguments: Mapping[str, Any]) -> Request:
    """The permutation itself, or tensors converted by it."""
    if any(map(_arrays.is_array, arguments.values())):
        return function("/v1/layout", {}, arguments)
    return Request("GET", f"/v1/layout?{_query(told(arguments))}&{_BASE64}", (("Accept", JSON),))


def catalogue(name: str | None) -> Request:
    tail = "" if name is None else "/" + quote(name, safe="")
    return Request("GET", f"/v1/encodings{tail}", (("Accept", JSON),))
