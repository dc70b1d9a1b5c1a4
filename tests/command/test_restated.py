# SPDX-License-Identifier: MIT
"""A report on a terminal has every value of the JSON that it stands for."""

import json
import re

import numpy as np
import pytest
from conftest import ROOT
from safetensors.numpy import save_file

INDEXED = {
    "hidden_size": 64,
    "num_attention_heads": 2,
    "qk_rope_head_dim": 16,
    "qk_nope_head_dim": 16,
    "v_head_dim": 16,
    "kv_lora_rank": 8,
    "num_hidden_layers": 2,
    "index_head_dim": 32,
}


@pytest.fixture
def shown(posenc, monkeypatch):
    """(exit code, the report, the JSON of the same command)"""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")

    def show(*arguments):
        code, text = posenc.on_terminal(*arguments)
        done = posenc.run(*arguments)
        assert done.returncode == code
        return code, text, json.loads(done.stdout)

    return show


def engine_words(engine):
    versions = engine["versions"]
    said = f"{engine['name']} {engine['version']}"
    if len(versions) > 1:
        said += " measured versions: " + ", ".join(versions)
    for form, counts in engine["cells"].items():
        some = [f"{count} {verdict}" for verdict, count in counts.items() if count]
        said += f" form of transformers {form}: " + ", ".join(some)
    return said


def cell_words(cell):
    """What is said of one engine and config, up to numbers."""
    said = f"{cell['config']} {cell['engine']}, form of {cell['form']}: {cell['verdict']}"
    said += f" ({', '.join(cell['keys'])})" if cell.get("keys") else ""
    said += "".join(f": {cell[key]}" for key in ("code", "message") if key in cell)
    return said + (f", {cell['reads']}" if "reads" in cell else "")


def test_engines(shown):
    code, text, told = shown("engines", "model_type=gpt_oss")
    words = " ".join(text.split())
    assert code == 0 and len(told["engines"]) > 3 and len(told["cells"]) > 20
    assert words.startswith(" ".join(map(engine_words, told["engines"])))
    at = 0
    for cell in told["cells"]:
        assert cell_words(cell) in words[at:], words[at : at + 400]
        at = words.index(cell_words(cell), at)
        if "pairs" in cell:
            assert f"{cell['pairs']} of {cell['of']} pairs" in words[at:]


@pytest.mark.parametrize("name", ["qwen2.5-vl", "exaone-4.5-33b", "voxtral-mini-3b", "bloom-3b"])
def test_parts_of_published_configs(posenc, shown, name):
    config = json.loads((ROOT / f"tests/data/configs/{name}.json").read_text())["config"]
    (posenc.folder / "config.json").write_text(json.dumps(config))
    code, text, told = shown("config", "config.json")
    words = " ".join(text.split())
    assert code == 0
    for part in told.get("towers", []):
        encoding = part["encoding"]
        said = f"{encoding['name']} dim={encoding['dim']}" if encoding else part["reason"]
        assert f" {part['part']} {said}" in words, words


@pytest.mark.parametrize("model", ["deepseek_v32", "glm_moe_dsa"])
def test_other_rotaries(posenc, shown, model):
    (posenc.folder / "config.json").write_text(json.dumps({"model_type": model} | INDEXED))
    code, text, told = shown("config", "config.json")
    (other,) = told["others"]
    encoding = other["encoding"]
    assert other["head_dim"] == 32 and encoding["rotary_dim"] == 16 and encoding["dim"] == 32
    words = f"rope dim=32 base=10000 layout={encoding['layout']} rotary_dim=16"
    assert code == 0 and re.search(rf"\n  indexer\n    {words}\n", text), text


def test_tolerance(posenc, shown):
    rows = np.arange(12).reshape(3, 4)
    angles = rows[:, :1] // 4 * 10000.0 ** (-np.array([0, 0, 0.5, 0.5]))
    right = np.where(rows % 2, np.cos(angles), np.sin(angles)).astype(np.float32)
    for wrong in 0, 2:
        table = right.copy()
        table.flat[:wrong] += 2
        np.save(posenc.folder / "t.npy", table)
        code, text, told = shown("compare", "sinusoidal", "t.npy", "tolerance_of=f32-angle")
        assert told["tolerance"]["outside"] == wrong
        assert re.search(rf"\n  tolerance +{wrong} outside of f32-angle\n", text), text
        assert code == (1 if wrong else 0)


