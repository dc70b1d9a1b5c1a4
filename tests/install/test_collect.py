# SPDX-License-Identifier: MIT
"""What docker/collect puts into an image, made here, where no container engine is needed."""

import pathlib
import subprocess

import pytest
from installed import ROOT, run


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    folder = tmp_path_factory.mktemp("image")
    run(ROOT / "docker/collect", ROOT / "build/posencd", folder)
    return folder


def test_each_library_has_its_licence(image):
    lines = (image / "usr/share/doc/posencd/libraries").read_text().splitlines()
    packages = dict(line.split("\t") for line in lines)
    copied = {f"/{path.relative_to(image)}" for path in image.rglob("*.so*")}
    wanted = run("ldd", ROOT / "build/posencd").stdout
    assert copied == packages.keys() and all(file in wanted for file in copied)
    for package in packages.values():
        text = (image / "usr/share/doc" / package / "copyright").read_text(errors="replace")
        assert "icense" in text and len(text) > 500
    for name in ("libmicrohttpd", "libuv", "libjansson", "libsodium", "libzstd"):
        assert any(package.startswith(name) for package in packages.values())


def test_texts_that_licences_refer_to(image):
    texts = {path.name for path in (image / "usr/share/common-licenses").iterdir()}
    assert {"LGPL-2.1", "LGPL-3", "GPL-2"} <= texts
    assert "GNU LESSER GENERAL" in (image / "usr/share/common-licenses/LGPL-3").read_text()
    ours = image / "usr/share/doc/posencd/copyright"
    assert ours.read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_image_is_made_by_it():
    recipe = (ROOT / "docker/Dockerfile").read_text()
    assert "docker/collect build/posencd /image" in recipe and "ldd" not in recipe
    assert {"!LICENSE", "!docker/collect"} <= set((ROOT / ".dockerignore").read_text().split())


def test_a_library_of_no_package_is_refused(tmp_path):
    """Nobody says under which licence it may be passed on."""
    (tmp_path / "one.c").write_text("int one(void) { return 1; }\n")
    (tmp_path / "two.c").write_text("int one(void);\nint main(void) { return one(); }\n")
    library = tmp_path / "libof-nobody.so"
    run("cc", "-shared", "-fPIC", tmp_path / "one.c", "-o", library)
    program = tmp_path / "two"
    run("cc", tmp_path / "two.c", library, f"-Wl,-rpath,{tmp_path}", "-o", program)
    done = subprocess.run(
        [ROOT / "docker/collect", program, pathlib.Path(tmp_path, "image")],
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0 and "libof-nobody.so" in done.stderr
