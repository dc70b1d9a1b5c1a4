# SPDX-License-Identifier: MIT
"""Position ids: those of transformers for images, videos and padding, what is packed or cut in
chunks, and ids with mistakes in them."""

import json
import pathlib

import numpy
import pytest

from service import post_json, post_tensors

ORACLE = json.loads(
    (pathlib.Path(__file__).resolve().parents[1] / "data/oracles/rope_index.json").read_text()
)
IMAGE = {
    "model_type": "qwen2_vl",
    "mm_token_type_ids": [[0, 0, *[1] * 6, 0, 0]],
    "image_grid_thw": [[1, 4, 6]],
}
IMAGE_IDS = [
    [0, 1, 2, 2, 2, 2, 2, 2, 5, 6],
    [0, 1, 2, 2, 2, 3, 3, 3, 5, 6],
    [0, 1, 2, 3, 4, 2, 3, 4, 5, 6],
]


def told(server, **asked):
    answer = post_json(server, "/v1/positions", asked)
    assert answer.status == 200, answer.body
    return answer.json


def ids(server, **asked):
    return told(server, **asked)["tensors"]["position_ids"]["data"]


def found(server, position_ids, **asked):
    """The name of the mistake, or the verdict where there is none."""
    report = told(server, position_ids=position_ids, **asked)
    assert (report["verdict"] == "match") == (report["unequal"] == 0)
    return report["bug"] or report["verdict"]


def test_as_transformers_counts(server):
    assert len(ORACLE["cases"]) > 40
    for case in ORACLE["cases"]:
        tensors = told(server, **case["asked"])["tensors"]
        assert tensors["position_ids"]["data"] == case["position_ids"], case["asked"]
        assert tensors["rope_deltas"]["data"] == case["rope_deltas"], case["asked"]
        assert found(server, case["position_ids"], **case["asked"]) == "match"


def test_text(server):
    assert ids(server, length=4) == [[0, 1, 2, 3]]
    assert ids(server, lengths=[2, 3], padding_side="left") == [[0, 0, 1], [0, 1, 2]]
    assert ids(server, lengths=[2, 3], padding_side="right") == [[0, 1, 0], [0, 1, 2]]
    assert ids(server, attention_mask=[0, 1, 1]) == [[0, 0, 1]]
    assert ids(server, cu_seqlens=[0, 2, 2, 5]) == [[0, 1, 0, 1, 2]]
    assert ids(server, input_ids=[5, 9, 7]) == [[0, 1, 2]]
    assert ids(server, length=9, chunk_start=3, chunk_length=2) == [[3, 4]]
    assert ids(server, attention_mask=[[0, 1]], chunk_start=2, chunk_length=2) == [[1, 2]]


def test_chunks_are_pieces_of_the_whole(server):
    """And behind the prompt text goes on, by its rope_deltas."""
    case = next(case for case in ORACLE["cases"] if "second_per_grid_ts" in case["asked"])
    asked = case["asked"]
    count = len(asked["mm_token_type_ids"][0])
    mask = numpy.array(asked.get("attention_mask", numpy.ones((len(case["rope_deltas"]), count))))
    whole = numpy.array(ids(server, **asked, chunk_length=count + 3))
    for start in (0, 3, count - 2):
        piece = ids(server, **asked, chunk_start=start, chunk_length=4)
        assert numpy.array_equal(piece, whole[:, :, start : start + 4])
    behind = mask.sum(1)[:, None] + numpy.arange(3) + numpy.array(case["rope_deltas"])
    assert (whole[:, :, count:] == behind).all()


def test_images_by_their_tokens(server):
    types = IMAGE["mm_token_type_ids"][0]
    given = {"model_type": "Qwen2.5-VL", "image_grid_thw": [1, 4, 6], "image_token_id": 7}
    assert ids(server, input_ids=[7 * kind for kind in types], **given) == [
        [row] for row in IMAGE_IDS
    ]
    assert ids(server, **{**IMAGE, "image_grid_thw": [1, 2, 3]}, spatial_merge_size=1) == [
        [row] for row in IMAGE_IDS
    ]


