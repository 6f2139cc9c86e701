#!/usr/bin/env bash
# Builds cosched's unit tests for aarch64 on an x86-64 machine with Debian and runs them under qemu-user: does it compile there, and do
# as its headers say? Emulated, so times mean nothing, and two threads meet in memory as on x86-64, where less can go wrong. Ends with
# how many passed, failed and were skipped, and why. From any folder. Exit code 77 with the reason where it can't run.
#
#   tests/aarch64/run.sh [CTEST ARGUMENTS…]     e.g.  tests/aarch64/run.sh -R Tensor
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../experiments/setup/setup.sh"
skip() { echo "skipped: $*"; exit 77; }

[ "$(uname -m)" = x86_64 ] || skip "this machine is no x86-64 one; where it is an aarch64 one, tests/run.sh is what to run"
[ "$(. /etc/os-release && echo "$ID")" = debian ] || skip "the cross compiler's libraries are Debian's arm64 packages"
install_packages run test aarch64
build aarch64 unit_tests
cd "$root"
# What is excluded, and why: a line each, a regular expression and the reason.
excluded=none
while read -r tests reason; do
  excluded+="|$tests"
  echo "excluded: $tests: $reason"
done < <(sed '/^#/d' tests/aarch64/excluded.txt)
report=$(mktemp)
status=0
ctest --preset aarch64 -j "$(nproc)" --output-junit "$report" -L '^unit$' -E "^($excluded)" "$@" || status=$?
PATH="/usr/bin:$PATH" python3 tests/report.py "$report" || status=$?
rm -f "$report"
exit "$status"
