# SPDX-License-Identifier: MIT
"""Rows of the service: requests over loopback."""

from rows import GIB, KIB, MIB, Figure, Row, Who, posencd

RETURN_SIZES = (18, 192)
ONE_LOOP = ("--threads", "1")
NOTHING_KEPT = ("--cache-max", "0")

# What was measured of what holds a row back, for where it falls short (bench/NOTES.md).
LIBRARY = (
    "libmicrohttpd's part: an HTTP/1.1 of our own took .8 of the processor time, and was "
    "taken back because the service is asked for with this library"
)
COPIES = "libmicrohttpd copies an upload once more than nginx does"


def cpu(name, what, **more):
    return Figure(name, what, "cpu_us", "µs", **more)


def small(name, what, path, size, target):
    return Row(
        "wrk",
        (
            Figure(name, what, "rate", "requests/s", (("nginx", ">=", target),), limit=LIBRARY),
            cpu(
                f"{name}-cpu",
                f"{what}: processor time",
                targets=(("nginx", "<=", 1.25),),
                limit=LIBRARY,
            ),
        ),
        posencd(path, *ONE_LOOP),
        {"nginx": Who("nginx", f"/return/{size}", "nginx return")},
        connections=64,
        bytes=size,
    )


def cosines(size, more=""):
    """dim 128 has 64 cosines a position, 256 bytes in f32."""
    return f"/v1/encodings/rope/table?dim=128&length={size // 256}&part=cos&format=raw{more}"


def table(name, what, size, folder, target):
    return Row(
        "wrk",
        (Figure(name, what, "mb_s", "MB/s", (("nginx", ">=", target),)),),
        posencd(cosines(size)),
        {"nginx": Who("nginx", f"{folder}/table", "nginx sendfile", file="copy")},
        connections=16,
        bytes=size,
    )


ROTATION = "/v1/rotation?encoding=rope&layout=half&axes=bhsd&start=0&format=raw"


def raw_fields(shape):
    return (
        "Content-Type: application/octet-stream",
        "Tensor-Dtype: f32",
        "Tensor-Shape: " + ",".join(map(str, shape)),
    )


def size_of(shape):
    size = 4
    for extent in shape:
        size *= extent
    return size


def rotation(shape, connections, *figures):
    """A batch, heads, positions and 128 dimensions of float32, rotated."""
    return Row(
        "client",
        figures,
        posencd(ROTATION),
        {
            "echo": Who("echo", "/", "bare echo"),
            "nginx": Who("nginx", "/echo", "nginx echo module"),
        },
        connections=connections,
        bytes=size_of(shape),
        body_bytes=size_of(shape),
        fields=raw_fields(shape),
    )


def rotations():
    def speed(name, what, *targets):
        return Figure(name, what, "mb_s", "MB/s", targets, limit=COPIES)

    return [
        rotation(
            (1, 1, 2, 128),
            4,
            Figure(
                "post-1k",
                "1 KiB rotated",
                "rate",
                "requests/s",
                (("nginx", ">=", 0.7),),
                limit=LIBRARY,
            ),
            cpu(
                "post-1k-cpu",
                "1 KiB rotated: processor time",
                targets=(("ours", "<=", 10),),
                limit=LIBRARY,
            ),
        ),
        rotation(
            (1, 64, 32, 128),
            2,
            speed("post-1m", "1 MiB rotated", ("nginx", ">=", 1), ("echo", ">=", 0.55)),
        ),
        rotation((1, 256, 512, 128), 1, speed("post-64m", "64 MiB rotated", ("echo", ">=", 0.97))),
    ]


def alibi_path(size, heads=32, more=""):
    """32 heads of keys over 8192 queries, so a MiB a key; the slopes come after the bias."""
    return (
        f"/v1/encodings/alibi/bias?heads={heads}&query_length={size // MIB}&key_length=8192"
        f"&format=raw{more}",
        size + heads * 4,
    )


def streams(size):
    short = f"{size // GIB}g" if size >= GIB else f"{size // MIB}m"
    words = f"{size // GIB} GiB" if size >= GIB else f"{size // MIB} MiB"
    path, length = alibi_path(size)
    name, ours = f"stream-{short}", posencd(path)
    others = {"send": Who("send", f"/{length}", "bare send")}
    made = "the thread that sends makes the values too"
    return [
        Row(
            "read",
            (
                Figure(
                    name,
                    f"one answer of {words}, an ALiBi bias in f32",
                    "mb_s",
                    "MB/s",
                    (("send", ">=", 0.8),),
                    limit=made,
                ),
                Figure(
                    f"{name}-memory",
                    f"{words} of ALiBi: the most memory resident while it is sent",
                    "peak_mib",
                    "MiB",
                    (("ours", "<=", 32),),
                    ours_only=True,
                ),
            ),
            ours,
            others,
            bytes=length,
            rounds_max=3,
        ),
        Row(
            "curl",
            (Figure(f"{name}-curl", f"{words} of ALiBi, read by curl, once", "mb_s", "MB/s"),),
            ours,
            others,
            bytes=length,
            rounds_max=1,
        ),
        Row(
            "read",
            (
                Figure(
                    f"{name}-table",
                    f"one answer of {words}, RoPE's cosines in f32",
                    "mb_s",
                    "MB/s",
                    (("send", ">=", 0.6),),
                    limit="the thread that sends makes the values too",
                ),
            ),
            posencd(cosines(size)),
            {"send": Who("send", f"/{size}", "bare send")},
            bytes=size,
            rounds_max=3,
        ),
    ]


