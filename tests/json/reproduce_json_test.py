#!/usr/bin/env python3
"""Is what `cosched reproduce --json` prints, and keeps, as its schema says? reproduce_json_test.py COSCHED [unittest args]."""
import json
from pathlib import Path

from json_test_case import ROOT, JsonTestCase, check, main

FIGURES = sorted(path.stem for path in (ROOT / "experiments/figures").glob("*.toml"))
SIMULATED = ["fig_control", "fig_pipeline_scaleout"]


class ReproduceJsonTest(JsonTestCase):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "results"

    def data(self, *arguments):
        """The document, and what was told beside it. Whether a claim holds is not this test's affair."""
        result = self.cosched.try_("reproduce", *arguments, "--json", "--out", self.out)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        document = json.loads(result.stdout)
        check(document, "reproduce")
        return document, result.stderr

    def test_results_and_what_is_kept_are_as_the_schema_says(self):
        found, said = self.data(*SIMULATED, "--quick")
        self.assertEqual([figure["name"] for figure in found["figures"]], SIMULATED)
        kept = json.loads((self.out / "reproduce.json").read_text())
        check(kept, "reproduce")
        for figure in kept["figures"]:  # In the file, relative to its folder.
            figure["picture"], figure["took"]["run"] = (str(self.out / path) for path in (figure["picture"], figure["took"]["run"]))
        self.assertEqual(kept["figures"], found["figures"])
        for figure in found["figures"]:
            self.assertEqual((figure["status"], figure["quick"], figure["kept"]), ("whole", True, False))
            self.assertTrue(Path(figure["picture"]).exists())
            self.assertTrue((Path(figure["took"]["run"]) / "manifest.json").exists())
            self.assertGreater(figure["took"]["seconds"], 0)
            self.assertGreater(figure["took"]["bytes"], 10_000)
            expected = json.loads((ROOT / f"plots/expected/{figure['name']}.json").read_text())["claims"]
            self.assertEqual([claim["name"] for claim in figure["claims"]], [claim["name"] for claim in expected])
            self.assertTrue(all(claim["verdict"] for claim in figure["claims"]))
        verdicts = [claim["verdict"] for figure in found["figures"] for claim in figure["claims"]]
        self.assertEqual(found["claims"]["all"], len(verdicts))
        self.assertEqual(found["claims"]["hold"], verdicts.count("holds"))
        self.claims_of_publications_are_counted_apart(found, said)
        self.assertTrue(all(figure["cells"]["all"] > 0 for figure in found["figures"]))

    def claims_of_publications_are_counted_apart(self, found, said):
        claims = [claim for figure in found["figures"] for claim in figure["claims"]]
        for name, what, own in (("of_publications", "claims of publications", False),
                                ("own_targets", "our own targets, of which nothing is published", True)):
            verdicts = [claim["verdict"] for claim in claims if (claim["published"] == "-") == own]
            counted = found["claims"][name]
            self.assertEqual((counted["all"], counted["hold"], counted["do_not_hold"], counted["not_supported_here"]),
                             (len(verdicts), *map(verdicts.count, ("holds", "does not hold", "not supported here"))))
            self.assertGreater(len(verdicts), 0)
            self.assertIn(f"{what}: {verdicts.count('holds')} of {len(verdicts)} hold", said)

    def test_a_time_that_was_measured_here_is_what_the_next_plan_says(self):
        took = self.data("control", "--quick")[0]["figures"][0]["took"]
        [figure] = self.data("control", "--quick", "--dry-run")[0]["figures"]
        self.assertEqual((figure["plan"]["seconds"], figure["plan"]["seconds_from"]), (took["seconds"], "as it took here"))
        [whole] = self.data("control", "--dry-run")[0]["figures"]
        self.assertNotEqual(whole["plan"]["seconds_from"], "as it took here")

    def test_every_figure_is_planned_and_nothing_runs(self):
        found, said = self.data("--quick", "--dry-run")
        self.assertEqual([figure["name"] for figure in found["figures"]], FIGURES)
        for figure in found["figures"]:
            self.assertIn(figure["status"], ("planned", "not supported here"))
            self.assertEqual(figure["status"] == "not supported here", bool(figure["why"]), figure)
            self.assertIsNone(figure["took"])
            self.assertIn(figure["name"], said)
        self.assertFalse(self.out.exists())

    def test_what_is_not_of_this_program_is_refused(self):
        self.out.mkdir()
        (self.out / "reproduce.json").write_text('{"schema": "cosched-reproduce", "version": 0, "figures": []}')
        error = self.document("reproduce", "control", "--quick", "--json", "--out", self.out, schema="error", code=2)
        self.assertIn("reproduce.json", error["problem"])


if __name__ == "__main__":
    main()
