#!/usr/bin/env python3
"""Does each command's --help end with an example that works? examples_test.py COSCHED [COMMAND …]: every example
(of these commands alone) is run as it stands, in an own folder with the files that it names; a command without one fails the test."""
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

SECONDS = 240  # For one example.
# What a build without a library says of a command; its example is not run then.
NOT_BUILT = "is not in this build of cosched"


def run(*command, cwd, env=None):
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=SECONDS, check=False)


def help_of(binary, words):
    ran = run(binary, *words, "--help", cwd="/")
    if ran.returncode != 0:
        sys.exit(f"{' '.join(words)} --help: exit code {ran.returncode}: {ran.stderr.strip()}")
    return ran.stdout


def section(text, heading):
    """The indented lines below a heading."""
    lines, inside = [], False
    for line in text.splitlines():
        if not line.startswith(" ") and line.strip():
            inside = line == heading
        elif inside and line.strip():
            lines.append(line)
    return lines


def commands(binary, words=()):
    """[(words, help)] of all commands, those above before those below."""
    text = help_of(binary, words)
    found = [(words, text)]
    names = [line.split()[0] for line in section(text, "Subcommands:") if re.match(r"  \S", line)]
    for name in names:
        # The one positional that stands before subcommands.
        found += commands(binary, (*words, *(["TARGET"] if words == ("ctl",) else []), name))
    return found


def examples(text):
    """Each of the section that help ends with: what stands below its remark."""
    lines = section(text, "Examples:")
    if not lines or text.rstrip().splitlines()[-1] != lines[-1]:
        return []
    return [line.strip() for line in lines if not line.lstrip().startswith("#")]


def step_weights(folder):
    """Images and labels of a step of lenet5's, as workloads/weights_file.h has them; its variables are the initial ones then."""
    batch, rng = 2, random.Random(1)

    def tensor(name, kind, shape, values):
        packed = struct.pack(f"<{len(values)}{'fi'[kind]}", *values)
        header = struct.pack("<I", len(name)) + name.encode() + struct.pack("<II", kind, len(shape))
        return header + struct.pack(f"<{len(shape)}qQ", *shape, len(packed)) + packed

    data = b"COSCHEDW" + struct.pack("<II", 1, 2)
    data += tensor("images", 0, (batch, 28, 28, 1), [rng.random() for _ in range(batch * 28 * 28)])
    data += tensor("labels", 1, (batch,), [3, 7])
    (folder / "step.weights").write_bytes(data + struct.pack("<I", zlib.crc32(data)))


def reads(folder):
    """A genome of one chromosome, and pairs of reads from it."""
    rng = random.Random(1)
    genome = "".join(rng.choice("ACGT") for _ in range(20_000))
    (folder / "genome.fa").write_text(f">chromosome\n{genome}\n")
    reverse = str.maketrans("ACGT", "TGCA")
    for mate in (1, 2):
        with open(folder / f"{mate}.fq", "w") as file:
            for pair in range(100):
                start = 150 * pair
                text = genome[start:start + 100] if mate == 1 else genome[start + 200:start + 300][::-1].translate(reverse)
                file.write(f"@pair{pair}/{mate}\n{text}\n+\n{'I' * 100}\n")


def prepare(folder, binary, tree):
    """What the examples name."""
    for command in (["init", "mine"], ["run", "simulated", "--set", "trials=2", "--no-plots"]):
        ran = run(binary, *command, cwd=folder)
        if ran.returncode != 0:
            sys.exit(f"cosched {' '.join(command)}: {ran.stderr}")
    newest = next((folder / "results/simulated").iterdir())
    shutil.copytree(newest, folder / "results/simulated/old")
    ran = run(binary, "runs", "export", str(newest), "simulated.zip", cwd=folder)
    if ran.returncode != 0:
        sys.exit(f"no archive: {ran.stderr}")
    for name in ("profile.json", "again.json"):
        shutil.copy(tree / "experiments/profiles/example.json", folder / name)
    shutil.copy(tree / "experiments/examples/trace_generate.toml", folder / "generators.toml")
    ran = run(binary, "trace", "generate", "generators.toml", "--out", "requests.csv", cwd=folder)
    if ran.returncode != 0:
        sys.exit(f"no trace: {ran.stderr}")
    reads(folder)
    step_weights(folder)


class Tenant:
    """What the examples of ctl steer."""

    def __init__(self, binary, folder):
        self.socket = folder / "tenant.sock"
        self.process = subprocess.Popen([binary, "tenant", "--steps", "0", "--model", "lenet5", "--control", "tenant.sock"],
                                        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not self.socket.exists():
            if self.process.poll() is not None:
                sys.exit("the tenant that is to be steered has ended")
            time.sleep(0.01)

    def end(self):
        self.process.kill()  # One that was paused would end after the step that it is in.
        self.process.wait()


def try_example(binary, tree, words, line):
    """None, or what is wrong; the output is printed if it is."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "here"
        shutil.copytree(PREPARED, folder)
        (Path(name) / "bin").mkdir()
        os.symlink(binary, Path(name) / "bin/cosched")
        if "import" in words:
            shutil.rmtree(folder / "results")
        elif "export" in words:
            (folder / "simulated.zip").unlink()
        elif "init" in words:
            (folder / "mine.toml").unlink()
        elif line.endswith("--out profile.json"):
            (folder / "profile.json").unlink()
        env = {**os.environ, "PATH": f"{name}/bin:{os.environ['PATH']}", "COSCHED_LOCKS": f"{name}/locks", "MPLBACKEND": "Agg"}
        os.mkdir(f"{name}/locks")
        tenant = Tenant(binary, folder) if line.startswith("cosched ctl") else None
        before = time.monotonic()
        ran = run("sh", "-euc", line, cwd=folder, env=env)
        if tenant:
            tenant.end()
        print(f"{time.monotonic() - before:6.1f} s  {line}", flush=True)
    if ran.returncode == 2 and NOT_BUILT in ran.stderr:
        print(f"          not run: {ran.stderr.strip()}")
        return None
    # What a doctor finds is an answer, on a busy machine another than on a quiet one; so is a claim that does not hold.
    is_answer = line.startswith("cosched doctor") or (line.startswith("cosched reproduce") and re.search(r": \d+ of \d+ hold", ran.stdout))
    if ran.returncode not in ((0, 1) if is_answer else (0,)):
        return f"`{line}`: exit code {ran.returncode}\n{ran.stdout[-1500:]}{ran.stderr[-1500:]}"
    return None


def main():
    binary, tree = str(Path(sys.argv[1]).resolve()), Path(__file__).resolve().parents[2]
    problems, tried = [], {}
    all_commands = commands(binary)
    with tempfile.TemporaryDirectory() as name:
        global PREPARED
        PREPARED = Path(name) / "prepared"
        PREPARED.mkdir()
        prepare(PREPARED, binary, tree)
        for words, text in all_commands:
            if sys.argv[2:] and " ".join(words[:1]) not in sys.argv[2:]:
                continue
            found = examples(text)
            if not found:
                problems.append(f"`cosched {' '.join(words)} --help` does not end with an example: experiments/cli/examples.cc")
            for line in found:
                if not line.startswith("cosched "):
                    problems.append(f"`{line}` is no command of cosched's")
                elif line not in tried:  # A command of commands may show what one of them does.
                    tried[line] = try_example(binary, tree, words, line)
                    problems += [tried[line]] if tried[line] else []
    print("\n".join(problems))
    print(f"{len(all_commands)} commands, {len(tried)} examples")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
