# SPDX-License-Identifier: MIT
"""Rotates the keys of a folder of safetensors files by Ray Data.

A task whose worker is lost is run again by Ray. On a cluster (RAY_ADDRESS), the folders have to be
shared, and posenc installed on each machine."""

import os
import pathlib

import ray
import shards


def start(workers):
    here = str(pathlib.Path(__file__).resolve().parent)
    ray.init(
        num_cpus=None if "RAY_ADDRESS" in os.environ else workers,
        include_dashboard=False,
        runtime_env={"env_vars": {"PYTHONPATH": here}},
    )
    # Outputs are two short texts and need no budget of the object store. With one, a single task
    # runs at a time for the first second, until Ray Data has read the size of the cluster.
    ray.data.DataContext.get_current().op_resource_reservation_enabled = False


def convert(given, rotate=shards.rotated):
    """The SHA-256 of each file."""

    def one(row):
        name, digest = shards.convert(
            row["item"], given.target, given.parameters, given.suffix, rotate
        )
        return {"name": name, "digest": digest}

    names = ray.data.from_items(given.shards, override_num_blocks=len(given.shards))
    # Without a budget nothing else bounds the tasks that wait in Ray, each with some 50 KiB.
    processors = int(ray.cluster_resources()["CPU"])
    rows = names.map(one, concurrency=2 * processors).take_all()
    return {row["name"]: row["digest"] for row in rows}


def main():
    given = shards.arguments(__doc__)
    start(given.workers)
    shards.finish(given.target, convert(given))


if __name__ == "__main__":
    main()
