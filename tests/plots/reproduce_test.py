#!/usr/bin/env python3
"""Does `cosched reproduce --quick` run, draw and judge figures, go on after an interruption, tell what failed, and write an appendix?
reproduce_test.py COSCHED [RealTenants|Reproduce] [unittest args].

Which verdicts come out is this machine's affair; that every claim gets one is ours.
"""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CHECKER = ROOT / "tests" / "check_results.py"
FIGURES = sorted(path.stem for path in (ROOT / "experiments" / "figures").glob("*.toml"))
COSCHED = None  # Given on the command line.


class ReproduceCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)

    def environment(self):
        """Tests may run side by side: their runs do not lock each other out."""
        return {**os.environ, "COSCHED_LOCKS": str(self.out)}

    def cosched(self, *arguments):
        return subprocess.run([COSCHED, *map(str, arguments)], capture_output=True, text=True, check=False, env=self.environment())

    def kept(self):
        """The figures in the results folder, by name."""
        return {figure["name"]: figure for figure in json.loads((self.out / "reproduce.json").read_text())["figures"]}

    @contextlib.contextmanager
    def started(self, *arguments):
        process = subprocess.Popen([COSCHED, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=self.environment())
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def wait_for(self, pattern, process):
        for _ in range(1200):
            if any(self.out.glob(pattern)) or process.poll() is not None:
                break
            time.sleep(0.05)
        self.assertIsNone(process.poll(), "it ended too early")


class RealTenants(ReproduceCase):
    """Alone on the machine: their records are checked."""

    def test_a_figure_with_real_tenants(self):
        result = self.cosched("reproduce", "grow", "--quick", "--out", self.out)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        [run] = (self.out / "fig_grow").iterdir()
        rows = json.loads((run / "plots" / "fig_grow.claims.json").read_text())["claims"]
        verdicts = [row["verdict"] for row in rows]
        self.assertTrue(set(verdicts) <= {"holds", "does not hold", "not supported here"}, verdicts)
        self.assertEqual(result.returncode, 1 if "does not hold" in verdicts else 0, result.stdout + result.stderr)
        for row in rows:
            self.assertIn(row["claim"].split(",")[0], result.stdout)
        for what, own in (("claims of publications", False), ("our own targets, of which nothing is published", True)):
            some = [row["verdict"] for row in rows if (row["published"] == "-") == own]
            self.assertEqual(f"{what}: {some.count('holds')} of {len(some)} hold" in result.stdout, len(some) > 0, result.stdout)
        self.assertGreater((run / "plots" / "fig_grow.png").stat().st_size, 10_000)
        checked = subprocess.run([sys.executable, CHECKER, run], capture_output=True, text=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        self.assertEqual(checked.stdout.count("OK "), 2)  # Its two points.


class Reproduce(ReproduceCase):
    def test_figures_are_listed_and_an_unknown_one_is_refused(self):
        listed = self.cosched("list", "figures").stdout
        self.assertIn("fig_grow", listed)
        refused = self.cosched("reproduce", "fig_moon", "--out", self.out)
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("fig_moon", refused.stderr)
        self.assertIn("fig_grow", refused.stderr)
        self.assertEqual(list(self.out.iterdir()), [])

    def test_every_figure_can_be_planned(self):
        """Also those that calibrate first: what a policy needs of their profile is not there yet."""
        planned = self.cosched("reproduce", "all", "--dry-run", "--json", "--out", self.out)
        self.assertEqual(planned.returncode, 0, planned.stderr)
        figures = json.loads(planned.stdout)["figures"]
        self.assertEqual([figure["name"] for figure in figures], FIGURES)
        self.assertEqual({figure["name"]: figure["why"] for figure in figures if figure["status"] == "failed"}, {})

    def test_what_is_whole_is_kept_and_what_was_interrupted_goes_on(self):
        figures = "control", "grow", "--quick", "--out", self.out
        with self.started("reproduce", *figures) as process:
            self.wait_for("fig_grow/*/*/*/*/*/cell.json", process)  # One of its cells is whole.
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 130, said)
        self.assertIn("interrupted: 1 of 2 figures are whole; continue with: ", said)
        self.assertIn("--resume", said)
        before = self.kept()
        self.assertEqual([before[name]["status"] for name in ("fig_control", "fig_grow")], ["whole", "interrupted"])
        self.assertIn("interrupted", (self.out / "reproduce.html").read_text())
        result = self.cosched("reproduce", *figures, "--resume")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        self.assertRegex(result.stdout, "fig_control .* is whole, and is kept")
        after = self.kept()
        self.assertEqual((after["fig_control"]["kept"], after["fig_control"]["took"]), (True, before["fig_control"]["took"]))
        self.assertEqual((after["fig_grow"]["kept"], after["fig_grow"]["status"]), (False, "whole"))
        self.assertEqual(len(list((self.out / "fig_grow").iterdir())), 1)  # The same run.
        self.assertGreater(after["fig_grow"]["took"]["seconds"], before["fig_grow"]["took"]["seconds"])
        for name in ("fig_control", "fig_grow"):
            self.assertTrue(all(claim["verdict"] for claim in after[name]["claims"]), name)

    def test_two_commands_into_one_folder_keep_what_the_other_found(self):
        with self.started("reproduce", "partial_grants", "--quick", "--out", self.out) as process:
            self.wait_for("fig_partial_grants/*/manifest.json", process)
            self.assertIn(self.cosched("reproduce", "control", "--quick", "--out", self.out).returncode, (0, 1))
            said = process.communicate(timeout=60)[1]
        self.assertIn(process.returncode, (0, 1), said)
        kept = self.kept()
        self.assertEqual([kept[name]["status"] for name in ("fig_control", "fig_partial_grants")], ["whole", "whole"])

    def test_a_folder_can_be_moved(self):
        before, after = self.out / "before", self.out / "after"
        self.cosched("reproduce", "control", "--quick", "--out", before)
        before.rename(after)
        result = self.cosched("reproduce", "control", "--quick", "--resume", "--out", after)
        self.assertRegex(result.stdout, "fig_control .* is whole, and is kept")
        self.assertIn("data:image/png;base64,", (after / "reproduce.html").read_text())

    def test_another_experiment_is_not_kept(self):
        self.cosched("reproduce", "control", "--quick", "--out", self.out)
        file = self.out / "reproduce.json"
        file.write_text(file.read_text().replace(self.kept()["fig_control"]["hash"], "0" * 16))
        result = self.cosched("reproduce", "control", "--quick", "--resume", "--dry-run", "--out", self.out)
        self.assertNotIn("is kept", result.stdout)

    def test_a_figure_that_failed_is_told_and_the_others_are_drawn(self):
        with self.started("reproduce", "grow", "--quick", "--out", self.out / "other") as process:
            self.wait_for("other/fig_grow/*/manifest.json", process)  # It has the cores.
            result = self.cosched("reproduce", "grow", "control", "--quick", "--out", self.out)
        self.assertEqual(result.returncode, 2, result.stderr)
        kept = self.kept()
        self.assertEqual([kept[name]["status"] for name in ("fig_control", "fig_grow")], ["whole", "failed"])
        self.assertIn("--force", kept["fig_grow"]["why"])
        self.assertIn("fig_grow failed: ", result.stderr)
        page = (self.out / "reproduce.html").read_text()
        self.assertIn("data:image/png;base64,", page)
        for name in ("control", "grow"):
            for claim in json.loads((ROOT / "plots" / "expected" / f"fig_{name}.json").read_text())["claims"]:
                self.assertIn(json.dumps(claim["claim"], ensure_ascii=False).replace("<", "\\u003c"), page)

    def test_the_appendix_has_every_claim_its_command_and_what_is_expected(self):
        self.cosched("reproduce", "control", "--quick", "--out", self.out)
        result = self.cosched("reproduce", "--appendix", "--out", self.out / "appendix.md")
        self.assertEqual((result.returncode, result.stdout), (0, f"{self.out / 'appendix.md'}\n"), result.stderr)
        text = (self.out / "appendix.md").read_text()
        for figure in FIGURES:
            self.assertIn(f"### {figure}\n", text)
            for command in (figure, f"{figure} --quick"):
                self.assertRegex(text, f"`build/cosched reproduce {command}`: .*(minutes|time not known)")
            for claim in json.loads((ROOT / "plots" / "expected" / f"{figure}.json").read_text())["claims"]:
                self.assertIn("| " + claim["claim"].replace("|", "\\|") + " |", text)
        for command in ("--dry-run", "--quick", "--resume"):
            self.assertIn(f"build/cosched reproduce {command}", text)
        self.assertIn("as it took here", text)

    def appendix(self, change=lambda figure: None):
        """Of fig_control as it is kept after change(figure): the part about it."""
        file = self.out / "reproduce.json"
        kept = json.loads(file.read_text())
        for figure in kept["figures"]:
            change(figure)
        file.write_text(json.dumps(kept))
        self.assertEqual(self.cosched("reproduce", "control", "--appendix", "--out", self.out).returncode, 0)
        return (self.out / "appendix.md").read_text().split("### fig_control\n")[1]

    def test_the_appendix_tells_why_and_where_what_was_found(self):
        self.cosched("reproduce", "control", "--out", self.out)
        kept = self.kept()["fig_control"]
        took, claim = kept["took"], kept["claims"][0]
        ran = f"{took['cpu']}, {took['cores']} cores, commit another, {took['started']} to {took['finished']}"

        def mark(figure):
            figure["took"]["commit"] = "another"
            figure["claims"][0].update(verdict="does not hold", reason="the interval | lies elsewhere", published="-")
            figure["cells"].update(marked=2, marks=[{"mark": "late", "cells": 2}], failed=["a/b/1: it broke"],
                                   lost=[f"a/b/{n} lost 1 of 2 jobs" for n in range(8)])
            figure["notes"] = ["what its script tells"]
        text = self.appendix(mark)
        self.assertIn(f"\n* found on: {ran}\n", text)
        self.assertRegex(text, rf"\| {re.escape(claim['claim'])} \| own target \| .* "
                               r"\| does not hold: .* \| the interval \\\| lies elsewhere \|\n")
        self.assertIn(f"* marked cells: 2 of {kept['cells']['all']}\n  * 2: late\n* failed cells, in no claim: a/b/1: it broke\n"
                      "* left out of every claim: ", text)
        self.assertIn("a/b/5 lost 1 of 2 jobs; and 2 more\n", text)
        self.assertIn("```\nwhat its script tells\n```", text)
        self.assertNotIn("whose are the values", (self.out / "appendix.md").read_text())

        text = self.appendix(lambda figure: figure.update(cells=None))
        self.assertIn("* marked cells: not known, an earlier cosched judged this figure\n", text)
        text = self.appendix(lambda figure: figure.update(status="failed", why="2 of 80 cells failed"))
        self.assertIn(f"\n* **failed**: 2 of 80 cells failed; on: {ran}\n", text)
        text = self.appendix(lambda figure: figure.update(hash="0" * 16))
        self.assertIn(f"\n* not run since its settings changed; before that on: {ran}\n", text)
        self.assertNotIn("lies elsewhere", text)

    def test_what_an_earlier_cosched_kept_is_read(self):
        self.cosched("reproduce", "control", "--quick", "--out", self.out)
        file = self.out / "reproduce.json"
        kept = json.loads(file.read_text())
        for figure in kept["figures"]:
            del figure["cells"], figure["notes"]
        file.write_text(json.dumps(kept))
        self.cosched("reproduce", "partial_grants", "--quick", "--out", self.out)
        after = self.kept()
        self.assertEqual((after["fig_control"]["cells"], after["fig_control"]["notes"]), (None, []))
        self.assertEqual(after["fig_partial_grants"]["cells"]["marked"], 0)
        self.assertGreater(after["fig_partial_grants"]["cells"]["all"], 0)


if __name__ == "__main__":
    COSCHED = sys.argv.pop(1)
    unittest.main()
