#!/usr/bin/env bash
# Installs what is missing, builds everything and runs every test through ctest. Ends with how many passed, failed and were
# skipped, and why. From any folder.
#
#   tests/run.sh [--preset release|dev|asan|tsan] [--vm | --aarch64] [CTEST ARGUMENTS…]     e.g.  tests/run.sh --preset tsan -L unit
#
# --vm: those in the virtual machine (tests/vm/run.sh), which take longer than all others, and only those.
# --aarch64: the unit tests, compiled for another kind of machine and emulated (tests/aarch64/run.sh), and only those.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../experiments/setup/setup.sh"
preset=release
if [ "${1:-}" = "--preset" ]; then
  preset=${2:?--preset needs a name}
  shift 2
fi
virtual=()
if [ "${1:-}" = "--vm" ]; then
  virtual=(-C vm -L '^vm$')
  shift
fi
if [ "${1:-}" = "--aarch64" ]; then
  shift
  exec bash "$root/tests/aarch64/run.sh" "$@"
fi
install_packages run test
build "$preset" all
cd "$root"
report=$(mktemp)
status=0
# One more than there are cores: half of the time tests wait.
ctest --preset "$preset" -j $(($(nproc) + 1)) --output-junit "$report" "${virtual[@]}" "$@" || status=$?
# /usr/bin first: another python3 on the PATH may be anything.
PATH="/usr/bin:$PATH" python3 tests/report.py "$report" || status=$?
binaries=build
[ "$preset" = release ] || binaries=build-$preset
PATH="/usr/bin:$PATH" python3 tests/left_behind.py "$binaries" $$ || status=$?
rm -f "$report"
exit "$status"
