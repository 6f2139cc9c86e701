#!/usr/bin/env bash
# Builds the fuzz target and runs it: fuzz.sh CLANG++ SOURCE_FOLDER BUILD_FOLDER SECONDS. New inputs stay in the build folder;
# one that breaks something is kept there too and named in the output. Exit 77 = skipped, with the reason.
set -euo pipefail
clang=$1 source=$2 build=$3 seconds=$4
if ! [ -x "$clang" ]; then
  printf "Skipped\nno clang++ here (Debian: clang), which libFuzzer needs\n"
  exit 77
fi
cd "$source"
flags=(-std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -I.)
sources=(tests/fuzz/protocol_fuzzer.cc experiments/hosts/tenant_protocol.cc engine/base/cpu_set.cc engine/base/check.cc)
if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
  "$clang" -x c++ -fsanitize=fuzzer,address - -o "$build/probe" 2>"$build/probe.log"; then
  printf "Skipped\n%s has no libFuzzer: %s\n" "$clang" "$(head -1 "$build/probe.log")"
  exit 77
fi
"$clang" "${flags[@]}" "${sources[@]}" -o "$build/protocol_fuzzer"
mkdir -p "$build/found"
"$build/protocol_fuzzer" -max_total_time="$seconds" -max_len=4096 -timeout=5 -print_final_stats=1 \
  -artifact_prefix="$build/broken-" "$build/found" tests/fuzz/corpus
