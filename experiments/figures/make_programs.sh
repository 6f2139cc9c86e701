#!/bin/sh
# Makes the programs of others that figures run, in inputs/ beside this script: the stencils, compiled (that of oneTBB where Debian's
# libtbb-dev is); and where PyTorch (Debian's python3-torch and python3-torchvision) or ONNX Runtime (installed by
# experiments/peers/compare.sh) are, what starts its example.
set -eu
cd "$(dirname "$0")"
mkdir -p inputs
programs=$(cd ../examples/programs && pwd)
root=$(cd ../.. && pwd)
failed=0
command -v cc > /dev/null && command -v c++ > /dev/null || { echo "make_programs.sh: no compiler: apt-get install g++" >&2; exit 1; }

new=$(mktemp -d inputs/new.XXXXXX)  # Beside them: a program is moved whole, or not; what runs it meanwhile keeps the old one.
trap 'rm -rf "$new"' EXIT
is_new() { [ "inputs/$1" -nt "$2" ]; }  # PROGRAM SOURCE: it was compiled since.

if ! is_new stencil "$programs/stencil.c"; then
  { cc -O2 -fopenmp "$programs/stencil.c" -o "$new/stencil" && mv "$new/stencil" inputs/; } || failed=1
fi

client=$root/experiments/client/cosched_client
if ! echo '#include <tbb/task_arena.h>' | c++ -E -x c++ - > /dev/null 2>&1; then
  rm -f inputs/stencil_tbb  # What has been removed since is not there any more.
  echo "make_programs.sh: no oneTBB: apt-get install libtbb-dev" >&2
  failed=1
elif ! { is_new stencil_tbb "$programs/stencil_tbb.cc" && is_new stencil_tbb "$client.c" && is_new stencil_tbb "$client.h"; }; then
  { cc -O2 -I "$root" -c "$client.c" -o "$new/client.o" &&
    c++ -O2 -I "$root" "$programs/stencil_tbb.cc" "$new/client.o" -ltbb -o "$new/stencil_tbb" &&
    mv "$new/stencil_tbb" inputs/; } || failed=1
fi

rm -f inputs/train_pytorch inputs/infer_onnx  # The same.
make() {  # NAME COMMAND…: a program that runs it with its own arguments.
  name=$1
  shift
  printf '#!/bin/sh\nexec %s "$@"\n' "$*" > "inputs/$name"
  chmod +x "inputs/$name"
}

if /usr/bin/python3 -c 'import torch, torchvision' 2> /dev/null; then
  make train_pytorch /usr/bin/python3 "$programs/train_pytorch.py"
else
  echo "make_programs.sh: no PyTorch: apt-get install --no-install-recommends python3-torch python3-torchvision" >&2
  failed=1
fi
if sh "$programs/infer_onnx.sh" mobilenet_v2 1 1 > /dev/null; then
  make infer_onnx sh "$programs/infer_onnx.sh"
else
  failed=1  # It has said what it lacks.
fi
exit $failed