def test_models_that_count_otherwise(server):
    """Of a model that makes images the prompt's ids are told; of some models none."""
    prompt = {"model_type": "glm_image", "length": 3}
    assert ids(server, **prompt) == [[[0, 1, 2]]] * 3
    for asked, words in (
        ({**prompt, "chunk_length": 4}, "behind its prompt glm_image makes"),
        ({"model_type": "hunyuan_vl", "length": 3}, "as many ids as"),
        ({"model_type": "qwen3_omni_moe", "length": 3}, "its ids are float32"),
    ):
        answer = post_json(server, "/v1/positions", asked)
        assert answer.status == 422 and words in answer.json["detail"], answer.body


def test_tensors_in_and_out(server):
    types = numpy.array(IMAGE["mm_token_type_ids"], numpy.uint8)
    tensors = {"mm_token_type_ids": types, "image_grid_thw": numpy.array([[1, 4, 6]], numpy.int64)}
    answer = post_tensors(server, "/v1/positions", tensors, model_type="qwen2_vl")
    assert answer["position_ids"].tolist() == [[row] for row in IMAGE_IDS]
    assert answer["rope_deltas"].tolist() == [[-3]]


VIDEO = {
    "model_type": "qwen2_5_vl",
    "mm_token_type_ids": [0, *[2] * 8, 0, 0],
    "video_grid_thw": [[4, 2, 4]],
    "second_per_grid_ts": [0.5],
}


def image_ids(change):
    rows = [list(row) for row in IMAGE_IDS]
    change(rows)
    return rows


def swap(rows):
    rows[1], rows[2] = rows[2], rows[1]


def advance(to):
    def change(rows):
        for row in rows:
            row[8:] = [to, to + 1]

    return change


@pytest.mark.parametrize(
    "bug,posted,asked",
    [
        ("match", [[9, 9, 0, 1]], {"attention_mask": [0, 0, 1, 1]}),
        ("one-too-high", [1, 2, 3], {}),
        ("one-too-low", [[-1, 0, 1]], {"length": 3}),
        ("padding-counted", [[0, 1, 2]], {"attention_mask": [0, 1, 1]}),
        ("packed-without-reset", [0, 1, 2, 3], {"cu_seqlens": [0, 2, 4]}),
        ("chunk-from-zero", [0, 1], {"length": 6, "chunk_start": 4}),
        ("delta-ignored", [[10, 11]] * 3, IMAGE | {"chunk_start": 10}),
        ("match", [[7, 8]] * 3, IMAGE | {"chunk_start": 10}),
        ("grid-transposed", image_ids(swap), IMAGE),
        (
            "grid-read-transposed",
            [
                [0, 1, *[2] * 6, 5, 6],
                [0, 1, 2, 2, 3, 3, 4, 4, 5, 6],
                [0, 1, 2, 3, 2, 3, 2, 3, 5, 6],
            ],
            IMAGE,
        ),
        (
            "grid-by-columns",
            [
                [0, 1, *[2] * 6, 5, 6],
                [0, 1, 2, 3, 2, 3, 2, 3, 5, 6],
                [0, 1, 2, 2, 3, 3, 4, 4, 5, 6],
            ],
            IMAGE,
        ),
        ("images-as-text", list(range(10)), IMAGE),
        ("advance-by-tokens", image_ids(advance(8)), IMAGE),
        (
            "advance-unmerged",
            [[0, 1, 1, 1, 7], [0, 1, 1, 1, 7], [0, 1, 2, 3, 7]],
            IMAGE | {"mm_token_type_ids": [0, 1, 1, 1, 0], "image_grid_thw": [1, 2, 6]},
        ),
        (
            "image-from-zero",
            [
                [0, 1, *[0] * 6, 5, 6],
                [0, 1, 0, 0, 0, 1, 1, 1, 5, 6],
                [0, 1, 0, 1, 2, 0, 1, 2, 5, 6],
            ],
            IMAGE,
        ),
        ("unknown", [[0, 1, 3]], {"length": 3}),
    ],
)
def test_mistakes(server, bug, posted, asked):
    assert found(server, posted, **asked) == bug


