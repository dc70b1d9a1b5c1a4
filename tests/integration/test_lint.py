# SPDX-License-Identifier: MIT
"""POST /v1/lint and `posenc lint` beside every measured cell of tools/engines/engines.json: what is
computed for a config by the rules is what was measured with it."""

import copy
import json
import pathlib
import subprocess
import sys

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/engines"))

import compiled  # noqa: E402
import expected  # noqa: E402
import matrix  # noqa: E402
import page  # noqa: E402

DATA = matrix.load()
ROWS = matrix.configs()
POSENC = ROOT / "build/posenc"
PUBLISHED = sorted((ROOT / "tests/data/configs").glob("*.json"))

pytestmark = pytest.mark.plain  # the library in this process is that of the plain build


def lint(config, engine, **more):
    report = expected.posenc.lint(config, engines=engine, **more)
    return json.loads(json.dumps(report, default=str))


def config_of(name):
    return json.loads((ROOT / f"tests/data/configs/{name}.json").read_text())["config"]


# ---- every measured cell ------------------------------------------------------------------------

WANTED = {
    "same": "same",
    "by_default": "same",
    "differs": "differs",
    "raises": "raises",
    "absent": "no-such-model",
    "unmeasured": "not-measured",
}


def worst(findings):
    return max(findings, key=lambda found: (found.get("radians", 0), found.get("layers", 0)))


def agrees(cell, judged):
    """Is the judgement what was measured? Measured radians have three digits."""
    verdict = page.verdict(cell)
    if judged["verdict"] != WANTED[verdict]:
        return False
    if verdict != "differs":
        return True
    found = worst(judged["findings"])
    near = abs(found.get("radians", 0) - cell.get("radians", 0)) <= 6e-3 * cell.get("radians", 0)
    return near and (found["code"], found.get("pairs"), found.get("of")) == (
        cell["code"],
        cell.get("pairs"),
        cell.get("of"),
    )


# Where lint may answer "same": an engine refuses a config for keys that are not of the rotation,
# which no rule covers; and it chooses its code by `architectures`, which some files lack.
OTHER_KEYS = {
    "raises": ("missing", "'Lfm2Config' object has no attribute 'block_dim'"),
    "unmeasured": ("names no architecture",),
}


def is_excused(cell, judged):
    """Nothing is said of the config; or the engine stopped before it read the rotation."""
    verdict = page.verdict(cell)
    if judged["verdict"] == "not-measured":
        return True
    words = OTHER_KEYS.get(verdict, ())
    return judged["verdict"] == "same" and any(word in cell[verdict] for word in words)


@pytest.mark.parametrize("engine", [name for name, e in DATA["engines"].items() if e["rules"]])
def test_a_judgement_is_what_was_measured(engine):
    counts, wrong, rules = {True: 0, False: 0}, [], DATA["engines"][engine]["rules"]
    for row, form, cell in page.cells_of(DATA["engines"][engine]):
        judged = lint(ROWS[row][form], engine)["engines"][0]
        if agrees(cell, judged):
            counts[True] += 1
        elif is_excused(cell, judged):
            counts[False] += form in rules.get(DATA["rows"][row]["key"], {})
        else:
            wrong.append((row, form, cell, judged["verdict"], judged["findings"][:1]))
    assert not wrong, "\n".join(map(str, wrong))
    assert counts[False] <= 0.1 * counts[True], counts


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_transformers_reads_each_published_config_as_it_is_meant(path):
    config = json.loads(path.read_text())["config"]
    try:
        report = lint(config, "transformers")
    except expected.posenc.Refused as refused:
        assert "rotary" in str(refused) or "config" in str(refused)
        return
    assert report["engines"][0]["findings"] == []


def test_the_two_faults_of_mlx_lm():
    config = config_of("gpt-oss-120b")
    config["max_position_embeddings"] = 4096
    found = worst(lint(config, "mlx-lm==0.32.2")["engines"][0]["findings"])
    assert (found["code"], found["pairs"], found["of"]) == ("scaling", 9, 32)
    assert found["keys"] == ["rope_scaling.truncate"]
    assert found["at"] == 4095 and found["radians"] == pytest.approx(0.90, abs=0.01)
    found = worst(lint(ROWS["llama-3.1"]["5"], "mlx-lm==0.32.2")["engines"][0]["findings"])
    assert (found["code"], found["pairs"]) == ("base-and-scaling", 63)
    assert "rope_theta=10000" in found["reads"]
    assert lint(ROWS["llama-3.1"]["4"], "mlx-lm")["verdict"] == "same"