RANGE_FIRST, RANGE_BYTES, RANGE_OF = 4 * GIB, KIB, 8 * GIB
FIRST_OF = 64 * MIB


def latencies():
    """Waiting, on one connection."""
    sparse = Who("nginx", "/files/sparse", "nginx, a file", file="sparse")
    small_get = {"small GET": posencd("/livez", title="a small GET")}
    return [
        Row(
            "client",
            (
                Figure(
                    "range-middle",
                    "1 KiB from the middle of 8 GiB of ALiBi, by Range",
                    "p50_ms",
                    "ms",
                    (("ours", "<=", 0.15),),
                    limit="its query is parsed, its view opened and judged",
                ),
            ),
            posencd(alibi_path(RANGE_OF)[0]),
            {"nginx": sparse},
            bytes=RANGE_BYTES,
            status=206,
            fields=(f"Range: bytes={RANGE_FIRST}-{RANGE_FIRST + RANGE_BYTES - 1}",),
        ),
        Row(
            "client",
            (
                Figure(
                    "first-byte",
                    "the first byte of a stream, 64 MiB of ALiBi",
                    "first_byte_ms",
                    "ms",
                    (("ours", "<=", 0.15),),
                    limit="a block of 256 KiB is made and copied before it",
                ),
            ),
            posencd(alibi_path(FIRST_OF)[0], *NOTHING_KEPT),
            bytes=alibi_path(FIRST_OF)[1],
        ),
        Row(
            "client",
            (
                Figure(
                    "table-16x128",
                    "table of 16 positions of dim 128, base seen before",
                    "p50_ms",
                    "ms",
                    (("small GET", "<=", 2.5),),
                    limit="its query is parsed, its view opened and judged each time",
                ),
            ),
            posencd("/v1/encodings/rope/table?dim=128&length=16&format=raw&start={}"),
            small_get,
            bytes=None,
        ),
        Row(
            "client",
            (
                Figure(
                    "json-gzip",
                    "a table of 512 KiB as 5.7 MB of JSON, as gzip",
                    "p50_ms",
                    "ms",
                    (("uncompressed", "<=", 2.5),),
                    limit="the compressor takes as long as the text",
                ),
            ),
            posencd(JSON_TABLE, *NOTHING_KEPT, title="gzip", fields=("Accept-Encoding: gzip",)),
            {"uncompressed": posencd(JSON_TABLE, *NOTHING_KEPT, title="uncompressed")},
            bytes=None,
        ),
    ]


JSON_TABLE = "/v1/encodings/rope/table?dim=128&length=4096&format=json"

# Views that are asked for whole: four million elements, of which the frequencies, made anew, are a
# small part.
MILLIONS = 4 << 20
WHOLE = [
    ("alibi", "bias?heads=4&query_length=1024"),
    ("t5", "bias?query_length=2048"),
    ("kerple-log", "bias?heads=4&p=1&a=1&query_length=1024"),
    ("index", f"table?length={MILLIONS}"),
    ("binary", f"table?dim=32&length={MILLIONS // 32}"),
    ("mrope", f"table?dim=128&mrope_section=16,24,24&length={MILLIONS // 64}&part=cos"),
    ("rope-2d", "table?dim=128&height=256&width=256&part=cos"),
    ("sandwich", "bias?heads=4&dim=64&query_length=1024"),
]


def wholes():
    """Whole requests for raw bytes, nothing kept, two threads. Buckets have eight bytes."""

    def row(name, path):
        figure = Figure(
            f"whole-{name}",
            f"{name}: a whole request, 4 million elements",
            "ns_element",
            "ns/element",
            (("ours", "<=", 1.1),),
            limit="as many bytes have to be sent, which the bare send beside it does",
        )
        size = MILLIONS * (8 if name == "t5" else 4)
        return Row(
            "client",
            (figure,),
            posencd(f"/v1/encodings/{name}/{path}&format=raw", *NOTHING_KEPT, "--threads", "2"),
            {"send": Who("send", f"/{size}", "bare send")},
            bytes=None,
            elements=MILLIONS,
        )

    return [row(name, path) for name, path in WHOLE]