def test_tokens_far_behind_the_prompt(server):
    """Text that nobody asks for is no work: it would take more than --work-max allows."""
    far = 2**50
    assert ids(server, length=3, chunk_start=far, chunk_length=2) == [[far, far + 1]]
    asked = IMAGE | {"chunk_start": far}
    assert found(server, [[far - 3, far - 2]] * 3, **asked) == "match"
    assert found(server, [[far, far + 1]] * 3, **asked) == "delta-ignored"
    assert found(server, [[0, 1]] * 3, **asked) == "chunk-from-zero"


def test_mistakes_of_videos(server):
    right = told(server, **VIDEO)["tensors"]["position_ids"]["data"]
    largest = ids(server, **VIDEO, continues="largest")
    even = ids(server, **VIDEO, tokens_per_second=0)
    assert right[0][0][:9:2] == [0, 1, 3, 5, 7] and right[0][0][9:] == [3, 4]
    assert largest[0][0][9:] == [8, 9] and even[0][0] == [0, 1, 1, 2, 2, 3, 3, 4, 4, 3, 4]
    assert found(server, largest, **VIDEO) == "advance-by-largest"
    assert found(server, right, **VIDEO, continues="largest") == "advance-by-grid"
    assert found(server, even, **VIDEO) == "time-not-scaled"
    assert found(server, [[[*range(11)]], *right], **VIDEO) == "match"


OFFSET = {
    "model_type": "qwen2_5_vl",
    "mm_token_type_ids": [[0] * 3 + [1] * 4 + [0] * 2 + [2] * 6 + [0] * 2],
    "image_grid_thw": [[1, 4, 4]],
    "video_grid_thw": [[3, 2, 4]],
    "second_per_grid_ts": [0.5],
}


def offset_ids(image, video):
    """Times of the image, which begins at 3, and of the frames, which begin at 7."""
    time = [0, 1, 2, *[image] * 4, 5, 6, *numpy.repeat(video, 2).tolist(), 9, 10]
    height = [0, 1, 2, 3, 3, 4, 4, 5, 6, *[7] * 6, 9, 10]
    width = [0, 1, 2, 3, 4, 3, 4, 5, 6, *[7, 8] * 3, 9, 10]
    return [time, height, width]


@pytest.mark.parametrize(
    "bug,image,video",
    [
        ("match", 3, [7, 9, 11]),
        ("image-time-scaled", 12, [7, 9, 11]),
        ("offset-scaled", 3, [14, 16, 18]),
        ("offset-scaled", 12, [14, 16, 18]),
        ("offset-scaled", 3, [14, 14, 14]),
        ("offset-scaled", 12, [14, 14, 14]),  # transformers 5.3.0
        ("time-not-scaled", 3, [7, 8, 9]),
        ("unknown", 3, [14, 15, 16]),
        ("unknown", 12, [7, 7, 7]),
    ],
)
def test_scaled_offsets(server, bug, image, video):
    assert found(server, offset_ids(image, video), **OFFSET) == bug


def test_a_scaled_still_image_alone(server):
    """Whatever the offset before it; at 0 there is nothing to scale."""
    for offset in (0, 1, 5, 100):
        asked = {
            "model_type": "qwen2_5_vl",
            "mm_token_type_ids": [[0] * offset + [1] * 6 + [0]],
            "image_grid_thw": [[1, 4, 6]],
        }
        posted = ids(server, **asked)
        posted[0][0][offset : offset + 6] = [4 * offset] * 6
        expected = "image-time-scaled" if offset else "match"
        assert found(server, posted, **asked) == expected
        asked["model_type"] = "qwen2_vl"  # has no time to scale
        assert found(server, posted, **asked) == ("unknown" if offset else "match")


HUNYUAN = {
    "model_type": "hunyuan_video",
    "mm_token_type_ids": [[1] * 12 + [0] * 3],
    "video_grid_thw": [[2, 2, 3]],
}
TOWER = {"model_type": "qwen2_vl_vision", "image_grid_thw": [[1, 4, 4], [1, 2, 4]]}
COG = {"model_type": "cogvideox", "mm_token_type_ids": [[1] * 12], "image_grid_thw": [[1, 3, 4]]}


