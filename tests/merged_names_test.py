#!/usr/bin/env python3
"""Has every name in an unnamed namespace a folder for itself? Files of one folder are compiled several at a time (CMakeLists.txt,
cosched_merge): a second function of one name would be refused there or, if its parameters differ, be called by mistake; a type of a header's
name is ambiguous. Two aliases of one type may have one name. merged_names_test.py FOLDER..."""
import re
import sys
from collections import defaultdict
from pathlib import Path

LAYERS = {"engine", "workloads", "traces", "policies", "experiments"}
UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
TYPE = re.compile(r"^(?:struct|class|enum class) (\w+)[^;]*\{", re.MULTILINE)
ALIAS = re.compile(r"^using (\w+) = ([^;]+);", re.MULTILINE)
# "std::vector<int> ReadCores(" and "constexpr int kMost =", at the line's beginning: what is indented belongs to something.
FUNCTION = re.compile(r"^(?!using |struct |class |enum |template|namespace |return |typedef )[\w\[][^\n=;(]*?[ *&>](\w+)\(", re.MULTILINE)
VARIABLE = re.compile(r"^(?:constexpr|const|static|thread_local|inline|volatile|std::)[^\n=;({]*?[ *&>](\w+)(?:\[\w*\])?(?: = |\{|;)", re.MULTILINE)


def names(text):
    for body in UNNAMED.findall(text):
        for alias, meaning in ALIAS.findall(body):
            yield alias, f"using {meaning}"
        for pattern in TYPE, FUNCTION, VARIABLE:
            for name in set(pattern.findall(body)):
                yield name, None


def types_of_headers():
    """{type: header} of namespace cosched."""
    found = {}
    for path in Path(".").glob("*/**/*.h"):
        if path.parts[0] in LAYERS:
            found |= {name: path for name in TYPE.findall(path.read_text())}
    return found


def main():
    found, shared, types = 0, [], types_of_headers()
    for folder in sys.argv[1:]:
        uses = defaultdict(dict)
        for path in sorted(Path(folder).glob("*.cc")):
            for name, meaning in names(path.read_text()):
                uses[name][path.name] = meaning
        found += len(uses)
        for name, files in uses.items():
            if name in types:
                shared.append(f"{types[name]}: {name} in {folder}/{next(iter(files))}")
            meanings = set(files.values())
            if len(files) > 1 and (None in meanings or len(meanings) > 1):
                shared.append(f"{folder}: {name} in {', '.join(files)}")
    if not found:
        sys.exit("no names found")
    print("\n".join(shared))
    sys.exit(1 if shared else 0)


if __name__ == "__main__":
    main()
