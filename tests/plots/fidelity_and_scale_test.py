#!/usr/bin/env python3
"""Are the figures that are no plain runs drawn and judged by what validation.json and benchmark.json say?

fidelity_and_scale_test.py RUN [unittest args]: RUN is a run's folder, to which a validation is added in a copy.
"""
import json
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import forked

PLOTS = Path(__file__).resolve().parent.parent.parent / "plots"
SMALLEST_PLOT = 10_000  # Bytes; an empty page is smaller.
RUN = None  # Given on the command line.


def estimate(value, spread=0.0, traces=6):
    return {"value": value, "low": value - spread, "high": value + spread, "level": 1 - 2 * 0.5**traces, "trials": traces}


def validation(error=0.03, tau=0.9, traces=6, measured_tau=0.8):
    ranking = {"tau": estimate(tau, traces=traces), "tau_of_means": tau, "winner_agrees": traces, "regret": estimate(0.01, traces=traces),
               "mean_regret": 0.02, "measured_tau": measured_tau, "pairs": 10, "told_apart": 8, "ordered_alike": 7}
    values = {"makespan": 10, "turnaround": 3}
    return {"cells": [{"run": 0, "policy": "strict", "elasticity": "malleable", "trial": trial, "comparable": True,
                       "measured": values, "simulated": values, "measured_marks": [], "simulated_marks": []} for trial in (1, 2)],
            "absolute_error": {name: estimate(error, 0.01, traces) for name in ("makespan", "throughput", "turnaround")},
            "by_makespan": ranking, "by_turnaround": ranking, "services": None}


def validated_services(error=0.03, tau=0.9, traces=6):
    """Of services alone: jobs have no turnaround."""
    found = validation(error, tau, traces)
    ranking = {**found["by_makespan"], "ordered_alike": 8}
    for cell in found["cells"]:
        cell["measured"] = cell["simulated"] = {"makespan": 10, "turnaround": 0}
    keys = [{"run": 0, "policy": policy, "elasticity": "malleable", "trial": trial} for policy in ("roma", "devices") for trial in (1, 2)]
    figures = {"mean_ms": 40.0, "p95_ms": 90.0, "violated": 0.1}
    found["services"] = {
        "services": [{**key, "service": "classifier", "measured": figures, "simulated": figures} for key in keys],
        "granted": [{**key, "measured": 15.0, "simulated": 14.0} for key in keys],
        "response_error": estimate(error, 0.01, traces), "violation_difference": estimate(error, 0.01, traces),
        "granted_error": estimate(error, 0.01, traces), "by_violations": ranking, "by_granted": ranking}
    return {**found, "by_makespan": None, "by_turnaround": None}


PIPELINES = [{"pipeline": "increment", "work_ms": "10"}, {"pipeline": "increment", "wait_ms": "10"},
             {"pipeline": "increment", "work_ms": "10", "wait_ms": "10"}, {"pipeline": "align-sort"}]


def validated_pipelines(error, mood=0.0):
    """Values by point, and what was found of them: simulated off by `error` wherever it was not calibrated, measured by
    `mood` up or down from trial to trial."""
    points, rows = [], []
    for keys in PIPELINES:
        for open_requests in (2, 4):
            measured = {"mean_ms": 50.0, "p50_ms": 40.0, "p95_ms": 90.0, "inside_ms": 30.0, "per_second": 20.0,
                        "violated": None}
            for cores in (1, 2):
                off = 1 + error * ((open_requests, cores) != (2, 1))
                simulated = {name: value and value * off for name, value in measured.items()}
                rows += [{"run": len(points), "policy": "equal-share", "elasticity": "malleable", "trial": trial, "service": "pipeline",
                          "measured": {**measured, "per_second": measured["per_second"] * (1 + mood * (-1) ** trial)}, "simulated": simulated}
                         for trial in range(1, 7)]
                values = {**{f"workload.0.{key}": value for key, value in keys.items()}, "workload.0.open": str(open_requests)}
                points.append({"name": f"point{len(points)}", "values": {**values, "machine.cores": str(cores)}})
    return points, {**validation(), "services": {"services": rows}}


