# SPDX-License-Identifier: MIT
"""The parts of openapi.yaml that are made of GET /v1: formats of answers and types of elements."""
from openapi_catalogue import TEXT, Writer, flow


def formats(catalogue, ranges=False, pictures=False):
    """What an answer of tensors can be beside JSON; `ranges`: in parts too."""
    out = Writer(4)
    for media_type, schema in catalogue.formats.items():
        if media_type.startswith("image/"):
            taken = pictures
        else:
            taken = not ranges or not media_type.startswith(TEXT)
        if taken:
            out.put(0, f"{media_type}: {flow({'schema': schema})}")
    return out.text()


def names(listed):
    out = Writer(3)
    out.put(0, f"enum: {flow(listed)}")
    return out.text()


def about_example(catalogue):
    out = Writer(6)
    for key in ("dtypes", "formats"):
        out.put(0, f"{key}: {flow(catalogue.about[key])}")
    return out.text()


def regions(catalogue, responses):
    """region name -> text; `responses` are those that tensors are answered with."""
    return {"names of dtypes": names(catalogue.about["dtypes"]),
            "dtypes and formats": about_example(catalogue),
            "formats with ranges": formats(catalogue, ranges=True),
            **{f"formats of {name}": formats(catalogue, pictures=name == "View")
               for name in responses}}