def fastapi():
    """4 MiB: 8 heads of 1024 positions of 128."""
    shape = (1, 8, 1024, 128)
    peers = {
        name: Who("fastapi", f"/{name}", f"FastAPI + {title}")
        for name, title in (("numpy", "NumPy"), ("torch", "torch"))
    }
    peers["echo"] = Who("echo", "/", "bare echo")

    def row(figure, connections):
        return Row(
            "client",
            (figure,),
            posencd(ROTATION),
            peers,
            connections=connections,
            bytes=size_of(shape),
            body_bytes=size_of(shape),
            fields=raw_fields(shape),
        )

    def both(sign, value):
        return tuple((peer, sign, value) for peer in ("numpy", "torch"))

    return [
        row(
            Figure(
                "rotate-4m-p50",
                "4 MiB rotated over HTTP, one client, median",
                "p50_ms",
                "ms",
                both("<=", 0.2),
                limit="a bare echo waits for loopback too",
            ),
            1,
        ),
        row(
            Figure(
                "rotate-4m-64",
                "4 MiB rotated over HTTP, 64 clients",
                "rate",
                "requests/s",
                both(">=", 6),
                limit="a bare echo waits for loopback too",
            ),
            64,
        ),
    ]


BESIDE_SHAPE = (1, 512, 1024, 128)  # 256 MiB


def beside():
    return [
        Row(
            "beside",
            (
                Figure(
                    "beside-p99",
                    "small GETs while four clients rotate 256 MiB each, p99",
                    "p99_ms",
                    "ms",
                    (("nginx", "<=", 1),),
                    limit="the event loop under the other four; the next row has its slow steps",
                ),
                Figure(
                    "beside-turns",
                    "turns of the loop over 1 ms of processor time while four clients "
                    "rotate 256 MiB each",
                    "slow_turns",
                    "",
                    (("ours", "<=", 0),),
                    ours_only=True,
                    limit="beside the number stands what each was spent on, longest of all",
                ),
            ),
            posencd("/livez", beside=ROTATION),
            {"nginx": Who("nginx", "/return/18", "nginx beside its echo", beside="/echo")},
            bytes=18,
            body_bytes=size_of(BESIDE_SHAPE),
            fields=raw_fields(BESIDE_SHAPE),
            rounds_max=3,
        )
    ]


# As many different ones as RoPE's table takes at once, all at their defaults, behind those that say
# its size. More are positions, which may be told one by one.
DEFAULTS = (
    "base=10000",
    "rope_type=default",
    "beta_fast=32",
    "beta_slow=1",
    "truncate=true",
    "arithmetic=exact",
    "step=1",
    "part=both",
    "duplicate=false",
    "dtype=f32",
    "strict=false",
    "flat=false",
    "data_format=nested",
    "plot_width=720",
    "plot_height=440",
    "plot_scale=2",
    "theme=light",
    "lang=en",
)


def queries():
    """What a byte of a query costs among the first parameters, and what among the last."""
    table = "/v1/encodings/rope/table?format=raw"
    different = [
        (f"{table}&dim=128&length=1&start={{}}", *DEFAULTS[:count])
        for count in (0, len(DEFAULTS) // 2, len(DEFAULTS))
    ]
    repeated = [
        (
            f"{table}&dim=2&base=100&positions={{}}",
            *(f"positions={number}" for number in range(100, 100 + count)),
        )
        for count in (0, 30, 60)
    ]

    def row(name, what, queries_of):
        paths = ["&".join(query) for query in queries_of]
        return Row(
            "marginal",
            (
                Figure(
                    name,
                    f"a query of {what}: a byte of the last ones over one of those before",
                    "growth",
                    "",
                    (("ours", "<=", 1.2),),
                ),
            ),
            posencd(""),
            sizes=tuple((path, len(path)) for path in paths),
        )

    return [
        row("growth-query", "4, 13 and 22 parameters", different),
        row("growth-query-64", "4, 34 and 64 parameters, positions most of them", repeated),
    ]


def growths():
    sizes = (MIB, 8 * MIB, 64 * MIB, 512 * MIB, GIB)
    alibi = tuple((alibi_path(size)[0], size) for size in sizes)
    table_of = tuple((cosines(size), size) for size in sizes)
    flat = (("ours", "<=", 1.2),)
    return [
        Row(
            "growth",
            (
                Figure(
                    f"growth-{name}",
                    f"{what} of 1 MiB to 1 GiB: cost per byte, worst ÷ best",
                    "growth",
                    "",
                    flat,
                    limit="of 1 MiB a third goes before its first byte; bytes of a "
                    "bare send differ by 1.5 and more too",
                ),
            ),
            posencd("", *NOTHING_KEPT),
            sizes=paths,
            rounds_max=3,
        )
        for name, what, paths in (("bias", "ALiBi", alibi), ("table", "RoPE's cosines", table_of))
    ]


def rows_of(stream_bytes):
    return [
        small("small-get", "GET /livez, 18 bytes", "/livez", 18, 0.9),
        small(
            "small-table-get",
            "GET of RoPE's 16 frequencies, wavelengths and factors, 192 bytes",
            "/v1/encodings/rope/frequencies?dim=32&format=raw",
            192,
            0.8,
        ),
        table(
            "get-256k",
            "GET of the same table of 256 KiB, again and again",
            256 * KIB,
            "/files",
            1.0,
        ),
        table("get-4m", "GET of the same table of 4 MiB, again and again", 4 * MIB, "/nopush", 1.2),
        *rotations(),
        *streams(stream_bytes),
        *latencies(),
        *wholes(),
        *fastapi(),
        *beside(),
        *growths(),
        *queries(),
    ]
