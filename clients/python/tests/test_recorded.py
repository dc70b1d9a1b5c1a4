# SPDX-License-Identifier: MIT
"""Every recorded request through the package's own way into the process: status, fields, bytes."""

import record
import replay
from posenc._library import Service
from posenc._messages import Request


class Told(Request):
    """Its Content-Length counts, whatever the body has."""

    @property
    def length(self):
        return int(dict(self.fields).get("Content-Length", super().length))


class Door:
    """With the limits that a server has where nothing is said."""

    def __init__(self, settings):
        given = {name.replace("-", "_"): value for name, value in settings}
        self.service = Service(**dict.fromkeys(Service.OWN) | given)

    def ask(self, method, target, fields, body):
        reply = self.service.send(Told(method, target, tuple(fields), (body,) if body else ()))
        return reply.status, reply.fields.items(), reply.content

    def close(self):
        del self.service


def test_every_recorded_answer():
    with replay.doors(Door) as opened:
        count, lines = replay.differences(opened, record.read())
    assert count > 300
    assert not lines, "\n" + "\n".join(lines)
