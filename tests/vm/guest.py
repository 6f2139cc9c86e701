#!/usr/bin/env python3
"""Inside of the virtual machine, as root: runs the suites that the host asks for in every role, tells of each on the console, and
leaves what came out as a tar file on the third disk. guest.py TREE, started by the root's own unit (root_image.sh)."""
import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import time
import traceback
from pathlib import Path

import commands
import situations
from tries import NO_CACHE

RESULTS = Path("/var/tmp/results")
DISK = "/dev/vdc"
USER, UID = "tester", 1000
CONTAINER = Path(f"/home/{USER}/container")


def as_root(command):
    """In a session of its own, as after a login."""
    return ["su", "-l", "root", "-c", command]


def as_user(command):
    return ["su", "-l", USER, "-c", command]


def as_delegated_user(command):
    return as_user("systemd-run --user --scope --quiet -p Delegate=yes -- sh -c " + shlex.quote(command))


def as_delegated_root(command):
    return ["systemd-run", "--scope", "--quiet", "-p", "Delegate=yes", "--", "sh", "-c", command]


def in_container(command, options=""):
    """Rootless: with this system's programs and libraries, in its own namespaces. options: podman's."""
    mounts = " ".join(f"-v {path}:{path}{how}" for path, how in [("/usr", ":ro"), (TREE, ":ro"), ("/var/tmp", "")])
    return as_user(f"podman run --rm {options} --network=none {mounts} --tmpfs /tmp --rootfs {CONTAINER} sh -c {shlex.quote(command)}")


SCRIPTS = {"commands": commands.run, "situations": situations.run}
ROLES = {"root": as_root, "root-delegated": as_delegated_root, "user": as_user, "delegated": as_delegated_user,
         "podman": in_container}


def tell(text):
    print(f"@@ {text}", flush=True)


def ends_of(lines):
    """What failed first tells why, and what failed last how it ended."""
    return lines if len(lines) <= 40 else [*lines[:20], "…", *lines[-20:]]


def tell_failures(role, suite, tests):
    """For whoever looks at the console of a machine that has not come to its end."""
    for test in tests:
        if test["state"] == "failed":
            print(f"failed: {role}, {suite}: {test['name']}\n" + "\n".join(ends_of(test["said"].splitlines())), flush=True)


def let_users_have_cpusets():
    """What `cosched doctor` tells a user to ask root for, to the letter."""
    folder = Path("/etc/systemd/system/user@.service.d")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cosched.conf").write_text("[Service]\nDelegate=cpu cpuset memory pids\n")
    subprocess.run(["loginctl", "enable-linger", USER], check=True)  # A user manager without a login.
    subprocess.run(["systemctl", "daemon-reload"], check=True)
    subprocess.run(["systemctl", "restart", f"user@{UID}"], check=True)


def prepare_container():
    for folder in ["proc", "sys", "dev", "tmp", "etc", "run", "usr", "var/tmp", TREE.lstrip("/")]:
        (CONTAINER / folder).mkdir(parents=True, exist_ok=True)
    for link in ["lib", "lib64", "bin", "sbin"]:
        if not (CONTAINER / link).is_symlink():
            (CONTAINER / link).symlink_to(f"usr/{link}")
    (CONTAINER / "etc/passwd").write_text("root:x:0:0:root:/var/tmp:/bin/sh\n")
    subprocess.run(["chown", "-R", f"{USER}:", str(CONTAINER)], check=True)


def outcomes(log):
    """Of each test in what gtest printed: its name, how it ended, and what it said meanwhile."""
    tests, name, said = [], None, []
    for line in log.splitlines():
        if begun := re.match(r"\[ RUN      \] (\S+)", line):
            name, said = begun[1], []
        elif ended := re.match(r"\[(       OK |  FAILED  |  SKIPPED )\] (\S+).*\(\d+ ms\)", line):
            state = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}[ended[1].strip()]
            tests.append({"name": ended[2], "state": state, "said": "\n".join(said)})
            name = None
        else:
            said.append(line)
    if name is not None:
        tests.append({"name": name, "state": "failed", "said": "\n".join([*said[-20:], "(it did not end)"])})
    return tests


def wait_and_tell(program, log, label):
    """Until the program ends; which test it is in is told once a minute, for whoever wonders whether it hangs."""
    begun = time.monotonic()
    while True:
        try:
            return program.wait(timeout=60)
        except subprocess.TimeoutExpired:
            running = re.findall(r"\[ RUN      \] (\S+)", log.read_text(errors="replace"))
            tell(f"{label}: {len(running)} begun in {time.monotonic() - begun:.0f} s, now in {running[-1] if running else 'none'}")


def run_suite(role, suite, build):
    """A program of gtest's."""
    log = RESULTS / role / f"{suite['name']}.log"
    seconds = int(suite["minutes"] * 60)
    command = (f"cd {build} && COSCHED_CACHE={NO_CACHE} timeout -k 20 {seconds} ./{suite['program']} --gtest_color=no "
               f"--gtest_filter={shlex.quote(suite['filter'])} 2>&1")
    with log.open("w") as out:
        program = subprocess.Popen(ROLES[role](command), stdout=out, stdin=subprocess.DEVNULL)
        ended = wait_and_tell(program, log, f"{role}, {suite['name']}")
    tests = outcomes(log.read_text(errors="replace"))
    if ended != 0 and not any(test["state"] == "failed" for test in tests):
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        tests.append({"name": suite["program"], "state": "failed", "said": f"exit code {ended}\n{tail}"})
    return tests


def run_all(request):
    build = Path(TREE) / request["build"]
    results = []
    prepare_container()
    for role in request["roles"]:
        (RESULTS / role).mkdir(parents=True)
        if role in ("delegated", "podman"):
            let_users_have_cpusets()
        for suite in request["suites"]:
            if role not in suite["roles"]:
                continue
            start = time.monotonic()
            try:
                script = SCRIPTS.get(suite["name"])
                tests = script(role, ROLES[role], build / "cosched", RESULTS / role) if script else run_suite(role, suite, build)
            except Exception:  # One suite's; the others still tell something.
                tests = [{"name": "the suite itself", "state": "failed", "said": traceback.format_exc()}]
            count = {state: sum(test["state"] == state for test in tests) for state in ("passed", "failed", "skipped")}
            tell(f"{role}, {suite['name']}: {count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped "
                 f"({time.monotonic() - start:.0f} s of the machine's)")
            tell_failures(role, suite["name"], tests)
            results.append({"role": role, "suite": suite["name"], "tests": tests})
    return results


def main():
    request = json.loads((Path(TREE) / ".vm-request.json").read_text())
    RESULTS.mkdir(parents=True, mode=0o777)
    nodes = len(list(Path("/sys/devices/system/node").glob("node[0-9]*")))
    kernel = os.uname().release
    siblings = Path("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list").read_text().strip()
    tell(f"up after {float(Path('/proc/uptime').read_text().split()[0]):.0f} s: {kernel}, {os.cpu_count()} CPUs (one core's: "
         f"{siblings}), {nodes} nodes")
    results = run_all(request)
    (RESULTS / "results.json").write_text(json.dumps(results))
    with tarfile.open(DISK, "w") as archive:
        archive.add(RESULTS, arcname=".")
    tell("end")


if __name__ == "__main__":
    TREE = sys.argv[1]
    main()
