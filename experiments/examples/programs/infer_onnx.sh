#!/bin/sh
# infer_onnx.js with what experiments/peers/compare.sh has installed: infer_onnx.sh MODEL BATCH STEPS
set -eu
peers=${COSCHED_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/cosched/peers}
model=$peers/models/$1/model.onnx
if ! command -v node >/dev/null || ! [ -e "$peers/node_modules/onnxruntime-node" ] || ! [ -e "$model" ]; then
  echo "infer_onnx.sh: no ONNX Runtime or no $model: bash experiments/peers/compare.sh --only parity --models $1" >&2
  exit 2
fi
exec node "$(dirname "$0")/infer_onnx.js" "$peers/node_modules" "$model" "$2" "$3"
