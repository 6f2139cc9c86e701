"""What a user of the command meets in each role: part of what runs inside of the virtual machine (guest.py). doctor tells the
truth and a remedy, probing and --dry-run write nothing, a run works and leaves nothing behind."""
import json
import os
from pathlib import Path

from tries import Tries

GROUPS = Path("/sys/fs/cgroup")
EXPERIMENT = """name = "x"
trials = 1
policies = ["equal-share"]
[machine]
cores = 4
revocation_deadline_ms = 20000
[trace]
jobs = 2
gap = { distribution = "fixed", mean_s = 0 }
[[workload]]
model = "lenet5"
batch = 8
steps = 3
"""
# Which words doctor says of cgroups, and how tenants are held by default.
EXPECTED = {
    "root": (["cpuset yes", "CPU quota yes", "systemd-run --scope -p Delegate=yes"], "cpuset"),
    "root-delegated": (["cpuset yes", "CPU quota yes", ".scope/cosched"], "cpuset"),
    "user": (["cpuset no", "systemd-run --user --scope -p Delegate=yes", "user@.service.d"], "affinity"),
    "delegated": (["cpuset yes", "CPU quota yes", ".scope/cosched"], "cpuset"),
    "podman": (["cpuset no", "a container"], "affinity"),
}


def groups():
    """What cosched could have made or written in the cgroups."""
    made = sorted(f"{folder}/{name}" for folder, names, _ in os.walk(GROUPS) for name in names if name in ("cosched", "harness"))
    return made, (GROUPS / "cgroup.subtree_control").read_text()


class Commands(Tries):
    def __init__(self, role, start, cosched, results):
        super().__init__("commands", role, start, cosched, results)
        self.write("x.toml", EXPERIMENT)

    def doctor(self):
        before = groups()
        code, text = self.call("doctor", "doctor")
        self.expect("DoctorEndsWell", code == 0, f"exit code {code}\n{text}")
        # Where it may, it starts a container, for which the container's runtime enables all controllers at the top.
        starts_container = "\nok       containers" in text
        same = groups()[0] == before[0] if starts_container else groups() == before
        self.expect("ProbingWritesNothing", same, f"{before}\n{groups()}")
        lines = text.splitlines()
        first = next((i for i, line in enumerate(lines) if line[9:].startswith("cgroups")), None)
        about = "\n".join(lines[first:first + 3]) if first is not None else ""
        lacks = [word for word in EXPECTED[self.role][0] if word not in about]
        self.expect("DoctorTellsOfCgroups", not lacks, f"lacks {lacks}:\n{text}")

    def dry_run(self):
        before = groups(), sorted(self.folder.rglob("*"))
        cache = Path(f"/var/tmp/no-cache-{self.role}")
        code, text = self.call("run x.toml --dry-run", "dry-run", cache)
        self.expect("DryRunEndsWell", code == 0 and f'actuator = "{EXPECTED[self.role][1]}"' in text, f"exit code {code}\n{text}")
        after = groups(), sorted(self.folder.rglob("*"))
        self.expect("DryRunWritesNothing", before == after and not cache.exists(), f"{before}\n{after}\n{cache}: {cache.exists()}")

    def run(self):
        before = groups()
        code, text = self.call("run x.toml --no-plots --set machine.kernel_rates=fixed", "run")
        self.expect("RunEndsWell", code == 0, f"exit code {code}\n{text}")
        manifests = list(self.folder.glob("results/x/*/manifest.json"))
        jobs = self.rows("x", "jobs")
        states = [(row["state"], row.get("reason", "")) for row in jobs]
        self.expect("AllJobsFinish", len(jobs) == 2 and all(state == "finished" for state, _ in states), f"{states}\n{text}")
        actuators = [json.loads(file.read_text())["experiment"]["machine"]["actuator"] for file in manifests]
        self.expect("TenantsAreHeldAsExpected", actuators == [EXPECTED[self.role][1]], f"{actuators}")
        self.expect_words("TheTableNamesTheActuator", [f"moved by the actuator {EXPECTED[self.role][1]}"], text)
        made, top = groups()
        self.expect("NothingIsLeftBehind", made == before[0], f"{before[0]}\n{made}")
        if self.role != "root":  # Only root without a delegated group needs the controllers of the top's children.
            self.expect("TheTopIsNotWrittenTo", top == before[1], f"{before[1]}\n{top}")


def run(role, start, cosched, results):
    commands = Commands(role, start, cosched, results)
    commands.dry_run()
    commands.doctor()
    commands.run()
    return commands.tests