def grid(*sides, steps=(1, 1, 1)):
    axes = [numpy.arange(n) * step for n, step in zip(sides, steps, strict=False)]
    return numpy.stack([a.reshape(-1) for a in numpy.meshgrid(*axes, indexing="ij")])


def hunyuan_ids(text, offset=0):
    """[axes, 1, tokens] of the video, then the text."""
    words = numpy.array(text)[None].repeat(3, 0)
    return numpy.concatenate([grid(2, 2, 3) + offset, words], 1)[:, None].tolist()


@pytest.mark.parametrize(
    "bug,posted,asked",
    [
        ("match", hunyuan_ids([0, 0, 0]), HUNYUAN),
        ("text-rotated", hunyuan_ids([0, 1, 2]), HUNYUAN),
        ("text-rotated", hunyuan_ids([0, 1, 2], offset=3), HUNYUAN),
        ("unknown", hunyuan_ids([0, 1, 2], offset=2), HUNYUAN),
        ("grid-transposed", numpy.array(hunyuan_ids([0] * 3))[[0, 2, 1]].tolist(), HUNYUAN),
        ("blocks-as-rows", numpy.concatenate([grid(4, 4), grid(2, 4)], 1).tolist(), TOWER),
        ("grid-not-scaled", grid(1, 3, 4).tolist(), COG),
        ("match", grid(1, 1, 2).tolist(), {"model_type": "wan", "image_grid_thw": [1, 1, 2]}),
        ("images-as-text", [[0, 1]] * 3, {"model_type": "wan", "image_grid_thw": [1, 1, 2]}),
        (
            "frame-rate-ignored",
            grid(3, 1, 2).tolist(),
            {"model_type": "cosmos", "video_grid_thw": [3, 1, 2], "fps": 30},
        ),
        (
            "frame-rate-ignored",
            grid(3, 1, 2, steps=(0.4, 1 / 64, 1 / 64)).tolist(),
            {"model_type": "ltx_video", "video_grid_thw": [3, 1, 2], "frame_rate": 25},
        ),
        (
            "grid-transposed",
            grid(2, 3)[:, None].tolist(),
            {"model_type": "sam2", "mm_token_type_ids": [[1] * 6], "image_grid_thw": [1, 2, 3]},
        ),
        (
            "image-after-unpadded-text",
            [[[1, 2, 3]], [[0, 0, 0]], [[0, 0, 1]]],
            {"model_type": "z_image", "mm_token_type_ids": [0, 1, 1], "image_grid_thw": [1, 1, 2]},
        ),
    ],
)
def test_mistakes_of_grids(server, bug, posted, asked):
    if bug == "image-after-unpadded-text":
        posted[0][0][1:] = [2, 2]
    assert found(server, posted, **asked) == bug


def test_coordinates_are_right_within_float32(server):
    """A grid of bfloat16 is not: 8 bits of a row above 32 are off by up to 1/8."""
    asked = {"model_type": "mochi", "mm_token_type_ids": [1] * 60, "image_grid_thw": [1, 6, 10]}
    right = numpy.array(ids(server, **asked))
    assert right.dtype == numpy.float64
    single = right.astype(numpy.float32)
    assert found(server, single.tolist(), **asked) == "match"
    brain = (single.view(numpy.uint32) & 0xFFFF0000).view(numpy.float32)
    report = told(server, position_ids=brain.tolist(), **asked)
    assert report["verdict"] == "unknown"
    first = report["first"]
    axis = {"time": 0, "height": 1, "width": 2}[first["axis"]]
    assert first["expected"] == right[axis, 0, first["token"]]
    assert first["given"] == brain[axis, 0, first["token"]]


def test_rows_of_videos_have_one_grid_each(server):
    asked = {
        "model_type": "hunyuan_video",
        "mm_token_type_ids": [[2, 2, 0, 0], [2, 2, 2, 0]],
        "attention_mask": [[1, 1, 1, 0], [1] * 4],
        "video_grid_thw": [[2, 1, 1], [1, 3, 1]],
    }
    expected = numpy.zeros((3, 2, 4), int)
    expected[0, 0, 1] = 1
    expected[1, 1, :3] = [0, 1, 2]
    assert ids(server, **asked) == expected.tolist()


