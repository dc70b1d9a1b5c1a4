# SPDX-License-Identifier: MIT
"""Rotates the keys of a folder of safetensors files in one process."""

import shards


def main():
    given = shards.arguments(__doc__)
    done = (
        shards.convert(shard, given.target, given.parameters, given.suffix)
        for shard in given.shards
    )
    shards.finish(given.target, dict(done))


if __name__ == "__main__":
    main()
