# SPDX-License-Identifier: MIT
"""The suites: what each runs, whether it is part of `make test`, and its time limit."""

import contextlib
import dataclasses
import enum
import glob
import os
import re
import shutil
import subprocess
import sys
import typing

from .counting import (
    COMPILER_CACHE,
    JOBS,
    ROOT,
    Count,
    counting,
    make,
    one,
    programs_to_run,
    pytest,
    shell,
    together,
    unit_programs,
)

SANITIZE = "-O1 -g1 -fno-omit-frame-pointer -fsanitize="
ASAN_WHOLE = SANITIZE + "address,undefined -fno-sanitize-recover=all"
# Without checks of pointers that AddressSanitizer reports as well, when memory is touched, and of
# alignment, which `sanitized-whole` has.
ASAN = ASAN_WHOLE + " -fno-sanitize=null,alignment,object-size"
# Undefined behaviour of the tests themselves is left to `undefined` and `sanitized-whole`.
ASAN_TESTS = ("TEST_CFLAGS=-fno-sanitize=undefined",)
TSAN = SANITIZE + "thread"
# A bit that an unsigned number shifts out is gone on purpose everywhere.
UNDEFINED = (
    SANITIZE + "undefined,integer -fno-sanitize=unsigned-shift-base "
    "-fno-sanitize-recover=all -fsanitize-ignorelist=tests/undefined.txt"
)


def run_unit():
    """Unit tests of core/ and api/, and inputs that fuzzing once found."""
    return together([*programs_to_run(unit_programs("build")), replay])


def replay(build="build", env=None):
    """What the fuzzers once found."""
    return one([f"{build}/tests/fuzz/replay", "tests/fuzz/crashers"], env)


def requests_by_kind():
    """The recorded requests as files: (one of each kind, the others)."""
    folder = ROOT / "build" / "asked"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([".venv/bin/python", "tests/fuzz/seeds.py", folder], cwd=ROOT, check=True)
    return [sorted(map(str, (folder / name).iterdir())) for name in ("kinds", "requests")]


def run_allocations():
    """Each allocation of a request fails, for one request of each kind."""
    return one(["build/tests/api/check_allocations", "--short", "--routes", *requests_by_kind()[0]])


def run_every_allocation():
    """The same for every recorded request, with all allocations behind the first failing as well,
    and under AddressSanitizer."""
    sanitized = "build-asan/tests/api/check_allocations"
    if not make(sanitized, build="build-asan", cflags=ASAN):
        return Count(0, 1)
    kinds, others = requests_by_kind()
    env = {"ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=0"}
    whole = ["build/tests/api/check_allocations", "--routes", *kinds, *others]
    return together(
        [
            lambda: one(whole),
            lambda: one(["build/tests/api/check_allocations", "--ever", *kinds, *others]),
            lambda: one([sanitized, "--routes", *kinds], env),
        ]
    )


def run_fuzz():
    """A minute of each fuzz target."""
    return one(["tests/fuzz/run", "--minutes", "1"])


def run_kernels():
    """Every kernel of every instruction set of this machine against plain C."""
    return one(["build/tests/core/kernels/check_kernels"])


def run_arm():
    """The instruction sets of 64-bit ARM, under qemu."""
    return one(["make", "--no-print-directory", JOBS, "arm", "ARM_ISAS=neon sve256"])


def integration(env=None):
    """The suite's files as three calls, so that no core waits for the other at its end."""
    files = sorted(glob.glob("tests/integration/test_*.py", root_dir=ROOT))
    return [lambda part=part: pytest(*files[part::3], env=env) for part in range(3)]


FAIRNESS = "tests/server/test_fairness.py"


def run_server(env=None):
    """The server over sockets. These tests wait most of the time, so that two files at once take
    half as long."""
    files = sorted(set(glob.glob("tests/server/test_*.py", root_dir=ROOT)) - {FAIRNESS})
    return together([lambda file=file: pytest(file, env=env) for file in files])


def server_and_fairness(env):
    """All tests of the server, for a suite that runs alone."""
    count = run_server(env)
    count.add(pytest(FAIRNESS, env=env))
    return count


