# SPDX-License-Identifier: MIT
"""Learned tables that are stored: versions and validators over the wire, what survives a kill, and
the position table of a real model (tests/data/tables)."""

import concurrent.futures
import hashlib
import http.client
import io
import json
import pathlib
import resource
import signal
import threading
import time

import numpy
import pytest
from safetensors.numpy import load_file
from safetensors.numpy import save as safetensors_save

from service import call, get, post_json, post_tensors

DATA = pathlib.Path(__file__).resolve().parents[1] / "data/tables"
TOKEN = {"Authorization": "Bearer a-secret"}


def npy(array):
    file = io.BytesIO()
    numpy.save(file, array)
    return file.getvalue()


def put(server, name, array, headers=None):
    return call(server, "PUT", f"/v1/encodings/{name}", npy(array), headers or TOKEN)


def numbers(seed, rows=5, width=4, dtype=numpy.float32):
    return numpy.random.default_rng(seed).standard_normal((rows, width)).astype(dtype)


@pytest.fixture
def stored(tmp_path, start_server):
    """Starts servers on one folder; everybody may store."""
    folder = tmp_path / "tables"
    folder.mkdir()

    def starter(*arguments):
        return start_server("--tables", folder, "--anonymous-writes", "true", *arguments)

    starter.folder = folder
    return starter


def test_a_replaced_table_is_never_answered_with_the_old_one(server):
    """PUT v1, GET, PUT v2: the old validators no longer hold, for whole answers and for ranges."""
    first, second = numbers(1), numbers(2)
    assert put(server, "replaced", first).status == 201
    old = get(server, "/v1/encodings/replaced/table", length=5, format="npy")
    assert (old.npy == first).all() and old.headers["cache-control"] == "no-cache"
    tag = old.headers["etag"]
    for _ in range(2):  # the second one from what was kept
        again = get(
            server, "/v1/encodings/replaced/table", {"If-None-Match": tag}, length=5, format="npy"
        )
        assert again.status == 304
    part = {"Range": "bytes=-16", "If-Range": tag}
    ranged = get(server, "/v1/encodings/replaced/table", part, length=5, format="npy")
    assert ranged.status == 206 and ranged.body == first[-1].tobytes()

    entry = get(server, "/v1/encodings/replaced")
    assert put(server, "replaced", second, TOKEN | {"If-Match": '"other"'}).status == 412
    done = put(server, "replaced", second, TOKEN | {"If-Match": entry.headers["etag"]})
    assert done.status == 200 and done.json["versions"] == [1, 2]

    new = get(
        server, "/v1/encodings/replaced/table", {"If-None-Match": tag}, length=5, format="npy"
    )
    assert (new.npy == second).all() and new.headers["etag"] != tag
    whole = get(server, "/v1/encodings/replaced/table", part, length=5, format="npy")
    assert whole.status == 200 and (whole.npy == second).all()
    pinned = get(server, "/v1/encodings/replaced/table", length=5, version=1, format="npy")
    assert (pinned.npy == first).all() and "immutable" in pinned.headers["cache-control"]
    assert call(server, "DELETE", "/v1/encodings/replaced", None, TOKEN).status == 204
    assert get(server, "/v1/encodings/replaced/table", length=5).status == 404


@pytest.mark.parametrize("dtype", [numpy.float64, numpy.float32, numpy.float16])
def test_what_was_stored_comes_back(server, dtype):
    table = numbers(3, 7, 6, dtype)
    name = f"back-{table.dtype.name}"
    told = put(server, name, table).json
    assert told["sha256"] == hashlib.sha256(table.tobytes()).hexdigest()
    assert told["shape"] == [7, 6]
    rows = get(
        server, f"/v1/encodings/{name}/table", positions="6,0..2", format="npy", dtype=told["dtype"]
    ).npy
    assert rows.dtype == dtype and (rows == table[[6, 0, 1, 2]]).all()
    assert name in [one["name"] for one in get(server, "/v1/encodings").json["tables"]]


def test_one_tensor_of_several(server):
    tensors = {"wpe": numbers(4), "wte": numbers(5)}
    body = safetensors_save(tensors)
    refused = call(server, "PUT", "/v1/encodings/several", body, TOKEN)
    assert refused.status == 422 and refused.json["errors"][0]["parameter"] == "tensor"
    assert call(server, "PUT", "/v1/encodings/several", body, TOKEN, tensor="wpe").status == 201
    rows = get(server, "/v1/encodings/several/table", length=5, format="npy").npy
    assert (rows == tensors["wpe"]).all()


