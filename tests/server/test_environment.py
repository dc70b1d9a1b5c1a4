# SPDX-License-Identifier: MIT
"""The environment of the server, the limits of its control group, its settings and log."""

import calendar
import ctypes
import datetime
import email.utils
import json
import os
import pathlib
import re
import socket
import subprocess
import time

import pytest
import wire

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = ROOT / os.environ.get("POSENCD", "build/posencd")
CLOSE = b"Host: localhost\r\nConnection: close\r\n\r\n"


def without_settings():
    """The environment without what the server takes for settings, those of the suites as well."""
    return {name: value for name, value in os.environ.items() if not name.startswith("POSENC_")}


def run(*arguments, env=None):
    return subprocess.run(
        [BINARY, *arguments],
        capture_output=True,
        text=True,
        timeout=20,
        env={**os.environ, **(env or {})},
    )


@pytest.fixture(scope="module")
def cgroup(tmp_path_factory):
    """service/machine.c as a library of its own."""
    library = tmp_path_factory.mktemp("cgroup") / "cgroup.so"
    subprocess.run(
        [
            os.environ.get("CC", "cc"),
            "-D_GNU_SOURCE",
            "-shared",
            "-fPIC",
            "-I.",
            "service/machine.c",
            "-o",
            library,
        ],
        cwd=ROOT,
        check=True,
    )
    functions = ctypes.CDLL(library)
    for function in functions.svc_cgroup_cpus, functions.svc_cgroup_memory:
        function.argtypes, function.restype = [ctypes.c_char_p], ctypes.c_uint64
    return functions


