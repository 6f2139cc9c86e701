#!/usr/bin/env python3
"""Does `cosched reproduce --quick` run, draw and judge figures, go on after an interruption, tell what failed, and write an appendix?
reproduce_test.py COSCHED [RealTenants|Reproduce] [unittest args].

Which verdicts come out is this machine's affair; that every claim gets one is ours.
"""
import contextlib
import json
import os
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
        self.assertIn(f"{len(rows)} claims: {verdicts.count('holds')} hold", result.stdout)
        self.assertIn("of them checked for direction only)", result.stdout)
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


if __name__ == "__main__":
    COSCHED = sys.argv.pop(1)
    unittest.main()
