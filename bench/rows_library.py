# SPDX-License-Identifier: MIT
"""Rows of the library: views, rotation and attention beside what memory and two products allow, by
the processor time of one thread."""

from rows import MIB, Figure, Row, Who

COSINES_COUNT = 8192 * 64


def in_a_row(positions):
    return f"view;rope;table;f32;dim=128 base=10000;length={positions} part=cos"


IN_A_ROW = {"f32": Who("library", in_a_row(8192), "f32 in a row")}


def library(words, title="libposenc"):
    return Who("library", words, title)


def ns(name, what, words, elements, *targets, others=None, limit=""):
    figure = Figure(name, what, "ns_element", "ns/element", targets, limit=limit)
    return Row("worker", (figure,), library(words), others or {}, elements=elements)


def at_most(value):
    return ("ours", "<=", value)


def stores():
    """Tables beside the same bytes stored: a small one stays in the cache, a large one does not."""

    def row(name, what, view, size, store, title, target):
        return Row(
            "worker",
            (
                Figure(
                    name,
                    what,
                    "gb_s",
                    "GB/s",
                    (("store", ">=", target),),
                    limit="arithmetic: a cosine is some 30 operations, a store is one",
                ),
            ),
            library(f"view;rope;table;f32;dim=128;{view}"),
            {"store": library(f"{store};{size}", title)},
            bytes=size,
        )

    return [
        row(
            "table-4m",
            "exact f32 table of 4 MiB",
            "length=16384 part=cos",
            4 * MIB,
            "store",
            "plain stores",
            0.45,
        ),
        row(
            "table-64m",
            "exact f32 table of 64 MiB, cosines and sines",
            "length=131072",
            64 * MIB,
            "past",
            "stores past the cache",
            0.8,
        ),
    ]


def tables():
    def cosines(dtype, more="", view="length=8192 part=cos"):
        return f"view;rope;table;{dtype};dim=128 base=10000{more};{view}"

    doubt = "elements whose rounding is in doubt are made anew, in doubles"
    return [
        ns("table-f32", "table f32, cosines in a row", in_a_row(8192), COSINES_COUNT),
        ns(
            "table-list",
            "table f32, listed positions without order",
            cosines("f32", "", LISTED),
            LISTED_COUNT * 64,
            ("f32", "<=", 3),
            others={"f32": Who("library", in_a_row(LISTED_COUNT), "f32 in a row")},
            limit="a row is a turn and a half and reads its factors from tables",
        ),
        ns(
            "table-f16",
            "table f16",
            cosines("f16"),
            COSINES_COUNT,
            ("f32", "<=", 1),
            others=IN_A_ROW,
            limit=doubt,
        ),
        ns(
            "table-bf16",
            "table bf16",
            cosines("bf16"),
            COSINES_COUNT,
            ("f32", "<=", 1),
            others=IN_A_ROW,
            limit=doubt,
        ),
        ns("table-f64", "table f64", cosines("f64"), COSINES_COUNT, at_most(15)),
        ns(
            "table-hf",
            "table arithmetic=hf",
            cosines("f32", " arithmetic=hf"),
            COSINES_COUNT,
            at_most(2),
        ),
        ns(
            "table-xpos",
            "table xpos",
            "view;xpos;table;f32;dim=128 t_center=0;length=8192 part=cos",
            COSINES_COUNT,
            at_most(4),
        ),
        ns(
            "table-wide",
            "table sinusoidal, dim 4096",
            "view;sinusoidal;table;f32;dim=4096 base=10000;length=256",
            256 * 4096,
            at_most(0.5),
            limit="an anchor serves fewer rows",
        ),
    ]


LISTED_COUNT = 1024
LISTED = (
    "positions="
    + ",".join(str((i * i * 7919 + i * 104729) % 1000003) for i in range(LISTED_COUNT))
    + " part=cos"
)

