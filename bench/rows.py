# SPDX-License-Identifier: MIT
"""The rows of the bench: a list, written once. Every row puts one question to the service, to the
limit of the machine (bare sockets, the C++ library) and of a peer, in turns."""
import dataclasses

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclasses.dataclass(frozen=True)
class Who:
    """Somebody who answers a row's question."""
    server: str       # a key of loads.STARTERS; of a row of numbers: the name in its output
    path: str = ""
    title: str = ""   # in the table
    file: str = ""    # nginx: what its file is made of; "copy" of our answer, or a "sparse" one
    flags: tuple = ()


@dataclasses.dataclass(frozen=True)
class Figure:
    """One line of the table, from the samples of its row. A target compares what it names: the
    ratio of ours to the limit or the peer, or ours itself."""
    name: str
    what: str
    key: str
    unit: str
    targets: tuple = ()  # (of whom, "<=" or ">=", value)
    ours_only: bool = False


@dataclasses.dataclass(frozen=True)
class Row:
    load: str  # a key of loads.LOADS
    figures: tuple
    ours: Who
    limit: Who = None
    peer: Who = None
    connections: int = 1
    bytes: int = 0        # of an answer's body
    body_bytes: int = 0   # of a request's body
    fields: tuple = ()
    status: int = 200
    rounds_max: int = 100

    @property
    def name(self):
        return self.figures[0].name

    @property
    def everyone(self):
        found = {"ours": self.ours, "limit": self.limit, "peer": self.peer}
        return {part: who for part, who in found.items() if who}


def small(name, what, path, size):
    return Row("wrk", (Figure(name, what, "rate", "requests/s", (("peer", ">=", 0.9),)),),
               Who("posencd", path, "posencd", flags=("--threads", "1")),
               peer=Who("nginx", f"/return/{size}", "nginx return"), connections=64, bytes=size)


def table(name, what, size, folder, target):
    """dim 128 has 64 cosines a position, 256 bytes in f32."""
    path = f"/v1/encodings/rope/table?dim=128&length={size // 256}&part=cos&format=raw"
    return Row("wrk", (Figure(name, what, "mb_s", "MB/s", (("peer", ">=", target),)),),
               Who("posencd", path, "posencd"),
               peer=Who("nginx", f"{folder}/table", "nginx sendfile", file="copy"),
               connections=16, bytes=size)


def rotation(name, what, shape, connections, key, unit, targets):
    """A batch, heads, positions and 128 dimensions of float32, rotated."""
    size = 4
    for extent in shape:
        size *= extent
    fields = ("Content-Type: application/octet-stream", "Tensor-Dtype: f32",
              "Tensor-Shape: " + ",".join(map(str, shape)))
    path = "/v1/rotation?encoding=rope&layout=half&axes=bhsd&start=0&format=raw"
    return Row("client", (Figure(name, what, key, unit, targets),), Who("posencd", path, "posencd"),
               Who("echo", "/", "bare echo"), Who("nginx", "/echo", "nginx echo module"),
               connections=connections, bytes=size, body_bytes=size, fields=fields)


def alibi_path(size):
    """32 heads of keys over 8192 queries, so a MiB a key; the slopes come after the bias."""
    return (f"/v1/encodings/alibi/bias?heads=32&query_length={size // MIB}&key_length=8192"
            "&format=raw", size + 32 * 4)


def streams(size):
    short = f"{size // GIB}g" if size >= GIB else f"{size // MIB}m"
    words = f"{size // GIB} GiB" if size >= GIB else f"{size // MIB} MiB"
    path, length = alibi_path(size)
    name, ours = f"stream-{short}", Who("posencd", path, "posencd")
    limit = Who("send", f"/{length}", "bare send")
    table_path = f"/v1/encodings/rope/table?dim=128&length={size // 256}&part=cos&format=raw"
    speed = (("limit", ">=", 0.9),)
    return [
        Row("read", (
            Figure(name, f"one answer of {words}, an ALiBi bias in f32", "mb_s", "MB/s", speed),
            Figure(f"{name}-memory", "the most memory resident while it is sent", "peak_mib",
                   "MiB", (("ours", "<=", 32),), ours_only=True),
            Figure(f"{name}-first-byte", "its first byte", "first_byte_ms", "ms",
                   (("ours", "<=", 10),))), ours, limit, bytes=length),
        Row("curl", (Figure(f"{name}-curl", "the same, read by curl, once", "mb_s", "MB/s"),),
            ours, limit, bytes=length, rounds_max=1),
        Row("read", (Figure(f"{name}-table", f"one answer of {words}, RoPE's cosines in f32",
                            "mb_s", "MB/s", speed),),
            Who("posencd", table_path, "posencd"), Who("send", f"/{size}", "bare send"),
            bytes=size),
    ]


RANGE_FIRST, RANGE_BYTES, RANGE_OF = 4 * GIB, KIB, 8 * GIB

RANGE = Row(
    "client", (Figure("range-middle", "1 KiB from the middle of 8 GiB, by Range", "ms", "ms"),),
    Who("posencd", alibi_path(RANGE_OF)[0], "posencd"),
    peer=Who("nginx", "/files/sparse", "nginx, a file", file="sparse"), bytes=RANGE_BYTES,
    status=206, fields=(f"Range: bytes={RANGE_FIRST}-{RANGE_FIRST + RANGE_BYTES - 1}",))


def numbers(name, what, limit, targets, peer="jansson"):
    return Row("numbers", (Figure(name, what, "value", "ns/number", targets),),
               Who("posencd", title="posencd"), Who(limit, title=limit),
               Who(peer, title=peer) if peer else None)


def all_rows(stream_bytes):
    return [
        small("small-get", "GET /livez, 18 bytes", "/livez", 18),
        small("small-table-get", "GET of RoPE's 16 frequencies, wavelengths and factors, 192 bytes",
              "/v1/encodings/rope/frequencies?dim=32&format=raw", 192),
        table("get-256k", "GET of the same table of 256 KiB, again and again",
              256 * KIB, "/files", 1.0),
        table("get-4m", "GET of the same table of 4 MiB, again and again", 4 * MIB, "/nopush", 1.2),
        rotation("post-1k", "1 KiB rotated", (1, 1, 2, 128), 4, "rate", "requests/s", ()),
        rotation("post-1m", "1 MiB rotated", (1, 64, 32, 128), 2, "mb_s", "MB/s",
                 (("limit", ">=", 0.45), ("peer", ">=", 1.0))),
        rotation("post-64m", "64 MiB rotated", (1, 256, 512, 128), 1, "mb_s", "MB/s",
                 (("limit", ">=", 0.8),)),
        *streams(stream_bytes),
        RANGE,
        numbers("json-parse", "a JSON body of 10^6 float32 read", "from_chars",
                (("limit", "<=", 1.3), ("peer", "<=", 0.125))),
        numbers("json-scan", "the digits alone", "from_chars", (("limit", "<=", 1.3),), peer=None),
        numbers("json-print", "10^6 float32 printed as JSON", "to_chars", (("limit", "<=", 1.3),)),
    ]


RETURN_SIZES = (18, 192)
