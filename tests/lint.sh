#!/usr/bin/env bash
# clang-format and clang-tidy over the tree; both must be clean. Installs them if missing. Arguments: files to check instead
# of all.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../experiments/setup/setup.sh"
install_packages run lint
cd "$root"
if [ $# -gt 0 ]; then files=("$@"); else mapfile -t files < <(git ls-files '*.cc' '*.h'); fi
clang-format --dry-run -Werror "${files[@]}"
say "clang-format: clean (${#files[@]} files)"
bash engine/kernels/onednn/provide.sh >/dev/null
cmake --preset dev >/dev/null  # Without precompiled headers, which clang does not read.
sed -i 's/ -fno-gnu-unique//' build-dev/compile_commands.json  # An option of gcc's that clang does not know.
mapfile -t sources < <(printf '%s\n' "${files[@]}" | grep '\.cc$' || true)
printf '%s\n' "${sources[@]}" | xargs -r -n 1 -P "$(nproc)" clang-tidy -p build-dev --quiet --warnings-as-errors='*' 2>/dev/null
say "clang-tidy: clean (${#sources[@]} files)"
