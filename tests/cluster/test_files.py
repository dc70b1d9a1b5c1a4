# SPDX-License-Identifier: MIT
"""The files of docker/ by the programs that will read them: compose, the stack, manifests, alerts,
dashboard, and both balancers' settings. `tools/setup cluster` brings the programs."""

import json
import os
import pathlib
import re
import subprocess
import time
import urllib.parse
import urllib.request

import pytest
import yaml
from parts import NGINX, ROOT, certificate, free_port, nginx_config

TOOLS = ROOT / "build-cluster"
DOCKER = ROOT / "docker"
OVERLAYS = ["base", "overlays/monitoring", "overlays/gateway"]
CUSTOM = {"monitoring.coreos.com/v1", "gateway.networking.k8s.io/v1"}
DASHBOARD = json.loads((DOCKER / "monitoring/grafana/posenc.json").read_text())
VERSIONS = ["1.30", "1.37"]  # of Kubernetes, the oldest and the newest


def run(*command, **options):
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=120, **options
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def compose(*files):
    arguments = [part for file in files for part in ("-f", file)]
    config = run(TOOLS / "bin/docker-compose", *arguments, "--profile", "*", "config")
    return yaml.safe_load(config)["services"]


def test_compose():
    services = compose(DOCKER / "compose.yaml")
    assert services.keys() == {
        *("balancer", "reader", "writer", "prometheus", "grafana", "collector")
    }
    for name in "reader", "writer":
        one = services[name]
        assert one["read_only"] and one["cap_drop"] == ["ALL"]
        assert int(one["mem_limit"]) == 2 * budget(one["environment"])
    assert services["reader"]["volumes"][0]["read_only"]
    assert all(re.search(r":[\w.-]*\d", one["image"]) for one in services.values())


def budget(environment):
    number, unit = re.fullmatch(r"(\d+)(MiB)", environment["POSENC_MEMORY_BUDGET"]).groups()
    return int(number) << {"MiB": 20}[unit]


def test_every_mounted_file_is_there():
    for service in compose(DOCKER / "compose.yaml").values():
        for volume in service.get("volumes", []):
            source = pathlib.Path(volume["source"])
            assert volume["type"] == "volume" or ROOT not in source.parents or source.is_file()


def test_stack():
    stack = yaml.safe_load(run("docker", "stack", "config", "-c", DOCKER / "swarm/stack.yaml"))
    reader, writer = stack["services"]["reader"], stack["services"]["writer"]
    assert reader["deploy"]["update_config"]["order"] == "start-first"
    assert reader["deploy"]["update_config"]["failure_action"] == "rollback"
    assert writer["deploy"]["update_config"]["order"] == "stop-first"
    for one in reader, writer:
        memory = int(one["deploy"]["resources"]["limits"]["memory"])
        assert memory == 2 * budget(one["environment"])


@pytest.fixture(scope="module", params=OVERLAYS)
def manifests(request):
    return run(TOOLS / "bin/kustomize", "build", DOCKER / "k8s" / request.param)


@pytest.mark.parametrize("version", VERSIONS)
def test_manifests(manifests, version, tmp_path):
    resources = list(yaml.safe_load_all(manifests))
    standard = [one for one in resources if one["apiVersion"] not in CUSTOM]
    (tmp_path / "standard.yaml").write_text(yaml.safe_dump_all(standard))
    validate = TOOLS / "venv/bin/kubernetes-validate"
    run(validate, "--strict", "--no-warn", "-k", version, tmp_path / "standard.yaml")
    custom = [one for one in resources if one["apiVersion"] in CUSTOM]
    run("node", ROOT / "tests/cluster/validate.mjs", TOOLS / "npm", input=json.dumps(custom))


def test_manifests_agree(manifests):
    """Selectors select, claims and secrets exist, and pods are restricted."""
    resources = list(yaml.safe_load_all(manifests))
    by_kind = {}
    for one in resources:
        by_kind.setdefault(one["kind"], {})[one["metadata"]["name"]] = one
    for deployment in by_kind["Deployment"].values():
        pod = deployment["spec"]["template"]
        selected = deployment["spec"]["selector"]["matchLabels"]
        assert selected.items() <= pod["metadata"]["labels"].items()
        security, (container,) = pod["spec"]["securityContext"], pod["spec"]["containers"]
        assert security["runAsNonRoot"] and security["seccompProfile"]["type"] == "RuntimeDefault"
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"startupProbe", "readinessProbe", "livenessProbe"} <= container.keys()
        environment = {one["name"]: one["value"] for one in container["env"]}
        memory = container["resources"]["limits"]["memory"]
        assert int(memory.removesuffix("Mi")) << 20 == 2 * budget(environment)
        for volume in pod["spec"]["volumes"]:
            claim, secret = volume.get("persistentVolumeClaim"), volume.get("secret")
            assert not claim or claim["claimName"] in by_kind["PersistentVolumeClaim"]
            assert not secret or secret["secretName"] in by_kind["Secret"]
    pods = [d["spec"]["template"]["metadata"]["labels"] for d in by_kind["Deployment"].values()]
    for service in by_kind["Service"].values():
        assert sum(service["spec"]["selector"].items() <= pod.items() for pod in pods) == 1
    scaled = by_kind["HorizontalPodAutoscaler"]["posenc-reader"]["spec"]["scaleTargetRef"]["name"]
    assert scaled in by_kind["Deployment"]
    assert "replicas" not in by_kind["Deployment"][scaled]["spec"], "the autoscaler has the number"


