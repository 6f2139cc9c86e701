"""Python scripts run as commands, each in a fork of this process: starting an interpreter and importing matplotlib takes longer than most
figures. What a test has patched holds there, too."""
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"
import matplotlib.pyplot  # noqa: E402,F401  (scripts find it read)
import numpy  # noqa: E402,F401
import pandas  # noqa: E402,F401


def run(script, *arguments, cwd=None):
    """What subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True) returns."""
    command = [str(script), *map(str, arguments)]
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        child = os.fork()
        if child == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            _become(command, cwd)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        texts = []
        for file in output, errors:
            file.seek(0)
            texts.append(file.read())
    return subprocess.CompletedProcess(command, status, *texts)


def _become(command, cwd):
    status = 1
    try:
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        warnings.simplefilter("default")
        os.chdir(cwd or ".")
        sys.argv = command
        sys.path.insert(0, str(Path(command[0]).resolve().parent))
        runpy.run_path(command[0], run_name="__main__")
        status = 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:  # pylint: disable=broad-except  (what python does with one that nobody catches)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
