# SPDX-License-Identifier: MIT
"""`make run` in a fresh clone: what it prints works as printed, and what prevents it is said in one
sentence with what to do."""

import os
import pathlib
import re
import shutil
import socket
import subprocess

import pytest
from conftest import ROOT, MakeRun, environment, free_port

BINARY = ROOT / "build/posencd"


def is_free(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def ports():
    """Named in each way, and not named where the default one is free."""
    yield free_port(), True, False
    yield free_port(), False, True
    if is_free(8080):
        yield 8080, False, False


def test_urls_and_requests_work_as_printed(clone):
    for port, as_argument, as_variable in ports():
        run = MakeRun(
            clone,
            *([f"PORT={port}"] if as_argument else []),
            **({"PORT": str(port)} if as_variable else {}),
        )
        try:
            output = run.output()
            assert run.process.poll() is None, output[-3000:]
            [page] = re.findall(r"^Open (\S+) in a browser", output, re.M)
            [request] = re.findall(r"^ +(curl .*)$", output, re.M)
            assert page == f"http://127.0.0.1:{port}/"
            answer = subprocess.run(
                ["curl", "-fsSH", "Accept: text/html", page], capture_output=True, text=True
            )
            assert "<html" in answer.stdout and "explorer.js" in answer.stdout, answer
            answer = subprocess.run(
                request.replace("curl", "curl -fsS"), shell=True, capture_output=True, text=True
            )
            assert '"cos"' in answer.stdout, answer
            rest = run.interrupt()
            assert "Error" not in rest and "Traceback" not in rest, rest
            assert is_free(port)
        finally:
            run.kill()


def test_a_taken_port(clone):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        run = MakeRun(clone, f"PORT={other.getsockname()[1]}")
        assert run.process.wait(20) != 0
        said = [line for line in run.lines if line.startswith("posencd:")]
        assert len(said) == 1 and "choose another port" in said[0], run.output()
        assert "Open http" not in run.output()


def test_a_port_that_needs_a_permission():
    """In a network namespace of its own, without the right to ports below 1024."""
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    done = subprocess.run(
        [
            "unshare",
            "--net",
            *user,
            "setpriv",
            "--bounding-set",
            "-net_bind_service",
            "--inh-caps",
            "-net_bind_service",
            BINARY,
            "--bind",
            "0.0.0.0",
            "--port",
            "80",
        ],
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "Permission denied; ports below 1024 are for root" in done.stderr


@pytest.mark.parametrize("port", ["80a", "-1", "70000", ""])
def test_a_port_that_is_none(clone, port):
    run = MakeRun(clone, f"PORT={port}")
    assert run.process.wait(20) != 0
    said = [line for line in run.lines if line.startswith("posencd:")]
    assert len(said) == 1 and "--port" in said[0], run.output()


def test_no_compiler_and_no_root(clone, tmp_path):
    """Commands of a machine on which nothing is installed, for somebody who is not root."""
    for name, script in {"dpkg-query": "exit 1", "id": "echo 1000", "apt-get": "exit 1"}.items():
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    for name in ("bash", "sh", "grep", "dirname", "make", "env", "cat", "sed", "find"):
        (tmp_path / name).symlink_to(shutil.which(name))
    done = subprocess.run(
        ["make", "run"],
        cwd=clone,
        capture_output=True,
        text=True,
        env=environment(PATH=str(tmp_path)),
    )
    said = [line for line in done.stderr.splitlines() if line.startswith("setup:")]
    assert done.returncode != 0 and len(said) == 1, done
    assert "run as root, or install: gcc make" in said[0]


def targets():
    text = (ROOT / "Makefile").read_text()
    return sorted(
        {
            *re.findall(r"make ([a-z-]+)", text[text.index("\nhelp:") : text.index("\nrun:")]),
            "all",
            "openapi",
            "uninstall",
            "unit",
            "clean",
        }
    )


@pytest.mark.parametrize("target", targets())
def test_targets_are_there_without_a_compiler(clone, without_compiler, target):
    done = subprocess.run(
        ["make", "-n", target],
        cwd=clone,
        capture_output=True,
        text=True,
        env=environment(PATH=str(without_compiler)),
    )
    assert done.returncode == 0 and "not found" not in done.stderr, done.stderr


def test_readme_names_these_commands():
    readme = (ROOT / "README.md").read_text()
    assert "make run" in readme and "make test" in readme


def make(clone, *arguments, **more):
    done = subprocess.run(
        ["make", *arguments], cwd=clone, capture_output=True, text=True, env=environment(**more)
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]


def files_below(folder):
    return sorted(path for path in pathlib.Path(folder).rglob("*") if not path.is_dir())


def test_install_and_uninstall(clone, tmp_path):
    make(clone, "install", f"DESTDIR={tmp_path}", "PREFIX=/usr")
    version = re.search(r'PE_VERSION "(.*)"', (clone / "include/posenc/common.h").read_text())[1]
    for program in "posencd", "posenc":
        said = subprocess.run(
            [tmp_path / "usr/bin" / program, "--version"], capture_output=True, text=True
        )
        assert said.stdout == f"{program} {version}\n"
    make(clone, "uninstall", f"DESTDIR={tmp_path}", "PREFIX=/usr")
    assert not files_below(tmp_path)


def test_dist(clone):
    make(clone, "dist")
    [tarball] = clone.glob("build/posenc-*.tar.gz")
    names = subprocess.run(["tar", "tf", tarball], capture_output=True, text=True).stdout
    assert "/explorer/dist/index.html\n" in names and "/README.md\n" in names


def test_site(clone):
    make(clone, "site", CFLAGS="-O0")
    names = {path.name for path in files_below(clone / "build-site")}
    assert {"index.html", "explorer.js", "posenc.wasm"} <= names
