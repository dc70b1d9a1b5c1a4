# SPDX-License-Identifier: MIT
"""The results as JSON and as a Markdown table."""
import datetime
import json
import os
import pathlib
import platform
import re
import statistics

COMPARE = {"<=": lambda value, target: value <= target, ">=": lambda value, target: value >= target}
SIGNS = {"<=": "≤", ">=": "≥"}


def machine(isa):
    info = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*:\s*(.+)$", info, re.M)
    return {"cpu": model[1] if model else platform.machine(),
            "cores": len(os.sched_getaffinity(0)), "kernel": platform.release(), "isa": isa}


class Noise:
    """The shares of the processors' time that went elsewhere while the bench ran: to other guests
    of the host, and to processes that are not the bench's."""

    def __init__(self):
        self.before = self.times()

    @staticmethod
    def times():
        """All, idle, stolen, and the bench's own, in clock ticks."""
        ticks = list(map(int, pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]))
        own = os.times()
        return sum(ticks), ticks[3] + ticks[4], ticks[7], \
            sum(own[:4]) * os.sysconf("SC_CLK_TCK")

    def shares(self):
        every, idle, stolen, own = (b - a for a, b in zip(self.before, self.times()))
        return {"guests": stolen / max(1, every),
                "processes": max(0, every - idle - stolen - own) / max(1, every)}


def ratios(ours, others, key):
    """Ours to somebody's, round by round: what was measured side by side is divided."""
    found = [a[key] / b[key] for a, b in zip(ours, others) if b[key] > 0]
    return {"median": statistics.median(found), "min": min(found), "max": max(found)} \
        if found else None


def judge(target, line):
    whom, sign, value = target
    if whom == "ours":
        got = line["ours"].get("median")
    else:
        got = (line.get(f"ours/{whom}") or {}).get("median")
    return {"of": whom, "sign": sign, "value": value,
            "met": None if got is None else COMPARE[sign](got, value)}


def figure_line(row, figure, samples, failures):
    """One line: medians of everyone, ratios, targets; or why it was not measured."""
    line = {"name": figure.name, "what": figure.what, "unit": figure.unit}
    for part, who in row.everyone.items():
        if figure.ours_only and part != "ours":
            continue
        line[part] = {"who": who.title}
        if part in failures:
            line[part]["not_measured"] = failures[part]
            continue
        values = [one[figure.key] for one in samples[part]]
        line[part] |= {"median": statistics.median(values), "rounds": values}
        if "cpu_us" in samples[part][0]:
            line[part]["cpu_us"] = statistics.median(one["cpu_us"] for one in samples[part])
        if part != "ours" and "ours" in samples:
            line[f"ours/{part}"] = ratios(samples["ours"], samples[part], figure.key)
    line["targets"] = [judge(target, line) for target in figure.targets]
    return line


def complete(line):
    """Everyone who was to be measured was."""
    return all("median" in line[part] for part in ("ours", "limit", "peer") if part in line)


def number_text(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def time_text(microseconds):
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= size:
            return f"{microseconds / size:.3g} {unit}"
    return f"{microseconds:.3g} µs"


def part_text(line, part):
    if part not in line:
        return "–"
    if "not_measured" in line[part]:
        return f"{line[part]['who']}: not measured: {line[part]['not_measured']}"
    return number_text(line[part]["median"]) + (f" ({line[part]['who']})" if part != "ours" else "")


def ratio_text(ratio):
    if not ratio:
        return "–"
    median = f"**{ratio['median']:.2f}**"
    return f"{median} ({ratio['min']:.2f}–{ratio['max']:.2f})" if ratio["max"] > ratio["min"] \
        else median


def target_text(target):
    of = {"ours": ""}.get(target["of"], f" of {target['of']}")
    met = {True: "met", False: "**not met**", None: "not measured"}[target["met"]]
    return f"{SIGNS[target['sign']]} {target['value']:g}{of}: {met}"


def cpu_text(line):
    found = [time_text(line[part]["cpu_us"]) if part in line and "cpu_us" in line[part] else "–"
             for part in ("ours", "limit", "peer")]
    return "–" if set(found) == {"–"} else " / ".join(found)


def markdown(results):
    at, versions, noise = results["machine"], results["versions"], results["noise"]
    head = ["row", "what", "unit", "ours", "limit", "peer", "ours/limit", "ours/peer", "target",
            "CPU a request: ours / limit / peer"]
    lines = [
        f"# Speed, {results['date']}", "",
        f"{at['cpu']}, {at['cores']} cores, Linux {at['kernel']}, {at['isa']}. Of the processors' "
        f"time {100 * noise['processes']:.0f} % went to processes that are not the bench's, "
        f"{100 * noise['guests']:.0f} % to other guests of the host.", "",
        "; ".join(f"{who}: {version}" for who, version in versions.items()) + ".", "",
        f"Medians of {results['rounds']} rounds of {results['seconds']:g} s; in each round "
        "everyone is measured once, in turns. A ratio is the median of the rounds' ratios, with "
        "the least and the greatest. Clients and servers share the cores.", "",
        "| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for line in results["rows"]:
        cells = [line["name"], line["what"], line["unit"],
                 *(part_text(line, part) for part in ("ours", "limit", "peer")),
                 ratio_text(line.get("ours/limit")), ratio_text(line.get("ours/peer")),
                 "; ".join(map(target_text, line["targets"])) or "–", cpu_text(line)]
        lines.append("| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def write(results, folder):
    (folder / "results.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    (folder / "results.md").write_text(markdown(results))


def today():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
