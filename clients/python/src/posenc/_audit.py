# SPDX-License-Identifier: MIT
"""The rotary parts of a torch model: their buffers, and what their rotations do. Copies of these
parts are called, so that the model stays as it is."""

from __future__ import annotations

import copy
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Any, NamedTuple

import numpy as np

from . import _display, _probe, _requests
from ._answers import Report
from ._arrays import Array
from ._foreign import read
from ._messages import ConnectionFailed, Refused, Request
from ._probe import Probe
from ._requests import Config
from ._steps import Steps

ROTARY = re.compile(r"Rot(ary|ational)|RoPE|Rope")
NO_ROTARY = re.compile(r"(Attention|Layer|Block|Model|ForCausalLM|MLP)$")
OF_TOWERS = re.compile(r"vision|visual|audio|tower|image|index", re.I)
FREQUENCIES = re.compile(r"(?P<kind>\w*?)_?(?P<original>original_)?inv_freq$")
APPLIES = re.compile(r"\w*apply_\w*(rotary|rope)")


class Finding(NamedTuple):
    """What one buffer, or one rotation, is."""

    module: str
    """The name of the module, and of the buffer in it."""
    layer_type: str | None
    """The kind of layers of the config that it was compared with; None: the only one, or all."""
    right: bool | None
    """None: it was not compared."""
    verdict: str
    """One line."""
    found: Probe | Report | None
    """The probe or the diagnosis behind it."""


class Audit:
    """What posenc.audit found out about a model.

    >>> from posenc import Audit
    >>> Audit([]).right, Audit([]).verdict
    (None, 'nothing found: the model has no rotary module')
    """

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = findings
        """Each buffer and each rotation."""

    @property
    def right(self) -> bool | None:
        """Are all findings right? None: nothing was compared.

        >>> from posenc import Audit
        >>> Audit([]).right is None
        True
        """
        told = [finding.right for finding in self.findings if finding.right is not None]
        return all(told) if told else None

    @property
    def verdict(self) -> str:
        """One line: what is right, or the first thing that is wrong.

        >>> from posenc import Audit
        >>> Audit([]).verdict
        'nothing found: the model has no rotary module'
        """
        wrong = [finding for finding in self.findings if finding.right is False]
        if wrong:
            more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
            return f"{wrong[0].module}: {wrong[0].verdict}{more}"
        if not self.findings:
            return "nothing found: the model has no rotary module"
        compared = sum(finding.right is not None for finding in self.findings)
        return f"right: {compared} of {len(self.findings)} buffers and rotations were compared"

    def __repr__(self) -> str:
        return f"Audit({self.verdict!r})"

    def __str__(self) -> str:
        return "\n".join([self.verdict, *(" ".join(row) for row in self._rows())])

    def _rows(self) -> Iterator[list[str]]:
        signs = {True: "✓", False: "✗", None: "?"}
        for finding in self.findings:
            kind = f" ({finding.layer_type})" if finding.layer_type else ""
            yield [signs[finding.right], f"{finding.module}{kind}:", finding.verdict]

    def _repr_html_(self) -> str:
        """For notebooks: the verdict above the table of findings."""
        title = f"<div><strong>{escape(self.verdict)}</strong></div>"
        return title + _display.table_html(self._rows(), ("", "module", "verdict"))


class Kind(NamedTuple):
    """Layers that rotate alike."""

    layer_type: str | None
    encoding: Mapping[str, Any]

    @property
    def named(self) -> dict[str, str]:
        return {"layer_type": self.layer_type} if self.layer_type else {}


def kinds_of(report: Report) -> list[Kind]:
    """The kinds of layers of a config that rotate."""
    rows = report.get("layers") or [report]
    return [
        Kind(row.get("layer_type"), row["encoding"])
        for row in rows
        if row.get("encoding") and row["encoding"].get("name") in ("rope", "mrope")
    ]


# ---- modules -------------------------------------------------------------------------------------


def rotary_modules(model: Any) -> Iterator[tuple[str, Any]]:
    """The modules by name: of a rotary class, or with a buffer of frequencies."""
    for name, module in model.named_modules():
        kind = type(module).__name__
        is_rotary = ROTARY.search(kind) and not NO_ROTARY.search(kind)
        if is_rotary or any(FREQUENCIES.match(own) for own in dict(own_buffers(module))):
            yield name or kind, module


def own_buffers(module: Any) -> Iterator[tuple[str, Any]]:
    found: Iterator[tuple[str, Any]] = module.named_buffers(recurse=False)
    return found


# ---- buffers -------------------------------------------------------------------------------------


def _unsound(values: Array) -> str | None:
    """What memory that was never written has, in numbers of any kind."""
    if not np.isfinite(values).all():
        return "uninitialized: an element is NaN or infinite"
    if values.size > 1 and not values.any():
        return "uninitialized: all elements are 0"
    tiny = np.abs(values[values != 0]) < 1e-30
    if values.size > 1 and tiny.any():
        return "uninitialized: an element is as small as those of memory that was never written"
    return None