def benchmark(seconds, event_100=2.0, event_100000=2.2, simgrid=True, repetitions=6):
    def row(name, time, unit, **more):
        return {"run_name": name, "run_type": "iteration", "real_time": time, "time_unit": unit, **more}

    rows = []
    for shake in (1.0, 1.01, 1.02, 1.03, 1.04, 1.05)[:repetitions]:
        for policy in ("strict", "equal-share"):
            for jobs in (20_000, 1_000_000):
                rows.append(row(f"whole_path/{policy}/{jobs}/iterations:1/manual_time", seconds * shake * jobs / 1e6, "s", peak_MB=90))
        rows += [row("event/100", 1000 * event_100 * shake, "ns"), row("event/100000", 1000 * event_100000 * shake, "ns"),
                 row("event_running/64", 1400 * shake, "ns")]
        for in_flight, theirs in ((64, 1e5), (1024, 1e4)):
            rows.append(row(f"executions/{in_flight}", 100, "ns", items_per_second=1e7 / shake))
            if simgrid:
                rows.append(row(f"sg_executions/{in_flight}/1000/manual_time", 1, "s", items_per_second=theirs / shake))
    return {"context": {"num_cpus": 2}, "benchmarks": rows}


def services(rate, choice_ns, tick_us, repetitions=6):
    rows = []
    for shake in (1.0, 1.01, 1.02, 1.03, 1.04, 1.05)[:repetitions]:
        def row(name, shake=shake, **more):
            rows.append({"run_name": name, "run_type": "iteration", "real_time": 1, "time_unit": "ns", **more})

        for nodes, devices in ((6, 4), (64, 32)):
            for family in ("requests", "recorded"):
                row(f"{family}/{nodes}/{devices}/iterations:1", items_per_second=rate / shake)
        for count in (8, 64):
            row(f"look_and_max_element/{count}/iterations:20000/manual_time", p99_ns=500 * shake)
            for name in ("h1", "random"):
                row(f"choice/{name}/{count}/iterations:20000/manual_time", p99_ns=(choice_ns if name == "h1" else 600) * shake)
        for count in (256, 4096):
            row(f"tick/roma-ct/{count}/iterations:1000/manual_time", p99_us=tick_us * shake)
    return {"context": {"num_cpus": 2}, "benchmarks": rows}


def peers(tbb=1.05, flow_graph=1.2, programs=1.3, memory=90, item=1.1, installed=True, repetitions=6):
    """Of pipelines; cosched's throughput over the others'."""
    rows = []
    for shake in (1.0, 1.01, 1.02, 1.03, 1.04, 1.05)[:repetitions]:
        def row(name, over, shake=shake, **more):
            counters = {"cosched": 80 * shake, "rss_cosched": 200}
            for peer, ratio in over.items():
                counters |= {peer: 80 * shake / ratio, f"x_{peer}": ratio * shake, f"rss_{peer}": 100}
            counters |= more
            rows.append({"run_name": name, "run_type": "iteration", "real_time": 1, "time_unit": "ms", **counters})

        systems = {"tbb_pipeline": tbb, "tbb_flow_graph": flow_graph}
        others = {"programs_0": programs, "programs_2": programs} if installed else {}
        for load in ("200000/1", "10000/20"):
            row(f"align_sort/{load}/iterations:1/real_time", {"command": 1.0, **systems, **others}, rss_command=memory)
        for stages in (1, 4):
            row(f"items/{stages}/iterations:1/real_time", {"tbb_pipeline": item, "tbb_flow_graph": item})
    return {"context": {"num_cpus": 2}, "benchmarks": rows}


