"""What users of shared, large or guarded machines meet, tried one by one as they would: part of what runs inside of the virtual
machine (guest.py). Each either works, or is told in words that name it, at the moment when it matters."""
import os
import re
import signal
import subprocess
import time
from pathlib import Path

from tries import Tries, has_thread, kill, processes_of, until

CPUS = 8
PATIENCE = 1200  # Seconds.
# An emulated CPU's times mean nothing: nobody is to be late by them.
MACHINE = """kernel_rates = "fixed"
revocation_deadline_ms = 30000
start_timeout_s = 600
settle_timeout_s = 120
heartbeat_timeout_s = 120
"""


# Programs: one of seconds of the clock whatever the CPU computes, and a network.
def clock(steps, cores="min = 1, preferred = 1, max = 1"):
    return f'model = "chaos:behaves"\nsteps = {steps}\ncores = {{ {cores} }}'  # Steps of 2 ms.


def network(steps, cores=""):
    return f'model = "lenet5"\nbatch = 8\nsteps = {steps}\n' + (f"cores = {{ {cores} }}" if cores else "")


def experiment(name, machine="", policies=("equal-share",), jobs=2, trials=1, workload=clock(50)):
    names = ", ".join(f'"{policy}"' for policy in policies)
    return (f'name = "{name}"\ntrials = {trials}\npolicies = [{names}]\n[machine]\n{MACHINE}{machine}\n[trace]\njobs = {jobs}\n'
            f'gap = {{ distribution = "fixed", mean_s = 0 }}\n[[workload]]\n{workload}\n')


def cpus_of(text):
    """Of "0,2-3"."""
    cpus = set()
    for part in filter(None, re.split(r"[ ,]", text)):
        first, _, last = part.partition("-")
        cpus |= set(range(int(first), int(last or first) + 1))
    return cpus