class Auditor:
    """An audit of one model with one config."""

    def __init__(self, config: Config, kinds: list[Kind], positions: Any) -> None:
        self.config, self.kinds, self.positions = config, kinds, positions

    def module(self, name: str, module: Any) -> Steps[list[Finding]]:
        """The findings of a rotary module: rotations where the buffers are sound."""
        found: list[Finding] = []
        for own, buffer in own_buffers(module):
            found.append((yield from self._buffer(f"{name}.{own}", own, buffer)))
        if OF_TOWERS.search(f"{name} {type(module).__name__}"):
            told = "not compared: it is no part of the decoder"
            return [*found, Finding(name, None, None, told, None)]
        if any(finding.right is False for finding in found):
            return found
        return found + (yield from self._rotations(name, module))

    def _diagnosis(self, **given: Any) -> Request:
        given = {"config": self.config, **given}
        return _requests.function("/v1/diagnosis", _requests.DIAGNOSED, given, report=True)

    def _buffer(self, name: str, own: str, buffer: Any) -> Steps[Finding]:
        if buffer.device.type == "meta":
            return Finding(name, None, False, "on the meta device: it has no memory", None)
        values = np.asarray(read(buffer.float() if not buffer.is_complex() else buffer.real))
        wrong = _unsound(values)
        if wrong:
            return Finding(name, None, False, wrong, None)
        matched = FREQUENCIES.match(own)
        if not matched or OF_TOWERS.search(name) or values.ndim != 1:
            return Finding(name, None, None, "finite; not compared", None)
        kinds = [kind for kind in self.kinds if kind.layer_type == matched["kind"]] or self.kinds
        found = []
        for kind in kinds:
            found.append((yield from self._frequencies(name, kind, read(buffer))))
        best = next((finding for finding in found if finding.right), found[0])
        if matched["original"] and not best.right:
            # Before a scaling that depends on the length: another scheme than the config's.
            return best._replace(right=None, verdict=f"not compared: {best.verdict}")
        return best

    def _frequencies(self, name: str, kind: Kind, values: Array) -> Steps[Finding]:
        try:
            found = yield self._diagnosis(inv_freq=values, **kind.named)
        except Refused as refused:
            return Finding(name, kind.layer_type, False, f"refused: {refused}", None)
        best = (found["candidates"] or [{}])[0]
        verdict = best.get("bug") or found["verdict"]
        right = found["verdict"] == "match"
        return Finding(name, kind.layer_type, right, "right" if right else verdict, found)

    # ---- rotations -------------------------------------------------------------------------------

    def _rotations(self, name: str, module: Any) -> Steps[list[Finding]]:
        """Each kind of layers where the module takes it as an argument; else any one of them."""
        given = inspect.signature(module.forward).parameters
        found: list[Finding] = []
        for kind in self.kinds:
            more = {"layer_type": kind.layer_type} if "layer_type" in given else {}
            found.append((yield from self._rotation(name, module, kind, more)))
        if "layer_type" in given:
            return found
        return [next((finding for finding in found if finding.right), found[0])]

    def _rotation(self, name: str, module: Any, kind: Kind, more: dict[str, Any]) -> Steps[Finding]:
        last, several = _probe.farthest(kind.encoding), _probe.coordinates(kind.encoding)
        at = self.positions
        at = _probe.positions_to(last, several) if at is None else np.asarray(at)
        try:
            waves = _waves(module, at, more)
            apply = _apply_of(module)
            found: Probe | Report
            if apply is None:
                found = yield self._angles(kind, waves, at)
                bug = (found["candidates"] or [{}])[0].get("bug")
                right = found["verdict"] == "match" or bug == "float32-angle"
                verdict = "right: cos and sin" if right else bug or found["verdict"]
            else:
                found = yield from _probe.steps(
                    _rotation_of(apply, waves, getattr(module, "config", None)),
                    config=self.config,
                    layer_type=kind.layer_type,
                    positions=at,
                    axes="bhsd",
                    batch=1,
                    like=_real(waves),
                    parameters={},
                )
                right, verdict = bool(found.right) or _reorders(found), found.verdict
        except (ConnectionFailed, TimeoutError):
            raise  # nothing was found out about the model
        except Exception as failure:  # of the model's own code, called in another way than by it
            told = f"not compared: {type(failure).__name__}: {failure}"
            return Finding(name, kind.layer_type, None, told, None)
        return Finding(name, kind.layer_type, right, verdict, found)

    def _angles(self, kind: Kind, waves: tuple[Any, ...], at: Array) -> Request:
        if len(waves) == 2:
            given = {"cos": read(waves[0])[0], "sin": read(waves[1])[0]}
        else:
            pairs = np.asarray(read(waves[0].real))[0], np.asarray(read(waves[0].imag))[0]
            given = {"cos": pairs[0], "sin": pairs[1]}
        return self._diagnosis(positions=at, **given, **kind.named)


