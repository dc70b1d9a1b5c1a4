# SPDX-License-Identifier: MIT
"""posenc, the command, as it is typed. POSENC names the binary (build/posenc)."""

import os
import pathlib
import pty
import re
import subprocess
import termios

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = ROOT / os.environ.get("POSENC", "build/posenc")
# What command/monitor.c writes in a line of its own, and removes: "3 s: 12 % of 5.1 MB".
PROGRESS = re.compile(r"\r(\d+ s: [^\r\033]*)?\033\[K")


class Posenc:
    def __init__(self, folder):
        self.folder = folder

    def run(self, *arguments, stdin=b"", **options):
        return subprocess.run(
            [BINARY, *map(str, arguments)],
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            timeout=60,
            **options,
        )

    def __call__(self, *arguments, stdin=b""):
        """What it writes, where an answer is written, whatever its verdict."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode in (0, 1), done.stderr.decode()
        assert done.stderr == b""
        return done.stdout

    def refused(self, *arguments, stdin=b""):
        """(the exit code, stderr), where nothing is written."""
        done = self.run(*arguments, stdin=stdin)
        assert done.stdout == b"" and done.returncode != 0
        return done.returncode, done.stderr.decode()

    def on_terminal(self, *arguments, progress=None, columns=0):
        """(the exit code, what a terminal shows of both streams), without the line of progress that
        is shown where the machine is slow. With `progress` that line is left, and this function
        gets what is shown so far, again and again."""
        master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (0, columns))
        process = subprocess.Popen(
            [BINARY, *map(str, arguments)], cwd=self.folder, stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)
        shown = b""
        try:
            while piece := os.read(master, 65536):
                shown += piece
                if progress:
                    progress(shown.decode(errors="replace"))
        except OSError:
            pass  # the other end is closed
        os.close(master)
        text = shown.replace(b"\r\n", b"\n").decode()
        return process.wait(60), text if progress else PROGRESS.sub("", text)