def run_fairness():
    """How long small requests wait beside large ones: the server, and the one with sanitizers."""
    if not make("build-asan/posencd", build="build-asan", cflags=ASAN, more=ASAN_TESTS):
        return Count(0, 1)
    count = pytest(FAIRNESS)
    count.add(pytest(FAIRNESS, env=sanitized_env("build-asan", "ASan and UBSan")))
    return count


def run_service():
    """Requests to the running service; the contract; recorded answers."""
    drawing = ("-p", "_hypothesis_pytestplugin", "-p", "schemathesis.pytest.plugin")
    return together(
        [
            *integration(),
            lambda: pytest(*drawing, "tests/contract"),
            lambda: pytest("tests/recorded"),
        ]
    )


# One has an allocator of its own; the others are arithmetic that the plain build has shown.
NOT_SANITIZED = (
    "test_attention_scratch",
    "test_accuracy",
    "test_hard_positions",
    "test_elementary",
    "test_exact_bounds",
    "test_table_bounds",
    "test_sandwich",
    "test_sinusoidal_nd",
    "test_sinusoidal_2d",
    "test_all_sin",
    "test_kerple",
    "test_rare_bugs",
    "test_ranges",
)


ASAN_OPTIONS = "allocator_may_return_null=1"
# A function whose frame has an array, called for each number of a table, takes three times as long.
ASAN_OPTIONS_RETURN = ASAN_OPTIONS + ":detect_stack_use_after_return=1"


def sanitized_env(build, name):
    return {
        "ASAN_OPTIONS": ASAN_OPTIONS_RETURN,
        "TSAN_OPTIONS": "exitcode=66:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "POSENC_SANITIZED": name,
        "POSENCD": f"{build}/posencd",
        "BUILD": build,
    }


KERNELS = "tests/core/kernels/check_kernels"


def sanitized(build, cflags, name, more=(), unit_env=None, integration_env=None, kernels=True):
    """Unit and integration tests under a sanitizer."""
    lighter = [
        p
        for p in unit_programs(build)
        if not p.endswith(NOT_SANITIZED) and not (name == "TSan" and p.endswith("test_memory"))
    ]
    if not make(
        f"{build}/posencd",
        f"{build}/posenc",
        *([f"{build}/{KERNELS}"] if kernels else []),
        f"{build}/tests/fuzz/replay",
        *lighter,
        build=build,
        cflags=cflags,
        more=more,
    ):
        return Count(0, 1)
    env = sanitized_env(build, name)
    unit_env = env | (unit_env or {})
    return together(
        [
            *integration(env | (integration_env or {})),
            *([lambda: one([f"{build}/{KERNELS}"], unit_env)] if kernels else []),
            lambda: replay(build, unit_env),
            *programs_to_run(lighter, unit_env),
        ]
    )


def run_sanitized():
    """Unit and integration tests under AddressSanitizer and UndefinedBehaviorSanitizer. The tests
    of a program run in one process, where leaks are looked for once."""
    return sanitized(
        "build-asan",
        ASAN,
        "ASan and UBSan",
        more=ASAN_TESTS,
        unit_env={"CK_FORK": "no"},
        integration_env={"ASAN_OPTIONS": ASAN_OPTIONS},
        kernels=False,  # guarded pages show in the plain build what they read beyond an end
    )


def run_sanitized_server():
    """The suite `server` under the same sanitizers."""
    if not make("build-asan/posencd", build="build-asan", cflags=ASAN, more=ASAN_TESTS):
        return Count(0, 1)
    return run_server(sanitized_env("build-asan", "ASan and UBSan"))


def run_sanitized_whole():
    """Unit, integration and server tests with all that both sanitizers see, and with the tests that
    differ in numbers alone."""
    name, build = "ASan and UBSan", "build-asan-whole"
    whole = {"POSENC_NUMBERS": "all"}
    count = sanitized(build, ASAN_WHOLE + " -DNUMBERS_WHOLE", name, integration_env=whole)
    count.add(server_and_fairness(sanitized_env(build, name) | whole))
    return count


def run_threads():
    """Unit, integration and server tests under ThreadSanitizer."""
    name, build = "TSan", "build-tsan"
    count = sanitized(build, TSAN, name)
    count.add(server_and_fairness(sanitized_env(build, name)))
    return count


