#!/usr/bin/env python3
"""Boots the virtual machine with the tree and the built programs, waits for what guest.py does in it, and prints which suites
passed in which roles. Exit code 1 if a test failed or the machine did not come to its end. Called by run.sh."""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import tomllib
from pathlib import Path

ROLES = ["root", "root-delegated", "user", "delegated", "podman"]
SCRIPTS = [  # Not gtest's: commands.py, situations.py.
    {"name": "commands", "program": "cosched", "quick": True, "minutes": 15, "roles": ROLES},
    {"name": "situations", "program": "cosched", "minutes": 60, "roles": ["root", "user", "podman"]},
]
BOOT_MINUTES = 10
SOCKETS, CORES, THREADS = 2, 2, 2
MEGABYTES_A_NODE = 2048
RESULTS_SIZE = 256 << 20
QUICK_ROLES = ["root", "delegated"]


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--image", type=Path, required=True)
    parser.add_argument("--roles")
    parser.add_argument("--suites")
    parser.add_argument("--filter")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--minutes", type=int)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--programs", action="store_true")
    return parser.parse_args()


def chosen(given, known, what):
    names = given.split(",")
    for name in names:
        if name not in known:
            sys.exit(f"vm: there is no {what} {name}; there are {', '.join(known)}")
    return [name for name in known if name in names]  # A role may find what those before it have set up.


def suites_of(arguments):
    listed = [*SCRIPTS, *tomllib.loads((arguments.tree / "tests/vm/suites.toml").read_text())["suite"]]
    if arguments.suites:
        names = chosen(arguments.suites, [suite["name"] for suite in listed], "suite")
        listed = [suite for suite in listed if suite["name"] in names]
    elif arguments.quick:
        listed = [suite for suite in listed if suite.get("quick")]
    for suite in listed:
        suite.setdefault("roles", [role for role in ROLES if role != "podman"])
        if arguments.filter and "filter" in suite:
            suite["filter"] = arguments.filter
    return listed


def minutes_of(suites, roles):
    """What they may take one after another, each no longer than it is given."""
    return BOOT_MINUTES + sum(suite["minutes"] for suite in suites for role in roles if role in suite["roles"])


def programs_of(suites):
    """With those that they start."""
    return sorted({"cosched"}.union(*([suite["program"], *suite.get("starts", [])] for suite in suites)))


def stage(arguments, suites, roles, folder):
    """The tree as the tests know it, with the programs that they need."""
    listed = subprocess.run(["git", "-C", arguments.tree, "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True,
                            text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (arguments.tree / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(arguments.tree / name, folder / name)
    build = arguments.build.relative_to(arguments.tree)
    files = [arguments.build / name for name in programs_of(suites)] + list(arguments.build.rglob("*.so"))
    for file in files:
        target = folder / build / file.relative_to(arguments.build)
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["strip", "-o", target, file], check=True)
    request = {"build": str(build), "roles": roles, "suites": suites}
    (folder / ".vm-request.json").write_text(json.dumps(request))
    for path in [folder, *folder.rglob("*")]:
        path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))  # For the plain user, whatever this one's umask.


def disk_of(folder, image):
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) // (1 << 20) * 5 // 4 + 64
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", folder, image, f"{size}M"], check=True)


def command(arguments, work):
    """The vendor: emulated AMD processors can't tell of threads that share a core."""
    cpus = SOCKETS * CORES * THREADS
    line = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max,vendor=GenuineIntel", "-display", "none", "-serial",
            "stdio", "-monitor", "none", "-nic", "none", "-no-reboot", "-m", str(SOCKETS * MEGABYTES_A_NODE),
            "-smp", f"{cpus},sockets={SOCKETS},cores={CORES},threads={THREADS}"]
    for node in range(SOCKETS):
        first = node * CORES * THREADS
        line += ["-object", f"memory-backend-ram,id=m{node},size={MEGABYTES_A_NODE}M",
                 "-numa", f"node,nodeid={node},cpus={first}-{first + CORES * THREADS - 1},memdev=m{node}"]
    for image, how in [(arguments.image / "root.ext4", ",snapshot=on"), (work / "tree.ext4", ",snapshot=on"), (work / "results", "")]:
        line += ["-drive", f"file={image},if=virtio,format=raw{how}"]
    # no_timer_check: an emulated timer that is late on a busy machine is no broken one. numa_balancing: memory that has followed a
    # tenant was moved by cosched.
    kernel = f"root=/dev/vda rw console=ttyS0 quiet psi=1 panic=-1 no_timer_check numa_balancing=disable cosched.tree={arguments.tree}"
    return [*line, "-kernel", str(arguments.image / "vmlinuz"), "-initrd", str(arguments.image / "initrd"), "-append", kernel]


