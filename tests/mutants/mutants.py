# SPDX-License-Identifier: MIT
"""Plants faults one at a time in a copy of the tree and looks which test sees them.

    tests/run mutants [-- [--only NAME ...] [--jobs N] [--likely] [--equivalent] [--list]]

The faults are in tests/mutants/*.txt, which says how one is written down. A fault is caught when a
test fails with it; the tests that are likely to see it run first, then the unit programs, then
integration, contract, recorded and server, up to the first failure. A fault that no longer fits the
source, or does not compile, is an error of the list. The last line counts: caught is passed."""
import argparse
import dataclasses
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LISTS = sorted((ROOT / "tests/mutants").glob("*.txt"))
UNIT_SECONDS, SUITE_SECONDS, MUTANT_SECONDS = 180, 420, 1500
SUITES = ["tests/integration", "tests/contract", "tests/recorded", "tests/server"]
ASAN = "-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"
BUILDS = {"plain": ("build", None), "asan": ("build-asan", ASAN)}


class ListError(Exception):
    """Something is wrong with an entry of the list, or with the tree before any fault."""


@dataclasses.dataclass
class Mutant:
    name: str
    place: str  # "core.txt:12"
    file: str = ""
    old: list = dataclasses.field(default_factory=list)
    new: list = dataclasses.field(default_factory=list)
    likely: list = dataclasses.field(default_factory=list)
    build: str = "plain"
    equivalent: str = ""

    def planted(self, text):
        """The file's text with the fault in it."""
        lines = [re.escape(line.strip()) for line in self.old]
        found = list(re.finditer(r"[ \t]*\n[ \t]*".join(lines), text))
        if not lines or len(found) != 1:
            raise ListError(f"the old text is in {self.file} {len(found)} times, not once")
        return text[:found[0].start()] + "\n".join(self.new) + text[found[0].end():]


def entry_line(mutant, line):
    sign, rest = line[0], line[2:]
    if sign == "-":
        mutant.old.append(rest)
    elif sign == "+":
        mutant.new.append(rest)
    elif sign == "?":
        mutant.likely += rest.split()
    elif sign == "!" and rest in BUILDS:
        mutant.build = rest
    elif sign == "=":
        mutant.equivalent = f"{mutant.equivalent} {rest}".strip()
    elif not mutant.file and not mutant.old:
        mutant.file = line
    else:
        raise ListError(f"{mutant.place}: what is '{line}'?")


def mutants_read(paths):
    mutants, names = [], set()
    for path in paths:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            if head := re.fullmatch(r"\[(\S+)\]", line):
                mutants.append(Mutant(head[1], f"{path.name}:{number}"))
                if head[1] in names:
                    raise ListError(f"{path.name}:{number}: {head[1]} is there twice")
                names.add(head[1])
            else:
                entry_line(mutants[-1], line)
    return mutants


def session_end(session):
    """Kills a session of ours: the tests of Check, which hold its output open, have groups of their
    own."""
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[3]) == session:
                os.kill(int(stat.parent.name), 9)
        except OSError:  # it has ended by itself
            pass


# ---- one copy of the tree ------------------------------------------------------------------------


