# SPDX-License-Identifier: MIT
"""Rotates the keys of a folder of safetensors files by Dask.

A task whose worker is lost goes to another worker. On a cluster (DASK_SCHEDULER_ADDRESS), the
folders have to be shared, and posenc installed on each machine."""

import os
import pathlib

import shards
from dask.distributed import Client, LocalCluster


def start(workers):
    address = os.environ.get("DASK_SCHEDULER_ADDRESS")
    cluster = address or LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None
    )
    client = Client(cluster)
    # Not shards.__file__: uploading loads the module again, from a folder of the cluster.
    client.upload_file(str(pathlib.Path(__file__).with_name("shards.py")))
    return client


def convert(client, given, rotate=shards.rotated):
    """The SHA-256 of each file."""
    futures = client.map(
        shards.convert,
        given.shards,
        target=given.target,
        parameters=given.parameters,
        suffix=given.suffix,
        rotate=rotate,
        pure=False,
        retries=3,
    )
    return dict(client.gather(futures))


def main():
    given = shards.arguments(__doc__)
    with start(given.workers) as client:
        shards.finish(given.target, convert(client, given))


if __name__ == "__main__":
    main()
