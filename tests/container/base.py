# SPDX-License-Identifier: MIT
"""The base image of the tests: this system's own release of Debian, made from its own package
sources, kept as an archive. No registry is asked."""
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build-container"
PUBLISHED = "debian:bookworm-slim"  # the Dockerfile's
OURS = "posenc-test-base"           # never under a name that somebody else's images bear
MAKE_SECONDS_MAX = 240
# How this machine reaches its packages: of its settings only these hold in an image too; hooks and
# a program that finds a proxy are programs of this machine.
REACH = re.compile(r'Acquire::(https?|Check-\w|Retries|ForceIPv)(?!.*Auto-?Detect).* ".+";$')


def run(*command, timeout=60, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-3000:]}"
    return done.stdout


def archive():
    cache, making, settings = (WORK / name for name in ("base.tar", "base-part.tar", "base.conf"))
    if cache.exists():
        return cache
    sources = [path for path in ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")
               if pathlib.Path(path).exists()]
    if not sources or not shutil.which("mmdebstrap"):
        pytest.skip(f"no image {PUBLISHED} here, and no mmdebstrap or no sources to make one")
    release = dict(line.split("=", 1) for line in
                   pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line)
    WORK.mkdir(parents=True, exist_ok=True)
    dump = run("apt-config", "dump", "--format", '%F "%v";%n').splitlines()
    settings.write_text("\n".join(filter(REACH.match, dump)) + "\n")
    run("mmdebstrap", "--variant=minbase", "--include=ca-certificates", f"--aptopt={settings}",
        release["VERSION_CODENAME"].strip('"'), making, sources[0], timeout=MAKE_SECONDS_MAX)
    making.rename(cache)
    return cache
