# SPDX-License-Identifier: MIT
"""The parts of openapi.yaml that are made of GET /v1: formats of answers and types of elements."""

from openapi_catalogue import TEXT


def formats(catalogue, ranges=False, pictures=False):
    """What an answer of tensors can be beside JSON; `ranges`: in parts too."""
    found = {}
    for media_type, schema in catalogue.formats.items():
        if media_type.startswith("image/"):
            taken = pictures
        else:
            taken = not ranges or not media_type.startswith(TEXT)
        if taken:
            found[media_type] = {"schema": schema}
    return found


def regions(catalogue, responses):
    """region name -> data; `responses` are those that tensors are answered with."""
    return {
        "names of dtypes": {"enum": catalogue.about["dtypes"]},
        "dtypes and formats": {key: catalogue.about[key] for key in ("dtypes", "formats")},
        "formats with ranges": formats(catalogue, ranges=True),
        **{f"formats of {name}": formats(catalogue, pictures=name == "View") for name in responses},
    }
