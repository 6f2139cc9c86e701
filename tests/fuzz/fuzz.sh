#!/usr/bin/env bash
# Builds a fuzz target, or runs it:
#
#   fuzz.sh CLANG++ SOURCE_FOLDER BUILD_FOLDER SECONDS TARGET [INPUT]
#
# Without INPUT it builds TARGET. With it, it runs TARGET for so many seconds on inputs made from tests/fuzz/corpus/INPUT; INPUT is
# the trace format for trace_fuzzer; onnx or graphdef for model_fuzzer, and jpeg or png for image_fuzzer, which make their seeds by
# themselves. New inputs stay in the build folder; one that breaks something is kept there too and named in the output. Exit 77 =
# skipped, with the reason. COSCHED_FUZZ_SECONDS, where it is set, is how long instead.
set -euo pipefail
clang=$1 source=$2 build=$3 seconds=${COSCHED_FUZZ_SECONDS:-$4} target=$5 input=${6:-}
if ! [ -x "$clang" ]; then
  printf "Skipped\nno clang++ here (Debian: clang), which libFuzzer needs\n"
  exit 77
fi
mkdir -p "$build"
cd "$source"
if [ -z "$input" ] && ! echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
  "$clang" -x c++ -fsanitize=fuzzer,address - -o "$build/probe-$$" 2>"$build/probe-$$.log"; then
  printf "Skipped\n%s has no libFuzzer: %s\n" "$clang" "$(head -1 "$build/probe-$$.log")"
  exit 77
fi
rm -f "$build/probe-$$" "$build/probe-$$.log"
if [ -n "$input" ] && ! [ -x "$build/$target" ]; then
  printf "Skipped\n%s was not built: %s has no libFuzzer\n" "$target" "$clang"
  exit 77
fi

if [ -z "$input" ]; then
  flags=(-std=c++20 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -I.)
  case $target in
    protocol_fuzzer)
      sources=(experiments/wire/tenant_protocol.cc experiments/wire/request_packets.cc
               engine/base/cpu_set.cc engine/base/check.cc)
      libraries=() ;;
    host_protocol_fuzzer)
      sources=(experiments/hosts/host_protocol.cc experiments/wire/{frame_socket,memory_mode,command_choice}.cc
               experiments/os/*.cc engine/base/*.cc
               workloads/program_spec.cc engine/kernels/kernel_rates.cc engine/gates/credit_link.cc)
      libraries=(-lhwloc -lz -lbz2 -llzma -lfmt) ;;
    trace_fuzzer)
      sources=(traces/input/*.cc traces/readers/*.cc traces/generators/*.cc
               engine/base/{byte_source,check,error,portable_math,random}.cc)
      libraries=(-lz -lbz2 -llzma -lfmt) ;;
    rank_message_fuzzer)
      sources=(engine/gates/{rank_message,item}.cc engine/base/check.cc)
      libraries=() ;;
    fastq_fuzzer)
      sources=(workloads/genomics/{fastq,line_reader,reference}.cc engine/base/{byte_source,check,error}.cc)
      libraries=(-lz -lbz2 -llzma) ;;
    image_fuzzer)
      sources=(workloads/images/{image_reader,jpeg_reader,png_reader,image_writer}.cc engine/base/{check,error}.cc)
      libraries=(-ljpeg -lpng -lz -lfmt) ;;
    model_fuzzer)
      generated=$build/generated
      mkdir -p "$generated"
      protoc --proto_path=. --cpp_out="$generated" engine/graph/readers/graphdef.proto
      sources=(engine/graph/*.cc engine/graph/readers/*.cc "$generated"/engine/graph/readers/graphdef.pb.cc
               engine/session/{task_graph,value_plan,memory_plan,views}.cc engine/base/{check,error}.cc)
      flags+=(-isystem "$generated" -DONNX_ML=1 -DONNX_NAMESPACE=onnx)
      libraries=(-lonnx_proto -lprotobuf -lfmt) ;;
  esac
  objects=$build/$target.objects
  mkdir -p "$objects"
  compiler=("$clang")
  # Other clones share objects: what differs is only the folder that debug information names.
  ! command -v ccache >/dev/null || compiler=(env CCACHE_NOHASHDIR=true "CCACHE_BASEDIR=$source" ccache "$clang")
  rm -f "$objects"/*.o
  running=0
  for file in "${sources[@]}" "tests/fuzz/$target.cc"; do
    "${compiler[@]}" "${flags[@]}" -fsanitize=fuzzer-no-link -c "$file" -o "$objects/${file//\//_}.o" &
    running=$((running + 1))
    if [ $running -ge "$(nproc)" ]; then
      wait -n
      running=$((running - 1))
    fi
  done
  while [ $running -gt 0 ]; do
    wait -n
    running=$((running - 1))
  done
  "$clang" -fsanitize=fuzzer,address,undefined "$objects"/*.o "${libraries[@]}" -o "$build/$target"
  exit 0
fi

option=()
corpus=tests/fuzz/corpus/$input
[[ "$target" = *protocol_fuzzer || "$target" = fastq_fuzzer || "$target" = rank_message_fuzzer ]] || option=("--format=$input")
if [ "$target" = model_fuzzer ] || [ "$target" = image_fuzzer ]; then
  corpus=$build/seeds/$input
  mkdir -p "$corpus"
  "$build/$target" "${option[@]}" "--write-seeds=$corpus"
fi
found=$build/found/$input
mkdir -p "$found"
"$build/$target" "${option[@]}" -max_total_time="$seconds" -max_len=4096 -timeout=60 -rss_limit_mb=1024 -print_final_stats=1 \
  -artifact_prefix="$build/broken-$input-" "$found" "$corpus"