class Tree:
    """A copy with the objects of the last build, so that a fault costs one compilation."""

    def __init__(self, folder):
        self.folder = folder
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT,
                                capture_output=True, check=True).stdout.decode().split("\0")
        shutil.rmtree(folder, ignore_errors=True)
        for name in filter(None, listed):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        (folder / ".venv").symlink_to((ROOT / ".venv").resolve())
        if (ROOT / "build").is_dir():
            shutil.copytree(ROOT / "build", folder / "build", symlinks=True,
                            ignore=shutil.ignore_patterns("parity", "*.log"))

    def run(self, command, seconds, env=None):
        """(exit code, output); None: it took too long."""
        process = subprocess.Popen(command, cwd=self.folder, env={**os.environ, **(env or {})},
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            output, _ = process.communicate(timeout=seconds)
            return process.returncode, output.decode(errors="replace")
        except subprocess.TimeoutExpired:
            session_end(process.pid)
            output, _ = process.communicate()
            return None, output.decode(errors="replace")

    def make(self, build, *targets):
        """What went wrong, or nothing."""
        folder, cflags = BUILDS[build]
        command = ["make", "--no-print-directory", "-j2", f"BUILD={folder}",
                   *([f"CFLAGS={cflags}"] if cflags else []), *targets]
        code, output = self.run(command, 600)
        return "" if code == 0 else output[-3000:] or "make took too long"

    def programs(self):
        return [path.stem for folder in ("core", "api")
                for path in sorted((self.folder / "tests" / folder).glob("test_*.c"))]

    def check(self, build, test):
        """Runs one test, which is built first: "" where it passes, else how it failed."""
        folder = BUILDS[build][0]
        env = {"POSENCD": f"{folder}/posencd", "BUILD": folder,
               "ASAN_OPTIONS": "allocator_may_return_null=1"}
        if build != "plain":
            env["POSENC_SANITIZED"] = "ASan and UBSan"
        if test.endswith(".py") or "/" in test or "::" in test:
            wrong = self.make(build, f"{folder}/posencd")
            command = [".venv/bin/python", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
                       test]
            seconds = SUITE_SECONDS
        else:
            # Two may have one name: a core's and the service's.
            programs = [f"{folder}/tests/{parent}/{test}" for parent in ("core", "api")
                        if (self.folder / f"tests/{parent}/{test}.c").is_file()]
            wrong, seconds = self.make(build, *programs), UNIT_SECONDS
            command = ["sh", "-c", " && ".join(programs)]
        if wrong:
            raise ListError(f"does not build:\n{wrong}")
        code, output = self.run(command, seconds, env)
        if code == 0:
            return ""
        failed = re.search(r"^(?:FAILED|ERROR) ([^\s\[]+)", output, re.M)
        return (failed[1] if failed else test) + ("" if code is not None else " (ended by time)")


def order(tree, mutant, only_likely):
    """The likely ones, then unit programs with those first that are named like the file, then the
    suites over HTTP."""
    if only_likely and mutant.likely:
        return mutant.likely
    stem, layer = pathlib.Path(mutant.file).stem, mutant.file.split("/")[0]
    words = set(re.split(r"[/_.]", mutant.file))
    units = tree.programs() if layer != "server" else []
    units = [u for u in units if layer == "core" or (tree.folder / f"tests/api/{u}.c").is_file()]
    units.sort(key=lambda u: (u != f"test_{stem}", -len(words & set(u.split("_")))))
    kernels = ["check_kernels"] if mutant.file.startswith(("core/kernels", "core/isa")) else []
    suites = SUITES[::-1] if layer == "server" else SUITES
    return list(dict.fromkeys(mutant.likely + kernels + units + suites))


def plant(tree, mutant, only_likely):
    """What caught it; "" where nothing did."""
    path = tree.folder / mutant.file
    if not path.is_file():
        raise ListError(f"there is no file {mutant.file}")
    whole = path.read_text()
    began = time.monotonic()
    try:
        path.write_text(mutant.planted(whole))
        for test in order(tree, mutant, only_likely):
            if failed := tree.check(mutant.build, test):
                return failed
            if time.monotonic() - began > MUTANT_SECONDS:
                raise ListError(f"not decided after {MUTANT_SECONDS} s")
        return ""
    finally:
        path.write_text(whole)


# ---- all of them ---------------------------------------------------------------------------------


class Score:
    def __init__(self, only_likely):
        self.only_likely, self.clean = only_likely, set()
        self.caught, self.survived, self.equivalent, self.wrong = [], [], [], []
        self.lock = threading.Lock()

    def tell(self, group, mutant, text):
        with self.lock:
            group.append(mutant.name)
            print(f"{mutant.name:44} {text}", flush=True)

    def confirm(self, tree, mutant, by):
        """A test that fails without the fault has caught nothing."""
        test = by.removesuffix(" (ended by time)")
        if not by or (mutant.build, test) in self.clean:
            return
        if tree.check(mutant.build, test):
            raise ListError(f"{test} fails without the fault, too")
        self.clean.add((mutant.build, test))

    def judge(self, tree, mutant):
        began = time.monotonic()
        try:
            by = plant(tree, mutant, self.only_likely)
            self.confirm(tree, mutant, by)
        except (ListError, OSError, subprocess.SubprocessError) as error:
            self.tell(self.wrong, mutant, f"ERROR: {error}")
            return
        seconds = time.monotonic() - began
        if by and mutant.equivalent:
            self.tell(self.wrong, mutant, f"ERROR: called equivalent, but caught by {by}")
        elif by:
            self.tell(self.caught, mutant, f"caught by {by} in {seconds:.0f} s")
        elif mutant.equivalent:
            self.tell(self.equivalent, mutant, f"equivalent: {mutant.equivalent}")
        else:
            self.tell(self.survived, mutant, f"SURVIVED ({mutant.place}) {seconds:.0f} s")


def work(tree, waiting, score):
    while True:
        try:
            mutant = waiting.get_nowait()
        except queue.Empty:
            return
        score.judge(tree, mutant)


def arguments_read():
    parser = argparse.ArgumentParser(prog="tests/run mutants --")
    parser.add_argument("--only", action="append", default=[], help="names, or parts of names")
    parser.add_argument("--jobs", type=int, default=1, help="copies of the tree side by side")
    parser.add_argument("--list", action="store_true", help="only looks whether the list fits")
    parser.add_argument("--likely", action="store_true", help="only the tests that are named")
    parser.add_argument("--equivalent", action="store_true", help="plants those too")
    return parser.parse_args()


def list_read():
    """All of them, and what is wrong with each that no longer fits."""
    stale = []
    try:
        mutants = mutants_read(LISTS)
    except ListError as error:
        return [], [str(error)]
    for mutant in mutants:
        try:
            mutant.planted((ROOT / mutant.file).read_text())
        except (ListError, OSError) as error:
            stale.append(f"{mutant.place}: {mutant.name}: {error}")
    return mutants, stale


def main():
    arguments = arguments_read()
    mutants, stale = list_read()
    if stale:
        print("\n".join(stale))
        print(f"0 passed, {len(stale)} failed, 0 skipped")
        return 1
    chosen = [m for m in mutants if not arguments.only or
              any(word in m.name for word in arguments.only)]
    if arguments.list:
        print("\n".join(m.name for m in chosen))
        return 0
    score = Score(arguments.likely)
    for mutant in [m for m in chosen if m.equivalent and not arguments.equivalent]:
        score.tell(score.equivalent, mutant, f"equivalent: {mutant.equivalent}")
        chosen.remove(mutant)
    waiting = queue.Queue()
    for mutant in chosen:
        waiting.put(mutant)
    copies = pathlib.Path(tempfile.mkdtemp(prefix="build-mutants-", dir=ROOT))
    trees = [Tree(copies / str(i)) for i in range(max(1, arguments.jobs))]
    threads = [threading.Thread(target=work, args=(tree, waiting, score)) for tree in trees]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shutil.rmtree(copies)
    real = len(score.caught) + len(score.survived)
    print(f"{len(score.caught)} of {real} faults were caught"
          + (f"; not: {', '.join(sorted(score.survived))}" if score.survived else ""))
    failed = len(score.survived) + len(score.wrong)
    print(f"{len(score.caught)} passed, {failed} failed, {len(score.equivalent)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
