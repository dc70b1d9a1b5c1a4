# SPDX-License-Identifier: MIT
"""A start with scarce resources: the server serves, or reports in one line why not and ends."""

import concurrent.futures
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile

import conftest
import pytest
import wire

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = ROOT / os.environ.get("POSENCD", "build/posencd")
GET = (
    b"GET /v1/encodings/rope/table?dim=64&length=%d&format=npy HTTP/1.1\r\nHost: localhost\r\n"
    b"Connection: close\r\n\r\n"
)
NOBODY = 61000 + os.getpid() % 4000  # a user with no process, so that RLIMIT_NPROC counts ours


def test_service_manager_is_told(start_server, tmp_path, monkeypatch):
    """Notifications when the server listens, and when it begins to end."""
    for name in (str(tmp_path / "notify"), f"\0posenc-{os.getpid()}"):
        monkeypatch.setenv("NOTIFY_SOCKET", name.replace("\0", "@"))
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(name)
            manager.settimeout(5)
            server = start_server()
            assert manager.recv(100) == b"READY=1" and wire.is_alive(server.port)
            assert server.stop() == 0 and manager.recv(100) == b"STOPPING=1"


def started(limit, value, *arguments, binary=BINARY, user=None):
    """(exit code, what was said, status of a GET or None) of a server that was given so little, was
    asked once and was ended by SIGTERM."""
    process = subprocess.Popen(
        [
            binary,
            "--bind",
            "127.0.0.1",
            "--port",
            "0",
            "--drain-delay",
            "0",
            "--log-format",
            "off",
            *arguments,
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        user=user,
        preexec_fn=lambda: resource.setrlimit(limit, (value, value)),
    )
    try:
        said = process.stderr.readline()
        port = re.search(r"listening on http://127\.0\.0\.1:(\d+)", said)
        status = None
        if port:
            answers = [wire.answer(int(port[1]), GET % length) for length in (10, 5000)]
            status = answers[0] and answers[0].status
            assert all(answer and answer.status in (200, 503) for answer in answers)
            process.send_signal(signal.SIGTERM)
        said += process.stderr.read()
        return process.wait(20), said, status
    finally:
        process.kill()
        process.wait()


def check(outcomes):
    """Each outcome is one of the two that are allowed; the number that served."""
    for value, (code, said, status) in outcomes.items():
        if status is None:
            assert code > 0 and said.count("\n") == 1, (value, code, said)
        else:
            assert status == 200 and code == 0, (value, code, said)
    return sum(status is not None for _, _, status in outcomes.values())


def each(values, call):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return dict(zip(values, pool.map(call, values)))


def test_few_descriptors():
    values = range(10, 41)
    outcomes = each(values, lambda value: started(resource.RLIMIT_NOFILE, value))
    assert check(outcomes) >= 10
    for value in range(10, 24):
        assert re.fullmatch(
            r"posencd: --loops 1 takes \d+ descriptors, and \d+ can be had "
            r"\(Too many open files\); allow more with ulimit -n\n",
            outcomes[value][1],
        )


def test_few_descriptors_for_many_loops():
    values = range(30, 90, 6)
    call = lambda value: started(resource.RLIMIT_NOFILE, value, "--loops", "6")  # noqa: E731
    assert 0 < check(each(values, call)) < len(values)


@pytest.mark.plain
def test_little_memory():
    """From the size of the program on: in less, the kernel cannot map it, and ends it."""
    values = range(8, 68, 4)
    served = check(each(values, lambda mib: started(resource.RLIMIT_AS, mib << 20)))
    assert 0 < served < len(values)


@pytest.mark.plain
def test_few_threads():
    """The limit is on all threads of a user; root has those of nobody counted, of whom there are
    none."""
    root = os.geteuid() == 0
    others = (
        0
        if root
        else len(
            subprocess.run(
                ["ps", "-L", "-u", str(os.getuid())], check=True, capture_output=True
            ).stdout.splitlines()
        )
    )
    values = range(others + 1, others + 9)
    with tempfile.TemporaryDirectory() as folder:
        binary = pathlib.Path(shutil.copy(BINARY, folder))
        binary.parent.chmod(0o755)
        outcomes = {
            value: started(
                resource.RLIMIT_NPROC,
                value,
                "--threads",
                "4",
                binary=binary,
                user=NOBODY if root else None,
            )
            for value in values
        }
    assert 0 < check(outcomes) < len(values)


@pytest.mark.plain
def test_stacks_of_a_stated_size(start_server):
    """With any limit of the main thread: workers, loops, the pool's threads for brief jobs."""
    before = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (6 << 20, before[1]))
    try:
        server = start_server("--threads", "3", "--loops", "2")
    finally:
        resource.setrlimit(resource.RLIMIT_STACK, before)
    maps = pathlib.Path(f"/proc/{server.process.pid}/maps").read_text()
    stacks = [
        int(end, 16) - int(begin, 16)
        for end_of_guard, begin, end in re.findall(
            r"^\w+-(\w+) ---p .*\n(\w+)-(\w+) rw-p 00000000 00:00 0 *$", maps, re.M
        )
        if end_of_guard == begin
    ]
    assert stacks.count(1 << 20) == 6 and stacks.count(6 << 20) == 0


