# SPDX-License-Identifier: MIT
"""The loop of a driver: a line of JSON for a config, a line of JSON for what the engine makes of
it. {"config": ..., "lengths": [...]} becomes {"kinds": [...]}, or {"raises": message},
{"absent": message}, {"unmeasured": reason}."""

import contextlib
import io
import json
import os
import re
import sys
import tempfile
import warnings

MESSAGE = 200


class Absent(Exception):
    """The engine has no such model."""


class Unmeasured(Exception):
    """The driver cannot measure this; the engine itself may well run it."""


def brief(error):
    words = " ".join(str(error).split())
    for folder in (os.getcwd(), sys.prefix, os.path.expanduser("~")):
        words = words.replace(folder, "")
    words = re.sub(rf"{re.escape(tempfile.gettempdir())}/engines-\w+-\w+", "", words)
    words = re.sub(r"https?://\S*", "", words)
    name = type(error).__name__
    return (words if isinstance(error, (Absent, Unmeasured)) else f"{name}: {words}")[
        :MESSAGE
    ].strip()


def answer(measure, request):
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return {"kinds": measure(request["config"], request["lengths"])}
    except Absent as error:
        return {"absent": brief(error)}
    except Unmeasured as error:
        return {"unmeasured": brief(error)}
    except (Exception, SystemExit) as error:  # of the engine's code
        if os.environ.get("ENGINES_TRACE"):
            raise
        return {"raises": brief(error)}


def serve(measure):
    warnings.simplefilter("ignore")
    sys.stderr = open(os.devnull, "w") if not os.environ.get("ENGINES_TRACE") else sys.stderr
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what native code prints
    for line in sys.stdin:
        print(json.dumps(answer(measure, json.loads(line))), file=out, flush=True)