def root_make(root, groups, files):
    for name, text in {"proc/self/cgroup": groups, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return bytes(root)


V2, V1 = "sys/fs/cgroup/", "sys/fs/cgroup/cpu/"


def quota(path, micros, period=100000):
    return {path + "/cpu.cfs_quota_us": f"{micros}\n", path + "/cpu.cfs_period_us": f"{period}\n"}


@pytest.mark.parametrize(
    "cpus, groups, files",
    [
        (0, "", {}),
        (0, "0::/a\n", {V2 + "a/cpu.max": "max 100000\n"}),
        (2, "0::/a\n", {V2 + "a/cpu.max": "200000 100000\n"}),
        (3, "0::/a\n", {V2 + "a/cpu.max": "200001 100000\n"}),
        (1, "0::/a\n", {V2 + "a/cpu.max": "1000 100000\n"}),
        (1, "0::/\n", {V2 + "cpu.max": "50000 100000\n"}),
        (
            4,
            "0::/a/b/c\n",
            {
                V2 + "a/b/c/cpu.max": "max 100000\n",
                V2 + "a/cpu.max": "400000 100000\n",
                V2 + "a/b/cpu.max": "800000 100000\n",
            },
        ),
        (2, "0::/host/path\n", {V2 + "cpu.max": "20000 10000\n"}),
        (2, "0::/a\n", {V2 + "unified/a/cpu.max": "200000 100000\n"}),
        (0, "3:cpu,cpuacct:/a\n0::/\n", quota(V1 + "a", -1)),
        (2, "3:cpu,cpuacct:/a\n0::/\n", quota(V1 + "a", 150000)),
        (2, "3:cpuacct,cpu:/a\n", quota("sys/fs/cgroup/cpu,cpuacct/a", 150000)),
        (1, "9:name=x:/\n1:cpu:/a/b\n", quota(V1 + "a/b", -1) | quota(V1 + "a", 5000, 10000)),
        (0, "3:cpuset:/a\n2:cpuacct:/a\n", quota(V1 + "a", 150000)),
        (0, "nonsense\n::\n0:\n", {V2 + "cpu.max": "junk\n"}),
        (0, "0::/a\n", {V2 + "a/cpu.max": "100000 0\n"}),
    ],
)
def test_cpus_of_a_control_group(cgroup, tmp_path, cpus, groups, files):
    assert cgroup.svc_cgroup_cpus(root_make(tmp_path, groups, files)) == cpus


@pytest.mark.parametrize(
    "limit, groups, files",
    [
        (0, "0::/a\n", {V2 + "a/memory.max": "max\n", V2 + "a/cpu.max": "1000 100000\n"}),
        (4096, "0::/\n", {V2 + "memory.max": "4096\n"}),
        (5 << 32, "0::/host/path\n", {V2 + "memory.max": f"{5 << 32}\n"}),
        (2, "0::/a/b\n", {V2 + "a/memory.max": "2\n", V2 + "a/b/memory.max": "3\n"}),
        (
            7,
            "4:memory:/a\n3:cpu:/b\n",
            {
                "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "7\n",
                "sys/fs/cgroup/memory/b/memory.limit_in_bytes": "6\n",
            },
        ),
    ],
)
def test_memory_of_a_control_group(cgroup, tmp_path, limit, groups, files):
    assert cgroup.svc_cgroup_memory(root_make(tmp_path, groups, files)) == limit


# The files of a control group with a quota, of both versions, laid over those of the machine in a
# mount namespace of the server's own.
ENTER = 'mount --bind "$0" /sys/fs/cgroup && exec "$@"'


def test_threads_follow_the_quota(tmp_path):
    root_make(tmp_path, "", {V2 + "cpu.max": "90000 100000\n", **quota(V1, 90000)})
    namespace = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    for more, threads in ([], "1"), (["--threads", "3"], "3"):
        process = subprocess.Popen(
            [*namespace, "sh", "-c", ENTER, tmp_path / V2, BINARY, "--port", "0", *more],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = process.stderr.readline()
        process.send_signal(2)
        process.communicate(timeout=20)
        assert re.search(r", (\d+) thread", line).group(1) == threads, line


SERVICE = {
    "POSENC_PORT": "tcp://10.0.0.1:80",
    "POSENC_SERVICE_HOST": "10.0.0.1",
    "POSENC_SERVICE_PORT_HTTP": "80",
    **{f"POSENC_PORT_{digit}080_TCP": "tcp://10.0.0.1:1" for digit in range(1, 10)},
    "POSENC_BODY_MAX": "udp://10.0.0.1:53",
}


def test_a_service_of_kubernetes_is_no_setting(start_server):
    server = start_server(env=SERVICE | {"POSENC_OTHER": "1"})
    assert wire.is_alive(server.port) and "POSENC_OTHER" not in server.log_text()
    for name in SERVICE:
        assert f"{name} is Kubernetes' word" in server.log_text()
    done = run("--print-config", env=SERVICE)
    assert "--port=8080\n" in done.stdout and "--body-max=268435456\n" in done.stdout


def test_every_setting_has_a_variable():
    """A variable changes its setting, or ends the program where the setting cannot be so."""
    lines = run("--print-config").stdout.splitlines()
    assert len(lines) > 30
    for flag in (line.removeprefix("--").split("=")[0] for line in lines):
        name = "POSENC_" + flag.upper().replace("-", "_")
        done = run("--print-config", env={name: "other"})
        refused = done.returncode == 2 and (name in done.stderr or f"--{flag} " in done.stderr)
        assert refused or f"--{flag}=other\n" in done.stdout, (flag, done)


def test_settings_are_shown_as_they_are(start_server, tmp_path):
    """Quotes and backslashes of a name, in the JSON of GET /v1."""
    folder = tmp_path / 'a "table", c:\\d'
    folder.mkdir()
    server = start_server("--tables", str(folder))
    flags = server.get("/v1").json()["flags"]
    assert flags["tables"] == str(folder) and flags["drain-delay-ms"] == 0


@pytest.mark.parametrize(
    "arguments, env, warnings",
    [
        ([], {}, []),
        ([], {"POSENC_ISA": "avx2", "POSENC_LOG_PROBES": "false"}, []),
        ([], {"POSENC_PROT": "80"}, ["POSENC_PROT is no setting"]),
        ([], {"POSENC_POR\nT": "80"}, ["POSENC_POR?T is no setting"]),
        ([], SERVICE, list(SERVICE)),
        (["--tables", "/no/such"], {}, ["--tables names '/no/such'"]),
        (["--tables", "/dev/null"], {}, ["--tables names '/dev/null'"]),
        (["--tables", "/", "--anonymous-writes", "true"], {}, []),
        (["--bind", "0.0.0.0", "--anonymous-writes", "true"], {}, ["--anonymous-writes lets"]),
    ],
)
def test_check_config_warns(arguments, env, warnings):
    done = subprocess.run(
        [BINARY, "--check-config", *arguments],
        capture_output=True,
        text=True,
        env=without_settings() | env,
    )
    lines = done.stderr.splitlines()
    assert done.returncode == 0 and len(lines) == len(warnings), lines
    for warning in warnings:
        assert any(f"posencd: {warning}" in line for line in lines), lines


def test_anonymous_writes_beyond_loopback_are_told_at_the_start(start_server):
    flags = ["--anonymous-writes", "true"]
    assert "--anonymous-writes" not in start_server(*flags).log_text()
    process = subprocess.Popen(
        [BINARY, "--port", "0", "--bind", "0.0.0.0", *flags],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    lines = [process.stderr.readline(), process.stderr.readline()]
    process.send_signal(2)
    process.communicate(timeout=20)
    assert any("--anonymous-writes lets" in line for line in lines), lines


def test_an_answer_is_refused_before_a_balancer_gives_up():
    """nginx waits 60 s for an answer, and disables a server that has not begun it by then."""
    told = re.search(r"--request-timeout=(\d+)ms", run("--print-config").stdout)
    assert int(told.group(1)) <= 55000


@pytest.mark.parametrize(
    "text, size",
    [
        ("10M", 10**7),
        ("1GB", 10**9),
        ("2gb", 2 * 10**9),
        ("64KiB", 1 << 16),
        ("64Ki", 1 << 16),
        ("3mib", 3 << 20),
        ("1T", 10**12),
        ("7B", 7),
        ("7", 7),
        ("1Gi", 1 << 30),
    ],
)
def test_sizes(text, size):
    assert f"--cache-max={size}\n" in run("--print-config", "--cache-max", text).stdout


@pytest.mark.parametrize("text", ["", "M", "1.5G", "5X", "1 GiB", "99999999T", "-1", "1Kib2"])
def test_a_size_that_is_none_is_told_which_are(text):
    done = run("--print-config", "--cache-max", text)
    assert done.returncode == 2 and "KiB MiB GiB TiB" in done.stderr and "K M G T" in done.stderr


def test_h_is_help():
    assert run("-h").stdout == run("--help").stdout != ""


@pytest.mark.parametrize(
    "action", ["--help", "-h", "--version", "--check-config", "--print-config", "--man"]
)
def test_texts_on_a_full_disk_end_with_1(action):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [BINARY, action], stdout=full, stderr=subprocess.PIPE, text=True, env=without_settings()
        )
    assert done.returncode == 1
    assert done.stderr == "posencd: standard output: No space left on device\n"


def test_defaults_of_the_manual_are_those_of_help():
    page = run("--man").stdout.replace("\\-", "-").replace("\\&", "")
    told = re.findall(r"^  --([a-z-]+) +.*\(([^()]*)\)$", run("--help").stdout, re.M)
    assert len(told) > 30
    for name, fallback in told:
        lines = page.split(f"\n.B --{name}\n")[1].split("\n.TP\n")[0].splitlines()
        wanted = "there is no default" if fallback == "none" else f"default: {fallback}"
        assert any(line.endswith(f"; {wanted}.") for line in lines), (name, lines)


def test_a_failed_healthcheck_says_why(start_server):
    server = start_server("--base-path", "/x")
    done = run("--healthcheck", "--port", str(server.port))
    assert done.returncode == 1 and "HTTP/1.1 404 Not Found" in done.stderr
    server.stop()
    for arguments, why in (
        (["--port", str(server.port)], "Connection refused"),
        (["--bind", "no.such.invalid"], "not known"),
    ):
        done = run("--healthcheck", *arguments)
        assert done.returncode == 1 and why in done.stderr, done.stderr


def test_a_healthcheck_of_a_silent_server_ends_within_that_of_the_image():
    """A container engine would end it, and not report why."""
    dockerfile = (ROOT / "docker/Dockerfile").read_text()
    patience = int(re.search(r"^HEALTHCHECK .*--timeout=(\d+)s", dockerfile, re.M)[1])
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        done = run("--healthcheck", "--port", str(silent.getsockname()[1]))
        assert done.returncode == 1 and "there was no answer" in done.stderr
        assert time.monotonic() - began < 2 * patience  # on a machine that is busy, too


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "JST-9"])
def test_times_are_those_of_greenwich(start_server, zone):
    """Of answers, of refusals that the library does not send, and of the log."""
    server = start_server("--log-format", "json", env={"TZ": zone})
    many = b"".join(b"X-%d: 1\r\n" % i for i in range(200))
    for fields, status in ((b"", 200), (many, 431)):
        answer = wire.answer(
            server.port, b"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + fields + b"\r\n"
        )
        assert answer.status == status and answer.headers["date"].endswith(" GMT")
        date = email.utils.parsedate_to_datetime(answer.headers["date"])
        assert abs(date.timestamp() - time.time()) < 60

    def lines():
        return [json.loads(line) for line in server.log_text().splitlines() if line[:1] == "{"]

    assert wire.eventually(lambda: len(lines()) == 2)
    for line in lines():
        logged = datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00"))
        assert abs(logged.timestamp() - time.time()) < 60


