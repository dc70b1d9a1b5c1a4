# SPDX-License-Identifier: MIT
"""Small requests do not wait for large ones."""

import os
import statistics
import threading
import time

import numpy
import requests

SMALL = (
    "/v1/encodings/rope/table?dim=64&length=64&format=raw&start={}",
    "/v1/encodings/rope/frequencies?dim=64&base={}",
)


def rotate(server, body, shape, answers, stop):
    """Posts one batch again and again."""
    url = (
        f"{server.url}/v1/rotation?encoding=rope&layout=half&axes=bhsd&positions=0..{shape[2] - 1}"
    )
    headers = {
        "Content-Type": "application/octet-stream",
        "Tensor-Dtype": "f32",
        "Tensor-Shape": ",".join(map(str, shape)),
    }
    while not stop.is_set():
        answer = requests.post(url, data=body, headers=headers, timeout=120)
        answers.append((answer.status_code, len(answer.content)))


def test_a_hundred_small_ones_beside_two_large(start_server):
    """Bodies of 256 MiB each; 16 MiB under a sanitizer."""
    heads = 1024 if "POSENC_SANITIZED" not in os.environ else 64
    server = start_server("--log-format", "off")
    body = numpy.random.default_rng(5).standard_normal(heads << 16, dtype=numpy.float32)
    body = body.tobytes()
    answers, stop = [], threading.Event()
    large = [
        threading.Thread(target=rotate, args=(server, body, (1, heads, 512, 128), answers, stop))
        for _ in range(2)
    ]
    began = time.monotonic()
    for thread in large:
        thread.start()
    time.sleep(0.3)
    times = []
    with requests.Session() as session:
        for index in range(100):
            start = time.monotonic()
            answer = session.get(server.url + SMALL[index % 2].format(1000 + index), timeout=30)
            times.append(time.monotonic() - start)
            assert answer.status_code == 200
    stop.set()
    for thread in large:
        thread.join()
    assert answers and set(answers) == {(200, len(body))}
    each = (time.monotonic() - began) / (len(answers) / 2)
    print(
        f"small: median {statistics.median(times) * 1e3:.1f} ms, most {max(times) * 1e3:.0f} ms; "
        f"large: {each * 1e3:.0f} ms each"
    )
    # Waiting for a large one would take a large one's time; not once does it.
    assert statistics.median(times) < each / 8
    assert max(times) < each