# ---- the token file ------------------------------------------------------------------------------


def said_at_start(tmp_path, tokens, mode):
    """(exit code or None, what it wrote) of a server with this token file."""
    file = tmp_path / "tokens"
    file.write_bytes(tokens)
    file.chmod(mode)
    try:
        server = conftest.start("--tables", str(tmp_path), "--token-file", str(file))
    except RuntimeError as refused:
        return False, str(refused)
    text = server.log_text()
    conftest.finish(server)
    return True, text


@pytest.mark.parametrize(
    "tokens, line",
    [
        (b"good\nnot good\n", 2),
        (b"# fine\n\na\tb\n", 3),
        ("gut\nschlüssel\n".encode(), 2),
        (b"\xef\xbb\xbfgood\n", 1),
        (b"good # comment\n", 1),
        (b"a\0b\n", 1),
    ],
)
def test_a_line_that_is_no_token(tmp_path, tokens, line):
    """Refused at the start, with the file and the line, but not its text."""
    started, text = said_at_start(tmp_path, tokens, 0o600)
    assert not started and f"line {line} of {tmp_path}/tokens" in text
    assert "good" not in text and text.count("posencd: ") == 1


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o640, 0o440, 0o644, 0o604, 0o606, 0o660, 0o601])
def test_a_token_file_that_others_read(tmp_path, mode):
    """A token file that others can read or write is reported."""
    started, text = said_at_start(tmp_path, b"# of the build\ngood\n\n", mode)
    assert started
    assert (f"has mode {mode:04o}" in text) == (mode & 0o027 != 0)


@pytest.mark.parametrize("said", ["help", "docs/reference.md", "SECURITY.md"])
def test_it_is_said_what_a_token_is(said):
    if said == "help":
        text = subprocess.run([BINARY, "--help"], capture_output=True, text=True).stdout
        text = re.search(r"--token-file .*", text)[0]
    else:
        text = (ROOT / said).read_text()
    assert "visible ASCII" in text and "#" in text


def test_the_address_of_version_six(tmp_path):
    """In brackets where it is an address, and plain in the log; also to a health check."""
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            pytest.skip("this machine has no ::1")
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen(
            [BINARY, "--bind", "::1", "--port", "0", "--log-format", "text", "--drain-delay", "0"],
            stdout=log,
            stderr=subprocess.PIPE,
            text=True,
        )
    port = int(re.search(r" on http://\[::1\]:(\d+)/ ", process.stderr.readline())[1])
    for host, status in ((b"[::1]:%d" % port, 200), (b"[::1", 400), (b"[::1]x", 400)):
        with socket.create_connection(("::1", port), 10) as client:
            head = b"GET /v1 HTTP/1.1\r\nConnection: close\r\nHost: %s\r\n\r\n" % host
            assert wire.answer_on(client, head)[0].status == status, host
    for bind, code in (("::1", 0), ("::", 0), ("127.0.0.1", 1)):
        check = [BINARY, "--healthcheck", "--bind", bind, "--port", str(port)]
        assert subprocess.run(check, capture_output=True).returncode == code, bind
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    lines = (tmp_path / "log").read_text().splitlines()
    assert len(lines) == 5 and all(line.split()[1] == "::1" for line in lines), lines
