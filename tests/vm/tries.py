"""What commands.py and situations.py share: starting the command, or other programs, in a role, and noting how each try came out."""
import csv
import os
import signal
import subprocess
import time
from pathlib import Path

# Where nothing can be kept kernel rates are not measured, which takes an emulated processor minutes.
NO_CACHE = "/proc/no-cache"


def until(holds, seconds, run=None):
    """Whether it holds at last; no longer than a run goes on."""
    end = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < end and (run is None or run.poll() is None):
        time.sleep(0.5)
    return held


class Tries:
    def __init__(self, suite, role, start, cosched, results):
        self.suite, self.role, self.start, self.cosched, self.results = suite, role, start, cosched, results
        self.tests = []
        self.folder = Path(f"/var/tmp/{suite}-{role}")
        self.folder.mkdir()
        self.folder.chmod(0o777)

    def line(self, arguments, cache=NO_CACHE, before=""):
        """A shell's line that calls the command; before: what comes first in it."""
        return f"cd {self.folder} && {before} COSCHED_CACHE={cache} timeout -k 20 1200 {self.cosched} {arguments} 2>&1"

    def shell(self, line, name, start=None):
        """Exit code and what it printed."""
        ended = subprocess.run((start or self.start)(line), capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        text = ended.stdout + ended.stderr
        (self.results / f"{self.suite}-{name}.log").write_text(text)
        return ended.returncode, text

    def call(self, arguments, name, cache=NO_CACHE, before="", start=None):
        return self.shell(self.line(arguments, cache, before), name, start)

    def begin(self, arguments, name):
        """The command, not waited for, and the file in which is what it prints."""
        log = self.results / f"{self.suite}-{name}.log"
        with log.open("w") as out:
            return subprocess.Popen(self.start(self.line(arguments)), stdout=out, stdin=subprocess.DEVNULL), log

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def rows(self, name, table):
        """Of all cells of an experiment's runs."""
        files = sorted(self.folder.glob(f"results/{name}/*/**/{table}.csv"))
        return [row for file in files for row in csv.DictReader(file.open())]

    def expect(self, name, good, said):
        self.tests.append({"name": name, "state": "passed" if good else "failed", "said": "" if good else str(said)})

    def skip(self, name, why):
        self.tests.append({"name": name, "state": "skipped", "said": why})

    def expect_words(self, name, words, text):
        lacks = [word for word in words if word not in text]
        self.expect(name, not lacks, f"lacks {lacks}:\n{text}")


def processes_of(program, *words):
    """Those that run a program, by the words of their command lines."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # It has ended.
        texts = [part.decode(errors="replace") for part in line]
        if texts[0] == str(program) and all(any(text.startswith(word) for text in texts[1:]) for word in words):
            found.append(int(folder.name))
    return found


def has_thread(beginning):
    """Whether some thread's name begins so."""
    for comm in Path("/proc").glob("[0-9]*/task/[0-9]*/comm"):
        try:
            if comm.read_text().startswith(beginning):
                return True
        except OSError:
            continue  # It has ended.
    return False


def kill(process):
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass
