# SPDX-License-Identifier: MIT
"""docker/image, which makes the images of a release, in bases made here: reproducible, described by
a bill of materials, small; and the image for 64-bit ARM answers as recorded, under qemu."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import base  # noqa: E402
from base import ROOT, WORK, run  # noqa: E402

STORE = WORK / "buildah"
BUILDAH = ["buildah", "--root", STORE, "--runroot", STORE / "run", "--storage-driver", "overlay"]
IMAGE_BYTES_MAX = 15_000_000
BUILD_SECONDS_MAX, RECORDED_SECONDS_MAX = 1500, 1800


def base_image(release):
    name = f"localhost/posenc-test-base-{release}"
    if subprocess.run([*BUILDAH, "inspect", name], capture_output=True).returncode != 0:
        container = run(*BUILDAH, "from", "scratch").strip()
        run(*BUILDAH, "add", "--quiet", container, base.archive(release), "/", timeout=120)
        run(*BUILDAH, "commit", "--quiet", "--rm", container, name, timeout=120)
    return name


class Image:
    """What docker/image writes for a machine, unpacked."""

    def __init__(self, folder, machine, release=base.RELEASE):
        run(
            *(ROOT / "docker/image", machine, folder, base_image(release)),
            timeout=BUILD_SECONDS_MAX,
            env={**os.environ, "BUILDAH_ROOT": str(STORE)},
        )
        (archive,) = folder.glob("*.tar")
        self.digest = archive.with_suffix(".digest").read_text()
        self.materials = json.loads(archive.with_suffix(".spdx.json").read_text())
        self.root = folder / "root"
        self.root.mkdir()
        with tarfile.open(archive) as files:
            (manifest,) = json.load(files.extractfile("manifest.json"))
            self.config = json.load(files.extractfile(manifest["Config"]))
            for layer in manifest["Layers"]:
                # By tar: extractall of Python 3.11 has no filter, and later ones want it.
                subprocess.run(
                    ["tar", "x", "-C", self.root],
                    input=files.extractfile(layer).read(),
                    check=True,
                    timeout=60,
                )

    def size(self):
        return sum(one.lstat().st_size for one in self.root.rglob("*") if one.is_file())


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    return Image(tmp_path_factory.mktemp("arm"), "arm64")


def test_two_builds_have_one_digest(arm, tmp_path):
    assert Image(tmp_path, "arm64").digest == arm.digest


def test_is_of_its_machine(arm):
    header = (arm.root / "usr/bin/posencd").read_bytes()[:20]
    assert header[:4] == b"\x7fELF" and header[18] == 183, "EM_AARCH64"
    assert arm.config["architecture"] == "arm64" and arm.config["config"]["User"] == "10001:10001"
    assert arm.config["config"]["Entrypoint"] == ["/usr/bin/posencd"]
    assert arm.size() < IMAGE_BYTES_MAX, arm.size()


def test_bill_of_materials(arm):
    """Names and versions are those of the packages' entries in the image."""
    listed = {
        (one["name"], one["versionInfo"])
        for one in arm.materials["packages"]
        if "versionInfo" in one
    }
    for entry in (arm.root / "var/lib/dpkg/status.d").iterdir():
        fields = dict(
            line.split(": ", 1) for line in entry.read_text().splitlines() if ": " in line
        )
        assert (fields["Package"], fields["Version"]) in listed
        if fields.get("Source", "").startswith("libmicrohttpd"):
            assert fields["Version"].endswith("+notls"), (
                "the library that docker/libmicrohttpd made"
            )
    assert ("posencd", arm.config["config"]["Labels"]["org.opencontainers.image.version"]) in listed


def test_answers_as_recorded_under_qemu(arm, tmp_path):
    program = tmp_path / "posencd"
    program.write_text(
        f'#!/bin/sh\nexec qemu-aarch64 -L {arm.root} {arm.root}/usr/bin/posencd "$@"\n'
    )
    program.chmod(0o755)
    done = subprocess.run(
        [sys.executable, ROOT / "tests/recorded/record.py", "--binary", program],
        capture_output=True,
        text=True,
        timeout=RECORDED_SECONDS_MAX,
    )
    assert re.search(r"^\d{3,} requests, \d+ differ$", done.stdout, re.M), done.stdout[-3000:]
    different, name = {}, None
    for line in done.stdout.splitlines():
        if not line.startswith(" "):
            name = line
        elif re.match(r" +[-+]", line):
            different.setdefault(name, []).append(line)
    # qemu passes 4 bytes of TCP_INFO, by which the server sees the size of a head that the HTTP
    # library cannot hold; so the library answers it.
    different.pop("refused heads: too many fields", None)
    # The estimated seconds of a request that is too much work are those of the instruction set.
    for name, lines in different.items():
        assert all("of one core, more than" in line for line in lines), (name, lines)


def test_debian_12_by_an_argument(tmp_path):
    """It starts with that release's libraries, loaded by its own loader, and answers."""
    image = Image(tmp_path, "amd64", "bookworm")
    (loader,) = (image.root / "lib64").iterdir()
    library = image.root / "lib/x86_64-linux-gnu"
    program = [loader, "--library-path", library, image.root / "usr/bin/posencd"]
    assert run(*program, "--version").startswith("posencd ")
    assert "bookworm" in (image.root / "etc/os-release").read_text()