def test_a_newer_release_has_what_it_mended():
    """mlx-lm before 0.32: Qwen3 without the form of transformers 5, and Llama without dynamic
    scaling, are refused; InternLM 2.5 rotates at twice the frequencies, which no key explains."""
    dynamic = ROWS["llama-3.1: dynamic"]["4"]
    for config, word in ((ROWS["qwen3-8b"]["5"], "rope_theta"), (dynamic, "dynamic")):
        older, newest = lint(config, "mlx-lm==0.31.3,mlx-lm")["engines"]
        assert (older["version"], older["verdict"]) == ("0.31.3", "raises")
        (found,) = older["findings"]
        assert found["code"] == "raises" and word in found["message"]
        assert (newest["version"], newest["verdict"]) == ("0.32.2", "same")
        assert newest["findings"] == []
        assert lint(config, "mlx-lm==0.32.2")["engines"] == [newest]
    older, newest = lint(ROWS["internlm2.5-7b"]["4"], "mlx-lm==0.31.3,mlx-lm")["engines"]
    assert older["verdict"] == "not-measured" and "other frequencies" in older["reason"]
    assert newest["verdict"] == "same"
    with pytest.raises(expected.posenc.Refused, match="nearest version that was is mlx-lm==0.31.3"):
        lint(dynamic, "mlx-lm==0.31.2")


# ---- rules of rope objects ----------------------------------------------------------------------


def yarn(**more):
    config = config_of("qwen3-8b")
    rope = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
    return config | {"rope_scaling": rope | more}


def test_a_key_without_which_an_engine_raises():
    judged = lint(yarn(), "onnxruntime-genai")["engines"][0]
    assert judged["verdict"] == "raises"
    assert judged["findings"][0]["message"].startswith(
        "no beta_fast: the engine refuses the config"
    )
    assert lint(yarn(), "vllm")["verdict"] == "same"


def test_a_key_that_an_engine_takes_as_absent_beside_those_it_needs():
    judged = lint(yarn(beta_fast=32.0, beta_slow=1.0), "onnxruntime-genai")["engines"][0]
    assert judged["verdict"] == "differs"
    assert judged["findings"][0]["reads"] == "truncate=false"


def test_a_key_that_no_rule_explains_is_not_measured():
    config = yarn(beta_fast=32.0, beta_slow=1.0, mscale=0.7)
    judged = lint(config, "onnxruntime-genai")["engines"][0]
    assert judged["verdict"] == "not-measured"
    assert "one mscale" in judged["reason"]


def test_keys_that_vllm_does_not_read():
    config = config_of("deepseek-v2-lite")
    config["rope_scaling"] |= {"truncate": False, "attention_factor": 1.5}
    found = worst(lint(config, "vllm")["engines"][0]["findings"])
    assert found["keys"] == ["rope_scaling.truncate", "rope_scaling.attention_factor"]
    assert (found["pairs"], found["of"]) == (12, 32)


def test_a_part_of_the_head_that_an_engine_reads_otherwise_without_scaling():
    config = config_of("gemma-3-27b")
    config["text_config"]["partial_rotary_factor"] = 0.5
    config["text_config"]["rope_scaling"] = {"rope_type": "linear", "factor": 8.0}
    judged = lint(config, "vllm")["engines"][0]
    assert judged["verdict"] == "not-measured"
    assert judged["reason"].endswith("with partial_rotary_factor")


def longrope(**more):
    factors = {"long_factor": [2.0] * 64, "short_factor": [1.5] * 64}
    rope = {"rope_type": "longrope", "type": "longrope", "factor": 16.0}
    return rope | {"original_max_position_embeddings": 2048} | factors | more


