# SPDX-License-Identifier: MIT
"""What a row of the bench is: a question to the service or the library, to the limits of the
machine and to peers, in turns. The lists are rows_http.py, rows_library.py and rows_peers.py."""

import dataclasses

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclasses.dataclass(frozen=True)
class Who:
    """Somebody who answers a row's question."""

    server: str  # a key of loads.STARTERS; of a row of numbers: the name in its output
    path: str = ""  # or the words of a worker
    title: str = ""  # in the table
    file: str = ""  # nginx: what its file is made of; "copy" of our answer, or a "sparse" one
    flags: tuple = ()
    beside: str = ""  # of the load "beside": the path that the other clients post to
    fields: tuple = ()


@dataclasses.dataclass(frozen=True)
class Figure:
    """One line of the table, from the samples of its row. A target compares what it names: the
    ratio of ours to one of the others, to the "best" of them, or "ours" itself."""

    name: str
    what: str
    key: str
    unit: str
    targets: tuple = ()  # (of whom, "<=" or ">=", value)
    ours_only: bool = False
    limit: str = ""  # where it falls short: what holds it there, as far as it was measured


@dataclasses.dataclass(frozen=True)
class Row:
    load: str  # a key of loads.LOADS
    figures: tuple
    ours: Who
    others: dict = dataclasses.field(default_factory=dict)  # by what targets call them
    connections: int = 1
    bytes: int = 0  # of an answer's body; None: any
    body_bytes: int = 0  # of a request's body
    fields: tuple = ()
    status: int = 200
    rounds_max: int = 100
    elements: float = 0  # of one call or answer
    flops: float = 0
    sizes: tuple = ()  # of the load "growth": (path or words, units of work)

    def __post_init__(self):
        for figure in self.figures:
            unknown = {whom for whom, _, _ in figure.targets} - {"best"} - self.everyone.keys()
            if unknown:
                raise ValueError(f"{figure.name} has goals beside {unknown}, who are not asked")

    @property
    def name(self):
        return self.figures[0].name

    @property
    def everyone(self):
        return {"ours": self.ours, **self.others}


POSENCD = "posencd"


def posencd(path, *flags, title=POSENCD, **more):
    return Who("posencd", path, title, flags=flags, **more)