def test_the_first_difference(server):
    report = told(server, position_ids=image_ids(swap), **IMAGE)
    assert report["first"] == {"axis": "height", "row": 0, "token": 3, "expected": 2, "given": 3}
    assert (report["compared"], report["unequal"]) == (30, 8)


@pytest.mark.parametrize(
    "at,says,asked",
    [
        ("length", "length is required", {}),
        ("model_type", "known: text, qwen2_vl", {"length": 3, "model_type": "llava"}),
        ("model_type", "text has no images", {**IMAGE, "model_type": "text"}),
        ("padding_side", "left or right", {"lengths": [1, 2]}),
        ("/lengths", "is negative", {"lengths": [2, -1], "padding_side": "left"}),
        (
            "mm_token_type_ids",
            "which tokens are of images",
            {"length": 9, "model_type": "glm4v", "image_grid_thw": [1, 2, 2]},
        ),
        ("mm_token_type_ids", "5 of 6 tokens", {**IMAGE, "mm_token_type_ids": [*[1] * 5, 0]}),
        ("mm_token_type_ids", "no grid left", {**IMAGE, "mm_token_type_ids": [*[1] * 7]}),
        (
            "mm_token_type_ids",
            "0 images and 0 videos, the grids 1",
            {**IMAGE, "mm_token_type_ids": [0]},
        ),
        ("/mm_token_type_ids", "got 3", {**IMAGE, "mm_token_type_ids": [3]}),
        ("/image_grid_thw", "[count, 3]", {**IMAGE, "image_grid_thw": [4, 6]}),
        ("image_grid_thw", "1 to 1048576", {**IMAGE, "image_grid_thw": [0, 4, 6]}),
        ("/second_per_grid_ts", "there are 0 videos", {**IMAGE, "second_per_grid_ts": [1]}),
        ("/attention_mask", "another list has 1 of 10", {**IMAGE, "attention_mask": [1]}),
        ("cu_seqlens", "0 to the number of tokens", {"length": 3, "cu_seqlens": [0, 4]}),
        ("/input_ids", "whole numbers", {"input_ids": [0.5]}),
        ("/position_ids", "2 rows of 1 ids", {"length": 1, "position_ids": [[1], [2]]}),
        ("position_ids", "1 ids a token", {"length": 1, "position_ids": [[[1]], [[2]], [[3]]]}),
        ("chunk_length", "is beyond the", {"length": 3, "chunk_start": 4}),
        (
            "mm_token_type_ids",
            "one grid, not 2",
            {"model_type": "wan", "image_grid_thw": [[1, 1, 1], [1, 1, 1]]},
        ),
        (
            "mm_token_type_ids",
            "text of wan",
            {"model_type": "wan", "image_grid_thw": [1, 1, 1], "mm_token_type_ids": [0, 1]},
        ),
        ("video_grid_thw", "of images or of videos", {**HUNYUAN, "image_grid_thw": [1, 1, 1]}),
        ("image_grid_thw", "blocks of 2 x 2", {**TOWER, "image_grid_thw": [1, 3, 4]}),
        ("spatial_merge_size", "has no use for", {**HUNYUAN, "spatial_merge_size": 2}),
        ("temporal_merge_size", "has no use for", {**HUNYUAN, "temporal_merge_size": 2}),
        ("tokens_per_second", "has no use for", {**HUNYUAN, "tokens_per_second": 2}),
        ("second_per_grid_ts", "has no use for", {**HUNYUAN, "second_per_grid_ts": [0.5]}),
        ("continues", "has no use for", {**HUNYUAN, "continues": "largest"}),
        ("cu_seqlens", "has no use for", {**HUNYUAN, "cu_seqlens": [0, 15]}),
        (
            "frame_rate",
            "1e-09 to 1e+09",
            {"model_type": "cosmos", "image_grid_thw": [2, 1, 1], "fps": 1e-300},
        ),
        (
            "base_size",
            "1e-09 to 1e+09",
            {"model_type": "cosmos", "image_grid_thw": [2, 1, 1], "base_size": [1e-300, 1, 1]},
        ),
        ("base_size", "has no base_size", {**HUNYUAN, "base_size": [1, 2, 3]}),
        ("base_size", "three numbers", {**COG, "base_size": [30, 45]}),
        ("grid_step", "has no grid_step", {**COG, "grid_step": [1, 1, 1]}),
        ("frame_rate", "has no frame_rate", {**COG, "frame_rate": 8}),
        ("frame_rate", "is required", {"model_type": "ltx_video", "image_grid_thw": [1, 1, 1]}),
        ("base_size", "scale_factor", {"model_type": "kandinsky5", "image_grid_thw": [1, 1, 1]}),
        ("/position_ids", "whole numbers", {**HUNYUAN, "position_ids": [[0.5] * 15] * 3}),
        (
            "model_type",
            "order of windows",
            {"model_type": "qwen2.5_vl_vision", "image_grid_thw": [1, 2, 2]},
        ),
        (
            "second_per_grid_ts",
            "pass 2^53",
            {
                "model_type": "qwen2_5_vl",
                "tokens_per_second": 1 << 20,
                "continues": "largest",
                "mm_token_type_ids": [2] * 16385,
                "video_grid_thw": [[16384, 2, 2], [1, 2, 2]],
                "second_per_grid_ts": [1e6, 1e6],
            },
        ),
    ],
)
def test_refused(server, at, says, asked):
    answer = post_json(server, "/v1/positions", asked)
    problem = answer.json
    assert answer.status == 422 and says in problem["detail"], problem
    assert at in str(problem["errors"])