def run_undefined():
    """clang sees what gcc does not: offsets from NULL, and whole numbers that pass their end in a
    function that is not marked."""
    marked = [
        line
        for folder in ("core", "api")
        for path in (ROOT / folder).rglob("*.[ch]")
        for line in re.findall(r'_WRAPS\("(.*?)"\)', path.read_text())
    ]
    print(f"{len(marked)} functions are marked: {', '.join(sorted(set(marked)))}", flush=True)
    build = "build-undefined"
    programs = [p for p in unit_programs(build) if not p.endswith(NOT_SANITIZED)]
    if not make(*programs, build=build, cflags=UNDEFINED, compiler="clang"):
        return Count(0, 1)
    return together(programs_to_run(programs, {"UBSAN_OPTIONS": "print_stacktrace=1"}))


def run_isas():
    """Everything again at each instruction set below the best one."""
    count = Count()
    for isa in shell(["build/tests/core/kernels/check_kernels", "--list"]).stdout.split()[1:]:
        print(f"-- POSENC_ISA={isa}", flush=True)
        env = {"POSENC_ISA": isa}
        count.add(
            together(
                [
                    lambda env=env: pytest("tests/integration", env=env),
                    *programs_to_run(unit_programs("build"), env),
                ]
            )
        )
    return count


def run_balancer():
    """nginx and HAProxy themselves in front of two servers, for longer than in `make test`."""
    shell(["tools/setup", "balancer"])
    return pytest("tests/server/test_balancer.py", env={"BALANCER_SECONDS": "20"})


def built(program):
    """A program that is one test, built first."""
    return one([program]) if make(program) else Count(0, 1)


def run_numbers():
    """All 2^32 values of f32, printed and read back."""
    return built("build/tests/api/check_numbers")


def run_samples():
    """A hundred million values of plain rope, and as many of all encodings."""
    count = built("build/tests/core/check_samples")
    count.add(built("build/tests/core/check_encodings"))
    return count


def run_wide():
    """Ten million random operations of wide numbers against MPFR."""
    return built("build/tests/core/check_wide")


VALUES, PICTURES = "tests/ports/values", "tests/ports/pictures"
QEMU_ARM = ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")

# Builds of the library for run_ports: name, what make is told, and what runs a program of it.
PORTS = [
    ("clang", {"compiler": "clang"}, ()),
    ("musl", {"compiler": "musl-gcc", "more": ("LDFLAGS=-static",)}, ()),
    (
        "wasm",
        {"compiler": "clang --target=wasm32-wasi"},
        ("node", "--no-warnings", "tests/ports/wasi.mjs"),
    ),
    ("aarch64", {"compiler": "aarch64-linux-gnu-gcc"}, (*QEMU_ARM, "-cpu", "max,sve256=on")),
]
# The instruction sets that a machine other than this one has; kernels for it `make arm` checks.
FOREIGN = {"wasm": ("simd128", "scalar"), "aarch64": ("sve256", "neon", "scalar")}


def values_of(*command, env=None):
    """What a program of tests/ports prints of one build of the library."""
    process = shell(list(command), env, quiet=True)
    return process.stdout if process.returncode == 0 else None


def same_values(name, expected, command, env=None):
    same = values_of(*command, env=env) == expected is not None
    print(f"{name}: {'the same values' if same else 'other values, or none'}", flush=True)
    return Count(1, 0) if same else Count(0, 1)


def port(name, how, runner, expected, drawn):
    build = f"build-{name}"
    kernels = () if name in FOREIGN else (f"{build}/tests/core/kernels/check_kernels",)
    pictures = () if name == "wasm" else (f"{build}/{PICTURES}",)
    if not make(f"{build}/{VALUES}", *kernels, *pictures, build=build, **how):
        print(f"{name}: cannot be built", flush=True)
        return Count(0, 1)
    command, count = (*runner, f"{build}/{VALUES}"), Count()
    for picture in pictures:
        count.add(same_values(f"{name} pictures", drawn, (*runner, picture)))
    for isa in FOREIGN.get(name, ()):
        count.add(same_values(f"{name} {isa}", expected, command, {"POSENC_ISA": isa}))
    if kernels:
        count.add(same_values(name, expected, command))
        count.add(one(list(kernels)))
    return count


