# SPDX-License-Identifier: MIT
"""All settings at once: defaults, the environment, flags, which of them counts, their units and
bounds, and the limits that a server reports for them."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = ROOT / os.environ.get("POSENCD", "build/posencd")
LISTS = ["server/options.def", "service/settings.def"]
FLAG = re.compile(r'^FLAG\(\w+, "([a-z-]+)", (\w+), "([^"]*)",', re.M)
SETTINGS = {
    name: (kind, default)
    for path in LISTS
    for name, kind, default in FLAG.findall((ROOT / path).read_text())
}
UNITS = {
    "SIZE": {"": 1, "B": 1}
    | {
        letter + end: base**power
        for power, letter in enumerate("KMGT", 1)
        for ends, base in ((("", "B"), 1000), (("i", "iB"), 1024))
        for end in ends
    },
    "TIME": {"": 1000, "ms": 1, "s": 1000, "m": 60000},
    "COUNT": {"": 1},
}
# Texts that may not be any: (of the environment, of a flag).
WORDS = {
    "log-format": ("text", "off"),
    "base-path": ("/of/the/environment", "/of/a/flag"),
    "token-file": ("", ""),  # excludes --anonymous-writes
    "memory-budget": ("3MiB", "5MiB"),
}
BOUNDS = {
    "port": (0, 65535),
    "loops": (1, 256),
    "connections-max": (1, 1000000),
    "queue-max": (1, 2**64 - 1),
    "per-ip-max": (0, 1000000),
    "idle-timeout": (0, 86400000),
    "threads": (0, 1024),
    "memory-budget": (1 << 20, 2**64 - 1),
}


def run(*arguments, env=None):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("POSENC_")}
    return subprocess.run(
        [BINARY, *arguments], capture_output=True, text=True, timeout=20, env=clean | (env or {})
    )


def printed(*arguments, env=None):
    """--print-config as name: value."""
    done = run("--print-config", *arguments, env=env)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    pairs = [line.removeprefix("--").split("=", 1) for line in done.stdout.splitlines()]
    assert [name for name, _ in pairs] == list(SETTINGS)
    return dict(pairs)


def canonical(name, text):
    """As it is printed: sizes in bytes, times in milliseconds."""
    kind = SETTINGS[name][0]
    if kind not in UNITS:
        return text
    number, unit = re.fullmatch(r"(\d+)(\w*)", text).groups()
    return f"{int(number) * UNITS[kind][unit]}" + "ms" * (kind == "TIME")


def values(which):
    """A value for each setting, different for the environment (0) and the flags (1)."""
    made = {}
    for i, (name, (kind, _)) in enumerate(SETTINGS.items()):
        usual = {"TEXT": f"text-{i}.{which}", "SWITCH": ["false", "true"][which]}
        made[name] = WORDS.get(name, [usual.get(kind, f"{2 * i + which + 3}")] * 2)[which]
    return made


def variables(settings):
    return {"POSENC_" + name.upper().replace("-", "_"): text for name, text in settings.items()}


def flags(settings):
    """As two arguments and as one, by turns."""
    arguments = []
    for i, (name, text) in enumerate(settings.items()):
        arguments += [f"--{name}={text}"] if i % 2 else [f"--{name}", text]
    return arguments


def test_defaults_are_those_of_the_lists():
    assert len(SETTINGS) > 30
    found = printed()
    assert int(found.pop("memory-budget")) >= 1 << 20  # by the memory of the machine
    assert found == {name: canonical(name, SETTINGS[name][1]) for name in found}


@pytest.mark.parametrize("part", [slice(0, 0), slice(0, None, 2), slice(1, None, 2), slice(None)])
def test_a_flag_precedes_its_variable_and_the_last_flag_counts(part):
    """Each setting by itself: no value reaches a neighbour."""
    of_variables, of_flags = values(0), values(1)
    assert all(
        of_variables[name] != of_flags[name] for name in SETTINGS if name not in ("token-file",)
    )
    some = dict(list(of_flags.items())[part])
    wanted = {name: canonical(name, text) for name, text in (of_variables | some).items()}
    assert printed(*flags(some), env=variables(of_variables)) == wanted
    if some:
        assert printed(*flags(of_variables), *flags(some)) == wanted


def test_printed_settings_are_settings():
    """What is printed gives the same settings again."""
    found = printed(*flags(values(1)))
    assert printed(*flags(found)) == found


@pytest.mark.parametrize("kind", UNITS)
def test_units(kind):
    """Each unit of a kind; those of sizes in either case."""
    names = [name for name, (of, _) in SETTINGS.items() if of == kind and name not in BOUNDS]
    cases = [str.upper, str.lower, str] if kind == "SIZE" else [str]
    texts = [(case(unit), factor) for unit, factor in UNITS[kind].items() for case in cases]
    for begin in range(0, len(texts), len(names)):
        some = list(zip(names, texts[begin : begin + len(names)]))
        found = printed(*flags({name: f"{begin + 5}{unit}" for name, (unit, _) in some}))
        for name, (unit, factor) in some:
            assert found[name] == f"{(begin + 5) * factor}" + "ms" * (kind == "TIME"), unit
    for wrong in ("", "1x", "x", "-1", " 1", "1 ", "1.5", "1e3", str(2**64)):
        done = run("--print-config", f"--{names[0]}={wrong}")
        assert done.returncode == 2 and f"--{names[0]} takes " in done.stderr
    for text, unit in ((str(2**64 // 1000 + 1), "K"), (str(2**64 // 60000 + 1), "m")):
        if unit in UNITS[kind]:
            assert run("--print-config", f"--{names[0]}={text}{unit}").returncode == 2


def test_bounds():
    """Both ends are taken; one beyond is refused, with the name."""
    ends = [
        {name: f"{bounds[end]}" + "ms" * ("timeout" in name) for name, bounds in BOUNDS.items()}
        for end in (0, 1)
    ]
    for settings in ends:
        assert printed(*flags(settings)).items() >= settings.items()
    for name, (least, most) in BOUNDS.items():
        for beyond in {least - 1, most + 1} - {-1}:
            done = run("--print-config", f"--{name}", f"{beyond}" + "ms" * ("timeout" in name))
            assert done.returncode == 2 and f"--{name} takes " in done.stderr, (name, beyond)
            assert done.stderr.startswith("posencd: ") and done.stdout == ""
    for text in ("auto", "text", "json", "off"):
        assert printed("--log-format", text)["log-format"] == text
    for name, text in (("log-format", ""), ("log-format", "of"), ("base-path", "x")):
        assert run("--print-config", f"--{name}={text}").returncode == 2
    for text in ("", "True", "1", "truex", "no"):
        assert run("--print-config", f"--log-probes={text}").returncode == 2


def test_a_server_reports_its_limits(start_server):
    """Each limit of GET /v1 has the value of its setting, and the flags all settings."""
    limits = {
        name: (i + 3) << 20
        for i, (name, (kind, _)) in enumerate(SETTINGS.items())
        if name.endswith("-max") and name not in (*BOUNDS, "dim-max", "tensors-max")
    }
    limits |= {"dim-max": 130, "tensors-max": 7, "memory-budget": 256 << 20}
    # The switch and the list of origins show in answers.
    others = {"cors-origin": "http://a.test", "allowed-host": "b.test", "tables-poll": "7s"}
    texts = {name: f"{value}" for name, value in limits.items()}
    server = start_server(*flags(texts | others))
    about = server.get("/v1").json()
    shown = {name: limits[name] for name in limits if name.replace("-", "_") in about["limits"]}
    assert len(shown) >= 8 and shown == {
        name: about["limits"][name.replace("-", "_")] for name in shown
    }
    found = {name: about["flags"][name] for name in limits if name in about["flags"]}
    assert found.items() >= {name: limits[name] for name in found}.items() and len(found) >= 10
    assert about["flags"]["tables-poll-ms"] == 7000 and about["flags"]["anonymous-writes"] is False
    origin = server.get("/v1", headers={"Origin": "http://a.test"})
    assert origin.headers["Access-Control-Allow-Origin"] == "http://a.test"
    for origin in ("http://b.test", "http://a.test.c"):
        answer = server.get("/v1", headers={"Origin": origin})
        assert "Access-Control-Allow-Origin" not in answer.headers
    for host, status in (("b.test", 200), ("localhost", 200), ("c.test", 403)):
        assert server.get("/v1", headers={"Host": host}).status_code == status, host
