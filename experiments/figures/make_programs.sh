#!/bin/sh
# Makes the programs of others that figures run, in inputs/ beside this script: the stencil, compiled; and where PyTorch (Debian's
# python3-torch and python3-torchvision) or ONNX Runtime (installed by experiments/peers/compare.sh) are, what starts its example.
set -eu
cd "$(dirname "$0")"
mkdir -p inputs
programs=$(cd ../examples/programs && pwd)
failed=0

cc -O2 -fopenmp "$programs/stencil.c" -o inputs/stencil || failed=1

make() {  # NAME COMMAND…: a program that runs it with its own arguments.
  name=$1
  shift
  printf '#!/bin/sh\nexec %s "$@"\n' "$*" > "inputs/$name"
  chmod +x "inputs/$name"
}

rm -f inputs/train_pytorch inputs/infer_onnx  # What has been removed since is not there any more.
if /usr/bin/python3 -c 'import torch, torchvision' 2> /dev/null; then
  make train_pytorch /usr/bin/python3 "$programs/train_pytorch.py"
else
  echo "make_programs.sh: no PyTorch: apt-get install --no-install-recommends python3-torch python3-torchvision libopenblas0-openmp" >&2
  failed=1
fi
if sh "$programs/infer_onnx.sh" mobilenet_v2 1 1 > /dev/null; then
  make infer_onnx sh "$programs/infer_onnx.sh"
else
  failed=1  # It has said what it lacks.
fi
exit $failed
