# SPDX-License-Identifier: MIT
"""Every recorded request through the package's own way into the process: status, fields, bytes."""
import record
import replay

from posenc._library import Service
from posenc._messages import Request


class Door:
    """With the limits that a server has where nothing is said."""

    def __init__(self, settings):
        usual = dict.fromkeys(Service.OWN)
        self.service = Service(**usual | {name.replace("-", "_"): text for name, text in settings})

    def ask(self, method, target, fields, body):
        told = tuple(field for field in fields if field[0] != "Content-Length")
        reply = self.service.send(Request(method, target, told, (body,) if body else ()))
        return reply.status, reply.fields.items(), reply.content

    def close(self):
        pass


def test_every_recorded_answer():
    with replay.doors(Door) as opened:
        count, lines = replay.differences(opened, record.read())
    assert count > 1200
    assert not lines, "\n" + "\n".join(lines)
