# SPDX-License-Identifier: MIT
"""The results as JSON and as a Markdown table."""

import collections
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
    return {
        "cpu": model[1] if model else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "isa": isa,
    }


def ratios(ours, others, key):
    """Ours to somebody's, round by round: what was measured side by side is divided."""
    found = [a[key] / b[key] for a, b in zip(ours, others) if b[key] > 0]
    return (
        {"median": statistics.median(found), "min": min(found), "max": max(found)}
        if found
        else None
    )


def best_of(samples, key):
    """The fastest of the others in each round, by a key of which more is better."""
    rounds = zip(*(samples[part] for part in samples if part != "ours"))
    return [max(one, key=lambda sample: sample[key]) for one in rounds]


def ratio_to(whom, samples, key):
    if "ours" not in samples:
        return None
    others = best_of(samples, key) if whom == "best" else samples.get(whom)
    return ratios(samples["ours"], others, key) if others else None


def judge(target, line):
    whom, sign, value = target
    if whom == "ours":
        got = line["parts"]["ours"].get("median")
    else:
        got = (line["ratios"].get(whom) or {}).get("median")
    return {
        "of": whom,
        "sign": sign,
        "value": value,
        "got": got,
        "met": None if got is None else COMPARE[sign](got, value),
    }


def part_of(who, figure, samples, failure):
    """What one of them was measured at, or why it was not."""
    if failure is not None:
        return {"who": who.title, "not_measured": failure}
    values = [one[figure.key] for one in samples]
    found = {"who": who.title, "median": statistics.median(values), "rounds": values}
    if "cpu_us" in samples[0]:
        found["cpu_us"] = statistics.median(one["cpu_us"] for one in samples)
    if figure.key == "slow_turns":
        found["causes"] = dict(
            sum((collections.Counter(one["causes"]) for one in samples), collections.Counter())
        )
    if "ns_unit" in samples[0] and figure.key == "growth":
        found["ns_unit"] = [
            statistics.median(times) for times in zip(*(one["ns_unit"] for one in samples))
        ]
    return found


def figure_line(row, figure, samples, failures):
    """One line: medians of everyone, ratios, targets; or why it was not measured."""
    parts = {
        part: part_of(who, figure, samples.get(part), failures.get(part))
        for part, who in row.everyone.items()
        if part == "ours" or not figure.ours_only
    }
    asked = {whom for whom, _, _ in figure.targets} & {"best"}
    line = {
        "name": figure.name,
        "what": figure.what,
        "unit": figure.unit,
        "limit": figure.limit,
        "parts": parts,
        "ratios": {
            whom: ratio_to(whom, samples, figure.key) for whom in [*parts, *asked] if whom != "ours"
        },
    }
    line["targets"] = [judge(target, line) for target in figure.targets]
    return line


def complete(line):
    """Everyone who was to be measured was."""
    return all("median" in part for part in line["parts"].values())


def number_text(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def time_text(microseconds):
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= size:
            return f"{microseconds / size:.3g} {unit}"
    return f"{microseconds:.3g} µs"


def ratio_text(ratio):
    if not ratio:
        return ""
    spread = f" ({ratio['min']:.2f}–{ratio['max']:.2f})" if ratio["max"] > ratio["min"] else ""
    return f": **{ratio['median']:.2f}**{spread}"


def other_text(line, whom):
    part = line["parts"][whom]
    if "not_measured" in part:
        return f"{part['who']} not measured: {part['not_measured']}"
    return f"{part['who']} {number_text(part['median'])}{ratio_text(line['ratios'][whom])}"


def others_text(line):
    return "; ".join(other_text(line, whom) for whom in line["parts"] if whom != "ours") or "–"


def ours_text(line):
    part = line["parts"]["ours"]
    text = number_text(part["median"]) if "median" in part else part["not_measured"]
    if part.get("causes"):
        causes = ", ".join(f"{count} {cause}" for cause, count in part["causes"].items())
        text += f" (in all rounds: {causes})"
    return (
        f"{text} ({', '.join(map(number_text, part['ns_unit']))} ns)" if "ns_unit" in part else text
    )


def target_text(target):
    of = {"ours": ""}.get(target["of"], f" of {target['of']}")
    met = {True: "met", False: "**short**", None: "not measured"}[target["met"]]
    got = f" ({target['got']:.3g})" if target["of"] == "best" and target["got"] else ""
    return f"{SIGNS[target['sign']]} {target['value']:g}{of}: {met}{got}"


def cpu_text(line):
    found = [
        time_text(part["cpu_us"]) if "cpu_us" in part else "–" for part in line["parts"].values()
    ]
    return "–" if set(found) == {"–"} else " / ".join(found)


def elsewhere_text(line):
    times = {0: "", 1: ", once more"}.get(line["repeated"], f", {line['repeated']} times more")
    return f"{100 * line['elsewhere']:.0f} %{times}"


def head_text(results):
    at, noise = results["machine"], results["noise"]
    return (
        f"{at['cpu']}, {at['cores']} cores, Linux {at['kernel']}, {at['isa']}. Of the "
        f"processors' time {100 * noise['processes']:.1f} % went to processes that are not the "
        f"bench's, {100 * noise['guests']:.1f} % to other guests of the host; it took "
        f"{results['took_seconds'] / 60:.0f} minutes."
    )


def markdown(results):
    head = [
        "row",
        "what",
        "unit",
        "ours",
        "others: ours ÷ theirs",
        "goal",
        "CPU a request",
        "elsewhere",
    ]
    judged = [target for line in results["rows"] for target in line["targets"]]
    lines = [
        f"# Speed, {results['date']}",
        "",
        head_text(results),
        "",
        "; ".join(f"{who}: {version}" for who, version in results["versions"].items()) + ".",
        "",
        f"Medians of {results['rounds']} rounds; in each one everyone is measured once, by turns, "
        "on random data. A ratio is the median of the rounds' ratios, with the least and the "
        "greatest. Clients and servers share the cores. Elsewhere: time of the processors that "
        "went to others meanwhile; a row that lost more than 3 % was measured again, and the "
        f"quieter time counts. Goals: {sum(target['met'] is True for target in judged)} met, "
        f"{sum(target['met'] is False for target in judged)} short, "
        f"{sum(target['met'] is None for target in judged)} not measured.",
        "",
        "| " + " | ".join(head) + " |",
        "|" + " --- |" * len(head),
    ]
    for line in results["rows"]:
        cells = [
            line["name"],
            line["what"],
            line["unit"],
            ours_text(line),
            others_text(line),
            "; ".join(map(target_text, line["targets"])) or "–",
            cpu_text(line),
            elsewhere_text(line),
        ]
        lines.append("| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def goals(rows):
    """The rows and their goals, for who chooses some."""
    return "".join(
        f"{figure.name:28} {figure.what}"
        + "".join(
            f"; {SIGNS[sign]} {value:g} {'' if whom == 'ours' else 'of ' + whom}".rstrip()
            for whom, sign, value in figure.targets
        )
        + "\n"
        for row in rows
        for figure in row.figures
    )


def write(results, folder):
    (folder / "results.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    (folder / "results.md").write_text(markdown(results))


def today():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