def test_heads(posenc, shown):
    """Each head has the sign of its verdict: right, wrong, or undecided."""
    draw = np.random.default_rng(2)
    q = draw.standard_normal((3, 4, 12, 8)).astype(np.float32)
    angles = np.arange(12)[:, None] * 10000.0 ** (-np.arange(4) / 4)
    first, second = np.split(q, 2, axis=3)
    cos, sin = np.cos(angles), np.sin(angles)
    turned = np.concatenate([first * cos - second * sin, second * cos + first * sin], 3)
    turned[1, 2], turned[2, 0] = q[0, 0], q[2, 0]
    even, odd = q[0, 3, :, 0::2], q[0, 3, :, 1::2]
    turned[0, 3] = np.stack([even * cos - odd * sin, odd * cos + even * sin], -1).reshape(12, 8)
    files = {"q": q, "q_rotated": turned.astype(np.float32)}
    save_file(files, posenc.folder / "heads.safetensors")
    for expected, right, sign, swapped in (
        (["encoding=rope", "layout=half"], "match", "·", ("known-bug", "✗")),
        ([], "consistent", "?", ("consistent", "?")),  # each layout is one of rope
    ):
        flags = [*expected, "axes=lhsd", "per_head=true"]
        code, text, told = shown("diagnose", "heads.safetensors", *flags)
        verdicts = [right] * 12
        verdicts[3], verdicts[6], verdicts[8] = swapped[0], "unknown", "known-bug"
        assert code == 1 and told["per_head"]["verdict"] == verdicts
        heads = re.search(r"[·✗?\s]*[·✗?]", text[text.index("  heads") + 7 :])[0].split()
        assert heads == [sign * 3 + swapped[1], f"{sign * 2}?{sign}", f"✗{sign * 3}"], text


@pytest.mark.parametrize(
    "typed, says",
    [
        ("table rope --for vllm", "--for, --against and --format are flags of lint and extend"),
        ("rotate q.npy --format json", "a parameter is written format=VALUE"),
        ("config config.json --against config.json", "are flags of lint and extend"),
        ("lint config.json --to 8192", "--to and --type are flags of extend"),
        ("table rope --type yarn", "a parameter is written to=VALUE"),
    ],
)
def test_flags_of_other_words(posenc, typed, says):
    (posenc.folder / "config.json").write_text('{"model_type": "llama", "head_dim": 64}')
    code, said = posenc.refused(*typed.split())
    assert code == 2 and says in said, said


def number(value):
    return f"{value:.6g}"


def layers_words(row):
    """What is said of one kind of layers in an extension."""
    count, of_type = len(row["layers"]), f" of {row['layer_type']}" if "layer_type" in row else ""
    said = f"{count} layer{'s' * (count != 1)}" if count else "the layers"
    if not row["rotates"]:
        return f"{said}{of_type}: no positions; cached keys stay as they are"
    said += f"{of_type}: {row['pairs']} of {row['of']} pairs change"
    if "first" in row:
        said += f" ({row['first']} to {row['last']}), by up to {row['radians']:.3g} rad"
        said += f" at position {row['at']}"
    before, after = row["attention_factor"]["before"], row["attention_factor"]["after"]
    if before != after:
        said += f"; attention factor {number(before)} to {number(after)}"
    scaled = row["cache"] == "scaled"
    return said + (
        "; cached keys need the factor" if scaled else f"; cached keys are {row['cache']}"
    )


def extension_text(told):
    lines = [
        f"{told['type']}, factor {number(told['factor'])}: from {told['from']} to {told['to']} "
        "positions",
        *map(layers_words, told["layers"]),
    ]
    for form, row in told["forms"].items():
        if row["patch"]:
            patch = json.dumps(row["patch"], indent=2, ensure_ascii=False)
            lines += ["", f"patch in the form of transformers {form}:", patch]
        else:
            lines += ["", f"no patch in the form of transformers {form}: {row['reason']}"]
    for row in told["engines"]:
        how = f"the unpatched model with {row['command']}" if row.get("command") else ""
        lines += ["", f"{row['engine']} {row['version']}: {how or 'the patched config'}"]
        for form, one in row["forms"].items():
            reason = f": {one['reason']}" if one.get("reason") else ""
            lines += [f"  form {form}: {one['verdict']}{reason}"]
            lines += [f"    {finding['message']}" for finding in one.get("findings", [])]
    return "\n".join([*lines, "", told["note"]]) + "\n"


def is_wrong(engine):
    return all(one["verdict"] not in ("same", "not-measured") for one in engine["forms"].values())


