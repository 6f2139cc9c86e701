"""The part of check_results.py that is about policies of shares: grants.csv has the amounts that decisions.csv says, and those of
static-shares and devices-only are what their rules give. The amounts of controllers: check_controllers.py."""
import math

import check_controllers

RULES = ("static-shares", "devices-only")
LEAST = 0.1  # Cores; below it a job hardly runs.
TOLERANCE_S = 2e-6


def check_grants(cell, report, machine):
    """What the host was told to give is what was decided last; and what settled was granted."""
    where, decided, granted, latest = cell.where("grants.csv"), {}, {}, {}
    for row in cell.decisions:
        for job, amount, _ in check_controllers.allocated(row["allocation"], machine):
            decided.setdefault(job, []).append((row["time"], amount))
    for row in cell.grants:
        job, at = row["job_id"], f"job {row['job_id']} at {row['time']}"
        if row["kind"] == "settled":
            report.expect(row["amount"] == latest.get(job), where,
                          f"{at}: settled with {row['amount']} cores, but {latest.get(job)} were granted")
        if row["kind"] != "granted":
            continue
        latest[job] = row["amount"]
        granted.setdefault(job, []).append((row["time"], row["amount"]))
        earlier = [(time, amount) for time, amount in decided.get(job, []) if time <= row["time"] + TOLERANCE_S]
        # Several decisions may have been made at that instant.
        wanted = {amount for time, amount in earlier if time >= row["time"] - TOLERANCE_S} | {amount for _, amount in earlier[-1:]}
        report.expect(row["amount"] in wanted, where, f"{at}: {row['amount']} cores were granted, decided were {sorted(wanted)}")
    for row in cell.decisions:
        if row["settle_us"] is None:
            continue
        end = row["time"] + row["settle_us"] / 1e6
        for job, amount, _ in check_controllers.allocated(row["allocation"], machine):
            times = [time for time, one in granted.get(job, []) if one == amount]
            report.expect(any(row["time"] - TOLERANCE_S <= time <= end + TOLERANCE_S for time in times), where,
                          f"job {job}: the {amount} cores of decision {row['decision']} settled, but were not granted")


class Rules:
    """static-shares and devices-only on one node: everybody has as much, those that run first, and who does not fit waits."""

    def __init__(self, cell, policy):
        self.cell, self.kind = cell, policy.get("use", policy["name"])
        self.amount = policy["parameters"].get("amount", "equal")
        self.has, self.waiting = {}, []
        self.answered = {row["service"] for row in cell.requests if row["state"] == "served"}
        self.by_device = {row["service"] for row in cell.requests if row["device"]}

    def each(self, count):
        if self.amount != "equal":
            return float(self.amount)
        return max(math.floor(len(self.cell.machine) * 1000 / max(1, count)) / 1000, LEAST)

    def expected(self):
        jobs, left, amounts = [*sorted(self.has), *self.waiting], len(self.cell.machine), {}
        for job in jobs:
            amount = min(self.each(len(jobs)), self.cell.job_of[job]["requested_max"])
            if amount <= left + 1e-9:
                amounts[job] = amount
                left -= amount
        return amounts

    def check_refusals(self, row, report):
        """Of instances, where a device answers for them; nobody else is refused."""
        refused = {int(part.partition("=")[0]) for part in row["allocation"].split() if part.endswith("=reject")}
        for job in refused:
            service = self.cell.job_of[job]["workload"]
            right = self.kind == "devices-only" and job in self.cell.services
            report.expect(right and (service in self.by_device or service not in self.answered), self.cell.where("decisions.csv"),
                          f"job {job} at {row['time']} is refused, but no device answers for it")
        self.waiting = [job for job in self.waiting if job not in refused]
        if self.kind == "devices-only":
            for job in self.waiting:
                report.expect(self.cell.job_of[job]["workload"] not in self.by_device, self.cell.where("decisions.csv"),
                              f"job {job} at {row['time']} is not refused, but a device answers for it")

    def check(self, report, machine):
        for row in self.cell.decisions:
            event, _, about = row["event"].partition(" ")
            if event == "job-arrived":
                self.waiting.append(int(about))
            elif event in ("job-finished", "job-failed"):
                self.has.pop(int(about), None)
            self.check_refusals(row, report)
            expected = self.expected()
            for job, amount, _ in check_controllers.allocated(row["allocation"], machine):
                self.has[job] = amount
            self.waiting = [job for job in self.waiting if job not in self.has]
            same = self.has.keys() == expected.keys() and all(abs(self.has[job] - expected[job]) <= 1e-6 for job in expected)
            report.expect(same, self.cell.where("decisions.csv"),
                          f"at {row['time']}: {self.kind} by its rule decides {expected}, but {self.has} was")
            report.counts["divisions recomputed"] += 1
            if not same:
                return  # What follows goes on from it.


def check_shares(cell, manifest, report, parse_cpus):
    policy = next((one for one in manifest.get("policies", []) if one["name"] == cell.key[0]), None)
    experiment = manifest.get("experiment", {})
    kind = policy and policy.get("use", policy["name"])
    if kind not in RULES and kind not in check_controllers.MADE_BY or not cell.decisions:
        return
    if cell.grants:
        check_grants(cell, report, parse_cpus)
    if kind in RULES and experiment["machine"].get("nodes", 1) == 1:
        Rules(cell, policy).check(report, parse_cpus)
