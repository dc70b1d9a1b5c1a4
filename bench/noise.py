# SPDX-License-Identifier: MIT
"""The processors' time that went elsewhere while something was measured."""

import os
import pathlib

from processes import cpu_seconds

TICK = os.sysconf("SC_CLK_TCK")


class Noise:
    """Shares of the time of all processors, from the making of one on: to other guests of the host,
    and to processes that are not the bench's."""

    def __init__(self):
        self.before = self.times()

    @staticmethod
    def times():
        """All, idle, stolen, and the bench's own, in clock ticks."""
        ticks = list(map(int, pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]))
        return sum(ticks), ticks[3] + ticks[4], ticks[7], cpu_seconds(os.getpid()) * TICK

    def shares(self):
        every, idle, stolen, own = (b - a for a, b in zip(self.before, self.times()))
        return {
            "guests": stolen / max(1, every),
            "processes": max(0, every - idle - stolen - own) / max(1, every),
        }

    def elsewhere(self):
        return sum(self.shares().values())