def test_limits(server):
    answer = post_json(server, "/v1/positions?format=npy", {"length": 10**12})
    assert answer.status == 413, answer.body


def generated(model, text=3, grids=((1, 4, 2), (1, 2, 5))):
    """Text, then images."""
    kinds = [0] * text + [1] * sum(t * h * w for t, h, w in grids)
    return {"model_type": model, "mm_token_type_ids": [kinds], "image_grid_thw": list(grids)}


def cells(grid, *, centred=False):
    t, h, w = (numpy.arange(size) for size in grid)
    y, x = (h - (len(h) - len(h) // 2), w - (len(w) - len(w) // 2)) if centred else (h, w)
    return numpy.stack(numpy.meshgrid(t, y, x, indexing="ij")).reshape(3, -1)


def test_models_that_make_images(server):
    """The rules written down again from the pipelines of diffusers 0.42.1; the suite `diffusers`
    compares them with these."""
    one, two = cells((1, 4, 2)), cells((1, 2, 5))
    i = numpy.arange(3)
    zero = numpy.zeros(3, dtype=int)
    second = numpy.array([[1], [0], [0]])
    expected = {
        "flux": [numpy.stack([zero, zero, zero]), one, two + second],
        "qwen_image": [
            numpy.stack([i, i, i]) + 2,
            cells((1, 4, 2), centred=True),
            cells((1, 2, 5), centred=True) + second,
        ],
        "lumina2": [numpy.stack([i, zero, zero]), one + 3 * second, two + 3 * second],
        "z_image": [numpy.stack([i + 1, zero, zero]), one + 33 * second, two + 33 * second],
    }
    for model, parts in expected.items():
        assert ids(server, **generated(model)) == numpy.concatenate(parts, 1)[:, None].tolist()
    last = numpy.array([*range(3), *[0] * 18])[None]
    flux2 = numpy.concatenate([zero + zero[:, None], one, two + 10 * second], 1)
    assert ids(server, **generated("flux2")) == numpy.concatenate([flux2, last])[:, None].tolist()
    assert ids(server, **generated("chroma")) == ids(server, **generated("flux"))


def test_padded_text_of_models_that_make_images(server):
    """The image of lumina2 follows tokens without padding, that of z_image a multiple of 32."""
    asked = generated("lumina2", 5, [(1, 1, 2)]) | {"attention_mask": [[1, 1, 1, 0, 0, 1, 1]]}
    right = [[0, 1, 2, 0, 0, 3, 3], [0] * 7, [0, 0, 0, 0, 0, 0, 1]]
    assert ids(server, **asked) == [[row] for row in right]
    padded = [[[0, 1, 2, 3, 4, 5, 5]], [[0] * 7], [[0, 0, 0, 0, 0, 0, 1]]]
    assert found(server, padded, **asked) == "padding-counted"
    long = generated("z_image", 33, [(1, 1, 1)])
    assert ids(server, **long)[0][0][-1] == 65


@pytest.mark.parametrize("model", ["flux", "flux2", "qwen_image", "lumina2", "z_image"])
def test_mistakes_of_models_that_make_images(server, model):
    asked = generated(model)
    right = numpy.array(ids(server, **asked))
    assert found(server, right.tolist(), **asked) == "match"
    assert found(server, (right + 1).tolist(), **asked) == "one-too-high"
    swapped = right[[0, 2, 1, *range(3, len(right))]]
    assert found(server, swapped.tolist(), **asked) == "grid-transposed"
    if model == "qwen_image":
        text, image = right[..., :3] - 2, right[..., 3:]
        assert found(server, numpy.concatenate([text, image], -1).tolist(), **asked) == (
            "text-from-zero"
        )
        corner = image.copy()
        corner[1:, :, :8] -= image[1:, :, :8].min(-1, keepdims=True)
        corner[1:, :, 8:] -= image[1:, :, 8:].min(-1, keepdims=True)
        assert found(server, numpy.concatenate([right[..., :3], corner], -1).tolist(), **asked) == (
            "not-centred"
        )
    if model in ("lumina2", "z_image"):
        early = right.copy()
        early[0, :, 3:] -= early[0, :, 3]
        early[0, :, 11:] -= early[0, :, 11] - 0
        assert found(server, early.tolist(), **asked) == "image-from-zero"


def test_refusals_of_models_that_make_images(server):
    def refused(**asked):
        answer = post_json(server, "/v1/positions", asked)
        assert answer.status == 422
        return answer.json["detail"]

    asked = generated("flux")
    assert "more than its grids" in refused(**asked | {"image_grid_thw": [[1, 4, 2]]})
    assert "fewer than its grids" in refused(**asked | {"image_grid_thw": [[1, 4, 2], [1, 9, 9]]})
    assert "the grids 3" in refused(**asked | {"image_grid_thw": [[1, 4, 2], [1, 2, 5], [1, 1, 1]]})
    assert "no use for cu_seqlens" in refused(**asked | {"cu_seqlens": [0, 21]})
    assert "behind its prompt" in refused(**asked | {"chunk_length": 30}).lower()
    assert "0 (text) or 1 (image)" in refused(**asked | {"mm_token_type_ids": [[2] * 21]})


@pytest.mark.parametrize("model", ["text", "qwen2_vl"])
def test_a_chunk_of_ids_says_nothing_of_the_prompt(server, model):
    """The ids of a chunk are no list of tokens: its start needs a length, or tokens."""
    posted = {"position_ids": [[3, 4]], "model_type": model}
    assert post_json(server, "/v1/positions", posted).good().json["verdict"] != "match"
    for start in (0, 1, 3):
        chunk = posted | {"chunk_start": start}
        answer = post_json(server, "/v1/positions", chunk)
        assert answer.status == 422 and answer.json["errors"][0]["parameter"] == "length"
        judged = post_json(server, "/v1/positions", chunk | {"length": 5}).good().json
        assert (judged["verdict"] == "match") == (start == 3)


@pytest.mark.parametrize("before", [0, 250, 256, 300, 513])
def test_tokens_are_of_images_and_videos_wherever_they_stand(server, before):
    """By their ids and by their kinds, which are the same list."""
    kinds = [0] * before + [1] * 6 + [0] * 3 + [2] * 12 + [0] * 2
    names = {0: 9, 1: 151655, 2: 151656}
    model = {"model_type": "qwen2_vl", "image_grid_thw": [[1, 4, 6]], "video_grid_thw": [[2, 4, 6]]}
    tokens = {
        "input_ids": [[names[kind] + (kind == 0) * i for i, kind in enumerate(kinds)]],
        "image_token_id": names[1],
        "video_token_id": names[2],
    }
    by_kinds = ids(server, **model, mm_token_type_ids=[kinds])
    assert ids(server, **model, **tokens) == by_kinds
    assert by_kinds[1][0][before : before + 6] == [before + i for i in (0, 0, 0, 1, 1, 1)]