def judged_with(model_type, rope, **more):
    """By mlx-lm, of a config of 32 heads of 128 elements unless `more` has others."""
    sizes = {"hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 8}
    config = {"model_type": model_type, "max_position_embeddings": 4096, "rope_theta": 10000.0}
    return lint(config | sizes | {"rope_scaling": rope} | more, "mlx-lm==0.32.2")["engines"][0]


def test_a_key_that_the_engine_was_not_given_beside_keys_that_it_reads_otherwise():
    assert judged_with("granite", longrope())["verdict"] == "differs"
    judged = judged_with("granite", longrope(attention_factor=1.25))
    assert judged["verdict"] == "not-measured"
    assert judged["reason"].endswith("with attention_factor")
    # cohere2 applies no scaling, so that its keys do not matter
    assert judged_with("cohere2", longrope(attention_factor=1.25))["verdict"] == "differs"


@pytest.mark.parametrize(
    "model_type, verdict, code",
    [
        ("llama", "same", None),
        ("helium", "differs", "width"),
        ("granite", "differs", "width"),
        ("cohere2", "raises", "raises"),
    ],
)
def test_a_head_dim_that_the_sizes_beside_it_contradict(model_type, verdict, code):
    judged = judged_with(model_type, None, head_dim=96)
    assert judged["verdict"] == verdict
    findings = judged["findings"]
    assert [found["code"] for found in findings] == [code] * len(findings)
    assert all(found["keys"] == ["head_dim"] for found in findings)
    assert all(found["evidence"]["rope"] == "default full" for found in findings)
    assert judged_with(model_type, None, head_dim=128)["verdict"] == "same"


def test_a_head_dim_that_was_measured_for_no_model_of_the_type():
    config = copy.deepcopy(ROWS["minimax_m3_vl"]["4"])
    assert lint(config, "mlx-lm")["verdict"] == "differs"  # with its own
    config["text_config"]["head_dim"] = 64
    judged = lint(config, "mlx-lm")["engines"][0]
    assert judged["verdict"] == "not-measured" and judged["reason"].startswith("head_dim")


def test_a_rotary_dim_that_the_part_of_the_head_contradicts():
    config = copy.deepcopy(ROWS["minimax_m3_vl"]["4"])
    config["text_config"]["partial_rotary_factor"] = 0.5
    assert lint(config, "mlx-lm")["verdict"] == "same"
    config["text_config"]["rotary_dim"] = 32
    judged = lint(config, "mlx-lm")["engines"][0]
    assert judged["verdict"] == "not-measured" and judged["reason"].startswith("rotary_dim")


# ---- the data is what decides -------------------------------------------------------------------

PROGRAM = """
#include <posenc/posenc.h>
#include <stdio.h>

int main(void)
{
    struct pe_error err = {0};
    struct pe_config *config;
    const struct pe_engine *engine;
    struct pe_lint *lint = NULL;

    pe_config_new(&config, NULL, &err);
    pe_config_set_text(pe_config_top(config), "model_type", "llama", &err);
    pe_config_set_integer(pe_config_top(config), "head_dim", 64, &err);
    pe_config_set_number(pe_config_top(config), "rope_theta", 500000, &err);
    if (!pe_engine_find(&engine, "transformers", "", &err))
        pe_lint_engine(&lint, config, engine, NULL, &err);
    puts(lint ? pe_engine_verdict_name(pe_lint_verdict(lint)) : err.detail);
    pe_lint_free(lint);
    pe_config_free(config);
    return 0;
}
"""


def verdict_with(data, folder):
    """What a library with other data says of a Llama for transformers."""
    (folder / "core/engines").mkdir(parents=True)
    (folder / "core/engines/measured.def").write_text(compiled.Lists(data).text())
    (folder / "program.c").write_text(PROGRAM)
    sources = [folder / "program.c", ROOT / "core/engines/measured.c"]
    includes = [f"-I{folder}", f"-I{ROOT}", f"-I{ROOT / 'include'}"]
    library = [ROOT / "build/libposenc.a", "-lm", "-lpthread"]
    command = ["gcc", "-std=gnu11", *includes, "-o", folder / "program", *sources, *library]
    subprocess.run(command, check=True)
    return subprocess.check_output([folder / "program"], text=True).strip()


def test_a_key_that_is_dropped_on_purpose_turns_the_result(tmp_path):
    assert verdict_with(DATA, tmp_path / "as measured") == "same"
    doctored = copy.deepcopy(DATA)
    rule = doctored["engines"]["transformers"]["rules"]["llama"]["4"]
    rule["same"].remove("default full")
    rule["rules"]["default full"] = {"reads_as": [["rope_theta", None]], "code": "base"}
    assert verdict_with(doctored, tmp_path / "doctored") == "differs"


def test_an_engine_without_rules_is_not_measured(tmp_path):
    doctored = copy.deepcopy(DATA)
    del doctored["engines"]["transformers"]["rules"]["llama"]
    assert verdict_with(doctored, tmp_path / "doctored") == "not-measured"


# ---- the command --------------------------------------------------------------------------------

LLAMA = """{
  "model_type": "llama",
  "hidden_size": 256,
  "num_attention_heads": 4,
  "num_hidden_layers": 2,
  "max_position_embeddings": 4096,
  "rope_parameters": {
    "rope_type": "default",
    "rope_theta": 500000
  }
}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(LLAMA)
    return path


def run(*arguments, **more):
    return subprocess.run([POSENC, "lint", *arguments], capture_output=True, text=True, **more)


def test_exit_codes(file):
    assert run(file, "--for", "transformers").returncode == 0
    assert run(file, "--for", "mlx-lm==0.32.2").returncode == 1
    refused = run(file, "--for", "mlx-lm==0.40.0")
    assert refused.returncode == 3 and "mlx-lm==0.32.2" in refused.stderr
    assert run(file, "--for", "no-such-engine").returncode == 4
    file.write_text(LLAMA.replace('"llama"', '"no_such_model"'))
    unknown = run(file, "--for", "transformers")
    assert unknown.returncode == 3 and "not-measured" in unknown.stdout
    assert run(file.with_name("absent.json")).returncode == 6
    for wrong in (["--format", "xml"], ["x", "y"], ["--for"], ["-o", "x", "--format", "text"]):
        assert run(file, *wrong).returncode == 2
    assert subprocess.run([POSENC, "config", file, "--for", "vllm"]).returncode == 2


def test_a_finding_is_a_line_with_the_line_of_its_key(file):
    said = run(file, "--for", "mlx-lm,transformers").stdout.splitlines()
    assert len(said) == 2
    assert said[0].startswith(f"{file}:9: mlx-lm 0.32.2: rope_parameters.rope_theta: ")
    assert "31 of 32 pairs" in said[0] and said[1].endswith("transformers 5.23.0: same")
    piped = run("-", "--for", "mlx-lm", input=LLAMA).stdout
    assert piped.startswith("config.json:9: mlx-lm")


def test_two_configs(file):
    other = file.with_name("drafter.json")
    other.write_text(LLAMA.replace("500000", "10000").replace("4096", "2048"))
    said = run(file, "--against", other)
    assert said.returncode == 1
    lines = said.stdout.splitlines()
    assert "another base" in lines[0] and "4096 here, 2048 there" in lines[1]
    other.write_text(LLAMA.replace("4096", "2048"))
    said = run(file, "--against", other)
    assert said.returncode == 0 and "another context" in said.stdout
    assert run(file, "--against", file).stdout.strip() == f"{file}: against: same"


def test_json_and_sarif(file):
    found = run(file, "--for", "mlx-lm", "--format", "json")
    report = json.loads(found.stdout)
    assert found.returncode == 1 and report["engines"][0]["findings"][0]["line"] == 9
    found = run(file, "--for", "mlx-lm,vllm==0.33.0", "--format", "sarif")
    assert found.returncode == 1
    sarif_check(json.loads(found.stdout), str(file))


def sarif_check(sarif, file):
    """What section 3 of SARIF 2.1.0 requires of the members that are used here."""
    assert set(sarif) == {"$schema", "version", "runs"} and sarif["version"] == "2.1.0"
    (ran,) = sarif["runs"]
    assert set(ran) == {"tool", "results", "properties"}
    driver = ran["tool"]["driver"]
    assert driver["name"] == "posenc" and isinstance(driver["version"], str)
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(rules) == len(set(rules))
    assert all(set(rule) == {"id", "shortDescription"} for rule in driver["rules"])
    assert ran["results"]
    for result in ran["results"]:
        assert set(result) == {"ruleId", "level", "message", "locations"}
        assert result["ruleId"] in rules and result["level"] in {"error", "warning", "note"}
        assert set(result["message"]) == {"text"} and result["message"]["text"]
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        assert physical["artifactLocation"] == {"uri": file}
        assert physical.get("region", {"startLine": 1})["startLine"] >= 1


# ---- lines of keys ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, line",
    [
        ('{"model_type": "llama", "head_dim": 64,\n "rope_parameters": {"rope_theta": 5e5}}', 2),
        ('{"model_type": "llama", "head_dim": 64, "rope_parameters":\n\n{\n"rope_theta": 5e5}}', 4),
        (
            '{"a": {"rope_parameters": {"rope_theta": 1}},\r\n"b": ["}", "\\"", {}],\n'
            '"model_type": "llama", "head_dim": 64, "rope_parameters": {\n"rope_theta": 5e5}}',
            4,
        ),
        (
            '{"model_type": "llama", "head_dim": 64, "rope_parameters": {"rope_theta2": 1,\n'
            '"rope_theta": 5e5}}',
            2,
        ),
    ],
)
def test_lines_of_keys(tmp_path, text, line):
    path = tmp_path / "config.json"
    path.write_text(text)
    assert run(path, "--for", "mlx-lm").stdout.startswith(f"{path}:{line}: ")


# ---- the hook of the documents ------------------------------------------------------------------

HOOK = ROOT / "docs/examples/lint/pre-commit"


def git(folder, *arguments, engines="mlx-lm==0.32.2,transformers"):
    environment = {
        "PATH": f"{POSENC.parent}:/usr/bin:/bin",
        "HOME": str(folder),
        "POSENC_ENGINES": engines,
    }
    names = ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")
    environment |= dict.fromkeys(names, "test@example.org")
    return subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )


def test_the_hook_refuses_a_commit(tmp_path):
    assert git(tmp_path, "init", "-q").returncode == 0
    (tmp_path / ".git/hooks/pre-commit").write_text(HOOK.read_text())
    (tmp_path / ".git/hooks/pre-commit").chmod(0o755)
    path = tmp_path / "model/config.json"
    path.parent.mkdir()
    path.write_text(LLAMA)
    git(tmp_path, "add", ".")
    refused = git(tmp_path, "commit", "-qm", "wrong")
    assert refused.returncode == 1
    assert "model/config.json:9: mlx-lm 0.32.2: " in refused.stdout + refused.stderr
    path.write_text(LLAMA.replace("500000", "10000"))  # not staged: what is committed is judged
    assert git(tmp_path, "commit", "-qm", "wrong").returncode == 1
    git(tmp_path, "add", ".")
    mistyped = git(tmp_path, "commit", "-qm", "right", engines="transformers,mlx_lm")
    assert mistyped.returncode == 1 and "mlx_lm" in mistyped.stderr
    assert git(tmp_path, "commit", "-qm", "right").returncode == 0
    path.with_name("other.json").write_text(LLAMA)
    git(tmp_path, "add", ".")
    assert git(tmp_path, "commit", "-qm", "no config").returncode == 0


# ---- the workflow of the documents ---------------------------------------------------------------

WORKFLOW = ROOT / "docs/examples/lint/lint.yml"


def workflow_run(folder, engines="mlx-lm==0.32.2,transformers"):
    """The step that judges, as a runner starts it: (exit code, number of its files)."""
    steps = yaml.safe_load(WORKFLOW.read_text())["jobs"]["lint"]["steps"]
    script = next(step["run"] for step in steps if step.get("name") == "Lint")
    environment = {
        "PATH": f"{POSENC.parent}:/usr/bin:/bin",
        "ENGINES": engines,
        "GITHUB_BASE_REF": "main",
    }
    done = subprocess.run(["bash", "-e", "-c", script], cwd=folder, env=environment)
    return done.returncode, len(list(folder.glob("sarif/*")))


@pytest.mark.parametrize(
    "changed, code, files",
    [
        ({}, 0, 0),
        ({"a/config.json": LLAMA.replace("500000", "10000")}, 0, 1),
        ({"a/config.json": LLAMA, "b/config.json": LLAMA.replace("500000", "10000")}, 1, 2),
        ({"a/config.json": '{"model_type": "bloom"}', "other.json": LLAMA}, 0, 0),
    ],
)
def test_the_workflow(tmp_path, changed, code, files):
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "before")
    git(tmp_path, "update-ref", "refs/remotes/origin/main", "HEAD")
    for name, text in changed.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "after")
    assert workflow_run(tmp_path) == (code, files)


@pytest.mark.parametrize("engines", ["mlx-lm==0.1", "transformers,mlx_lm"])
def test_the_workflow_refuses_an_engine_that_was_not_measured(tmp_path, engines):
    git(tmp_path, "init", "-q")
    code, files = workflow_run(tmp_path, engines)
    assert code != 0 and files == 0
