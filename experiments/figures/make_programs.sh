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

cc -O2 -fopenmp "$programs/stencil.c" -o inputs/stencil || failed=1

rm -f inputs/stencil_tbb inputs/train_pytorch inputs/infer_onnx  # What has been removed since is not there any more.
cc -O2 -I "$root" -c "$root/experiments/client/cosched_client.c" -o inputs/cosched_client.o || failed=1
if echo '#include <tbb/task_arena.h>' | c++ -fsyntax-only -x c++ - 2> /dev/null; then
  c++ -O2 -I "$root" "$programs/stencil_tbb.cc" inputs/cosched_client.o -ltbb -o inputs/stencil_tbb || failed=1
else
  echo "make_programs.sh: no oneTBB: apt-get install libtbb-dev" >&2
  failed=1
fi
rm -f inputs/cosched_client.o

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