def boot(arguments, work, minutes):
    """True if the guest came to its end."""
    with (work / "console").open("w") as console, \
            subprocess.Popen(command(arguments, work), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                             errors="replace") as machine:
        limit = threading.Timer(minutes * 60, machine.kill)
        limit.start()
        start, ended = time.monotonic(), False
        try:
            for line in machine.stdout:
                console.write(line)
                console.flush()
                if line.startswith("@@ "):
                    print(f"[{time.monotonic() - start:4.0f} s] {line[3:].strip()}", file=sys.stderr, flush=True)
                    ended = line.strip() == "@@ end"
        finally:  # Who ends this program ends the machine.
            machine.kill()
            limit.cancel()
    return ended


def table(results, suites, roles):
    wide = max(len(suite["name"]) for suite in suites) + 2
    lines = ["passed/failed/skipped".ljust(wide + 12) + "".join(role.rjust(16) for role in roles)]
    for suite in suites:
        line = suite["name"].ljust(wide + 12)
        for role in roles:
            tests = next((one["tests"] for one in results if one["role"] == role and one["suite"] == suite["name"]), None)
            count = [sum(test["state"] == state for test in tests or []) for state in ("passed", "failed", "skipped")]
            line += ("-" if tests is None else "/".join(map(str, count))).rjust(16)
        lines.append(line)
    return "\n".join(lines)


def details(results):
    """Failed tests with what they said; skipped ones by their reason."""
    lines, skipped = [], {}
    for one in results:
        for test in one["tests"]:
            where = f"{one['role']}, {one['suite']}: {test['name']}"
            if test["state"] == "failed":
                lines += [f"failed: {where}", *("    " + said for said in test["said"].splitlines()[-30:])]
            elif test["state"] == "skipped":
                said = [line for line in test["said"].splitlines() if line.strip()]
                skipped.setdefault((one["role"], said[-1] if said else "no reason given"), []).append(test["name"])
    for (role, reason), names in skipped.items():
        lines.append(f"skipped: {role}: {len(names)} {'test' if len(names) == 1 else 'tests'} ({names[0]}"
                     f"{' …' if len(names) > 1 else ''}): {reason}")
    return "\n".join(lines)


def main():
    arguments = parse()
    suites = suites_of(arguments)
    roles = chosen(arguments.roles, ROLES, "role") if arguments.roles else QUICK_ROLES if arguments.quick else ROLES
    if arguments.programs:
        print(" ".join(programs_of(suites)))
        return 0
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="cosched-vm.") as name:
        work = Path(name)
        (work / "tree").mkdir()
        stage(arguments, suites, roles, work / "tree")
        disk_of(work / "tree", work / "tree.ext4")
        with (work / "results").open("wb") as disk:
            disk.truncate(RESULTS_SIZE)
        minutes = arguments.minutes or minutes_of(suites, roles)
        ended = boot(arguments, work, minutes)
        if not ended:
            print("".join((work / "console").read_text(errors="replace").splitlines(keepends=True)[-100:]))
            print(f"failed: the virtual machine ended before its suites did (its limit: {minutes} minutes)")
            return 1
        out = arguments.keep or work / "out"
        with tarfile.open(work / "results") as archive:
            archive.extractall(out)
        results = json.loads((out / "results.json").read_text())
    print(details(results))
    print(table(results, suites, roles))
    tests = [test for one in results for test in one["tests"]]
    failed = sum(test["state"] == "failed" for test in tests)
    print(f"{sum(test['state'] == 'passed' for test in tests)} passed, {failed} failed, "
          f"{sum(test['state'] == 'skipped' for test in tests)} skipped")
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    os.umask(0o022)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
