#!/usr/bin/env bash
# From nothing to plots: installs what is missing, builds cosched into build/, runs experiments/quickstart.toml, prints the
# comparison table and names the plots. Idempotent, from any folder. Arguments are passed on to `cosched run`.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/setup/setup.sh"
caller=$PWD
install_packages run
build release cosched
cd "$caller"
exec "$root/build/cosched" run "$root/experiments/quickstart.toml" --out "$root/results" "$@"
