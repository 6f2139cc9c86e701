#!/usr/bin/env python3
"""Has every type of namespace cosched a name of its own? Two of one name, in two headers, are one to the linker: it keeps either's
destructor for both. type_names_test.py FOLDER..."""
import re
import sys
from collections import defaultdict
from pathlib import Path

# Of "struct alignas(64) Outer::Inner final {": Outer::Inner.
TYPE = re.compile(r"^(?:class|struct|enum class) (?:alignas\([^)]*\) )?([\w:]+)[^;]*\{", re.MULTILINE)


def main():
    headers = defaultdict(set)
    for folder in sys.argv[1:]:
        for path in Path(folder).rglob("*.h"):
            for name in TYPE.findall(path.read_text()):
                headers[name].add(str(path))
    if not headers:
        sys.exit("no types found")
    shared = {name: paths for name, paths in headers.items() if len(paths) > 1}
    for name, paths in sorted(shared.items()):
        print(f"{name}: {', '.join(sorted(paths))}")
    sys.exit(1 if shared else 0)


if __name__ == "__main__":
    main()
