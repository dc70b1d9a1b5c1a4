#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs `make run` and `make test` in a fresh Debian, as somebody who has just cloned would.

    tests/newcomer/fresh.py bookworm|trixie [argument of make ...]     test, where none is named

The root is made once from the package sources of this machine (build-fresh/) and unpacked afresh
each time; the checkout is cloned into it. Mounts and processes are in namespaces of their own and
end with them. A container engine cannot run in there, so the suite container is left out. Needs
root and mmdebstrap. The last line is that of `make test`."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = sys.argv[1]
WORK = ROOT / "build-fresh"
ARCHIVE, SYSTEM = WORK / f"{RELEASE}.tar", WORK / RELEASE
CHECKOUT = "/root/posenc"
MAKE_ROOT_SECONDS, START_SECONDS, TEST_SECONDS = 900, 600, 3600
# How this machine reaches its packages: certificates and settings that a fresh root lacks.
REACH = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")
# The first command in the namespaces of its own: then everything below it is seen by nobody else.
ENTER = f"""set -e
mount --make-rprivate /
mount -t proc proc {SYSTEM}/proc
mount --rbind /sys {SYSTEM}/sys
mount --rbind /dev {SYSTEM}/dev
exec chroot {SYSTEM} sh -c 'cd {CHECKOUT} && exec "$@"' sh "$@"
"""


def mirror():
    """Of the machine's sources: the address of Debian's packages."""
    for path in ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"):
        if pathlib.Path(path).exists():
            for address in re.findall(
                r"https?://\S+|mirror\+file:\S+",
                "\n".join(
                    line
                    for line in pathlib.Path(path).read_text().splitlines()
                    if not line.startswith("#")
                ),
            ):
                if "security" not in address:
                    return address
    raise SystemExit("fresh: this machine has no package sources of Debian")


def make_archive():
    if ARCHIVE.exists():
        return
    WORK.mkdir(exist_ok=True)
    making = WORK / f"{RELEASE}-part.tar"
    subprocess.run(
        [
            "mmdebstrap",
            "--quiet",
            "--variant=minbase",
            "--include=ca-certificates,make",
            RELEASE,
            making,
            f"deb {mirror()} {RELEASE} main",
        ],
        check=True,
        timeout=MAKE_ROOT_SECONDS,
        stdin=subprocess.DEVNULL,
    )
    making.rename(ARCHIVE)


def make_system():
    shutil.rmtree(SYSTEM, ignore_errors=True)
    SYSTEM.mkdir()
    subprocess.run(["tar", "-C", SYSTEM, "-xf", ARCHIVE], check=True)
    for path in filter(os.path.exists, REACH):
        shutil.copy(path, f"{SYSTEM}{path}", follow_symlinks=True)
    checkout = pathlib.Path(f"{SYSTEM}{CHECKOUT}")
    subprocess.run(["git", "clone", "-q", ROOT, checkout], check=True)


def enter(*command, **options):
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("POSENC_", "MAKE", "MFLAGS"))
    }
    return subprocess.Popen(
        [
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "sh",
            "-c",
            ENTER,
            "sh",
            *command,
        ],
        cwd=WORK,
        env=kept,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        errors="replace",
        **options,
    )


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def try_run():
    """`make run` until it listens; the request that it prints is then sent."""
    process, first = enter("make", "run", f"PORT={free_port()}"), None
    stop = threading.Timer(START_SECONDS, process.kill)
    stop.start()
    try:
        for line in process.stdout:
            print(line, end="", flush=True)
            if found := re.search(r"curl .*'(http://[^']+)'", line):
                first = found[1]
            if first:
                return subprocess.run(["curl", "-fsS", first], timeout=10).returncode == 0
    finally:
        stop.cancel()
        process.kill()
        process.wait()
    return False


def main():
    assert os.geteuid() == 0, "only root can make a root"
    make_archive()
    make_system()
    ran = try_run()
    print(f"fresh: make run {'answered its first request' if ran else 'FAILED'}", flush=True)
    process, last = enter("make", *(sys.argv[2:] or ["test", "WITHOUT=container"])), ""
    for line in process.stdout:
        print(line, end="", flush=True)
        last = line if line.strip() else last
    process.wait(TEST_SECONDS)
    counted = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped\n", last)
    passed, failed, skipped = map(int, counted.groups()) if counted else (0, 1, 0)
    print(f"{passed + ran} passed, {failed + (not ran)} failed, {skipped} skipped")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