def _real(waves: tuple[Any, ...]) -> Any:
    return waves[0].real if waves[0].is_complex() else waves[0]


def _reorders(found: Probe) -> bool:
    """Is the rotation right but for the order of its elements, which queries and keys share?"""
    pairing = (found.report or Report()).get("probe", {}).get("pairing") or {}
    return pairing.get("code") == "outputs-reordered" and not any(
        pair["differs"] for pair in found.pairs
    )


def _waves(module: Any, at: Array, more: dict[str, Any]) -> tuple[Any, ...]:
    """cos and sin of a copy of the module, or one complex tensor."""
    torch = sys.modules["torch"]
    own = copy.deepcopy(module)
    devices = [buffer.device for _, buffer in own_buffers(own)]
    device = devices[0] if devices else "cpu"
    ids = torch.from_numpy(np.ascontiguousarray(at)).to(device)
    ids = ids[None] if ids.ndim == 1 else ids[:, None]
    x = torch.zeros(1, ids.shape[-1], 8, device=device)
    state = torch.get_rng_state()
    with torch.no_grad():
        first = next(iter(inspect.signature(own.forward).parameters), "x")
        made = own(ids, **more) if first == "position_ids" else own(x, ids, **more)
    torch.set_rng_state(state)
    return made if isinstance(made, tuple) else (made,)


def _apply_of(module: Any) -> Callable[..., Any] | None:
    """The function with which attention beside the module's class rotates; None: there is none, or
    there are several."""
    home = sys.modules[type(module).__module__]
    found: dict[str, Any] = {}
    for name, kind in vars(home).items():
        if not (inspect.isclass(kind) and "Attention" in name and kind.__module__ == home.__name__):
            continue
        if OF_TOWERS.search(name):
            continue
        forward = inspect.unwrap(vars(kind).get("forward", lambda: None))
        for called in getattr(getattr(forward, "__code__", None), "co_names", ()):
            if APPLIES.match(called) and callable(getattr(home, called, None)):
                found[called] = getattr(home, called)
    if len(found) == 2 and hasattr(getattr(module, "config", None), "rope_interleave"):
        wanted = bool(module.config.rope_interleave)
        found = {name: one for name, one in found.items() if ("interleave" in name) == wanted}
    return next(iter(found.values())) if len(found) == 1 else None


def _called(apply: Any, x: Any, waves: tuple[Any, ...], config: Any) -> Any:
    """x [b, h, s, d] through a function of queries, keys and waves, or of one of them."""
    names = list(inspect.signature(apply).parameters)
    sections = (getattr(config, "rope_parameters", None) or {}).get("mrope_section")
    more = {"mrope_section": sections} if "mrope_section" in names else {}
    taken = (x, x, *waves) if names[1:2] and re.match(r"k|xk", names[1]) else (x, *waves)
    made = apply(*taken, **more)
    return made[0] if isinstance(made, tuple) else made


def _rotation_of(apply: Any, waves: tuple[Any, ...], config: Any) -> Callable[[Any, Any], Any]:
    """The function of x and positions, whose waves are made; the first way of calling it that keeps
    the shape: heads before or behind tokens, the head or its first elements."""
    torch = sys.modules["torch"]
    width = waves[0].shape[-1] * (2 if len(waves) == 1 else 1)

    def called(x: Any, swapped: bool, part: bool) -> Any:
        first = x[..., :width] if part else x
        first = first.transpose(1, 2) if swapped else first
        y = _called(apply, first, waves, config)
        y = y.transpose(1, 2) if swapped else y
        return torch.cat([y, x[..., width:]], -1) if part else y

    def rotate(x: Any, positions: Any) -> Any:
        failures: list[Exception] = []
        for swapped in (False, True):
            for part in (False, True):
                try:
                    with torch.no_grad():
                        y = called(x, swapped, part)
                    if y.shape == x.shape:
                        return y
                except Exception as failure:  # shapes that do not fit
                    failures.append(failure)
        raise failures[0] if failures else ValueError("it changes the shape")

    return rotate


# ---- the audit -----------------------------------------------------------------------------------


def steps(model: Any, config: Config | None, positions: Any) -> Steps[Audit]:
    """An audit: the config is read, then each rotary module is compared with it."""
    if not hasattr(model, "named_modules") or "torch" not in sys.modules:
        kind = type(model)
        raise TypeError(f"a model is a torch module, not a {kind.__module__}.{kind.__qualname__}")
    config = config if config is not None else getattr(model, "config", None)
    if config is None:
        raise TypeError("the model has no config: pass the one that it is to be compared with")
    kinds = kinds_of((yield _requests.config(config, {})))
    auditor = Auditor(config, kinds, positions)
    found: list[Finding] = []
    for name, module in rotary_modules(model) if kinds else ():
        found += yield from auditor.module(name, module)
    return Audit(found)
