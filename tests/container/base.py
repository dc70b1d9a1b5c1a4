# SPDX-License-Identifier: MIT
"""The base image of the tests: this system's own release of Debian, made from its own package
sources, kept as an archive. No registry is asked."""

import atexit
import functools
import pathlib
import re
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build-container"
PUBLISHED = "debian:bookworm-slim"  # the Dockerfile's
OURS = "posenc-test-base"  # never under a name that somebody else's images bear
MAKE_SECONDS_MAX = 240
# How this machine reaches its packages: of its settings only these hold in an image too; hooks and
# a program that finds a proxy are programs of this machine.
REACH = re.compile(r'Acquire::(https?|Check-\w|Retries|ForceIPv)(?!.*Auto-?Detect).* ".+";$')


def run(*command, timeout=60, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-3000:]}"
    return done.stdout


@functools.cache
def context():
    """What the image is built from: a tarball of `make dist`, unpacked, so that the page is bundled
    once and no stage needs node; the tree itself where this machine has none."""
    try:
        run("make", "--no-print-directory", "dist", cwd=ROOT)
    except AssertionError as error:
        if "there is no page" not in str(error):
            raise
        return ROOT
    folder = pathlib.Path(tempfile.mkdtemp(prefix="context-", dir=WORK))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    run("tar", "xf", *ROOT.glob("build/posenc-*.tar.gz"), "-C", folder, "--strip-components=1")
    return folder


def archive():
    cache, making, settings = (WORK / name for name in ("base.tar", "base-part.tar", "base.conf"))
    if cache.exists():
        return cache
    sources = [
        path
        for path in ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")
        if pathlib.Path(path).exists()
    ]
    assert sources, "the base image is made from this machine's package sources"
    release = dict(
        line.split("=", 1)
        for line in pathlib.Path("/etc/os-release").read_text().splitlines()
        if "=" in line
    )
    WORK.mkdir(parents=True, exist_ok=True)
    dump = run("apt-config", "dump", "--format", '%F "%v";%n').splitlines()
    settings.write_text("\n".join(filter(REACH.match, dump)) + "\n")
    run(
        "mmdebstrap",
        "--variant=minbase",
        "--include=ca-certificates",
        f"--aptopt={settings}",
        release["VERSION_CODENAME"].strip('"'),
        making,
        sources[0],
        timeout=MAKE_SECONDS_MAX,
    )
    making.rename(cache)
    return cache