def test_the_positions_of_a_real_model(server):
    """MiniLM's rows, which the safetensors library reads from the stored file as they are."""
    table = load_file(DATA / "minilm-l6-v2/1/table.safetensors")["table"]
    path = "/v1/encodings/minilm-l6-v2/table"
    assert table.shape == (128, 384) and table.dtype == numpy.float32
    assert (get(server, path, length=128, format="npy").npy == table).all()
    half = get(server, path, length=128, format="npy", dtype="f16").npy
    assert (half == table.astype(numpy.float16)).all()

    wide = table.astype(numpy.float64)
    norm = wide / numpy.sqrt((wide**2).sum(1, keepdims=True))
    got = get(server, path, length=128, format="npy", l2norm=True, scale=3).npy
    assert (numpy.abs(got - 3 * norm) <= numpy.spacing(numpy.abs(got))).all()

    path = "/v1/encodings/hierarchical/table"
    far = get(server, path, table="minilm-l6-v2", start=128 * 127, length=128, format="npy").npy
    u = (wide - 0.4 * wide[0]) / 0.6
    expected = 0.4 * u[127] + 0.6 * u
    assert (numpy.abs(far - expected) <= numpy.spacing(numpy.abs(far))).all()
    beyond = get(server, path, table="minilm-l6-v2", start=128 * 128, length=1)
    assert beyond.status == 422 and beyond.json["errors"][0]["parameter"] == "start"
    beyond = get(server, "/v1/encodings/minilm-l6-v2/table", length=129)
    assert beyond.status == 422 and beyond.json["errors"][0]["parameter"] == "length"

    config = {"model_type": "bert", "max_position_embeddings": 512, "hidden_size": 384}
    told = post_json(server, "/v1/config", config).json["encoding"]
    assert told == {"name": "learned", "length": 512, "dim": 384}


def test_functions(server):
    table, x = numbers(6, 8, 4), numbers(7, 3, 4)
    put(server, "f", table)
    for encoding in (
        {"encoding": "f"},
        {"encoding": {"name": "f"}},
        {"encoding": {"name": "learned", "table": "f", "version": 1}},
    ):
        told = (
            post_json(
                server,
                "/v1/embedding",
                encoding | {"start": 2, "tensors": {"x": {"data": x.tolist()}}},
            )
            .good()
            .json
        )
        sums = numpy.array(told["tensors"]["x"]["data"], numpy.float32)
        assert (sums == x + table[2:5]).all()
        assert told["encoding"]["version"] == 1
    posted = post_tensors(
        server, "/v1/embedding", {"x": x, "e": table}, encoding="learned", table="tensor:e", start=2
    )
    assert list(posted) == ["x"] and (posted["x"] == x + table[2:5]).all()
    same = (
        post_json(
            server,
            "/v1/comparison",
            {
                "a": "f",
                "b": {"name": "learned", "table": "tensor:e"},
                "length": 8,
                "tensors": {"e": {"data": table.tolist()}},
            },
        )
        .good()
        .json
    )
    assert same["unequal"] == 0 and same["elements"] == 32

    weights = numbers(8, 8, 2)
    put(server, "weights-of-t5", weights)
    q = {"data": numbers(9, 6, 4).reshape(1, 2, 3, 4).tolist()}
    body = {
        "encoding": {"name": "t5", "num_buckets": 8},
        "outputs": "scores",
        "tensors": {"q": q, "k": q},
    }
    lent = post_json(server, "/v1/attention", body, tables="weights:weights-of-t5").good()
    body["tensors"] = body["tensors"] | {"weights": {"data": weights.tolist()}}
    assert lent.json == post_json(server, "/v1/attention", body).good().json


WORDS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


@pytest.mark.parametrize("number", [numpy.nan, numpy.inf, -numpy.inf])
def test_tables_are_finite(stored, number):
    """Neither a table that is stored nor one that is lent by a request has anything else."""
    server = stored()
    array = numbers(11, 300)
    array[299, 3] = number
    refused = [
        put(server, "sick", array),
        post_json(
            server,
            "/v1/encodings/learned/table",
            {
                "table": "tensor:table",
                "length": 2,
                "tensors": {
                    "table": {
                        "shape": [300, 4],
                        "data": [
                            float(x) if numpy.isfinite(x) else WORDS[str(x)] for x in array.ravel()
                        ],
                    }
                },
            },
        ),
    ]
    for answer in refused:
        assert answer.status == 422, answer.body
        assert "must be finite; row 299 has" in answer.json["detail"]
    assert get(server, "/v1/encodings/sick").status == 404