HOSTILE = b'/v1?a=b%0a"},{"status":200}\\x1b[31m\x80\xff' + b"z" * 2000


@pytest.mark.parametrize("form", ["json", "text"])
def test_log_lines(start_server, form):
    """Client, request and problem; no text of a client ends a line or a string."""
    server = start_server("--log-format", form, "--log-probes", "false")
    for path in (b"/livez", b"/readyz", b"/metrics", b"/v1?colour=red", HOSTILE):
        wire.ask(server.port, b"GET " + path + b" HTTP/1.1\r\n" + CLOSE)
    wire.ask(server.port, b'G\x1b"T /v1 HTTP/1.1\r\n' + CLOSE)

    def lines():
        return [
            line
            for line in server.log_text().splitlines()
            if not line.startswith(("posencd", "Open http", "  curl"))
        ]

    assert wire.eventually(lambda: len(lines()) == 3), lines()
    assert all(line.isascii() and line.isprintable() and len(line) < 1500 for line in lines())
    if form == "text":
        assert " 127.0.0.1 GET /v1?colour=red /v1 422 unknown-parameter " in lines()[0]
        assert r"\x22},{\x22status\x22:200}\x5cx1b[31m\x80\xff" in lines()[1]
        assert r" G\x1b\x22T /v1 /v1 405 method-not-allowed " in lines()[2]
        return
    first, second, third = map(json.loads, lines())
    assert tuple(first[key] for key in ("client", "path", "query", "problem")) == (
        "127.0.0.1",
        "/v1",
        "colour=red",
        "unknown-parameter",
    )
    assert '"},{"status":200}\\x1b[31m\x80\xff' in second["query"] and second["query"][-3:] == "..."
    assert (third["method"], third["problem"]) == ('G\x1b"T', "method-not-allowed")


