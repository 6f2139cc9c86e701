#!/usr/bin/env python3
"""Does `cosched watch` work in a terminal: over a finished run with keys, beside one that goes on, in any size, with colours and without,
and where there is no terminal at all? tmux_test.py COSCHED [unittest args]. A screen is waited for, however long it takes."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from simulated_experiment import Cosched  # noqa: E402

# Real tenants, which train until they are interrupted.
LIVE = """name = "live"
trials = 1
policies = ["equal-share"]
elasticity = ["malleable"]
[trace]
jobs = 2
gap = { distribution = "fixed", mean_s = 0.2 }
[[workload]]
model = "lenet5"
batch = 8
steps = 1000000
cores = { min = 1, preferred = 1, max = 1 }
"""
PATIENCE = 120  # Seconds, on a machine that is busy.
BINARY = None  # Given on the command line.


class Tmux:
    """A server of its own with one window of that size."""

    def __init__(self, folder, command, columns=80, rows=24, terminal="screen-256color", **environment):
        self.socket = Path(folder) / f"tmux-{time.monotonic_ns()}"
        variables = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TMUX")} | environment
        self.run("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                 f"TERM={terminal} {command}; echo exit code $?; cat", cwd=folder, env=variables)

    def run(self, *arguments, **options):
        return subprocess.run(["tmux", "-S", self.socket, *arguments], capture_output=True, text=True, check=True, **options).stdout

    def screen(self, *options):
        return self.run("capture-pane", "-p", *options)

    def press(self, *keys):
        self.run("send-keys", *keys)

    def wait(self, pattern, *options):
        """The first screen in which that is found."""
        until = time.monotonic() + PATIENCE
        while not re.search(pattern, text := self.screen(*options)):
            if time.monotonic() > until:
                raise AssertionError(f"not seen within {PATIENCE} s: {pattern}\n{text}")
            time.sleep(0.05)
        return text

    def close(self):
        self.run("kill-server")


class WatchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.cosched = Cosched(BINARY, cls.folder, name="simulated", trials=1)
        (cls.folder / "live.toml").write_text(LIVE)
        cls.cosched.run()

    def watch(self, *arguments, **options):
        terminal = Tmux(self.folder, f"'{BINARY}' watch {' '.join(arguments)}", **options)
        self.addCleanup(terminal.close)
        return terminal

    def test_a_finished_run_with_keys(self):
        terminal = self.watch("simulated")
        text = terminal.wait(r"looking back")
        for words in (r"the run is over: done", r"4 of 4 done, 0 left", r"cell +1: \S+, (rigid|malleable), trial 1, done", r"job +program +state",
                      r"resnet20 +runs", r"images/s", r"last decisions", r"job \d+ (came|ended): .*job \d+ starts on [0-9-]+", r"\? help"):
            self.assertRegex(text, words)
        self.assertEqual(len(text.splitlines()), 24)
        half = float(re.search(r"([\d.]+) s of ([\d.]+) s", text)[1])
        terminal.press("Left")
        terminal.wait(rf" (?!{half})[\d.]+ s of")
        terminal.press("Home")
        terminal.wait(r" 0\.00 s of")
        terminal.press("PageDown")
        terminal.wait(r" [1-9][\d.]* s of")
        terminal.press("n")
        terminal.wait(r"cell +2: ")
        terminal.press("Tab")
        terminal.wait(r"cell +3: ")
        terminal.press("p", "p")
        terminal.wait(r"cell +1: ")
        terminal.press("Home", "Space")
        terminal.wait(r"playing at")
        terminal.press("Space")
        terminal.wait(r"looking back")
        terminal.press("End")
        terminal.wait(r"0 waiting, 12 ended")
        terminal.press("?")
        terminal.wait(r"A cell is one policy with one kind of jobs in one trial at one point of a sweep;\n")
        terminal.press("q")
        terminal.wait(r"exit code 0")

    def test_a_run_that_goes_on_and_its_end(self):
        run = subprocess.Popen([BINARY, "run", "live.toml", "--no-plots"], env=self.cosched.environment(), cwd=self.folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(run.wait)
        self.addCleanup(run.terminate)
        until = time.monotonic() + PATIENCE
        while not list(self.folder.glob("results/live/*/manifest.json")):
            self.assertLess(time.monotonic(), until)
            self.assertIsNone(run.poll())
            time.sleep(0.05)
        terminal = self.watch()  # Without a word: the one that goes on, though another one is there.
        text = terminal.wait(r"lenet5 +runs .*[1-9]\d*/1000000 +[\d.]+ images/s")
        for words in (r"the run goes on", r"0 of 1 done, 1 running, 0 left", r"1: equal-share, malleable, trial 1, runs", r", now\n",
                      r"oversubscribed.*; [\d.]+ of their threads wants? to run"):
            self.assertRegex(text, words)
        then = re.search(r"([\d.]+) s of", text)[1]
        terminal.wait(rf" (?!{re.escape(then)})[\d.]+ s of .*, now\n")
        terminal.press("Home")
        terminal.wait(r" 0\.00 s of .*, looking back\n")
        terminal.press("End")
        terminal.wait(r", now\n")
        run.terminate()
        run.wait()
        text = terminal.wait(r"1 not finished[\s\S]*nobody runs it any more")
        self.assertRegex(text, r"cell +1: equal-share")
        terminal.press("q")
        terminal.wait(r"exit code 0")

    def test_any_size_and_a_size_that_changes(self):
        terminal = self.watch("simulated")
        terminal.wait(r"looking back")
        terminal.run("resize-window", "-x", "120", "-y", "40")
        terminal.wait(r"^(?:.*\n){39} \? help  q quit")
        for columns, rows in (50, 10), (20, 3), (3, 2), (80, 24):
            terminal.run("resize-window", "-x", str(columns), "-y", str(rows))
            terminal.press("n", "p")
        terminal.wait(r"looking back[\s\S]*\? help")
        terminal.press("q")
        terminal.wait(r"exit code 0")

    def test_colours_only_where_they_are_wanted(self):
        coloured = r"\x1b\[[0-9;]*3[12]m"
        self.watch("simulated").wait(coloured, "-e")
        for options in {"NO_COLOR": "1"}, {"terminal": "vt100"}:
            terminal = self.watch("simulated", **options)
            terminal.wait(r"looking back")
            self.assertNotRegex(terminal.screen("-e"), coloured)

    def test_without_a_terminal_one_frame_is_printed(self):
        text = self.cosched("watch", "simulated").stdout
        self.assertRegex(text, r"cell +1: [\s\S]*looking back[\s\S]*last decisions")
        self.assertNotIn("\x1b", text)
        self.assertRegex(self.cosched("watch", "simulated", "--cell", "2", "--at", "1").stdout, r"cell +2: [\s\S]* 1\.00 s of")
        self.assertIn("--cell", self.cosched("watch", "simulated", "--cell", "5", code=2).stderr)
        self.assertIn("is no run, and ", self.cosched("watch", "nothing", code=2).stderr)
        terminal = self.watch("simulated", terminal="dumb")
        self.assertRegex(terminal.wait(r"exit code 0"), r"last decisions")


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    if not shutil.which("tmux"):
        print("Skipped\nneeds tmux")
        sys.exit(0)
    unittest.main()