REFUSED = [
    ({"encoding": "learned"}, 422, "table"),
    ({"encoding": {"name": "learned", "table": "nowhere"}}, 404, "table"),
    ({"encoding": {"name": "learned", "table": "tensor:e"}}, 422, "table"),
    ({"encoding": {"name": "learned", "table": "sample", "version": 2}}, 404, "version"),
    ({"encoding": {"name": "sample", "table": "minilm-l6-v2"}}, 422, "table"),
    ({"encoding": {"name": "learned", "table": "tensor:e", "version": 1}}, 422, "version"),
    ({"encoding": {"name": "learned", "table": "sample", "dim": 3}}, 422, "dim"),
    ({"encoding": {"name": "learned", "table": "sample", "grid": [2, 2]}}, 422, "to"),
    ({"encoding": {"name": "sample", "to": [2, 2]}}, 422, "to"),
]


@pytest.mark.parametrize("body, status, parameter", REFUSED)
def test_refusals(server, body, status, parameter):
    answer = post_json(
        server, "/v1/embedding", body | {"start": 0, "tensors": {"x": {"data": [[1, 2, 3, 4]]}}}
    )
    assert answer.status == status, answer.body
    place = answer.json["errors"][0]
    assert parameter in (place.get("parameter"), place.get("pointer", "").split("/")[-1])


# Bilinear, corners not aligned: weights of 1/4 and 3/4 between neighbours.
WAY = {"mode": "bilinear", "align_corners": False, "antialias": False}
TWICE = numpy.array([[1, 0, 0], [0.75, 0.25, 0], [0.25, 0.75, 0], [0, 0.75, 0.25], [0, 0.25, 0.75],
                     [0, 0, 1]])  # fmt: skip


def test_a_grid_resampled(server):
    """Stored and posted, in views, functions and comparisons; rows before the grid stay."""
    table = numpy.round(numbers(9, 7) * 64).astype(numpy.float32)
    put(server, "towers", table)
    down = numpy.array([[1, 0], [0.75, 0.25], [0.25, 0.75], [0, 1]])
    cells = numpy.einsum("yi,xj,ijc->yxc", down, TWICE, table[1:].reshape(2, 3, 4))
    expected = numpy.concatenate([table[:1], cells.reshape(24, 4)])
    grid = WAY | {"grid": [2, 3], "to": [4, 6], "prefix": 1}
    query = grid | {"grid": "2,3", "to": "4,6"}
    path = "/v1/encodings/towers/table"
    assert (get(server, path, length=25, format="npy", **query).npy == expected).all()
    assert (get(server, path, positions="24,0,9", format="npy", **query).npy
            == expected[[24, 0, 9]]).all()  # fmt: skip
    for factor in (1, 2, -4):  # the same parameters, another table
        data = (table * factor).tolist()
        posted = {"table": "tensor:e", "length": 25, "tensors": {"e": {"data": data}}}
        answer = post_json(server, "/v1/encodings/learned/table", posted | grid).good().json
        assert (numpy.array(answer["tensors"]["table"]["data"]) == expected * factor).all()
    x = numbers(3, 25)
    asked = {"encoding": {"name": "towers"} | grid, "start": 0}
    added = post_json(server, "/v1/embedding", asked | {"tensors": {"x": {"data": x.tolist()}}})
    sums = numpy.array(added.good().json["tensors"]["x"]["data"], numpy.float32)
    assert (sums == x + expected.astype(numpy.float32)).all()
    same = get(server, path, length=7, format="npy", **query | {"to": "2,3"}).npy
    assert (same == table).all()


GRID = {"grid": "2,2", "to": "3,3", "mode": "bicubic", "align_corners": False, "antialias": True}


@pytest.mark.parametrize(
    ("changed", "parameter", "code"),
    [
        ({"to": None}, "to", "missing-parameter"),
        ({"mode": None}, "mode", "missing-parameter"),
        ({"align_corners": None}, "align_corners", "missing-parameter"),
        ({"antialias": None}, "antialias", "missing-parameter"),
        ({"grid": None}, "to", "conflicting-parameters"),
        ({"prefix": 1}, "grid", "shape-mismatch"),
        ({"to": "3"}, "to", "shape-mismatch"),
        ({"to": "5000,5000"}, "to", "out-of-range"),
        ({"l2norm": True}, "l2norm", "conflicting-parameters"),
        ({"length": 10}, "length", "out-of-range"),
    ],
)
def test_refusals_of_grids(server, changed, parameter, code):
    put(server, "patches", numbers(4, 4))
    query = {"length": 9} | GRID | changed
    query = {name: value for name, value in query.items() if value is not None}
    refused = get(server, "/v1/encodings/patches/table", **query)
    assert refused.status == 422, refused.body
    assert refused.json["errors"][0]["parameter"] == parameter
    assert refused.json["code"] == code