def test_every_field_of_the_log(start_server):
    """By its value, in JSON and in text, for answers with a body, without one, and refusals."""
    route = "/v1/encodings/{name}/{view}"
    table = "/v1/encodings/rope/table"
    asked = [
        ("GET", table, "dim=4&length=2&format=raw", route, 200, "", 32),
        ("HEAD", table, "dim=4&length=2&format=raw", route, 200, "", 0),
        ("GET", table, "dim=5", route, 422, "out-of-range", None),
        ("OPTIONS", table, "", route, 204, "", 0),
        ("DELETE", "/v1", "", "/v1", 405, "method-not-allowed", None),
        ("GET", "/nowhere", "", "", 404, "not-found", None),
        ("GET", "/livez", "", "/livez", 200, "", None),
    ]
    for form in ("json", "text"):
        server = start_server("--log-format", form)
        wanted, began = [], time.time()
        for i, (method, path, query, name, status, problem, size) in enumerate(asked):
            fields = {"X-Request-Id": f"mine-{i}"}
            answer = server.request(method, path + "?" * bool(query) + query, headers=fields)
            assert answer.status_code == status
            assert size in (None, len(answer.content))
            wanted.append(
                ("127.0.0.1", method, path, query, name, status, problem)
                + (len(answer.content), f"mine-{i}", "")
            )

        def logged(server=server, form=form):
            lines = server.log_text().splitlines()
            if form == "json":
                return [json.loads(line) for line in lines if line.startswith("{")]
            found = map(LOG_LINE.fullmatch, lines)
            return [one.groupdict() for one in found if one]

        assert wire.eventually(lambda: len(logged()) == len(asked)), server.log_text()
        for line, one in zip(logged(), wanted):
            got = [line[key] for key in LOG_KEYS]
            if form == "text":
                one = [str(value) for value in one]
                got = ["" if value == "-" else value for value in got]
            assert got == list(one)
            at = calendar.timegm(time.strptime(line["time"], "%Y-%m-%dT%H:%M:%SZ"))
            assert began - 1 <= at <= time.time()
            assert 0 < float(line["ms"]) < 1000 * (time.time() - began)