def run_ports():
    """libposenc by another compiler, with another C library, as WebAssembly, and for 64-bit ARM
    under qemu: the same values of every encoding, bit for bit, and the same pictures (those of
    WebAssembly are recorded answers: `wasm`). Kernels are checked where there are pages to
    guard."""
    shell(["tools/setup", "ports"])
    here, count = ("build/" + VALUES, "build/" + PICTURES), Count()
    expected, drawn = map(values_of, here) if make(*here) else (None, None)
    for name, how, runner in PORTS:
        count.add(port(name, how, runner, expected, drawn))
    return count


def run_wasm():
    """The service as a module: the recorded answers, the client on top, the package."""
    if shell(["make", "--no-print-directory", JOBS, "wasm"], quiet=True).returncode:
        return Count(0, 1)
    return pytest("tests/ports")


def run_writers():
    """Two servers on one folder of tables for a minute, killed and started again."""
    return one([".venv/bin/python", "tests/integration/check_writers.py"])


def run_leaving():
    """Work that ends with its client, a hundred times of each kind."""
    os.environ["POSENC_ROUNDS"] = "100"
    try:
        return pytest("tests/server/test_cancellation.py")
    finally:
        del os.environ["POSENC_ROUNDS"]


def run_parameters():
    """What each parameter costs with each encoding."""
    return pytest("tests/server/test_parameter_costs.py", env={"POSENC_COSTS": "all"})


def run_confusion():
    """All tables of the diagnosis's confusion matrix."""
    return pytest("tests/integration/test_confusion.py", env={"POSENC_WHOLE": "1"})


def run_populations():
    """Tests of which `make test` takes a part of the configs or numbers."""
    files = (
        f"tests/integration/test_{name}.py" for name in ("diagnosis", "extend", "golden", "honest")
    )
    return pytest(*files, env={"POSENC_WHOLE": "1"})


def run_costs():
    """Estimated cost beside measured time."""
    count = built("build/tests/core/check_costs")
    count.add(built("build/tests/api/check_costs"))
    return count


def run_sweep():
    """Every view and function at the extremes of its parameters."""
    return counting([".venv/bin/python", "tests/server/check_sweep.py"])


def run_soak():
    """Mixed load for half an hour, or for POSENC_SOAK_SECONDS."""
    return counting([".venv/bin/python", "tests/server/check_soak.py"])


def run_parity():
    """transformers itself, in an environment of its own: torch is large and for this alone."""
    python, wanted = "build/parity/bin/python", "tests/parity/requirements.txt"
    if (
        shell([sys.executable, "-m", "venv", "build/parity"]).returncode
        or shell([python, "-m", "pip", "install", "-q", "-r", wanted]).returncode
    ):
        return Count(0, 1)
    return pytest("tests/parity", python=python)


def run_diffusers():
    """Classes of diffusers, in an environment of their own: configs read, attention run."""
    python, wanted = "build/diffusers/bin/python", "tests/diffusers/requirements.txt"
    if (
        not make("all")
        or shell([sys.executable, "-m", "venv", "build/diffusers"]).returncode
        or shell([python, "-m", "pip", "install", "-q", "-r", wanted]).returncode
    ):
        return Count(0, 1)
    return pytest("tests/diffusers", python=python)


def run_bulk():
    """A folder of files by Ray Data and Dask, in an environment of their own."""
    python = "build/bulk/bin/python"
    pip = [python, "-m", "pip", "install", "-q"]
    install = [".venv/bin/python", "clients/python/tests/install.py", "build/python"]
    if (
        shell([sys.executable, "-m", "venv", "build/bulk"]).returncode
        or shell([*pip, "-r", "tests/bulk/requirements.txt"]).returncode
        or shell(install, quiet=True).returncode
        or shell(
            [*pip, "--no-deps", "--force-reinstall", *(ROOT / "build/python/whole").glob("*.whl")]
        ).returncode
    ):
        return Count(0, 1)
    return pytest("tests/bulk", python=python)


def run_libraries():
    """Rotations of ggml, mlx and onnxruntime by golden files, in an environment of their own; ggml
    is compiled there, which takes minutes."""
    python, wanted = "build/libraries/bin/python", "tests/libraries/requirements.txt"
    if (
        not make("all")
        or shell([sys.executable, "-m", "venv", "build/libraries"]).returncode
        or shell([python, "-m", "pip", "install", "-q", "-r", wanted]).returncode
    ):
        return Count(0, 1)
    return pytest("tests/libraries", python=python)


