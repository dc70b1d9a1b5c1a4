# SPDX-License-Identifier: MIT
"""Base images of the tests: a release of Debian, made from this machine's package sources and kept
as an archive. No registry of images is used."""

import atexit
import functools
import pathlib
import re
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build-container"
RELEASE = "trixie"  # the Dockerfile's; it has `bookworm` as an argument
PUBLISHED = f"debian:{RELEASE}-slim"
OURS = "posenc-test-base"  # with the release behind it: never a name that other images have
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


def mirror():
    """Of the machine's package sources: the address of Debian's."""
    for path in ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"):
        text = pathlib.Path(path).read_text() if pathlib.Path(path).exists() else ""
        lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
        for address in re.findall(r"https?://\S+|mirror\+file:\S+", lines):
            if "security" not in address:
                return address
    raise AssertionError("base images are made from this machine's package sources")


def archive(release=RELEASE, packages=()):
    """A tarball of a release with some packages more."""
    name = "-".join((release, *packages))
    cache, making, settings = (WORK / f"{name}{end}" for end in (".tar", "-part.tar", ".conf"))
    if cache.exists():
        return cache
    WORK.mkdir(parents=True, exist_ok=True)
    dump = run("apt-config", "dump", "--format", '%F "%v";%n').splitlines()
    settings.write_text("\n".join(filter(REACH.match, dump)) + "\n")
    run(
        "mmdebstrap",
        "--variant=minbase",
        "--include=" + ",".join(("ca-certificates", *packages)),
        f"--aptopt={settings}",
        release,
        making,
        f"deb {mirror()} {release} main",
        timeout=MAKE_SECONDS_MAX,
    )
    making.rename(cache)
    return cache
