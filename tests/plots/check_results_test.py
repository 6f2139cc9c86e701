#!/usr/bin/env python3
"""Does tests/check_results.py accept good records and refuse tampered ones? check_results_test.py FIXTURE [unittest args]

FIXTURE is a run that write_fixture made. Every test copies it, changes one thing, and expects exit 1 and the reason.
"""
import csv
import gzip
import json
import shutil
import sys
import unittest
from pathlib import Path

import tampering
from tampering import check

CELL = "equal-share/malleable/1"  # Exclusive cores, and jobs that are resized.


class ResultsTest(tampering.TamperTest):
    def edit_manifest(self, change):
        path = self.run / "manifest.json"
        manifest = json.loads(path.read_text())
        change(manifest)
        path.write_text(json.dumps(manifest))

    def set_cell(self, file, index, **values):
        self.edit(f"{CELL}/{file}.csv", lambda rows: rows[index].update(values))

    def test_good_records_pass(self):
        code, output = check(self.run)
        self.assertEqual(code, 0, output)
        self.assertIn("every invariant holds", output)

    def pack(self):
        """As with [records] compress = "gzip"."""
        for path in [*self.run.glob("*/*/*/*.csv"), *self.run.glob("*/*/*/timeline.json")]:
            if path.name != "interference.csv":
                path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
                path.unlink()

    def test_compressed_records_are_checked_like_others(self):
        self.pack()
        code, output = check(self.run)
        self.assertEqual(code, 0, output)
        self.assertIn("every invariant holds", output)
        path = self.run / CELL / "steps.csv.gz"
        path.write_bytes(path.read_bytes()[:-9])
        self.expect_broken("can't be read")

    def test_compressed_records_that_are_off_are_found(self):
        self.pack()
        self.edit_manifest(lambda manifest: manifest["experiment"].setdefault("records", {}).update(resizes=False))
        self.expect_broken("though [records] says that it is off")

    def test_folder_of_runs_passes(self):
        self.assertEqual(check(self.run.parent)[0], 0)

    def test_no_results_is_exit_2(self):
        self.assertEqual(check(Path(self.folder.name) / "nothing")[0], 2)
        (self.run / "manifest.json").write_text("{}")
        self.assertEqual(check(self.run)[0], 2)

    def test_job_that_never_ends(self):
        self.edit(f"{CELL}/jobs.csv", lambda rows: rows.pop())
        self.expect_broken("arrivals, but jobs")

    def test_job_that_ends_twice(self):
        self.edit(f"{CELL}/jobs.csv", lambda rows: rows.append(rows[0]))
        self.expect_broken("job 0 ends 2 times")

    def test_job_that_never_arrived(self):
        self.edit_manifest(lambda manifest: manifest["traces"][0].pop())
        self.expect_broken("arrivals, but jobs")

    def test_job_of_another_workload(self):
        self.set_cell("jobs", 0, workload="resnet56")
        self.expect_broken("is not the workload that arrived")

    def test_job_that_is_not_submitted_at_its_arrival(self):
        self.edit_manifest(lambda manifest: manifest["traces"][0][0].update(arrival_s=1.0))
        self.expect_broken("not submitted when its trace has it arrive")

    def test_job_that_starts_before_it_was_handed_over(self):
        self.set_cell("jobs", 0, lateness="5")
        self.expect_broken("its start is not between submission and finish")

    def test_job_that_was_handed_over_before_its_arrival(self):
        self.set_cell("jobs", 0, lateness="-0.5")
        self.expect_broken("handed over before it arrived")

    def test_start_before_submission(self):
        self.set_cell("jobs", 1, starting_time="0.001")
        self.expect_broken("its start is not between submission and finish")

    def test_finish_before_submission(self):
        self.set_cell("jobs", 1, finish_time="0.001")
        self.expect_broken("ends before it is submitted")

    def test_derived_columns(self):
        for column in ("waiting_time", "execution_time", "turnaround_time", "stretch"):
            with self.subTest(column=column):
                self.restore()
                self.set_cell("jobs", 2, **{column: "77.5"})
                self.expect_broken(column)

    def test_allocation_beyond_the_request(self):
        self.set_cell("jobs", 0, requested_min="1", requested_preferred="1", requested_max="1")
        self.expect_broken("not within [min, max]")

    def test_allocation_beyond_the_machine(self):
        self.set_cell("jobs", 0, allocated_resources="90")
        self.expect_broken("outside the machine")

    def test_unknown_state(self):
        self.set_cell("jobs", 0, state="lost")
        self.expect_broken("no known state")

    def test_counters_that_go_back(self):
        def count_back(rows, column):
            of_one_job = [row for row in rows if row["job_id"] == rows[0]["job_id"]]
            of_one_job[0][column], of_one_job[1][column] = "9", "5"

        for column in ("migrations", "pressure_us"):
            with self.subTest(column=column):
                self.restore()
                self.edit(f"{CELL}/samples.csv", lambda rows: count_back(rows, column))
                self.expect_broken(f"{column} goes back")

    def test_summary_of_counters(self):
        for column in ("worst_tenant_oversubscription", "migrations_per_core_s", "pressure_s_per_core_s"):
            with self.subTest(column=column):
                self.restore()
                self.edit("summary.csv", lambda rows: rows[0].update({column: "77"}))
                self.expect_broken(column)

    def test_every_column_of_the_summary(self):
        with (self.run / "summary.csv").open(newline="") as file:
            columns = next(csv.reader(file))
        for column in set(columns) - {"policy", "elasticity", "trial", "status"}:
            with self.subTest(column=column):
                shutil.copy(self.original / "summary.csv", self.run / "summary.csv")
                self.edit("summary.csv", lambda rows: rows[0].update({column: "4711"}))
                self.expect_broken(f"{column} should be")

    def test_the_rows_decide_over_the_summary(self):
        """What the summary is made of is changed instead: the cell's figures are computed anew from its rows."""
        for file, column, factor, figure in (("samples", "spin_time_s", 0.5, "core_utilization"),
                                             ("samples", "runnable_threads", 0, "tenant_oversubscription"),
                                             ("jobs", "alone_s", 2, "mean_slowdown")):
            with self.subTest(column=column):
                self.restore()
                for cell in ("no-control/rigid/1", "static-partition/rigid/1"):
                    self.edit(f"{cell}/{file}.csv",
                              lambda rows: [row.update({column: f"{float(row[column]) * factor:g}"}) for row in rows])
                self.expect_broken(f"static-partition/rigid/1: {figure} should be")

    def test_a_job_counts_from_its_start(self):
        """Without its first sample, the second holds from the start on."""
        def drop_first(rows):
            rows[:] = [row for i, row in enumerate(rows) if row["job_id"] in [earlier["job_id"] for earlier in rows[:i]]]
        self.edit(f"{CELL}/samples.csv", drop_first)
        code, output = check(self.run)
        self.assertEqual(code, 0, output)

    def test_spinning_for_longer_than_running(self):
        self.set_cell("samples", -1, spin_time_s="999")
        self.expect_broken("it spun for longer than it ran")

    def test_time_alone_that_is_not_the_profiles(self):
        self.set_cell("jobs", 0, alone_s="0.001")
        self.expect_broken("alone_s is not that of other jobs like it")

    def test_lost_jobs(self):
        for state in ("failed", "rejected", "cancelled"):
            with self.subTest(state=state):
                self.restore()
                self.set_cell("jobs", 0, state=state)
                self.expect_broken(f"{CELL}: {state} should be 1", f"{CELL}: lost should be 1", f"{CELL}: finished should be")

    def test_marks(self):
        path = self.run / CELL / "cell.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "marks": ["one, late", "two"]}))
        self.expect_broken(f"{CELL}: marks should be one, late; two", f"{CELL}: marked should be 1")

    def test_resizes_that_did_not_happen(self):
        self.set_cell("jobs", 0, resizes="9")
        self.expect_broken("9 in jobs.csv")

    def share_a_core(self, rows):
        """Whoever is granted cores first while another job owns some gets those too."""
        owned = {}
        for row in rows:
            others = [cores for job, cores in owned.items() if job != row["job_id"] and cores]
            if row["kind"] == "granted" and others:
                row["cores"] = row["owned"] = others[0]
                return
            owned[row["job_id"]] = row["owned"]

    def test_core_with_two_owners(self):
        self.edit(f"{CELL}/grants.csv", self.share_a_core)
        self.expect_broken("'s too")

    def test_core_with_two_owners_is_right_for_a_policy_that_oversubscribes(self):
        self.assertEqual(check(self.run)[0], 0)
        self.edit_manifest(lambda manifest: manifest["policies"][0].update(oversubscribes=False))
        self.expect_broken("no-control", "'s too")

    def test_core_outside_the_machine(self):
        self.set_cell("grants", 1, cores="90", owned="90")
        self.expect_broken("cores outside the machine")

    def test_grant_beyond_the_request(self):
        self.set_cell("grants", 1, amount="0", owned_amount="0")
        self.expect_broken("0.0 cores granted, not within [min, max]")

    def test_more_time_than_the_cores_have(self):
        self.set_cell("grants", 1, cores="", owned="")
        self.expect_broken("cores' time granted on 0 cores")

    def test_shares_of_more_than_there_is(self):
        def share(rows):
            for row in rows:
                if row["owned"]:
                    row.update(cores="0-1", owned="0-1", amount="1.2", owned_amount="1.2")
        self.edit(f"{CELL}/grants.csv", share)
        self.expect_broken("the shares of its cores add up to 2.4")

    def test_cores_kept_after_the_end(self):
        def keep(rows):
            next(row for row in rows if row["kind"] == "released")["owned"] = "0"
        self.edit(f"{CELL}/grants.csv", keep)
        self.expect_broken("keeps cores after its end")

    def test_grant_after_the_end(self):
        self.edit(f"{CELL}/grants.csv", lambda rows: rows.append({**rows[1], "time": "999"}))
        self.expect_broken("after its end")

    def test_time_that_goes_back(self):
        self.set_cell("grants", -1, time="0.000001")
        self.expect_broken("time goes back")

    def test_runnable_threads_beyond_the_cores(self):
        self.set_cell("samples", 5, runnable_threads="64")
        self.expect_broken("64 runnable threads on")

    def test_threads_of_a_client_that_does_not_follow_may_exceed_the_cores(self):
        self.set_cell("samples", 5, runnable_threads="64")
        self.edit_manifest(lambda manifest: manifest["experiment"].update(container={"client": "off"}))
        self.assertNotIn("runnable threads on", check(self.run)[1])

    def test_every_point_of_a_sweep_is_checked(self):
        sweep = Path(self.folder.name) / "sweep"
        for name in ("a=1", "a=2"):
            shutil.copytree(self.run, sweep / name)
        (sweep / "manifest.json").write_text(json.dumps({"points": [{"name": "a=1"}, {"name": "a=2"}]}))
        code, text = check(sweep)
        self.assertEqual((code, text.count("OK ")), (0, 2), text)
        (sweep / "a=2" / "summary.csv").unlink()
        code, text = check(sweep)
        self.assertEqual((code, text.count("OK "), text.count("BROKEN ")), (1, 1, 1), text)

    def test_a_program_that_is_marked_as_rigid_keeps_its_threads(self):
        self.set_cell("samples", 5, runnable_threads="64")
        path = self.run / CELL / "cell.json"
        with (self.run / CELL / "samples.csv").open() as file:
            job = list(csv.DictReader(file))[5]["job_id"]
        for marked, broken in ((job, False), (int(job) + 1000, True)):
            mark = f"job {marked} is rigid: it kept its 64 threads, whatever was granted"
            path.write_text(json.dumps({**json.loads(path.read_text()), "marks": [mark]}))
            self.assertEqual("64 runnable threads on" in check(self.run)[1], broken)

    def test_runnable_threads_may_exceed_the_cores_while_they_settle(self):
        self.set_cell("samples", 5, runnable_threads="64", settling="1")
        self.assertNotIn("runnable threads on", check(self.run)[1])

    def test_counter_that_goes_back(self):
        self.set_cell("samples", 1, run_time_s="999")
        self.expect_broken("run_time_s goes back")

    def test_sample_of_nobody(self):
        self.set_cell("samples", 0, job_id="77")
        self.expect_broken("no such job")

    def test_step_outside_its_job(self):
        self.set_cell("steps", 0, time="0.000001")
        self.expect_broken("not between start and finish")

    def test_step_twice(self):
        self.edit(f"{CELL}/steps.csv", lambda rows: rows.insert(1, rows[0]))
        self.expect_broken("comes after step")

    def test_resize_of_unknown_cause(self):
        self.set_cell("resizes", 0, cause="whim")
        self.expect_broken("unknown cause whim")

    def test_resize_to_more_threads_than_cores(self):
        self.set_cell("resizes", 0, intra_after="9")
        self.expect_broken("9 threads on")

    def test_resize_outside_its_job(self):
        self.set_cell("resizes", 0, time="0.000001")
        self.expect_broken("not between start and finish")

    def test_actuation_by_an_unknown_actuator(self):
        self.set_cell("actuations", 0, actuator="magic")
        self.expect_broken("unknown actuator magic")

    def test_actuation_to_cores_that_were_not_granted(self):
        self.set_cell("actuations", 0, cores="63")
        self.expect_broken("moved to cores that it was not granted")

    def test_actuation_without_a_duration(self):
        self.set_cell("actuations", 0, fast_us="", runtime_us="")
        self.expect_broken("no duration")

    def write_memory_move(self, memory="follow", **values):
        """A row of memory.csv, as of a machine of two NUMA nodes."""
        with (self.run / CELL / "jobs.csv").open(newline="") as file:
            job = next(csv.DictReader(file))
        row = {"time": job["starting_time"], "job_id": job["job_id"], "from": "0", "to": "1", "outcome": "moved",
               "bytes": "2000000", "left_bytes": "0", "taken_us": "5.0"} | values
        (self.run / CELL / "memory.csv").write_text(",".join(row) + "\n" + ",".join(row.values()) + "\n")
        self.edit_manifest(lambda manifest: manifest["experiment"].setdefault("machine", {}).update(memory=memory))

    def test_memory_that_moves_is_counted(self):
        self.write_memory_move()
        self.expect_broken("node_moves")
        cell = dict(zip(("policy", "elasticity", "trial"), CELL.split("/")))

        def count(rows):
            for row in rows:
                if all(row[name] == value for name, value in cell.items()):
                    row.update(node_moves="1", memory_moved_mb="2.000000")
        self.edit("summary.csv", count)
        code, output = check(self.run)
        self.assertEqual(code, 0, output)

    def test_memory_that_moves_otherwise_than_wanted(self):
        self.write_memory_move(memory="stay")
        self.expect_broken("memory moved, though it is to stay")
        self.write_memory_move(outcome="stayed")
        self.expect_broken("memory stayed, though it is to follow")

    def test_memory_that_moves_impossibly(self):
        self.write_memory_move(to="0-1")
        self.expect_broken("from nodes to the same nodes")
        self.write_memory_move(bytes="-1")
        self.expect_broken("a negative number")
        self.write_memory_move(time="0.000000")
        self.expect_broken("not between start and finish of its job")

    def test_interference_that_is_not_all_that_was_waited(self):
        with (self.run / CELL / "samples.csv").open(newline="") as file:
            waited = {}
            for row in csv.DictReader(file):
                waited[row["job_id"]] = max(waited.get(row["job_id"], 0.0), float(row["run_queue_wait_s"]))
        lines = ["victim,culprit,waited_s"] + [f"{job},other,{wait:.6f}" for job, wait in waited.items()]
        path = self.run / CELL / "interference.csv"
        path.write_text("\n".join(lines) + "\n")
        code, output = check(self.run)
        self.assertEqual(code, 0, output)
        path.write_text("\n".join(lines + [f"{min(waited)},self,0.5"]) + "\n")
        self.expect_broken("but waited")
        path.write_text("\n".join(lines + [f"{min(waited)},999,0.000001"]) + "\n")
        self.expect_broken("which is no other job")

    def test_decision_twice(self):
        self.edit(f"{CELL}/decisions.csv", lambda rows: rows.append(rows[0]))
        self.expect_broken("is there twice")

    def test_row_that_is_cut_off(self):
        path = self.run / CELL / "samples.csv"
        path.write_text(path.read_text()[:-30])
        self.expect_broken("a cell is no value of its column")

    def test_missing_file(self):
        (self.run / CELL / "grants.csv").unlink()
        self.expect_broken("can't be read")

    def test_missing_cell(self):
        shutil.rmtree(self.run / CELL)
        self.expect_broken("are whole")

    def test_half_written_cell(self):
        (self.run / f"{CELL}.partial").mkdir()
        self.expect_broken("half-written")

    def test_cell_of_another_policy(self):
        path = self.run / CELL / "cell.json"
        path.write_text(path.read_text().replace("equal-share", "strict"))
        self.expect_broken("is of another cell")

    def test_other_jobs_than_in_the_other_cells(self):
        self.set_cell("jobs", 0, priority="5")
        self.expect_broken("other jobs than in")

    def test_summary(self):
        for column in ("makespan_s", "mean_turnaround_s", "oversubscription", "jain_index", "finished", "resizes"):
            with self.subTest(column=column):
                self.restore()
                self.edit("summary.csv", lambda rows: rows[3].update({column: "4711"}))
                self.expect_broken(f"{column} should be")

    def test_summary_without_a_cell(self):
        self.edit("summary.csv", lambda rows: rows.pop())
        self.expect_broken("its rows are not the cells")


if __name__ == "__main__":
    tampering.TamperTest.original = Path(sys.argv.pop(1))
    unittest.main()