FILLED = [
    ("alibi", "bias", "heads=8", "query_length=256 key_length=1024", 8 * 256 * 1024),
    ("t5", "bias", "", "query_length=256 key_length=1024", 8 * 256 * 1024),
    ("kerple-log", "bias", "heads=8 p=1 a=1", "query_length=256 key_length=1024", 8 * 256 * 1024),
    ("sandwich", "bias", "heads=8 dim=64", "query_length=256 key_length=1024", 8 * 256 * 1024),
    ("index", "table", "", "length=1048576", 1 << 20),
    ("binary", "table", "dim=16", "length=65536", 1 << 20),
    ("mrope", "table", "dim=128 mrope_section=16,24,24", "length=8192 part=cos", COSINES_COUNT),
    ("rope-2d", "table", "dim=128", "height=96 width=96 part=cos", 96 * 96 * 64),
]


def filled():
    return [
        ns(
            f"filled-{encoding}",
            f"{encoding} filled",
            f"view;{encoding};{view};f32;{scheme};{params}",
            elements,
            at_most(0.5),
        )
        for encoding, view, scheme, params, elements in FILLED
    ]


ANALYSES = [
    ("decay", "decay of 4096 offsets", "max_offset=4095", 1),
    ("similarity", "similarity of 512 positions", "length=512", 0.5),
    ("error", "error of 512 positions of 64 pairs", "length=512", 3),
]


def analyses():
    return [
        Row(
            "worker",
            (Figure(f"analysis-{name}", what, "ms", "ms", (at_most(most),)),),
            library(f"made;rope;{name};f32;dim=128;{params}"),
        )
        for name, what, params, most in ANALYSES
    ]


def turned(dtype, tokens, threads=1):
    return library(f"rotate;{dtype};half;{tokens};{threads}")


def rotation_bytes(dtype, tokens):
    """Read and written."""
    return 2 * tokens * 32 * 128 * (4 if dtype == "f32" else 2)


def streamed(dtype, tokens, threads=1):
    return library(f"stream;{rotation_bytes(dtype, tokens) // 2};{threads}", "in-place stream")


def rotations():
    found = []
    for dtype, goals in (("f32", (0.97, 0.92)), ("bf16", (0.85, 0.85)), ("f16", (0.85, 0.85))):
        for tokens, goal in zip((512, 4096), goals):
            figure = Figure(
                f"rotate-{dtype}-{tokens}",
                f"rotation of {dtype}, 1x{tokens}x32x128",
                "gb_s",
                "GB/s",
                (("stream", ">=", goal),),
                limit=""
                if dtype == "f32"
                else "half as many bytes for as much arithmetic, and conversions",
            )
            found.append(
                Row(
                    "worker",
                    (figure,),
                    turned(dtype, tokens),
                    {"stream": streamed(dtype, tokens)},
                    bytes=rotation_bytes(dtype, tokens),
                )
            )
    return found


def attention(encoding, params, size, width, heads, threads=1, keys=0):
    return library(f"attention;{encoding};{params};{size};{keys or size};{width};{heads};{threads}")


def flops(size, width, heads, keys=0):
    return 4 * size * (keys or size) * width * heads


# Parameters, the goal, and what was seen of the limit.
ATTENTIONS = [
    ("none", "", 1.0, "packing and softmax; products alone run as fast as sgemm's"),
    ("rope", "dim=64", 1.0, "packing and softmax; products alone run as fast as sgemm's"),
    ("alibi", "heads=8", 0.92, "packing, softmax and the bias"),
    ("t5", "", 0.92, "packing, softmax and the bias"),
    ("shaw", "max_relative_position=64", 0.85, "15 % more products than the two of sgemm"),
]
# Lengths and heads.
SIZES = ((1024, 8), (4096, 8))
WIDTH = 64
SGEMM = ("openblas", "openblas-avx512", "blis", "onednn")


