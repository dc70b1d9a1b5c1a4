# SPDX-License-Identifier: MIT
"""Programs that are asked line by line how fast something is (bench/workers/worker.h)."""

import dataclasses
import glob
import json
import os
import subprocess
import threading

import servers
from processes import Failure

ANSWER_SECONDS_MAX = 200
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "BLIS_NUM_THREADS": "1"}
SITE = f"{servers.PEERS}/lib/python3*/site-packages"

# Files that Debian's packages and those of Python install.
OPENBLAS = f"{SITE}/scipy_openblas32/lib/libscipy_openblas.so"
BLIS = "/usr/lib/*/blis-serial/libblis.so.4"
ONEDNN = "/usr/lib/*/libdnnl.so.*"

# Libraries know processors by their maker: another one's kernels may be the faster ones, and of a
# maker's newest they may know nothing.
AVX512, AVX2 = {"OPENBLAS_CORETYPE": "SkylakeX"}, {"BLIS_ARCH_TYPE": "haswell"}
COMMANDS = {
    "library": ([servers.BUILD / "bench/library"], {}),
    "products-openblas": ([servers.BUILD / "bench/products", OPENBLAS], {}),
    "products-openblas-avx512": ([servers.BUILD / "bench/products", OPENBLAS], AVX512),
    "products-blis": ([servers.BUILD / "bench/products", BLIS], AVX2),
    "products-onednn": ([servers.BUILD / "bench/products", ONEDNN], {}),
    "tensors": ([servers.PEERS / "bin/python", "bench/peers/tensors.py"], {}),
}


def file_of(word):
    """The file that a pattern means."""
    if "*" not in str(word):
        return word
    found = sorted(glob.glob(str(word)))
    if not found:
        raise Failure(f"there is no {word}")
    return found[-1]


@dataclasses.dataclass
class Worker:
    process: subprocess.Popen
    port: int = 0

    def ask(self, seconds, words):
        """What the program answers; a Failure with its last words where it does not."""
        late = threading.Timer(ANSWER_SECONDS_MAX, self.process.kill)
        late.start()
        last = "no word"
        try:
            self.process.stdin.write(f"{seconds};{words}\n")
            self.process.stdin.flush()
            for line in self.process.stdout:
                if line.startswith("{"):
                    return json.loads(line)
                last = line.strip() or last
        except BrokenPipeError:
            last = self.process.stdout.read().strip() or last
        finally:
            late.cancel()
        raise Failure(last)


def start(processes, name):
    command, environment = COMMANDS[name]
    return Worker(
        processes.start(
            [file_of(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **ONE_THREAD, **environment},
        )
    )
