# SPDX-License-Identifier: MIT
"""`make deb`: the packages are clean by lintian, and work in a fresh root of
this machine's release of Debian. Needs root."""

import json
import os
import pathlib
import re
import socket
import subprocess
import time
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build-deb"
CONFIG = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_attention_heads": 8,
    "rope_theta": 5e5,
    "max_position_embeddings": 4096,
}


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def packages():
    run("make", "--no-print-directory", "deb", cwd=ROOT)
    return sorted(p for p in BUILD.glob("*.deb") if "dbgsym" not in p.name)


@pytest.fixture(scope="module")
def system(packages):
    """A fresh root with the packages, what they need, and a compiler."""
    folder = BUILD / "system"
    sources = next(
        path
        for path in ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")
        if pathlib.Path(path).exists()
    )
    release = pathlib.Path("/etc/os-release").read_text()
    # The settings by which this machine's apt reaches its packages, without its programs and hooks.
    reach = BUILD / "apt.conf"
    dump = run("apt-config", "dump", "--format", '%F "%v";%n').splitlines()
    wanted = re.compile(r'Acquire::(https?|Check-\w|Retries|ForceIPv)(?!.*Auto-?Detect).* ".+";$')
    reach.write_text("\n".join(filter(wanted.match, dump)) + "\n")
    run("rm", "-rf", folder)
    run(
        *("mmdebstrap", "--quiet", "--variant=apt", "--include=ca-certificates,gcc,libc6-dev"),
        *("--include=pkg-config", f"--aptopt={reach}"),
        "--customize-hook=copy-in " + " ".join(map(str, packages)) + " /root",
        '--customize-hook=chroot "$1" sh -c "apt-get install -y -qq /root/*.deb"',
        re.search(r"VERSION_CODENAME=(\w+)", release)[1],
        *(folder, sources),
        timeout=900,
    )
    return folder


def inside(system, *command, **options):
    return run("chroot", system, *command, **options)


def test_names(packages):
    assert [p.name.split("_")[0] for p in packages] == [
        "libposenc-dev",
        "libposenc-service0",
        "libposenc0",
        "posenc",
        "posencd",
    ]


def test_lintian(packages):
    """initial-upload-closes-no-bugs is a rule of Debian's own archive."""
    (changes,) = BUILD.glob("*.changes")
    run(
        *("lintian", "--allow-root", "--fail-on=warning"),
        *("--suppress-tags=initial-upload-closes-no-bugs", changes),
    )


def test_versions_are_the_libraries(packages):
    version = re.search(r'PE_VERSION "(.*)"', (ROOT / "include/posenc/common.h").read_text()).group(
        1
    )
    assert {p.name.split("_")[1] for p in packages} == {f"{version}-1"}


def test_command(system):
    (system / "root/config.json").write_text(json.dumps(CONFIG))
    told = json.loads(inside(system, "posenc", "config", "/root/config.json"))
    assert told["encoding"]["base"] == 5e5
    assert "posenc" in inside(system, "posenc", "--version")


def test_a_program_with_the_headers(system):
    program = re.search(
        r"```c\n(#include <posenc/posenc.h>.*?)```", (ROOT / "docs/library.md").read_text(), re.S
    ).group(1)
    (system / "root/table.c").write_text(program)
    build = "cc /root/table.c $(pkg-config --cflags --libs posenc) -o /root/table"
    inside(system, "sh", "-c", build)
    assert inside(system, "/root/table").startswith("-0.575241685 -0.817983508")


def test_daemon_and_its_unit(system):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        ["chroot", system, "posencd", "--port", str(port)], stdout=subprocess.DEVNULL
    )
    try:
        url = f"http://127.0.0.1:{port}/"
        for _ in range(100):
            try:
                page = urllib.request.urlopen(
                    urllib.request.Request(url, headers={"Accept": "text/html"}), timeout=2
                ).read()
                break
            except OSError:
                time.sleep(0.05)
        assert b"<title>" in page
        table = urllib.request.urlopen(url + "v1/encodings/rope/table?dim=8&length=2&format=csv")
        assert table.status == 200
    finally:
        server.terminate()
        assert server.wait(30) == 0
    unit = (system / "usr/lib/systemd/system/posencd.service").read_text()
    assert "ExecStart=/usr/bin/posencd\n" in unit
    enabled = system / "etc/systemd/system/multi-user.target.wants/posencd.service"
    assert os.path.lexists(enabled)