def run_engines():
    """Engines in environments of their own, measured anew, beside tools/engines/engines.json."""
    if not make("all"):
        return Count(0, 1)
    return pytest("tests/engines")


def run_probe():
    """Rotations of published libraries and models of transformers, in environments of their own."""
    if not make("all"):
        return Count(0, 1)
    return pytest("tests/probe")


def run_fresh(release):
    return counting([sys.executable, "tests/newcomer/fresh.py", release])


def run_debian12():
    """A fresh Debian 12: `make run` and `make test`."""
    return run_fresh("bookworm")


def run_debian13():
    """A fresh Debian 13: `make run` and `make test`."""
    return run_fresh("trixie")


def run_style():
    """Layers, includes, format, licences, documents."""
    return pytest("tests/style")


def run_recipes():
    """What ARCHITECTURE.md says to do for a new encoding, view, kernel, route, format, coding."""
    return pytest("tests/recipes")


def run_generators():
    """Clients, linters and pages that need Node, Java or a browser."""
    shell(["tools/setup", "generators"])
    if shell(["make", "--no-print-directory", JOBS, "wasm"], quiet=True).returncode:
        return Count(0, 1)
    return pytest("tests/generators")


# Of the page, what is quick: its modules, its pixels, its texts and requests, and what it does
# where something is wrong.
# Each list is run by one process with one browser.
PAGE = [
    [f"tests/explorer/test_{name}.py" for name in names]
    for names in (("pages",), ("faults",), ("modules", "drawings", "words", "reference"))
]


def run_page():
    """The page of posencd in a browser, held against the numbers."""
    if shell(["tools/setup", "explorer"]).returncode:
        return Count(0, 1)
    return together(
        [lambda paths=paths: pytest(*paths, slot=contextlib.nullcontext) for paths in PAGE]
    )


def run_explorer():
    """The page in a browser, from posencd and as static files; the tarball of a release."""
    if shell(["tools/setup", "explorer"]).returncode or not make("all", "site"):
        return Count(0, 1)
    return pytest("tests/explorer", *(f"--ignore={path}" for path in sum(PAGE, [])))


def run_command():
    """posenc, the command."""
    return pytest("tests/command")


def run_typed():
    """Every recorded request as a command, a process each."""
    return pytest("tests/command/test_replayed.py", env={"POSENC_RECORDED": "all"})


def run_python():
    """The Python package as its wheel is installed, with all libraries that it needs inside."""
    install = [".venv/bin/python", "clients/python/tests/install.py", "build/python"]
    if shell(install, quiet=True).returncode:
        return Count(0, 1)
    return pytest("clients/python/tests", python="build/python/venv/bin/python")


def run_wheels():
    """The wheels of a release, for two machines and glibc 2.28."""
    if (
        shell(["tools/setup", "wheels"]).returncode
        or shell([".venv/bin/python", "clients/python/release/wheels.py"], quiet=True).returncode
    ):
        return Count(0, 1)
    return pytest("clients/python/release")


def run_packages():
    """Debian packages, installed in a fresh root."""
    if shell(["tools/setup", "deb"]).returncode:
        return Count(0, 1)
    return pytest("tests/packages", slot=contextlib.nullcontext)


def run_container():
    """The image, built and run by a container engine."""
    return pytest("tests/container/test_container.py", slot=contextlib.nullcontext)


def run_images():
    """The images of a release: two builds of one digest, and the one for 64-bit ARM under qemu."""
    if shell(["tools/setup", "image"]).returncode:
        return Count(0, 1)
    return pytest("tests/container/release", slot=contextlib.nullcontext)


def run_cluster_files():
    """compose, stack, manifests, alerts and dashboard by the programs that read them; what both
    balancers repeat, and what they do not."""
    if shell(["tools/setup", "cluster"]).returncode:
        return Count(0, 1)
    return pytest("tests/cluster/test_files.py", "tests/cluster/test_balancers.py")


def run_cluster():
    """Under load: the Swarm stack on a real engine while replicas are updated, killed, frozen,
    scaled and lost; the balancer while the network between namespaces fails, and in overload;
    the compose file."""
    if shell(["tools/setup", "cluster"]).returncode:
        return Count(0, 1)
    return pytest(*(f"tests/cluster/test_{name}.py" for name in ("network", "swarm", "compose")))