def test_a_grid_is_refused_by_its_count(server):
    """Before a weight or a row is computed."""
    put(server, "patches", numbers(4, 4, 512))
    for more in ({}, {"format": "npy", "dtype": "f64"}):
        query = GRID | {"to": "4096,4096", "length": 4096 * 4096} | more
        refused = get(server, "/v1/encodings/patches/table", **query)
        assert refused.status == 413 and refused.json["code"] == "too-large"


def test_tokens_are_told_to_nobody(server):
    secret = "not-the-token-8f1e"
    refused = put(server, "a", numbers(1), {"Authorization": f"Bearer {secret}"})
    assert refused.status == 401 and refused.headers["www-authenticate"].startswith("Bearer")
    good = put(server, "quiet", numbers(1))
    told = refused.body + good.body + get(server, "/v1").body + get(server, "/metrics").body
    log = server.log_text()
    for word in (secret, "a-secret"):
        assert word.encode() not in told and word not in log


def test_metrics(stored):
    server = stored()
    put(server, "a", numbers(1, 10, 10))
    page = get(server, "/metrics").body.decode()
    assert "\nposenc_tables 1\n" in page and "\nposenc_tables_bytes 400\n" in page
    assert "\nposenc_tables_damaged 0\n" in page


def test_a_damaged_file_is_reported_and_the_rest_served(stored):
    server = stored()
    for name in ("good", "bad", "mended"):
        put(server, name, numbers(1))
    server.stop()
    file = stored.folder / "bad/1/table.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\xff")
    (stored.folder / "mended/1/meta.json").write_text("{")
    server = stored()
    assert "table bad is damaged" in server.log_text()
    assert get(server, "/v1/encodings/good/table", length=5).status == 200
    assert get(server, "/v1/encodings/bad/table", length=5).status == 500
    assert get(server, "/v1/encodings/bad").json["damaged"] is True
    assert put(server, "mended", numbers(2)).status == 201
    assert (
        get(server, "/v1/encodings/mended/table", length=5, format="npy").npy == numbers(2)
    ).all()


def test_the_same_bytes_are_another_table(stored):
    """In another shape or dtype; in the same one they are no new version."""
    server, version = stored(), 0
    zeros = numpy.zeros((4, 6), numpy.float32)
    for table in (
        zeros,
        zeros.reshape(6, 4),
        zeros.reshape(2, 12),
        zeros.view(numpy.float16),
        zeros.view(numpy.float64),
        zeros.reshape(12, 2).view(numpy.float64),
        zeros,
    ):
        version += 1
        for again in range(2):
            told = put(server, "a", table).json
            assert (told["version"], told["shape"]) == (version, list(table.shape)), again
        assert (
            get(server, "/v1/encodings/a").json["dtype"]
            == {8: "f64", 4: "f32", 2: "f16"}[table.dtype.itemsize]
        )
    assert told["versions"] == list(range(1, 8))
    for dtype in ("F16", "BF16", "F16"):
        head = json.dumps({"t": {"dtype": dtype, "shape": [4, 6], "data_offsets": [0, 48]}})
        body = len(head).to_bytes(8, "little") + head.encode() + bytes(48)
        told, version = call(server, "PUT", "/v1/encodings/a", body).good().json, version + 1
        assert (told["version"], told["dtype"]) == (version, dtype.lower())


def test_a_file_that_lies_about_its_size(stored, start_server):
    """meta.json says more than the file has, as much as the budget and more: that is damage, not a
    want of memory, and nobody makes room for it."""
    server = stored("--memory-budget", "64MiB")
    for name in ("old", "new"):
        put(server, name, numbers(1))
        put(server, name, numbers(2))
    kept = "/v1/encodings/rope/frequencies"
    for rows in (10**5, 2**21, 2**22, 2**40, 2**62):
        for path in ("old/1/meta.json", "new/2/meta.json"):
            file = stored.folder / path
            file.write_text(json.dumps(json.loads(file.read_text()) | {"shape": [rows, 4]}))
        assert get(server, kept, dim=8).status == 200
        older = get(server, "/v1/encodings/old/table", length=5, version=1)
        assert (older.status, older.json["code"]) == (500, "internal"), rows
        assert "damaged" in older.json["detail"]
        assert get(server, kept, dim=8).headers["server-timing"].startswith("cache")
        fresh = start_server("--tables", stored.folder, "--memory-budget", "64MiB")
        assert get(fresh, "/v1/encodings/new").json["damaged"] is True
        assert "table new is damaged" in fresh.log_text()
        page = get(fresh, "/metrics").body.decode()
        assert "\nposenc_tables_damaged 1\n" in page
        assert f"\nposenc_memory_budget_bytes {(64 << 20) - 80}\n" in page
        fresh.stop()