def test_alerts_and_their_unit_tests():
    run("promtool", "check", "rules", DOCKER / "monitoring/alerts.yaml")
    run("promtool", "check", "config", "--syntax-only", DOCKER / "monitoring/prometheus.yaml")
    tests = ROOT / "tests/cluster/alerts_test.yaml"
    run("promtool", "test", "rules", tests)
    rules = yaml.safe_load((DOCKER / "monitoring/alerts.yaml").read_text())
    tested = set(re.findall(r"alertname: (\w+)", tests.read_text()))
    assert {one["alert"] for group in rules["groups"] for one in group["rules"]} == tested
    overlay = yaml.safe_load((DOCKER / "k8s/overlays/monitoring/rules.yaml").read_text())
    assert overlay["spec"] == rules


def expressions():
    rules = yaml.safe_load((DOCKER / "monitoring/alerts.yaml").read_text())
    yield from (rule["expr"] for group in rules["groups"] for rule in group["rules"])
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            yield target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")


def series(text):
    """name -> names of labels, of a page of metrics."""
    found = {}
    for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", text, re.M):
        found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    return found


def test_every_metric_is_one_of_the_service(start_server):
    """So is every label, but for those that Prometheus adds."""
    server = start_server()
    server.get("/v1/encodings/rope/table?dim=4&length=2")
    page = server.get("/metrics").text
    run("promtool", "check", "metrics", input=page.replace("posenc_tables_bytes", "x_bytes"))
    known = series(page) | {"up": set()}
    for text in expressions():
        names = set(re.findall(r"\b(?:posenc_|process_)\w+|\bup\b", text))
        assert names and names <= known.keys(), (names - known.keys(), text)
        labels = set(re.findall(r"(\w+)=~?\"", text))
        for group in re.findall(r"by \((.*?)\)", text):
            labels |= set(group.split(", "))
        have = set().union(*(known[name] for name in names)) | {"job", "instance", "le"}
        assert labels <= have, (labels - have, text)


def test_dashboard_by_the_types_of_grafana(tmp_path):
    """Of its published schema; thresholds are an enumeration there, which JSON has as a string."""
    text = json.dumps(DASHBOARD).replace('"mode": "absolute"', '"mode": ThresholdsMode.Absolute')
    imported = 'import { type Dashboard, ThresholdsMode } from "@grafana/schema";\n'
    source = TOOLS / "npm/dashboard.ts"
    source.write_text(f"{imported}export const dashboard: Dashboard = {text};\n")
    compiler = ROOT / "explorer/node_modules/typescript/bin/tsc"
    options = ["--noEmit", "--strict", "--skipLibCheck", "--moduleResolution", "node"]
    run("node", compiler, *options, source)
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids)) >= 20


def query(port, text):
    address = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": text})
    with urllib.request.urlopen(address, timeout=5) as answer:
        return json.load(answer)["data"]["result"]


def test_prometheus_reads_the_service(start_server, tmp_path):
    """Prometheus itself with the rules, on a real server: each expression can be evaluated, and
    those of the dashboard whose counters moved have a value."""
    server, port = start_server(), free_port()
    config = yaml.safe_load((DOCKER / "monitoring/prometheus.yaml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["rule_files"] = [str(DOCKER / "monitoring/alerts.yaml")]
    (job,) = config["scrape_configs"]
    job.pop("dns_sd_configs")
    job["static_configs"] = [{"targets": [f"127.0.0.1:{server.port}"]}]
    (tmp_path / "prometheus.yaml").write_text(yaml.safe_dump(config))
    process = subprocess.Popen(
        [
            *("prometheus", f"--config.file={tmp_path}/prometheus.yaml"),
            *(f"--storage.tsdb.path={tmp_path}/data", f"--web.listen-address=127.0.0.1:{port}"),
        ],
        stderr=open(tmp_path / "log", "w"),
    )
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for i in range(5):
                server.get(f"/v1/encodings/rope/table?dim=4&length={i + 1}")
            try:
                if len(query(port, "rate(posenc_elements_total[10s])")) == 1:
                    break
            except OSError:
                pass
            time.sleep(0.5)
        for text in expressions():
            query(port, text)
        for name in "requests_total", "request_duration_seconds_count":
            text = f'sum(rate(posenc_http_{name}{{job="posenc"}}[10s]))'
            assert float(query(port, text)[0]["value"][1]) > 0
        (up,) = query(port, 'up{job="posenc"}')
        assert up["value"][1] == "1"
        firing = query(port, 'ALERTS{alertstate="firing"}')
        assert firing == [], firing
    finally:
        process.terminate()
        process.wait(30)


def test_haproxy_reads_its_file(tmp_path):
    names = {"POSENC_READERS": "a:1", "POSENC_WRITER": "b:1", "POSENC_RESOLVER": "127.0.0.1:53"}
    command = ["haproxy", "-c", "-f", DOCKER / "haproxy.cfg"]
    path = {"PATH": os.environ["PATH"] + ":/usr/sbin"}
    done = run(*command, env=path | names)
    assert "valid" in done
    certificate(tmp_path)
    (tmp_path / "both.pem").write_text(
        (tmp_path / "certificate.pem").read_text() + (tmp_path / "certificate.key").read_text()
    )
    run(*command, env=path | names | {"POSENC_CERTIFICATE": str(tmp_path / "both.pem")})


def test_nginx_reads_its_file(tmp_path):
    nginx_config(tmp_path, free_port(), free_port(), [1, 2, 3], 4)
    run(NGINX, "-t", "-p", tmp_path, "-c", tmp_path / "nginx.conf")
