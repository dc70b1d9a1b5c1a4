# SPDX-License-Identifier: MIT
"""The recipe of ARCHITECTURE.md: a new encoding is one file, one line and one test. The file that
the page shows is put into a copy of the tree, built, and asked for."""
import os
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

ASK = r"""
#include <stdio.h>
#include <string.h>
#include "api/api.h"

struct block {
    size_t size;
    float numbers[1 << 14];
};

static bool gather(void *context, const void *bytes, size_t size)
{
    struct block *block = context;

    memcpy((char *)block->numbers + block->size, bytes, size);
    block->size += size;
    return true;
}

int main(void)
{
    struct api_settings settings = {
        .limits = {1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 16, 16, 1 << 30}};
    struct api_head head = {.method = "GET", .path = "/v1/encodings/scaled/table"};
    const char *queries[] = {"length=4&scale=2&format=raw", "length=4&scale=x", "length=4&sclae=2"};
    struct api_error err = {0};
    struct api *api;

    api_new(&api, &settings, &err);
    for (int i = 0; i < 3; i++) {
        head.query = queries[i];
        struct api_response *r = api_handle(api, &head, "", 0);
        struct block block = {0};
        printf("%d", r->status);
        if (!api_drain(r, gather, &block))
            return 1;
        for (int k = 0; r->status == 200 && k < 4; k++)
            printf(" %g", block.numbers[k]);
        if (r->status != 200)
            printf(" %.*s", (int)block.size, (char *)block.numbers);
        printf("\n");
        api_response_free(r);
    }
    api_free(api);
    return 0;
}
"""


def test_a_new_encoding_is_one_file_and_one_line(tmp_path):
    page = (ROOT / "ARCHITECTURE.md").read_text()
    code = re.search(r"`core/encodings/scaled\.c`:\n\n```c\n(.*?)```", page, re.S).group(1)
    for part in ("core", "include", "api", "tests", "Makefile", "openapi.yaml", "openapi.json"):
        source = ROOT / part
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / part)
    (tmp_path / "core/encodings/scaled.c").write_text(code)
    with open(tmp_path / "core/catalogue/encodings.def", "a") as table:
        table.write("ENCODING(scaled)\n")
    tests = tmp_path / "tests/api"
    (tests / "test_scaled.c").write_text(ASK)
    subprocess.run(["make", "-j2", "BUILD=build", "CFLAGS=-O1", "build/tests/api/test_scaled"],
                   cwd=tmp_path, check=True, capture_output=True,
                   env={**os.environ, "MAKEFLAGS": ""})
    lines = subprocess.run([tmp_path / "build/tests/api/test_scaled"], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    assert lines[0] == "200 0 2 4 6"
    answers = "\n".join(lines[1:])
    assert answers.count("422 ") == 2
    assert "scale must be a number" in answers
    assert "sclae" in answers and "scale" in answers.split("sclae", 1)[1]