@pytest.mark.parametrize("kind", ["yarn", "linear", "dynamic"])
@pytest.mark.parametrize("name", ["qwen2.5-vl", "gemma-3-1b", "llama-3.1", "gpt-oss-120b"])
def test_extensions(posenc, name, kind):
    """The text of posenc extend, from its JSON, and the exit code."""
    path = ROOT / f"tests/data/configs/{name}.json"
    config = json.loads(path.read_text())["config"]
    (posenc.folder / "config.json").write_text(json.dumps(config))
    asked = ["extend", "config.json", "--to", "262144", "--type", kind, "--for", "vllm,mlx-lm"]
    done, text = (posenc.run(*asked, "--format", form) for form in ("json", "text"))
    assert done.returncode == text.returncode and done.stderr == text.stderr
    if done.returncode > 1:
        assert done.stdout == text.stdout == b"" and done.stderr.count(b"\n") >= 1
        return
    told = json.loads(done.stdout)
    assert text.stdout.decode() == extension_text(told)
    assert done.returncode == any(map(is_wrong, told["engines"]))
    if kind == "yarn":
        asked[1] = "-"
        assert posenc.run(*asked, stdin=json.dumps(config).encode()).stdout == text.stdout


def lint_text(told):
    lines = []
    for row in [*told["engines"], *([told["against"]] if "against" in told else [])]:
        who = f"{row.get('engine', 'against')} {row.get('version', '')}".strip()
        for finding in row["findings"]:
            measured = finding.get("evidence")
            said = f" [measured: {measured['config']}, {measured['rope']}]" if measured else ""
            line = f"{finding['line']}:" if finding.get("line") else ""
            lines += [f"{told['file']}:{line} {who}: {finding['message']}{said}"]
        if not row["findings"]:
            reason = f": {row['reason']}" if row.get("reason") else ""
            lines += [f"{told['file']}: {who}: {row['verdict']}{reason}"]
    return "".join(line + "\n" for line in lines)


@pytest.mark.parametrize("against", [False, True])
@pytest.mark.parametrize("name", ["qwen2.5-vl", "gemma-3-1b", "llama-3.1", "phi-1.5-msft"])
def test_lints(posenc, name, against):
    """The text of posenc lint, from its JSON, and the exit code."""
    config = json.loads((ROOT / f"tests/data/configs/{name}.json").read_text())["config"]
    (posenc.folder / "config.json").write_text(json.dumps(config, indent=1))
    (posenc.folder / "other.json").write_text(json.dumps(config | {"rope_theta": 77}))
    asked = ["lint", "config.json", *(["--against", "other.json"] if against else [])]
    done, text = (posenc.run(*asked, "--format", form) for form in ("json", "text"))
    assert done.returncode == text.returncode and done.stderr == text.stderr == b""
    told = json.loads(done.stdout)
    assert told["file"] == "config.json" and "against" in told or not against
    assert text.stdout.decode() == lint_text(told)
    assert done.returncode == {"same": 0, "differs": 1}.get(told["verdict"], 3)


def value_words(value):
    if isinstance(value, str):
        return value
    if isinstance(value, list) and len(value) > 8:
        return f"({len(value)} values)"

    def numbers(one):
        if isinstance(one, float):
            return RawFloat(f"{one:.6g}")
        if isinstance(one, dict):
            return {key: numbers(item) for key, item in one.items()}
        return [numbers(item) for item in one] if isinstance(one, list) else one

    text = json.dumps(numbers(value), separators=(",", ":"), ensure_ascii=False)
    return text if len(text.encode()) <= 256 else "(long)"


class RawFloat(float):
    """Printed as its text."""

    def __new__(cls, text):
        made = super().__new__(cls, text)
        made.text = text if set(text) & set(".einf") else text + ".0"
        return made

    def __repr__(self):
        return self.text


NEUTRAL = {"arithmetic": "exact", "rope_type": "default"}


def encoding_words(encoding):
    told = {key: value for key, value in encoding.items() if NEUTRAL.get(key) != value}
    name = told.pop("name")
    return " ".join([name, *(f"{key}={value_words(value)}" for key, value in told.items())])


def attention_words(attention):
    def shown(value):
        return value["kind"] if isinstance(value, dict) and "kind" in value else value

    words = [
        f"{key}={value_words(shown(value))}"
        for key, value in attention.items()
        if key != "provenance"
    ]
    return "attention " + " ".join(words) if attention else ""


