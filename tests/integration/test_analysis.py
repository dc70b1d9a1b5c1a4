# SPDX-License-Identifier: MIT
"""GET and POST /v1/encodings/NAME/analysis/VIEW beside numpy, and as resources: tags, ranges,
limits."""

import numpy
import pytest

from service import call, get, inv_freq, post_json, post_tensors, table


def analysis(server, name, view, **parameters):
    answer = get(server, f"/v1/encodings/{name}/analysis/{view}", **parameters).good().json
    return {
        key: numpy.array(tensor["data"], dtype=float) for key, tensor in answer["tensors"].items()
    }


@pytest.mark.parametrize(
    "name", ["sinusoidal", "timestep", "all-sin", "periodic", "binary", "index"]
)
@pytest.mark.parametrize("normalize", [False, True])
def test_similarity_is_the_product_of_the_table(server, name, normalize):
    width = {} if name == "index" else {"dim": 10}
    rows = table(server, name, length=200, dtype="f64", **width)
    want = rows @ rows.T
    if normalize:
        norms = numpy.linalg.norm(rows, axis=1)
        want = want / numpy.where(norms > 0, norms, numpy.inf)[:, None]
        want = want / numpy.where(norms > 0, norms, numpy.inf)
    got = table(
        server, name, "analysis/similarity", length=200, dtype="f64", normalize=normalize, **width
    )
    numpy.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)
    assert (got == got.T).all()


