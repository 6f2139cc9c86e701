#!/usr/bin/env python3
"""Closing lines of tests/run.sh from ctest's JUnit files: each failure with the end of what it printed, each skip with its reason, what
took longest, then the counts.

Exit code 1 if a test failed or none ran. A skipped test is not a passed one; its reason is what it printed at GTEST_SKIP.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree


def skip_reason(case):
    output = case.findtext("system-out") or ""
    after = re.search(r"Skipped\n(.+)", output)
    if after:
        return after.group(1).strip()
    element = case.find("skipped")
    return (element.get("message") if element is not None else None) or "no reason given"


def last_words(case, lines=25):
    """Who reads the end of a log should not have to look for what is above thousands of tests that passed."""
    return "".join(f"  | {line}\n" for line in (case.findtext("system-out") or "").strip().splitlines()[-lines:])


def could_not_run(case):
    """Not a skip that the test asked for, but a test that ctest could not start: no executable, a fixture that failed."""
    element = case.find("skipped")
    return case.get("status") == "notrun" and not (element is not None and element.get("message", "").startswith("SKIP_"))


def slowest(cases, most=8):
    """Where a run's minutes went. Tests of one program count together: each may be short and all of them long."""
    seconds = {}
    for case in cases:
        program = re.split(r"[./]", case.get("name"))[0] if case.get("status") == "run" else None
        if program:
            seconds.setdefault(program, []).append(float(case.get("time") or 0))
    order = sorted(seconds.items(), key=lambda entry: -sum(entry[1]))[:most]
    return ", ".join(f"{program} {sum(times):.0f} s ({len(times)})" for program, times in order)


def main():
    cases = [case for file in sys.argv[1:] for case in ElementTree.parse(file).getroot().findall("testcase")]
    failed = [c for c in cases if c.find("failure") is not None or c.get("status") == "fail" or could_not_run(c)]
    skipped = [c for c in cases if c not in failed and (c.get("status") in ("notrun", "disabled") or c.find("skipped") is not None)]
    passed = len(cases) - len(skipped) - len(failed)
    for case in failed:
        print(f"failed: {case.get('name')}\n{last_words(case)}", end="")
    for case in skipped:
        print(f"skipped: {case.get('name')}: {skip_reason(case)}")
    print(f"longest of {sum(float(case.get('time') or 0) for case in cases):.0f} s: {slowest(cases)}")
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