def run_install():
    """`make install`; headers, hardening, and examples built on what is installed."""
    return pytest("tests/install")


def run_newcomer():
    """A clone of the tree: `make run`, what it prints, and the targets of `make help`. What
    build_all compiled is not compiled again."""
    return pytest("tests/newcomer", env=COMPILER_CACHE, slot=contextlib.nullcontext)


class Beside(enum.Enum):
    """What runs beside a suite; the value is how many suites of a kind run at once. tests/run takes
    the kinds in this order."""

    ANY = 4
    WAITING = 2  # suites that wait most of the time, with time limits too short for a full load
    NONE = 1  # suites that measure times


@dataclasses.dataclass(frozen=True)
class Suite:
    name: str
    run: typing.Callable[[], Count]
    minutes: int  # the limit, on two cores beside other suites
    quick: bool = False  # part of `make test`
    beside: Beside = Beside.ANY


SUITES = [
    Suite("container", run_container, 30, quick=True),
    Suite("sanitized", run_sanitized, 45, quick=True),
    Suite("service", run_service, 30, quick=True),
    Suite("style", run_style, 20, quick=True),
    Suite("unit", run_unit, 30, quick=True),
    Suite("page", run_page, 20, quick=True),
    Suite("arm", run_arm, 20, quick=True),
    Suite("allocations", run_allocations, 20, quick=True),
    Suite("newcomer", run_newcomer, 20, quick=True),
    Suite("install", run_install, 20, quick=True),
    Suite("python", run_python, 20, quick=True),
    Suite("command", run_command, 20, quick=True),
    Suite("kernels", run_kernels, 5, quick=True),
    Suite("server", run_server, 20, quick=True, beside=Beside.WAITING),
    Suite("sanitized-server", run_sanitized_server, 20, quick=True, beside=Beside.WAITING),
    Suite("fairness", run_fairness, 10, quick=True, beside=Beside.NONE),
    Suite("recipes", run_recipes, 20),
    Suite("typed", run_typed, 10),
    Suite("isas", run_isas, 40),
    Suite("undefined", run_undefined, 20),
    Suite("numbers", run_numbers, 20),
    Suite("samples", run_samples, 20),
    Suite("wide", run_wide, 15),
    Suite("ports", run_ports, 20),
    Suite("wasm", run_wasm, 15),
    Suite("wheels", run_wheels, 20),
    Suite("writers", run_writers, 5),
    Suite("packages", run_packages, 20),
    Suite("images", run_images, 60),
    Suite("cluster-files", run_cluster_files, 20),
    Suite("confusion", run_confusion, 15),
    Suite("populations", run_populations, 40),
    Suite("generators", run_generators, 20),
    Suite("parity", run_parity, 30),
    Suite("diffusers", run_diffusers, 20),
    Suite("libraries", run_libraries, 40),
    Suite("engines", run_engines, 90),
    Suite("bulk", run_bulk, 40),
    Suite("probe", run_probe, 60),
    Suite("all-allocations", run_every_allocation, 30),
    Suite("fuzz", run_fuzz, 30),
    Suite("threads", run_threads, 45, beside=Beside.NONE),
    Suite("sanitized-whole", run_sanitized_whole, 45, beside=Beside.NONE),
    Suite("parameters", run_parameters, 15, beside=Beside.NONE),
    Suite("leaving", run_leaving, 15, beside=Beside.NONE),
    Suite("balancer", run_balancer, 10, beside=Beside.NONE),
    Suite("cluster", run_cluster, 60, beside=Beside.NONE),
    Suite("costs", run_costs, 15, beside=Beside.NONE),
    Suite("sweep", run_sweep, 20, beside=Beside.NONE),
    Suite("soak", run_soak, 45, beside=Beside.NONE),
    Suite("explorer", run_explorer, 25, beside=Beside.NONE),
    Suite("debian12", run_debian12, 45, beside=Beside.NONE),
    Suite("debian13", run_debian13, 45, beside=Beside.NONE),
]


def build_all():
    """What the suites of `make test` run, in build/; the others build what they have besides."""
    return make(
        "all",
        "build/tests/core/kernels/check_kernels",
        "build/tests/api/check_allocations",
        "build/tests/fuzz/replay",
        *unit_programs("build"),
        env=COMPILER_CACHE,
    )