def busy_seconds(cpu):
    """What the kernel has counted at its ticks."""
    line = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith(f"cpu{cpu} "))
    user, nice, system, _, _, irq, softirq, *_ = map(int, line.split()[1:])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def cores_of(text):
    """Physical ones: two hardware threads each, side by side."""
    return {cpu // 2 for cpu in cpus_of(text)}


class Situations(Tries):
    def __init__(self, role, start, cosched, results):
        super().__init__("situations", role, start, cosched, results)
        self.tree = Path(__file__).resolve().parents[2]

    def run(self, name, before="", start=None, **how):
        self.write(f"{name}.toml", experiment(name, **how))
        return self.call(f"run {name}.toml --no-plots", name, before=before, start=start)

    def ends(self, name):
        return [(row["state"], row["reason"]) for row in self.rows(name, "jobs")]

    def expect_all_finish(self, test, name, jobs, code, text):
        ends = self.ends(name)
        good = code == 0 and len(ends) == jobs and all(state == "finished" for state, _ in ends)
        self.expect(test, good, f"exit code {code}, {ends}\n{text}")

    # A user without rights.

    def packages_that_only_root_installs(self):
        code, text = self.shell(f"bash {self.tree}/experiments/quickstart.sh 2>&1", "packages")
        self.expect("MissingPackagesAreForAnAdministrator",
                    code == 2 and "ask an administrator to run  apt-get install" in text, f"exit code {code}\n{text}")

    def what_a_user_lacks(self):
        code, text = self.call("doctor", "doctor")
        self.expect_words("DoctorTellsWhatAUserLacks",
                          ["SCHED_FIFO refused", "grants settle milliseconds later", "held on their cores by affinity only",
                           "no backend = \"container\"", "Experiments can run here."], text)
        self.expect("DoctorEndsWell", code == 0, f"exit code {code}")

    # Hardware threads.

    def all_cores(self):
        self.write("all.toml", experiment("all", machine='cores = "all"'))
        _, text = self.call("run all.toml --dry-run", "all")
        self.expect_words("AllCoresArePhysicalOnes", ["on cores 0,2,4,6: 4 cores (8 threads, one a core)"], text)
        _, text = self.call("run all.toml --dry-run --set machine.smt=threads", "all-threads")
        self.expect_words("ThreadsAreCoresByChoice", ["on cores 0-7: 8 threads of 4 cores, each taken for a core"], text)
        code, text = self.call("run all.toml --dry-run --set machine.cores=8", "all-8")
        self.expect("MoreCoresThanThereAreAreRefused",
                    code == 2 and "hardware threads of 4 cores" in text and 'smt = "threads"' in text, f"exit code {code}\n{text}")

    def threads_side_by_side(self):
        code, text = self.run("beside", machine='smt = "threads"', policies=("strict",), jobs=4,
                              workload=clock(500))
        self.expect_all_finish("OneCoreJobsOnThreadsFinish", "beside", 4, code, text)
        shared = []
        held = {}
        for row in self.rows("beside", "grants"):
            mine = cores_of(row["owned"])
            shared += [(row["job_id"], other) for other, theirs in held.items() if other != row["job_id"] and mine & theirs]
            held[row["job_id"]] = mine
        self.expect("NobodyIsPutBesideAnotherWhileCoresIdle", held and not shared, f"{shared}\n{text}")

    # Many threads, many tenants.

    def wide_tenants(self):
        """Nobody says how many cores a job may have: it may have all."""
        self.write("wide.toml", experiment("wide", machine='smt = "threads"', policies=("round-robin", "gang"), jobs=2,
                                           workload=network(2)))
        run, log = self.begin("run wide.toml --no-plots", "wide")
        most = 0
        while run.poll() is None:
            for process in processes_of(self.cosched, "tenant"):
                try:
                    status = Path(f"/proc/{process}/status").read_text()
                except OSError:
                    continue
                most = max([most, *map(int, re.findall(r"^Threads:\s+(\d+)$", status, re.MULTILINE))])
            time.sleep(0.2)
        self.expect_all_finish("WideJobsTakeTurnsAndFinish", "wide", 4, run.returncode, log.read_text())
        # Its main and its control thread, and one more.
        self.expect("ATenantHasAFewMoreThreadsThanCores", 1 < most <= CPUS + 3, f"{most} threads for {CPUS} cores")

    def few_descriptors(self):
        how = {"policies": ("no-control",), "jobs": 24,
               "workload": clock(100, "min = 1, preferred = 1, max = 4")}
        code, text = self.run("crowd", before="ulimit -n 1024;", **how)
        self.expect_all_finish("ManyTenantsOfAUsualLimitOfDescriptors", "crowd", 24, code, text)
        code, text = self.run("crowd-64", before="ulimit -n 64;", **how)
        ends = self.ends("crowd-64")
        told = "Too many open files" in text or any("Too many open files" in reason for _, reason in ends)
        self.expect("TooFewDescriptorsAreTold", code == 0 or told, f"exit code {code}, {ends}\n{text}")

    def more_threads_than_cores(self):
        code, text = self.run("greedy", jobs=1, policies=("strict",),
                              workload='model = "chaos:greedy"\nsteps = 100000\nthreads = 32\ncores = { min = 1, preferred = 1, max = 1 }')
        ends = self.ends("greedy")
        reason = re.fullmatch(r"runs (\d+) compute threads on 1 cores", ends[0][1]) if ends else None
        self.expect("ManyThreadsOnOneCoreAreCounted", code == 1 and reason and int(reason[1]) >= 50, f"exit code {code}, {ends}\n{text}")

    # Others on the machine, and other machines.

    def load_of_others(self):
        before, began = busy_seconds(4), time.monotonic()
        burner = subprocess.Popen(["taskset", "-c", "4", "sh", "-c", "while :; do :; done"])
        on, on_text = self.run("shared", machine='cores = "0,4"', workload=clock(1000))
        beside, beside_text = self.run("beside-load", machine='cores = "0,2"', workload=clock(1000))
        sibling, sibling_text = self.run("sibling-load", machine='cores = "0,5"', workload=clock(1000))
        counted = (busy_seconds(4) - before) / (time.monotonic() - began)
        burner.kill()
        burner.wait()
        self.expect("LoadOnOtherCoresIsNotMarked", beside == 0 and "other programs used" not in beside_text, beside_text)
        if counted < 0.8:
            why = f"the emulated kernel has lost ticks: a CPU that was never idle was busy for {counted:.0%} of the time by its count"
            self.skip("LoadOfOthersIsMarked", why)
            self.skip("LoadOnASecondThreadIsMarked", why)
            return
        marked = re.search(r"other programs used more than 10 % of the\s+experiment's\s+cores", on_text)
        self.expect("LoadOfOthersIsMarked", on == 0 and marked, on_text)
        self.expect("LoadOnASecondThreadIsMarked", sibling == 0 and re.search(r"SMT\s+siblings", sibling_text), sibling_text)

    def another_machine(self):
        """A run is interrupted, and resumed where the machine is another one."""
        self.write("moved.toml", experiment("moved", trials=30, jobs=1))
        run, log = self.begin("run moved.toml --no-plots", "moved")
        there = until(lambda: list(self.folder.glob("results/moved/*/**/cell.json")), PATIENCE, run)
        for process in processes_of(self.cosched, "run"):
            os.kill(process, signal.SIGINT)
        run.wait()
        self.expect("AnInterruptedRunSaysHowToGoOn", there and "continue with" in log.read_text(), log.read_text())
        before = os.uname().nodename
        subprocess.run(["hostname", "another"], check=True)
        code, text = self.call("run moved.toml --no-plots --resume", "moved-resumed")
        subprocess.run(["hostname", before], check=True)
        self.expect("AnotherMachineDoesNotResumeIt", code == 2 and f"host: {before} -> another" in text, f"exit code {code}\n{text}")

    def capabilities(self):
        """As doctor advises whoever wants realtime priority."""
        binary = Path(f"/usr/local/bin/cosched-{self.role}")
        subprocess.run(["cp", str(self.cosched), str(binary)], check=True)
        subprocess.run(["setcap", "cap_sys_nice+ep", str(binary)], check=True)
        plain, self.cosched = self.cosched, binary
        _, text = self.call("doctor", "doctor-capability")
        self.expect_words("SetcapBringsRealtimePriority", ["SCHED_FIFO     SCHED_FIFO 10"], text)
        self.write("killed.toml", experiment("killed", workload=clock(1000000)))
        run, log = self.begin("run killed.toml --no-plots", "killed")
        self.cosched = plain
        started = until(lambda: len(processes_of(binary, "tenant", "--start")) == 2, PATIENCE, run)
        time.sleep(5)
        for process in processes_of(binary, "run"):
            kill(process)
        run.wait()
        gone = until(lambda: not processes_of(binary), 60)
        self.expect("AKilledRunWithCapabilitiesTakesItsTenantsAlong", started and gone,
                    f"started: {started}; left: {processes_of(binary)}\n{log.read_text()}")
        for process in processes_of(binary):
            kill(process)

    # Containers.

    def limited(self, name, options, arguments):
        return self.call(arguments, name, start=lambda line: self.start(line, options))

    def few_processes(self):
        """As many threads as a container may have: told by whom they are refused."""
        limit = 24
        code, text = self.run("few", machine='smt = "threads"', jobs=6, policies=("no-control",), workload=network(2),
                              start=lambda line: self.start(line, f"--pids-limit={limit}"))
        ends = self.ends("few")
        reasons = [reason for state, reason in ends if state == "failed"]
        logs = " ".join(file.read_text(errors="replace") for file in self.folder.glob("results/few/*/**/tenant-*.log"))
        told = f"pids.max {limit}" in text + logs + " ".join(reasons)
        self.expect("RefusedThreadsNameTheLimit", code != 0 and told and not any("signal 6" in reason for reason in reasons),
                    f"exit code {code}, {ends}\n{text}\n{logs}")
        _, text = self.limited("few-doctor", f"--pids-limit={limit}", "doctor")
        self.expect_words("DoctorTellsOfFewProcesses", [f"pids.max {limit}", "can't be started", "--pids-limit"], text)

    def quota(self):
        _, text = self.limited("quota-doctor", "--cpus=1", "doctor")
        self.expect_words("DoctorTellsOfTheQuota", ["CPU quota      1 core", "lift the quota of this container"], text)
        code, text = self.run("quota", start=lambda line: self.start(line, "--cpus=1"))
        self.expect("ARunTellsOfTheQuotaAndMarksCells",
                    code == 0 and "the CPU quota is 1 core" in text and "every cell is marked" in text and "MARKED" in text,
                    f"exit code {code}\n{text}")

    def few_cpus(self):
        self.write("cpus.toml", experiment("cpus"))
        _, text = self.limited("cpus", "--cpuset-cpus=3-6", "run cpus.toml --dry-run")
        self.expect_words("TheContainersCpusAreTheMachine", ["on cores 3-4,6: 3 cores (4 threads, one a core)"], text)
        _, text = self.limited("cpus-doctor", "--cpuset-cpus=3-6", "doctor")
        self.expect_words("DoctorTellsOfTheContainersCpus", ["3-6 of the online 0-7", "CPUs 2,7 are threads of our cores"], text)

    # Root.

    def cleaning_from_a_container(self):
        """doctor --clean in a container that sees the machine's cgroups, while a run goes on outside."""
        self.write("alive.toml", experiment("alive", jobs=1, workload=clock(30000)))
        run, log = self.begin("run alive.toml --no-plots", "alive")
        started = until(lambda: processes_of(self.cosched, "tenant", "--start"), PATIENCE, run)
        mounts = " ".join(f"-v {path}:{path}{how}" for path, how in
                          [("/usr", ":ro"), (self.tree, ":ro"), ("/var/tmp", ""), ("/sys/fs/cgroup", "")])
        container = (f"podman run --rm --privileged --cgroupns=host --network=none {mounts} --tmpfs /tmp "
                     f"--rootfs /home/tester/container {self.cosched} doctor --clean 2>&1")
        _, text = self.shell(container, "clean")
        run.wait()
        self.expect_words("CleaningFromAContainerLeavesARunAlone", ["left    cgroup"], text)
        self.expect("AndSaysWhy", "PID namespace" in text, text)
        self.expect_all_finish("TheRunGoesOn", "alive", 1, run.returncode if started else -1, log.read_text())

    def unplugged(self):
        """A CPU is taken out of service in mid-run, and granted then."""
        self.write("unplugged.toml", experiment("unplugged", machine='cores = "0,4"', jobs=1, policies=("scripted",),
                                                workload=clock(20000)) + '[policy.scripted]\ntimetable = "0:[0] 20:[4]"\n')
        run, log = self.begin("run unplugged.toml --no-plots", "unplugged")
        until(lambda: processes_of(self.cosched, "tenant"), PATIENCE, run)
        online = Path("/sys/devices/system/cpu/cpu4/online")
        try:
            online.write_text("0")
            run.wait()
        finally:
            online.write_text("1")
        self.expect_words("ACpuThatIsTakenAwayIsNamed", ["CPU 4 is not online"], " ".join(log.read_text().split()))

    def shrinking_by_hand(self):
        """What the manual says, to the letter."""
        manual = (self.tree / "experiments/README.md").read_text()
        block = re.search(r"Shrink a container by hand.*?```sh\n(.*?)```", manual, re.DOTALL)[1]
        lines = [line for line in block.splitlines() if "version 1" not in line]
        self.write("shrunk.toml", experiment("shrunk", jobs=1, workload=network(200, "min = 1, preferred = 2, max = 2")))
        run, log = self.begin("run shrunk.toml --no-plots --backend container", "shrunk")
        until(lambda: has_thread("inter/"), PATIENCE, run)  # Its pools are there.
        code, text = self.shell("; ".join(line.split("#")[0] for line in lines), "shrink")
        run.wait()
        rows = [row for row in self.rows("shrunk", "resizes") if row["cause"] == "cpuset"]
        self.expect("TheManualsLinesShrinkAContainer", code == 0 and any(cpus_of(row["cores"]) == {0} for row in rows),
                    f"exit code {code}\n{lines}\n{text}\n{self.rows('shrunk', 'resizes')}\n{log.read_text()}")

    # Nodes of memory.

    def nodes_of_memory(self):
        _, text = self.call("doctor", "nodes-doctor")
        self.expect_words("DoctorTellsOfTheNodes", ["2 NUMA nodes", "NUMA           2 nodes"], text)
        two = clock(10000, "min = 1, preferred = 2, max = 2")
        self.write("nodes.toml", experiment("nodes", jobs=1, policies=("scripted",), workload=two) +
                   '[policy.scripted]\ntimetable = "0:[0,2] 5:[4,6]"\n')
        code, text = self.call("run nodes.toml --no-plots", "nodes")
        moves = [(row["from"], row["to"], row["outcome"]) for row in self.rows("nodes", "memory")]
        self.expect("AMoveToOtherNodesIsRecordedAndMemoryFollows", code == 0 and moves == [("0", "1", "moved")],
                    f"exit code {code}, {moves}\n{text}")

    def calibrated(self):
        """On both threads of a core and one of another node; what was measured is simulated then, on the whole machine."""
        self.write("program.toml", experiment("program", workload=network(4)))
        code, text = self.call("calibrate --smt threads --kernel-rates fixed --workloads program.toml --minutes 6 --out profile.json",
                               "calibrate", before="taskset -cp 0,1,4 $$ >/dev/null;")
        self.expect("CalibrationEnds", code == 0, f"exit code {code}\n{text}")
        self.expect_words("CalibrationMeasuresThreadsOfACoreAndMemoryFarAway",
                          ["beside another's thread on the same core a step takes", "with its memory on another NUMA node a step takes",
                           "memory that is moved"], text)
        threads = 'smt = "threads"\nprofile = "profile.json"\ntopology = "numa:2 core:2 pu:2"'
        self.write("simulated.toml", 'backend = "simulated"\n' +
                   experiment("simulated", machine=threads, jobs=1, policies=("scripted",), workload=network(1000, "min = 1, max = 8")) +
                   '[policy.scripted]\ntimetable = "0:[0,1] 1:[4,5]"\n')
        code, text = self.call("run simulated.toml --no-plots", "simulated")
        moves = [(row["from"], row["to"], row["outcome"]) for row in self.rows("simulated", "memory")]
        self.expect("WhatWasMeasuredIsSimulated", code == 0 and ("0", "1", "moved") in moves, f"exit code {code}, {moves}\n{text}")
        self.expect("AndNothingOfItIsMissing", "what memory on another NUMA node costs" not in text and
                    "beside others on a physical core" not in text, text)

    def records_hold(self):
        """Of several tenants on several cores: among other things cores have one owner at a time, also where tenants pause."""
        for name in "beside", "wide", "crowd", "nodes":
            code, text = self.shell(f"python3 {self.tree}/tests/check_results.py {self.folder}/results/{name} 2>&1", f"check-{name}")
            self.expect(f"RecordsHold: {name}", code == 0, f"exit code {code}\n{text}")


TRIED = {
    "root": [Situations.cleaning_from_a_container, Situations.shrinking_by_hand, Situations.unplugged],
    "user": [Situations.packages_that_only_root_installs, Situations.what_a_user_lacks, Situations.all_cores,
             Situations.threads_side_by_side, Situations.wide_tenants, Situations.few_descriptors, Situations.more_threads_than_cores,
             Situations.load_of_others, Situations.another_machine, Situations.capabilities, Situations.nodes_of_memory,
             Situations.calibrated, Situations.records_hold],
    "podman": [Situations.few_processes, Situations.quota, Situations.few_cpus],
}


def run(role, start, cosched, results):
    situations = Situations(role, start, cosched, results)
    for situation in TRIED[role]:
        start = time.monotonic()
        situation(situations)
        print(f"{role}: {situation.__name__}: {time.monotonic() - start:.0f} s", flush=True)
    return situations.tests
