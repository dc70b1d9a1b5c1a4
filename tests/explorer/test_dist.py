# SPDX-License-Identifier: MIT
"""The tarball of a release: the same bytes each time, and the page in it for whoever lacks node."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (
    "index.html",
    "explorer.js",
    "shared.js",
    "second.js",
    "explorer.css",
    "icon.svg",
    "docs.html",
    "docs.js",
    "docs.css",
)


def make(*arguments, **options):
    return subprocess.run(
        ["make", "--no-print-directory", *arguments], capture_output=True, text=True, **options
    )


def test_the_page_is_in_the_tarball(tmp_path):
    bytes_of = []
    for _ in range(2):
        done = make("dist", cwd=ROOT)
        assert done.returncode == 0, done.stderr
        [tarball] = ROOT.glob("build/posenc-*.tar.gz")
        bytes_of.append(tarball.read_bytes())
    assert bytes_of[0] == bytes_of[1]
    subprocess.run(["tar", "xf", tarball, "-C", tmp_path, "--strip-components=1"], check=True)
    built = [f"build/explorer/{name}{ending}" for name in PAGE for ending in ("", ".gz")]
    done = make(*built, cwd=tmp_path)  # the packages of node are not there
    assert done.returncode == 0 and "from dist" in done.stdout, done.stdout + done.stderr
    assert all((tmp_path / name).read_bytes() == (ROOT / name).read_bytes() for name in built)