def part_words(label, part, known=None):
    """A kind of layers, another rotary, or a tower."""
    said = label
    if "where" in part:
        of_type = f" of {part['layer_type']}" if "layer_type" in part else ""
        last = ": the last elements of a head" if part.get("rotated") == "last" else ""
        said += of_type + last
    layers, runs = part.get("layers") or [], []
    for i, at in enumerate(layers):
        if i == 0 or at != layers[i - 1] + 1:
            runs.append([at, at])
        runs[-1][1] = at
    if runs:
        said += " layers " + " ".join(f"{a}..{b}" if a < b else f"{a}" for a, b in runs)
    encoding, attention = part.get("encoding"), part.get("attention")
    if encoding and encoding == known:
        said += " as above"
    elif encoding:
        said += " " + encoding_words(encoding)
    elif "attention" in part and attention is None:
        said += " no attention"
    else:
        said += " " + (part.get("reason") or "no positions")
    return f"{said} {attention_words(attention or {})}"


def config_words(told):
    encoding = told["encoding"]
    words = ["!" if told["warnings"] else "✓"]
    words += [encoding_words(encoding) if encoding else "no positional encoding"]
    for key, value in (encoding or {}).items():
        source = told["provenance"].get(key, "")
        if key != "name" and source != "default":
            words += [f"{key} {value_words(value)} from {source}"]
    for key, label in (("layers", "layer_type"), ("others", "where"), ("towers", "part")):
        known = encoding if key == "layers" else None
        words += [part_words(part.get(label, ""), part, known) for part in told.get(key, [])]
    for key, engines in told.get("readers", {}).items():
        for engine, reading in engines.items():
            words += [f"{key} {engine} reads {reading['reads']} ({reading['source']})"]
    if told.get("unused"):
        words += ["not read " + ", ".join(told["unused"])]
    words += [
        "warning " + (one if isinstance(one, str) else one["detail"]) for one in told["warnings"]
    ]
    return " ".join(words).split()


CONFIGS = sorted((ROOT / "tests/data/configs").glob("*.json"))


@pytest.mark.parametrize("part", range(4))
def test_every_published_config(posenc, monkeypatch, part):
    """All that the JSON has, in its order; or the same refusal."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    for path in CONFIGS[part::4]:
        config = json.loads(path.read_text())["config"]
        (posenc.folder / "config.json").write_text(json.dumps(config))
        done = posenc.run("config", "config.json")
        code, text = posenc.on_terminal("config", "config.json")
        assert code == done.returncode
        if code == 0:
            assert text.split() == config_words(json.loads(done.stdout)), path.name
        else:
            assert (code, text) == (3, done.stderr.decode()), path.name


def parameter_text(value):
    return value if isinstance(value, str) else json.dumps(value).strip("[]").replace(" ", "")


@pytest.mark.parametrize("part", range(2))
def test_a_config_is_its_encoding(posenc, part):
    """In place of the name of an encoding, for each type of layers of published configs."""
    seen = 0
    for path in CONFIGS[part::6]:
        config = json.loads(path.read_text())["config"]
        (posenc.folder / "config.json").write_text(json.dumps(config))
        done = posenc.run("config", "config.json")
        layers = json.loads(done.stdout).get("layers", []) if done.returncode == 0 else []
        for row in [one for one in layers if (one["encoding"] or {}).get("name") == "rope"]:
            some = [f"layer_type={row['layer_type']}"] if "layer_type" in row else []
            told = {key: value for key, value in row["encoding"].items() if key != "layout"}
            own = [f"{key}={parameter_text(value)}" for key, value in told.items() if key != "name"]
            asked = posenc("frequencies", "--config", "config.json", *some)
            spelled = posenc("frequencies", "rope", *own)
            tensors = [json.loads(one)["tensors"] for one in (asked, spelled)]
            assert tensors[0] == tensors[1], (path.name, own)
            seen += 1
    assert seen > 3


def test_parameters_of_lint_and_extend_are_those_of_their_flags(posenc):
    path = ROOT / "tests/data/configs/llama-3.2-1b.json"
    config = json.loads(path.read_text())["config"] | {"rope_scaling": None}
    (posenc.folder / "config.json").write_text(json.dumps(config))
    for word, flags in (
        ("extend", {"to": "262144", "type": "linear", "for": "vllm"}),
        ("lint", {"for": "mlx-lm"}),
    ):
        by_flags = [text for name, value in flags.items() for text in (f"--{name}", value)]
        by_parameters = [f"{name}={value}" for name, value in flags.items()]
        done, same = (posenc.run(word, "config.json", *more) for more in (by_flags, by_parameters))
        assert done.returncode in (0, 1) and done.stdout and done.stderr == b""
        assert (same.returncode, same.stdout, same.stderr) == (done.returncode, done.stdout, b"")
