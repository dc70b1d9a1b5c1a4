# SPDX-License-Identifier: MIT
"""Runs commands, test programs and pytest, and counts the tests that passed and failed."""

import concurrent.futures
import contextlib
import dataclasses
import fcntl
import glob
import multiprocessing
import os
import pathlib
import re
import subprocess
import tempfile
import time
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORES = os.cpu_count() or 2
JOBS = f"-j{CORES}"
FORK = multiprocessing.get_context("fork")
# Suites that run beside each other have these slots for commands between them: one more than there
# are cores, because a test and the server that it asks wait for each other. The lock of a file ends
# with its process, so that a suite that is killed leaves its slot.
SLOTS = CORES + 1
SLOT_FILES = [tempfile.NamedTemporaryFile(prefix="posenc-slot-") for _ in range(SLOTS)]
SLOT_WAIT_SECONDS = 0.05
NO_TESTS = 5  # the exit code of pytest where none ran
PROGRAM_SECONDS_MAX = 900  # the slowest takes 60 s, and eight times that under a sanitizer
# Compilers with a cache: what was compiled in one folder is not compiled again in another.
COMPILER_CACHE = {
    "PATH": f"/usr/lib/ccache{os.pathsep}{os.environ['PATH']}",
    "CCACHE_DIR": str(ROOT / "build/compiled"),
    "CCACHE_NOHASHDIR": "1",  # debug information has the folder of the first
    "CCACHE_DEPEND": "1",  # -MMD names what a result depends on: nothing is preprocessed twice
}
CHECK_LINE = re.compile(r"\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)")


@dataclasses.dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def is_fine(self):
        """A skipped test is none that passed: tools/setup brings what the tests need."""
        return self.passed > 0 and not self.failed and not self.skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@contextlib.contextmanager
def a_slot():
    opened = [open(one.name) for one in SLOT_FILES]
    try:
        while not any(is_locked(one) for one in opened):
            time.sleep(SLOT_WAIT_SECONDS)
        yield
    finally:
        for one in opened:
            one.close()


def is_locked(file):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False


def shell(command, env=None, quiet=False, timeout=3600, slot=a_slot):
    """Runs a command with its output shown (or kept, where it fails quietly) and returned. One that
    waits most of the time needs no slot: contextlib.nullcontext."""
    with slot():
        process = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            errors="replace",
            stdin=subprocess.DEVNULL,
        )
    if not quiet or process.returncode:
        print(process.stdout, end="", flush=True)
    return process


def make(*targets, build="build", cflags=None, compiler=None, more=(), env=None):
    command = ["make", "--no-print-directory", JOBS, f"BUILD={build}"]
    if compiler:
        command.append(f"CC={compiler}")
    if cflags:
        command.append(f"CFLAGS={cflags}")
    return shell([*command, *more, *targets], env, quiet=True).returncode == 0


def unit_programs(build):
    names = sorted(
        glob.glob("tests/core/**/test_*.c", root_dir=ROOT, recursive=True)
        + glob.glob("tests/api/**/test_*.c", root_dir=ROOT, recursive=True)
    )
    return [f"{build}/{name[:-2]}" for name in names]


def together(calls):
    """The sum of what they count; as many at once as there are slots."""
    count = Count()
    with concurrent.futures.ThreadPoolExecutor(SLOTS) as pool:
        for result in [pool.submit(call) for call in calls]:
            count.add(result.result())
    return count


def check_program(program, env):
    """A program of the Check library: it prints how many tests it ran."""
    count = Count()
    try:
        process = shell([str(ROOT / program)], env, timeout=PROGRAM_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        print(f"{program}: does not end")
        return Count(0, 1)
    lines = CHECK_LINE.findall(process.stdout)
    for checks, failures, errors in lines:
        bad = int(failures) + int(errors)
        count.add(Count(int(checks) - bad, bad))
    if process.returncode and not any(int(f) + int(e) for _, f, e in lines) or not lines:
        print(f"{program}: exit code {process.returncode}")
        count.failed += 1
    return count


def programs_to_run(programs, env=None):
    return [lambda program=program: check_program(program, env) for program in programs]


def one(command, env=None):
    """A program that is one test: its exit code says how it went."""
    return Count(1, 0) if shell(command, env).returncode == 0 else Count(0, 1)


def pytest(*paths, env=None, python=".venv/bin/python", slot=a_slot):
    """Loading the plugins of installed packages takes longer than most files; who uses one names it
    with -p."""
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        process = shell(
            [
                python,
                "-m",
                "pytest",
                "-q",
                "-rs",
                "-p",
                "no:cacheprovider",
                "--disable-plugin-autoload",
                f"--junitxml={report.name}",
                *paths,
            ],
            env,
            slot=slot,
        )
        try:
            suites = xml.parse(report.name).getroot().iter("testsuite")
        except xml.ParseError:
            print(f"pytest ended with {process.returncode} and no report")
            return Count(0, 1)
        count = Count()
        for suite in suites:
            total, skipped = int(suite.get("tests")), int(suite.get("skipped"))
            bad = int(suite.get("failures")) + int(suite.get("errors"))
            count.add(Count(total - skipped - bad, bad, skipped))
    # A file may have nothing that a sanitizer is asked about: all of it is deselected then.
    is_left_out = process.returncode == NO_TESTS and "POSENC_SANITIZED" in (env or {})
    if process.returncode and not is_left_out and not count.failed:
        count.failed += 1
    return count


def counting(command):
    """A program whose last line has the form of ours."""
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
    )
    last = ""
    for last in process.stdout:
        print(last, end="", flush=True)
    counted = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped\n", last)
    count = Count(*map(int, counted.groups())) if counted else Count(0, 1)
    if process.wait() and not count.failed:
        count.failed += 1
    return count