def test_replicas_and_reload(stored, start_server):
    """A reader finds what the writer stores, by its poll or at SIGHUP."""
    writer = stored()
    reader, patient = (
        start_server("--tables", stored.folder, "--tables-poll", poll) for poll in ("50ms", "0")
    )
    put(writer, "shared", numbers(1))

    def found(server):
        return get(server, "/v1/encodings/shared/table", length=5).status == 200

    deadline = time.monotonic() + 20
    while not found(reader) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert found(reader) and not found(patient)
    patient.process.send_signal(signal.SIGHUP)
    while not found(patient) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert found(patient)


def test_a_full_disk_is_507_and_nothing_half_written(stored):
    """As far as a limit on files goes for a disk: the write fails in its middle."""
    server = stored("--body-max", "64MiB")
    put(server, "a", numbers(1))
    limit = 64 << 10
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (limit, limit))
    refused = put(server, "a", numbers(2, 1000, 100))
    assert (refused.status, refused.json["code"]) == (507, "storage-full")
    assert put(server, "new", numbers(2, 1000, 100)).status == 507
    assert sorted(path.name for path in stored.folder.iterdir()) == [".writer", "a"]
    assert [path.name for path in (stored.folder / "a").iterdir()] == ["1"]
    assert (get(server, "/v1/encodings/a/table", length=5, format="npy").npy == numbers(1)).all()
    assert put(server, "a", numbers(3)).json["version"] == 2


def test_killed_at_any_moment(stored):
    """What was answered is there after a kill -9, whole; what was not is there whole or not."""
    answered, sent = 0, 0
    for turn in range(4):
        server = stored()
        if answered:
            entry = get(server, "/v1/encodings/k").good().json
            version = entry["version"]
            assert answered <= version <= sent and "damaged" not in entry
            rows = get(server, "/v1/encodings/k/table", length=300, format="npy").npy
            assert (rows == numbers(version, 300, 64)).all()
            answered = sent = version
        killer = threading.Timer(0.1 + 0.07 * turn, server.process.kill)
        killer.start()
        try:
            while True:
                sent = answered + 1
                answered = put(server, "k", numbers(sent, 300, 64)).json["version"]
        except (OSError, http.client.HTTPException, ValueError):
            pass
        killer.join()
        server.process.wait()
    print(f"{answered} versions")
    assert answered >= 1


def test_readers_beside_a_writer(stored):
    """Every answer is one version whole, and a validator belongs to what it came with."""
    server = stored()
    tables = [numbers(seed, 64, 16) for seed in range(20)]
    put(server, "hot", tables[0])
    known = {table.tobytes() for table in tables}
    done = threading.Event()

    def read(_):
        tags, count = {}, 0
        while not done.is_set() or count < 5:
            answer = get(server, "/v1/encodings/hot/table", length=64, format="npy")
            body = answer.npy.tobytes()
            assert body in known
            assert tags.setdefault(answer.headers["etag"], body) == body
            count += 1
        return tags

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read, i) for i in range(3)]
        try:
            for table in tables[1:]:
                assert put(server, "hot", table).status == 200
        finally:
            done.set()
        seen = {}
        for reader in readers:
            for tag, body in reader.result().items():
                assert seen.setdefault(tag, body) == body
    last = get(server, "/v1/encodings/hot").json
    assert last["version"] == 20 and last["versions"] == list(range(1, 21))
    on_disk = json.loads((stored.folder / "hot/20/meta.json").read_text())
    assert on_disk["sha256"] == last["sha256"]


def test_stored_tables_are_of_the_family_of_learned_ones(server):
    """A list of another family has none of them, nor an encoding of another family."""
    values = numpy.ones((2, 4), "f4")
    assert put(server, "of-a-family", values).status in (200, 201)
    families = {one["family"] for one in get(server, "/v1/encodings").json["encodings"]}
    learned = get(server, "/v1/encodings/learned").json["family"]
    assert len(families) == 4 and learned in families
    for family in families:
        listed = get(server, "/v1/encodings", family=family).good().json
        assert {one["family"] for one in listed["encodings"]} == {family}
        assert ("tables" in listed) == (family == learned)
        names = [one["name"] for one in listed.get("tables", [])]
        assert ("of-a-family" in names) == (family == learned)
