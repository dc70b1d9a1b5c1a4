# SPDX-License-Identifier: MIT
"""Processes that the bench starts, what the kernel says about them, and their certain end."""

import contextlib
import os
import pathlib
import subprocess

STOP_SECONDS = 10
TICK = os.sysconf("SC_CLK_TCK")


class Failure(Exception):
    """A figure could not be measured; the text says why."""


def stat_fields(pid):
    """The fields of /proc/PID/stat that follow the name: state, parent, ..."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def family(pid):
    """A process, and those below it."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                children.setdefault(int(stat_fields(entry.name)[1]), []).append(int(entry.name))
    found = [pid]
    for parent in found:
        found += children.get(parent, [])
    return found


def cpu_seconds(pid):
    """User and system time of a process, of those below it, and of its children that have ended."""
    total = 0
    for one in family(pid):
        with contextlib.suppress(OSError):
            total += sum(map(int, stat_fields(one)[11:13]))
    return (total + sum(map(int, stat_fields(pid)[13:15]))) / TICK


def peak_mib(pid):
    """The most memory that was ever resident."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise Failure("no VmHWM in /proc")


class Processes:
    """Whatever is started here has ended when the `with` is left, also after an exception."""

    def __init__(self):
        self.running = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.running):
            self.stop(process)

    def start(self, command, **kwargs):
        try:
            process = subprocess.Popen(
                list(map(str, command)), text=True, **{"stdin": subprocess.DEVNULL, **kwargs}
            )
        except OSError as error:
            raise Failure(f"{command[0]}: {error.strerror}") from error
        self.running.append(process)
        return process

    @staticmethod
    def stop(process):
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                for pid in family(process.pid):
                    with contextlib.suppress(OSError):
                        os.kill(pid, 9)
                process.wait()
        for stream in (process.stdin, process.stdout):
            if stream:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


def output_of(command, timeout=300):
    """The output of a program; a Failure where it ended badly or not at all."""
    with Processes() as processes:
        process = processes.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"more than {timeout} s") from error
    if process.returncode != 0:
        last = (err or out).strip().splitlines()[-1:] or ["no word"]
        raise Failure(f"{pathlib.Path(command[0]).name}: {last[0]}")
    return out
