#!/usr/bin/env python3
"""Does a binary run on any x86-64-v2, though parts of it are for AVX2 and AVX-512? Those are sections of their own
(engine/kernels/eigen/levels.cmake), entered on CPUs that have the instructions only; all else must have none of them.
instruction_sets_test.py BINARY [OBJDUMP]"""
import re
import subprocess
import sys
from collections import Counter, defaultdict

LEVEL = "cosched_eigen_v"
SECTION = re.compile(r"^Disassembly of section (\S+):$")
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
INSTRUCTION = re.compile(r"^\s*[0-9a-f]+:\t(?:(?:rep|repz|repnz|lock|bnd|notrack|data16|cs|ds|es|fs|gs|ss|rex\S*) )*(\S+)(.*)$")
# AVX and later: every name begins with v, but for masks and Haswell's few on integers. A tzcnt is a bsf to older CPUs, as gcc
# knows; verr, verw and the like are no vector instructions.
WIDE = re.compile(r"v(?!er[rw]$|m(?:call|launch|resume|xon|xoff|read|write|clear|ptrld|ptrst|func|run|load|save|mcall)$)|"
                  r"k(?:mov|and|or|xor|xnor|not|add|test|unpck|shift)|"
                  r"(?:andn|bextr|blsi|blsmsk|blsr|bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx|lzcnt|movbe)[lqw]?$")
LONGEST = re.compile(r"%zmm|%k[0-7]|%[xy]mm(?:1[6-9]|2\d|3[01])")


def read(binary, objdump):
    """{section: Counter of "wide" and "longest"}, and {section: {function: a wide instruction}}"""
    counts, functions = defaultdict(Counter), defaultdict(dict)
    section = function = ""
    command = [objdump, "--disassemble", "--no-show-raw-insn", "--demangle", binary]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stdout:
            if found := INSTRUCTION.match(line):
                counts[section]["all"] += 1
                if WIDE.match(found[1]):
                    counts[section]["wide"] += 1
                    functions[section].setdefault(function, line.strip())
                    if LONGEST.search(found[2]):
                        counts[section]["longest"] += 1
            elif found := FUNCTION.match(line):
                function = found[1]
            elif found := SECTION.match(line):
                section = found[1]
    if process.returncode != 0:
        sys.exit(f"{objdump} ended with {process.returncode}")
    return counts, functions


def problems(counts, functions):
    for section, wide in functions.items():
        if section in (f"{LEVEL}3", f"{LEVEL}4"):
            continue
        for function, line in list(wide.items())[:20]:
            yield f"{section}: {function} has {line}"
    if counts[f"{LEVEL}3"]["longest"]:
        yield f"{LEVEL}3 has AVX-512's registers"
    for section, what in (f"{LEVEL}2", "all"), (f"{LEVEL}3", "wide"), (f"{LEVEL}4", "longest"):
        if not counts[section][what]:
            yield f"{section} has no such code as it is made for"


def main():
    counts, functions = read(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "objdump")
    for section, of in sorted(counts.items()):
        print(f"{section}: {of['all']} instructions, {of['wide']} of AVX or later, {of['longest']} of AVX-512")
    found = list(problems(counts, functions))
    for problem in found:
        print(problem)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