LOG_KEYS = (
    "client",
    "method",
    "path",
    "query",
    "route",
    "status",
    "problem",
    "bytes",
    "request_id",
    "trace_id",
)
LOG_LINE = re.compile(
    r"(?P<time>\S+Z) (?P<client>\S+) (?P<method>\S+) (?P<path>[^ ?]+)\??(?P<query>\S*) "
    r"(?P<route>\S+) (?P<status>\d+) (?P<problem>\S+) (?P<bytes>\d+)B (?P<ms>[\d.]+)ms "
    r"(?P<request_id>\S+) (?P<trace_id>\S+)"
)


TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.mark.parametrize(
    "field, trace",
    [
        (f"00-{TRACE}-b7ad6b7169203331-01", TRACE),
        (f"00-{TRACE}-b7ad6b7169203331-01-later", TRACE),
        (f"00-{TRACE[:-1]}g-b7ad6b7169203331-01", ""),
        (f"00-{TRACE[:-1]}--b7ad6b7169203331-01", ""),
        (f"00-{TRACE}0-b7ad6b7169203331-01", ""),
        (f"00-{TRACE.upper()}-b7ad6b7169203331-01", ""),
        (f"00-{TRACE}-b7ad6b7169203331-0", ""),
        (f"0-{TRACE}-b7ad6b7169203331-011", ""),
        (f"00-{'0' * 32}-b7ad6b7169203331-01", ""),
        ("", ""),
    ],
)
def test_the_trace_of_a_request_is_logged(start_server, field, trace):
    """Only a well-formed traceparent of W3C Trace Context counts."""
    server = start_server("--log-format", "json")
    head = f"GET /v1/encodings HTTP/1.1\r\nTraceparent: {field}\r\n".encode()
    wire.ask(server.port, head + CLOSE)

    def traces():
        lines = server.log_text().splitlines()
        return [json.loads(line)["trace_id"] for line in lines if "/v1/encodings" in line]

    assert wire.eventually(lambda: len(traces()) == 1), server.log_text()
    assert traces() == [trace]