class FidelityAndScale(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "run"

    def judged(self, figure):
        base = self.folder / "plots" / figure
        result = forked.run(PLOTS / f"{figure}.py", self.folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for suffix in (".png", ".pdf"):
            self.assertGreater(base.with_suffix(suffix).stat().st_size, SMALLEST_PLOT)
        self.printed = result.stdout
        return {row["name"]: row["verdict"] for row in json.loads(base.with_suffix(".claims.json").read_text())["claims"]}

    def copy(self):
        shutil.copytree(RUN, self.folder)
        manifest = json.loads((self.folder / "manifest.json").read_text())
        (self.folder / "manifest.json").write_text(json.dumps({**manifest, "host": {"cpus": "0-1"}}))

    def validated(self, **found):
        self.copy()
        (self.folder / "validation.json").write_text(json.dumps(validation(**found)))
        return self.judged("fig_fidelity")

    def of_the_simulator(self, verdicts):
        """This run has no systems to be measured against each other."""
        measured = {name: verdicts.pop(name) for name in list(verdicts) if name.startswith("measured")}
        self.assertEqual(measured, {"measured_violations": "not supported here", "measured_cores": "not supported here"})
        return set(verdicts.values())

    def judged_services(self, found):
        self.copy()
        (self.folder / "validation.json").write_text(json.dumps(found))
        return self.judged("fig_roma_fidelity")

    def judged_pipelines(self, **found):
        points, found = validated_pipelines(**found)
        for point in points:
            shutil.copytree(RUN, self.folder / point["name"])
        manifest = json.loads((RUN / "manifest.json").read_text())
        (self.folder / "manifest.json").write_text(json.dumps({**manifest, "host": {"cpus": "0-1"}, "points": points}))
        (self.folder / "validation.json").write_text(json.dumps(found))
        return self.judged("fig_pipeline_fidelity")

    def benchmarked(self, **found):
        self.folder.mkdir()
        (self.folder / "benchmark.json").write_text(json.dumps(benchmark(**found)))
        return self.judged("fig_scale")

    def services_benchmarked(self, **found):
        self.folder.mkdir()
        (self.folder / "benchmark.json").write_text(json.dumps(services(**found)))
        return self.judged("fig_roma_scale")

    def peers_benchmarked(self, **found):
        self.folder.mkdir()
        (self.folder / "benchmark.json").write_text(json.dumps(peers(**found)))
        return self.judged("fig_pipeline_peers")

    def test_a_good_simulator_holds(self):
        verdicts = self.validated()
        self.assertEqual(verdicts.pop("alike_makespan"), "does not hold")  # 7 of 8.
        self.assertEqual(verdicts.pop("alike_turnaround"), "does not hold")
        self.assertEqual(set(verdicts.values()), {"holds"})
        self.assertIn("the hardware tells 8 of 10 pairs of policies apart, 7 of them", self.printed)
        self.assertIn("7 of 8 pairs that it tells apart, of 10; of equal policies 0.3 would be by chance", " ".join(self.printed.split()))

    def test_marks_of_the_simulation_are_told_too(self):
        self.copy()
        found = validation()
        found["cells"][0]["simulated_marks"] = ["rests on extrapolation: x"]
        (self.folder / "validation.json").write_text(json.dumps(found))
        self.judged("fig_fidelity")
        written = json.loads((self.folder / "plots" / "fig_fidelity.claims.json").read_text())
        self.assertEqual(written["cells"]["marks"], [{"mark": "simulated: rests on extrapolation: x", "cells": 1}])
        self.assertIn("\n".join(written["notes"]), self.printed)
        self.assertTrue(written["notes"])

    def test_a_good_simulator_of_services_holds(self):
        self.assertEqual(self.of_the_simulator(self.judged_services(validated_services())), {"holds"})

    def test_a_bad_simulator_of_services_does_not(self):
        found = validated_services(error=0.2, tau=0.1)
        found["services"]["by_granted"]["ordered_alike"] = 7  # As by_violations: it is the same.
        self.assertEqual(self.of_the_simulator(self.judged_services(found)), {"does not hold"})

    def test_without_services_nothing_is_said_of_them(self):
        self.assertEqual(set(self.judged_services(validation()).values()), {"not supported here"})

    def test_a_good_simulator_of_pipelines_holds_and_a_bad_one_does_not(self):
        self.assertEqual(set(self.judged_pipelines(error=0.03).values()), {"holds"})
        shutil.rmtree(self.folder)
        verdicts = self.judged_pipelines(error=0.3)
        self.assertEqual(verdicts.pop("align_repeats"), "holds")  # It is of what was measured.
        self.assertEqual(set(verdicts.values()), {"does not hold"})

    def test_a_machine_that_does_not_repeat_itself_is_told_and_blames_no_simulator(self):
        verdicts = self.judged_pipelines(error=0, mood=0.1)
        self.assertEqual((verdicts["align_repeats"], verdicts["align_throughput"], verdicts["align_latency"]),
                         ("does not hold", "not supported here", "holds"))
        self.assertIn("the same of this machine against its own other trials is 20.2%", " ".join(self.printed.split()))

    def test_a_ranking_that_the_hardware_has_not_itself_blames_no_simulator(self):
        verdicts = self.validated(tau=0.1, measured_tau=0.47)
        self.assertEqual((verdicts["tau_makespan"], verdicts["tau_turnaround"]), ("not supported here", "not supported here"))
        self.assertIn("the hardware's own tau, of half of the traces against the others, is 0.470", " ".join(self.printed.split()))

    def test_three_traces_decide_nothing(self):
        verdicts = self.validated(traces=3)
        self.assertEqual(verdicts["makespan"], "not supported here")
        self.assertIn("the range of 3 trials covers 75 %; 6 are needed", self.printed)

    def test_three_repetitions_decide_nothing(self):
        self.assertEqual(set(self.benchmarked(seconds=8, repetitions=3).values()), {"not supported here"})

    def test_a_bad_one_does_not(self):
        verdicts = self.validated(error=0.2, tau=0.1)
        for name in ("makespan", "throughput", "turnaround", "tau_makespan", "tau_turnaround"):
            self.assertEqual(verdicts[name], "does not hold")

    def test_a_run_that_was_never_validated(self):
        self.copy()
        result = forked.run(PLOTS / "fig_fidelity.py", self.folder)
        self.assertEqual(result.returncode, 1)
        self.assertIn("no validation", result.stderr)

    def test_a_fast_simulator_holds(self):
        self.assertEqual(set(self.benchmarked(seconds=8).values()), {"holds"})

    def test_a_slow_one_does_not(self):
        verdicts = self.benchmarked(seconds=12, event_100000=9.0)
        self.assertEqual([verdicts[name] for name in ("strict", "equal_share", "growth")], 3 * ["does not hold"])

    def test_without_simgrid_nothing_is_said_of_it(self):
        verdicts = self.benchmarked(seconds=8, simgrid=False)
        self.assertEqual([verdicts[name] for name in ("simgrid_64", "simgrid_1024")], 2 * ["not supported here"])
        self.assertIn("libsimgrid-dev", self.printed)

    def test_fast_services_hold(self):
        self.assertEqual(set(self.services_benchmarked(rate=2e6, choice_ns=2000, tick_us=700).values()), {"holds"})
        self.assertIn("choice among 64, p99 [ns]: h1 2050, random 615", self.printed)

    def test_the_slowest_dispatch_decides(self):
        verdicts = self.services_benchmarked(rate=1.5e6, choice_ns=6000, tick_us=1200)
        self.assertEqual(verdicts, {"requests_6": "holds", "requests_64": "holds", "recorded_6": "holds", "recorded_64": "holds",
                                    "choice": "does not hold", "tick": "does not hold"})

    def test_slow_services_do_not(self):
        verdicts = self.services_benchmarked(rate=9e5, choice_ns=2000, tick_us=700)
        self.assertEqual([verdicts[name] for name in ("requests_6", "recorded_64")], 2 * ["does not hold"])

    def test_pipelines_ahead_of_their_peers_hold(self):
        self.assertEqual(set(self.peers_benchmarked().values()), {"holds"})

    def test_pipelines_behind_their_peers_do_not(self):
        verdicts = self.peers_benchmarked(tbb=0.9, flow_graph=0.9, programs=0.9, memory=130, item=0.5)
        self.assertEqual(set(verdicts.values()), {"does not hold"})

    def test_each_form_of_a_peer_is_judged_by_itself(self):
        verdicts = self.peers_benchmarked(tbb=0.85, flow_graph=1.3)
        self.assertEqual((verdicts["tbb_pipeline"], verdicts["tbb_flow_graph"]), ("does not hold", "holds"))

    def test_without_the_programs_nothing_is_said_of_them(self):
        verdicts = self.peers_benchmarked(installed=False)
        self.assertEqual([name for name, verdict in verdicts.items() if verdict == "holds"], ["tbb_pipeline", "tbb_flow_graph", "items"])
        self.assertEqual(set(verdicts.values()), {"holds", "not supported here"})


if __name__ == "__main__":
    RUN = Path(sys.argv.pop(1))
    unittest.main()