def sgemms(size, heads):
    return {
        name: Who(
            f"products-{name}", f"products;{size};{size};{WIDTH};{heads}", f"two sgemm of {name}"
        )
        for name in SGEMM
    }


def attentions():
    return [
        Row(
            "worker",
            (
                Figure(
                    f"attention-{encoding}-{size}",
                    f"attention f32, {encoding}, {size} tokens, {heads} heads of {WIDTH}",
                    "gflop_s",
                    "GFLOP/s",
                    (("best", ">=", goal),),
                    limit=limit,
                ),
            ),
            attention(encoding, params, size, WIDTH, heads),
            sgemms(size, heads),
            flops=flops(size, WIDTH, heads),
            rounds_max=5 if size < 2048 else 3,
        )
        for size, heads in SIZES
        for encoding, params, goal, limit in ATTENTIONS
    ]


def pairs():
    """Two threads, by the clock."""
    tokens = 4096
    return [
        Row(
            "worker",
            (
                Figure(
                    "attention-threads",
                    "attention, 1024 tokens: two threads over one",
                    "gflop_s",
                    "GFLOP/s",
                    (("one", ">=", 1.9),),
                    limit="threads share the work evenly but for a twentieth",
                ),
            ),
            attention("alibi", "heads=8", 1024, WIDTH, 8, 2),
            {"one": attention("alibi", "heads=8", 1024, WIDTH, 8)},
            flops=flops(1024, WIDTH, 8),
        ),
        Row(
            "worker",
            (
                Figure(
                    "rotate-threads",
                    "rotation of 64 MiB by two threads",
                    "gb_s",
                    "GB/s",
                    (("streams", ">=", 0.9),),
                ),
            ),
            turned("f32", tokens, 2),
            {"streams": streamed("f32", tokens, 2)},
            bytes=rotation_bytes("f32", tokens),
        ),
    ]


GROWTH_KEYS = (1024, 4096, 16384, 65536)
GROWTH_QUERIES = 1024


def growths():
    words = tuple(
        (
            attention("alibi", "heads=1", GROWTH_QUERIES, WIDTH, 1, keys=keys).path,
            flops(GROWTH_QUERIES, WIDTH, 1, keys),
        )
        for keys in GROWTH_KEYS
    )
    return [
        Row(
            "growth",
            (
                Figure(
                    "growth-attention",
                    "attention of 1024 queries to 1024 to 65 536 keys: cost per key, worst ÷ best",
                    "growth",
                    "",
                    (at_most(1.2),),
                    limit="keys and values of 16 384 are 8 MiB, and the L2 cache has 1",
                ),
                Figure(
                    "growth-attention-memory",
                    "attention to 65 536 keys: the most memory resident, "
                    "tensors of 34 MiB included",
                    "peak_mib",
                    "MiB",
                    (at_most(128),),
                    ours_only=True,
                ),
            ),
            library(""),
            sizes=words,
            rounds_max=3,
        )
    ]


def numbers(name, what, limit, *targets, peer="jansson"):
    others = {"limit": Who(limit, title=limit)}
    if peer:
        others["peer"] = Who(peer, title=peer)
    return Row(
        "numbers",
        (Figure(name, what, "value", "ns/number", targets),),
        Who("posencd", title="posencd"),
        others,
    )


def all_numbers():
    return [
        numbers(
            "json-parse",
            "a JSON body of 10^6 float32 read",
            "from_chars",
            ("limit", "<=", 1.3),
            ("peer", "<=", 0.125),
        ),
        numbers("json-scan", "the digits alone", "from_chars", ("limit", "<=", 1.3), peer=None),
        numbers("json-print", "10^6 float32 printed as JSON", "to_chars", ("limit", "<=", 1.3)),
    ]


def library_rows():
    return [
        *stores(),
        *tables(),
        *filled(),
        *analyses(),
        *rotations(),
        *attentions(),
        *pairs(),
        *growths(),
        *all_numbers(),
    ]
