#!/usr/bin/env python3
"""Is what the manuals name there? Paths exist, commands and their options are known to cosched, and those that are quick and
change nothing work; README.md stays short. readme_test.py COSCHED, in the source tree."""
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from functools import lru_cache
from pathlib import Path

MANUALS = ["README.md", "experiments/README.md", "policies/README.md", "engine/README.md", "plots/README.md", "tests/README.md",
           "tests/bench/README.md", "traces/FORMAT.md", "experiments/examples/traces/README.md"]
LONGEST_README = 150
WIDEST = 140  # But for rows of tables.
GENERATED = re.compile(r"build|results|\.|__")  # Folders that no path of the tree begins with.
PLACEHOLDER = re.compile(r"[<>…$\[{]|(?<![A-Za-z])[A-Z]+(?![A-Za-z])")  # X.toml, fig_X, RUN/plots ...
DOCUMENT = re.compile(r"[A-Z]+\.md")  # ... but these have such names.
COMMAND = re.compile(r"(?:build/)?cosched\s+(?=\S)(.*)", re.DOTALL)
OPTION = re.compile(r"--[a-z][\w-]*")
SECONDS = 60  # For what is quick.


class Text:
    """A manual: its inline code and the lines of its shell blocks, each with the number of its line; links and headings."""

    def __init__(self, path):
        self.path = Path(path)
        self.lines = self.path.read_text().splitlines()
        self.code, self.links = [], []
        self.anchors = set()
        block, paragraph = None, []
        for number, line in enumerate([*self.lines, ""], 1):
            if line.startswith("```"):
                self.read_prose(paragraph)
                block, paragraph = (line[3:].strip() or "text") if block is None else None, []
            elif block is not None:
                if block == "sh" and re.match(r"\s+#", line) and self.code:  # What is said of the command above goes on.
                    self.code[-1] = (self.code[-1][0], f"{self.code[-1][1]} {line.strip()}")
                elif block == "sh":
                    self.code.append((number, line))
            elif not line.strip() or line.startswith(("|", "#")):
                self.read_prose(paragraph)
                self.read_prose([(number, line)])
                paragraph = []
                if line.startswith("#"):
                    self.anchors.add(re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-"))
            else:
                paragraph.append((number, line))
        if block is not None:
            sys.exit(f"{path}: a block of code has no end")

    def read_prose(self, lines):
        """Inline code may go on on the next line of its paragraph."""
        prose = "\n".join(line for _, line in lines)
        for pattern, found in (r"`([^`]+)`", self.code), (r"\]\(([^)\s]+)\)", self.links):
            for match in re.finditer(pattern, prose):
                found.append((lines[prose.count("\n", 0, match.start())][0], match[1].replace("\n", " ")))


class Command:
    """A subcommand as its --help tells it."""

    def __init__(self, binary, words):
        ran = subprocess.run([binary, *words, "--help"], capture_output=True, text=True, timeout=SECONDS, check=False)
        if ran.returncode != 0:
            sys.exit(f"{' '.join(words)} --help: exit code {ran.returncode}: {ran.stderr.strip()}")
        self.words = words
        sections = {"options": [], "subcommands": [], "positionals": []}
        into = []
        for line in ran.stdout.splitlines():
            if re.match(r"\S.*:$", line):
                into = sections.setdefault(line[:-1].lower(), [])
            elif re.match(r"  \S", line):
                into.append(line.split()[0])
        self.options = {name for names in sections["options"] for name in names.split(",")}
        self.subcommands = set(sections["subcommands"])
        self.positionals = sections["positionals"]


class Checker:
    def __init__(self, binary):
        self.binary = binary
        self.problems = []
        self.paths = self.commands = self.runs = 0
        self.experiments = {}  # File -> where it is named first.
        self.quick = {}  # Arguments -> the same.
        self.tops = [path.name for path in Path().iterdir() if path.is_dir() and not GENERATED.match(path.name)]

    def help(self, *words):
        return ask(self.binary, words)

    def fail(self, place, problem):
        self.problems.append(f"{place[0]}:{place[1]}: {problem}")

    def check(self, text):
        for number, line in enumerate(text.lines, 1):
            if len(line) > WIDEST and not line.lstrip().startswith("|"):
                self.fail((text.path, number), f"{len(line)} columns: at most {WIDEST}, but for rows of tables")
        for number, target in text.links:
            self.check_link(text, (text.path, number), target)
        for number, code in text.code:
            place = (text.path, number)
            self.check_paths(place, code)
            for command in code.split(" && "):
                self.check_command(place, command)

    # Paths.

    def check_link(self, text, place, target):
        if re.match(r"\w+:", target):  # http: and the like.
            return
        self.paths += 1
        file, _, anchor = target.partition("#")
        path = text.path.parent / file if file else text.path
        if not path.exists():
            self.fail(place, f"the link {target} leads nowhere")
        elif anchor and anchor not in (text if not file else read(path.resolve())).anchors:
            self.fail(place, f"{path} has no heading #{anchor}")

    def check_paths(self, place, code):
        """Of the words of a command or a name. A path counts from the top, or from the manual's folder."""
        beside = [path.name for path in place[0].parent.iterdir() if path.is_dir() and not GENERATED.match(path.name)]
        for word in re.split(r"[\s\"'=|;,()]+", code):
            path = word.rstrip(".:`").removeprefix("./")
            if path.split("/")[0] not in self.tops + beside or "/" not in path:
                continue
            if PLACEHOLDER.search(DOCUMENT.sub("", path)):
                continue
            self.paths += 1
            found = [*Path().glob(path), *place[0].parent.glob(path)]
            if not found:
                self.fail(place, f"there is no {path}")
            for file in found:
                if file.suffix == ".toml" and "workload" in tomllib.loads(file.read_text()):
                    self.experiments.setdefault(str(file), place)

    # Commands.

    def check_command(self, place, code):
        matched = COMMAND.fullmatch(code.strip())
        if not matched:
            return
        self.commands += 1
        said, _, comment = matched[1].partition(" #")
        try:
            words = shlex.split(said)
        except ValueError as error:
            self.fail(place, f"{code}: {error}")
            return
        for commands, rest in self.resolve(place, words):
            # Those of `cosched ctl` may stand behind its subcommands, too.
            known = commands[-1].options.union(*(command.options for command in commands[1:]))
            own = rest[:rest.index("--")] if "--" in rest else rest  # What follows is another program's.
            for word in [*own, *comment.split()]:
                named = OPTION.match(word.lstrip("[(`"))
                if named and named[0] not in known:
                    self.fail(place, f"{' '.join(('cosched', *commands[-1].words))} knows no {named[0]}")
            self.remember(place, commands[-1].words, rest)

    def resolve(self, place, words):
        """[(the command and those above it, words that follow)]; "a|b" are two. Words before a subcommand may be positionals."""
        command, above = self.help(), []
        while command.subcommands:
            above = [*above, command]
            rest = list(words)
            operands = []
            while rest and len(operands) < len(command.positionals) and not rest[0].startswith("-"):
                operands.append(rest.pop(0))
            if not rest or rest[0].startswith("-"):
                return [(above, rest)]
            names, rest = rest[0].split("|"), rest[1:]
            unknown = [name for name in names if name not in command.subcommands]
            if unknown:
                self.fail(place, f"{' '.join(('cosched', *command.words))} has no subcommand {', '.join(unknown)}")
                return []
            below = [self.help(*command.words, *operands, name) for name in names]
            if len(below) > 1:
                return [([*above, one], rest) for one in below]
            command, words = below[0], rest
        return [([*above, command], words)]

    def remember(self, place, words, rest):
        """What is quick and changes nothing: it is run once, at the end."""
        if words == ("doctor",) and not rest:
            self.quick.setdefault(words, place)
        elif words == ("list",) and rest and not any(word.startswith("-") for word in rest):
            for what in rest[0].split("|"):
                self.quick.setdefault(("list", what), place)

    def run_all(self):
        self.runs = len(self.quick) + len(self.experiments)  # That manuals name.
        self.quick.setdefault(("--help",), ("README.md", 1))
        self.quick.setdefault(("--version",), ("README.md", 1))
        with tempfile.TemporaryDirectory() as folder:
            for arguments, place in self.quick.items():
                self.run(place, folder, arguments)
            for experiment, place in self.experiments.items():
                self.run(place, folder, ("run", str(Path(experiment).resolve()), "--dry-run", "--out", f"{folder}/results"))
            left = sorted(path.name for path in Path(folder).iterdir())
            if left:
                self.problems.append(f"commands that change nothing wrote {', '.join(left)}")

    def run(self, place, folder, arguments):
        try:
            ran = subprocess.run([self.binary, *arguments], cwd=folder, capture_output=True, text=True, timeout=SECONDS,
                                 check=False)
        except subprocess.TimeoutExpired:
            self.fail(place, f"cosched {' '.join(arguments)}: not done in {SECONDS} s")
            return
        if ran.returncode != 0:
            said = (ran.stderr.strip() or ran.stdout.strip()).splitlines()[:1]
            self.fail(place, f"cosched {' '.join(arguments)}: exit code {ran.returncode}: {''.join(said)}")


@lru_cache(maxsize=None)
def ask(binary, words):
    return Command(binary, words)


@lru_cache(maxsize=None)
def read(path):
    return Text(path)


def main():
    checker = Checker(str(Path(sys.argv[1]).resolve()))
    for manual in MANUALS:
        checker.check(read(manual))
    length = len(read("README.md").lines)
    if length > LONGEST_README:
        checker.fail(("README.md", length), f"more than {LONGEST_README} lines: the rest belongs into the manuals")
    checker.run_all()
    for counted in ("paths", "commands", "runs"):
        if getattr(checker, counted) == 0:
            checker.problems.append(f"no {counted} found: this test checks nothing")
    print("\n".join(checker.problems), end="\n" if checker.problems else "")
    print(f"{len(MANUALS)} manuals: {checker.paths} paths, {checker.commands} commands, {checker.runs} runs")
    sys.exit(1 if checker.problems else 0)


if __name__ == "__main__":
    main()
