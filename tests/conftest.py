# SPDX-License-Identifier: MIT
"""The real server, over a real socket. POSENCD names the binary (build/posencd)."""

import dataclasses
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import pytest
import requests

ROOT = pathlib.Path(__file__).resolve().parent.parent
START_SECONDS_MAX, STOP_SECONDS_MAX = 30, 40


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "plain: of memory, threads or time, of which a sanitizer "
        "takes its own; the plain build is tested so",
    )
    config.addinivalue_line(
        "markers",
        "numbers(every, quick=1): whose parameters differ in numbers; a sanitizer sees the same "
        "lines in each, and gets one of `every`, `make test` one of `quick`, POSENC_WHOLE all, and "
        "POSENC_NUMBERS all without the larger populations that POSENC_WHOLE gives other tests",
    )


def is_left_out(item, counts):
    """`counts` has how many tests of each function were seen."""
    is_sanitized = "POSENC_SANITIZED" in os.environ
    numbers = item.get_closest_marker("numbers")
    count = counts[item.function] = counts.get(item.function, -1) + 1
    if is_sanitized and item.get_closest_marker("plain"):
        return True
    if not numbers or os.environ.get("POSENC_WHOLE") or os.environ.get("POSENC_NUMBERS"):
        return False
    return count % (numbers.args[0] if is_sanitized else numbers.kwargs.get("quick", 1)) != 0


def pytest_collection_modifyitems(config, items):
    counts = {}
    left_out = [item for item in items if is_left_out(item, counts)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@dataclasses.dataclass
class Server:
    url: str
    port: int
    process: subprocess.Popen
    log: object  # a file with what it wrote
    session: requests.Session = dataclasses.field(default_factory=requests.Session)

    def __post_init__(self):
        self.session.trust_env = False  # no proxy: looking for one takes longer than a request

    def request(self, method, path, **arguments):
        """On a kept connection; `path` may have a query."""
        return self.session.request(method, self.url + path, **arguments)

    get = functools.partialmethod(request, "GET")
    head = functools.partialmethod(request, "HEAD")
    post = functools.partialmethod(request, "POST")
    options = functools.partialmethod(request, "OPTIONS")
    delete = functools.partialmethod(request, "DELETE")

    def log_text(self):
        self.log.flush()
        return pathlib.Path(self.log.name).read_text(errors="replace")

    def stop(self, signal_number=signal.SIGTERM):
        """The exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        try:
            return self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


def start(*arguments, env=None):
    binary = ROOT / os.environ.get("POSENCD", "build/posencd")
    log = tempfile.NamedTemporaryFile(prefix="posencd-", suffix=".log")
    process = subprocess.Popen(
        [binary, "--bind", "127.0.0.1", "--port", "0", "--drain-delay", "0", *arguments],
        stdout=log,
        stderr=log,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **(env or {})},
    )
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(r"http://127\.0\.0\.1:(\d+)", pathlib.Path(log.name).read_text())
        if found:
            port = int(found.group(1))
            return Server(f"http://127.0.0.1:{port}", port, process, log)
        time.sleep(0.01)
    process.kill()
    raise RuntimeError("posencd did not start: " + pathlib.Path(log.name).read_text())


def finish(server):
    """Ends a server and looks at how it ended: a sanitizer's report fails the test."""
    running = server.process.poll() is None
    code = server.stop()
    text = server.log_text()
    assert "Sanitizer" not in text and "runtime error" not in text, text[-8000:]
    assert not running or code == 0, f"exit code {code}: {text[-2000:]}"


# The token for storing in the session's server; the examples show it too.
TOKEN = "a-secret"


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """With the tables of tests/data, in a folder of its own."""
    folder = tmp_path_factory.mktemp("stored")
    shutil.copytree(ROOT / "tests/data/tables", folder / "tables")
    (folder / "tokens").write_text(TOKEN + "\n")
    running = start("--tables", folder / "tables", "--token-file", folder / "tokens")
    yield running
    finish(running)


def starting():
    """Starts servers with flags and an environment; all of them end together."""
    started, lock = [], threading.Lock()

    def starter(*arguments, env=None):
        one = start(*arguments, env=env)
        with lock:
            started.append(one)
        return one

    yield starter
    for one in started:
        finish(one)


@pytest.fixture
def start_server():
    """Starts servers that end with the test."""
    yield from starting()


@pytest.fixture(scope="module")
def start_shared():
    """Starts servers that end with the file."""
    yield from starting()