def test_similarity_by_blocks_is_one_matrix(server):
    """Large enough for many blocks; a range of it, and an anchor's row, are the same bytes."""
    path = "/v1/encodings/rope/analysis/similarity"
    query = {"dim": 64, "length": 900, "format": "raw"}
    whole = get(server, path, **query).good()
    assert len(whole.body) == 900 * 900 * 4
    part = get(server, path, {"Range": "bytes=400000-1200001"}, **query)
    assert part.status == 206 and part.body == whole.body[400000:1200002]
    row = get(server, path, anchor=333, **query).good().body
    assert row == whole.body[333 * 3600 : 334 * 3600]
    matrix = numpy.frombuffer(whole.body, "<f4").reshape(900, 900).astype(float)
    lags = numpy.arange(900)[:, None] - numpy.arange(900)
    want = numpy.cos(numpy.abs(lags)[:, :, None] * inv_freq(64)).sum(axis=2)
    numpy.testing.assert_allclose(matrix, want, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("base", [100, 10000, 500000])
def test_decay_of_a_rotation(server, base):
    got = analysis(
        server, "rope", "decay", dim=128, base=base, min_offset=-64, max_offset=2048, dtype="f64"
    )
    offsets = numpy.arange(-64, 2049)
    want = numpy.cos(offsets[:, None] * inv_freq(128, base)).sum(axis=1)
    assert (got["offsets"] == offsets).all()
    numpy.testing.assert_allclose(got["decay"], want, rtol=0, atol=1e-10)
    far = got["decay"][64:]
    assert (got["envelope"][65:] == numpy.maximum.accumulate(abs(far)[::-1])[::-1][1:]).all()
    assert (got["decay"][:64][::-1] == got["decay"][65:129]).all()


def test_decay_says_that_it_oscillates(server):
    answer = get(server, "/v1/encodings/sinusoidal/analysis/decay", dim=8, max_offset=4).json
    assert any("oscillate" in sentence for sentence in answer["warnings"])


def test_decay_of_a_learned_bias(server):
    weights = numpy.random.default_rng(3).standard_normal((32, 2)).astype("f4")
    path = "/v1/encodings/t5/analysis/decay"
    buckets = analysis(server, "t5", "decay", min_offset=-20, max_offset=20)["buckets"]
    got = post_tensors(
        server, path, {"weights": weights}, min_offset=-20, max_offset=20, format="safetensors"
    )
    assert (got["decay"] == weights[buckets.astype(int)].T).all()


def test_uniqueness_beside_all_pairs(server):
    rows = table(server, "periodic", dim=3, length=300, dtype="f64")
    apart = numpy.linalg.norm(rows[:, None] - rows, axis=2) + numpy.eye(300) * 9
    got = analysis(server, "periodic", "uniqueness", dim=3, length=300, dtype="f64")
    numpy.testing.assert_allclose(got["distance"][0], apart.min(), rtol=1e-9)
    first, second = got["positions"].astype(int)
    numpy.testing.assert_allclose(apart[first, second], apart.min(), rtol=1e-9)


def test_wavelengths_of_a_context(server):
    answer = get(server, "/v1/encodings/rope/analysis/wavelengths", dim=128, context=4096).json
    waves = 2 * numpy.pi / inv_freq(128)
    assert answer["never_turn"] == (waves > 4096).sum() and answer["context"] == 4096
    numpy.testing.assert_allclose(
        [answer["shortest"], answer["longest"]], [waves.min(), waves.max()], rtol=1e-15
    )


def test_error_of_float32_angles(server):
    """numpy's float32 arithmetic makes the same angles; its cosines are within an ulp."""
    positions = [1, 1000, 131071, 1000000]
    got = analysis(server, "rope", "error", dim=64, positions=positions, angle="f32")
    w = inv_freq(64)
    angles = numpy.array(positions, "f4")[:, None] * w.astype("f4")
    exact = numpy.array(positions, float)[:, None] * w
    want = numpy.maximum(
        abs(numpy.cos(angles.astype(float)) - numpy.cos(exact)),
        abs(numpy.sin(angles.astype(float)) - numpy.sin(exact)),
    )
    numpy.testing.assert_allclose(got["error"], want, rtol=1e-3, atol=1.3e-7)
    assert (got["ulps"][0] <= 2).all() and got["ulps"][2].max() > 1000


def test_shift_has_both_sides(server):
    got = analysis(server, "sinusoidal", "shift", dim=16, position=12.5, delta=-7, dtype="f64")
    rows = table(server, "sinusoidal", dim=16, positions="12.5,5.5", dtype="f64").reshape(2, 8, 2)
    assert (got["left"] == rows[1]).all()
    numpy.testing.assert_allclose(
        numpy.einsum("pij,pj->pi", got["blocks"], rows[0]), got["right"], rtol=0, atol=3e-16
    )
    assert abs(got["residual"]).max() < 3e-16


def test_kept_like_other_views(server):
    path = "/v1/encodings/rope/analysis/decay"
    first = get(server, path, dim=8, max_offset=9).good()
    assert first.headers["cache-control"] == "public, max-age=3600"
    again = get(server, path, {"If-None-Match": first.headers["etag"]}, dim=8, max_offset=9)
    assert again.status == 304
    other = get(server, path, dim=8, max_offset=9, normalize=True).good()
    assert other.headers["etag"] != first.headers["etag"]
    head = call(server, "HEAD", path, dim=8, max_offset=9)
    assert head.status == 200 and head.headers["etag"] == first.headers["etag"] and not head.body
    posted = post_json(server, path, {"dim": 8, "max_offset": 9}).good()
    assert posted.json == first.json


def test_far(server):
    """As far as a long context goes: nothing bounds an analysis but --work-max and the memory."""
    far = {"dim": 16, "format": "npy"}
    decay = (
        get(server, "/v1/encodings/rope/analysis/decay", **far, min_offset=-2000, max_offset=131072)
        .good()
        .npy
    )
    like = (
        get(
            server,
            "/v1/encodings/rope/analysis/similarity",
            **far,
            anchor=0,
            start=130000,
            length=1073,
        )
        .good()
        .npy
    )
    long = (
        get(server, "/v1/encodings/rope/analysis/similarity", **far, anchor=0, length=131073)
        .good()
        .npy
    )
    assert decay.shape == (133073,) and numpy.allclose(decay[132000:], like, atol=1e-4)
    assert numpy.allclose(decay[2000:], long, atol=1e-4)


@pytest.mark.parametrize(
    "path,parameters,status,words",
    [
        ("rope/analysis/table", {"dim": 8}, 404, "its table at /v1/encodings/rope/table"),
        ("rope/decay", {"dim": 8, "max_offset": 3}, 404, "at /v1/encodings/rope/analysis/decay"),
        ("shaw/analysis/decay", {"max_relative_position": 3, "max_offset": 3}, 404, "shaw has no"),
        (
            "rope/analysis/similarity",
            {"dim": 128, "length": 60000, "dtype": "f64"},
            413,
            "--work-max",
        ),
        ("rope/analysis/uniqueness", {"dim": 64, "length": 10**9}, 413, "--work-max"),
        ("index/analysis/uniqueness", {"length": 10**6}, 413, "--work-max"),
        ("rope/analysis/decay", {"dim": 8, "max_offset": 2**53 - 1}, 413, ""),
        ("rope/analysis/wavelengths", {"dim": 8}, 422, "context is required"),
    ],
)
def test_refusals(server, path, parameters, status, words):
    answer = get(server, f"/v1/encodings/{path}", format="npy", **parameters)
    assert (answer.status, words in answer.json["detail"]) == (status, True), answer.body
