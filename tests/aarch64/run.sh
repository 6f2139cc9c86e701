#!/usr/bin/env bash
# Builds cosched's unit tests for aarch64 on an x86-64 machine with Debian and runs them under qemu-user: does it compile there, and do
# as its headers say, and are simulated records the same to the byte? Emulated, so times mean nothing, and two threads meet in memory as on x86-64, where less can go wrong. Ends with
# how many passed, failed and were skipped, and why. From any folder. Exit code 77 with the reason where it can't run.
#
#   tests/aarch64/run.sh [CTEST ARGUMENTS…]     e.g.  tests/aarch64/run.sh -R Tensor
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../experiments/setup/setup.sh"
skip() { echo "skipped: $*"; exit 77; }

[ "$(uname -m)" = x86_64 ] || skip "this machine is no x86-64 one; where it is an aarch64 one, tests/run.sh is what to run"
[ "$(. /etc/os-release && echo "$ID")" = debian ] || skip "the cross compiler's libraries are Debian's arm64 packages"
install_packages run test aarch64
build aarch64 unit_tests test_fidelity
cd "$root"
# What is excluded, and why: a line each, a regular expression and the reason.
excluded=none
while read -r tests reason; do
  excluded+="|$tests"
  echo "excluded: $tests: $reason"
done < <(sed '/^#/d' tests/aarch64/excluded.txt)
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT
status=0
run() { ctest --preset aarch64 -j "$(nproc)" --output-junit "$reports/$1" "${@:2}" || status=$?; }
run unit.xml -L '^unit$' -E "^($excluded)" "$@"
[ $# -gt 0 ] || run golden.xml -L '^fidelity$' -R '^Golden\.'
PATH="/usr/bin:$PATH" python3 tests/report.py "$reports"/* || status=$?
exit "$status"
