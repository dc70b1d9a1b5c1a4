#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Clients with one connection each, which send requests of a list for some seconds and compare the
hash of each answer: load.py REQUESTS PORT SECONDS CONNECTIONS. A connection that the server said it
would close is replaced, as clients do. A request whose answer ended early is sent again and counted
as cut; nothing else is sent twice. Prints counts as JSON."""

import collections
import hashlib
import http.client
import json
import random
import sys
import threading
import time


class Client(threading.Thread):
    def __init__(self, requests, port, end, seed):
        super().__init__(daemon=True)
        self.requests, self.port, self.end = requests, port, end
        self.random = random.Random(seed)
        self.statuses, self.wrong, self.errors = collections.Counter(), 0, []
        self.cut, self.without_retry_after, self.times = 0, 0, []

    def run(self):
        connection, one = None, None
        while time.monotonic() < self.end or one:
            if connection is None:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            one = one or self.random.choice(self.requests)
            began = time.monotonic()
            try:
                connection.request(one["method"], one["path"], one["body"], one["fields"])
                answer = connection.getresponse()
                body = answer.read()
            except http.client.IncompleteRead:
                self.cut += 1
                connection.close()
                connection = None
                continue
            except (OSError, http.client.HTTPException) as error:
                one = None
                self.errors.append(f"{time.monotonic():.3f} {one['method']} {error!r}")
                connection.close()
                connection = None
                time.sleep(0.01)
                continue
            self.times.append(time.monotonic() - began)
            self.statuses[answer.status] += 1
            if answer.status == 200 and hashlib.sha256(body).hexdigest() != one["hash"]:
                self.wrong += 1
            if answer.status == 503 and not answer.getheader("Retry-After"):
                self.without_retry_after += 1
            one = None
            if answer.status != 200:
                time.sleep(0.01)
            if answer.will_close:
                connection.close()
                connection = None


def main():
    path, port, seconds, connections = sys.argv[1:]
    requests = json.load(open(path))
    for one in requests:
        one["body"] = bytes.fromhex(one["body"])
    end = time.monotonic() + float(seconds)
    clients = [Client(requests, int(port), end, seed) for seed in range(int(connections))]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    times = sorted(one for client in clients for one in client.times)
    statuses = sum((client.statuses for client in clients), collections.Counter())
    errors = [error for client in clients for error in client.errors]
    print(
        json.dumps(
            {
                "requests": len(times) + len(errors),
                "statuses": {str(status): count for status, count in statuses.items()},
                "errors": len(errors),
                "first_errors": errors[:5],
                "wrong": sum(client.wrong for client in clients),
                "cut": sum(client.cut for client in clients),
                "without_retry_after": sum(client.without_retry_after for client in clients),
                "p99": times[int(0.99 * (len(times) - 1))] if times else None,
                "slowest": times[-1] if times else None,
            }
        )
    )


if __name__ == "__main__":
    main()
