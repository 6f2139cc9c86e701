#!/usr/bin/env bash
# How fast is cosched's engine beside ONNX Runtime and PyTorch? One command: installs both where it can, exports eight
# models, checks that all three compute the same, measures inference and training steps side by side, prints and draws
# the tables.
#
#   bash experiments/peers/compare.sh [--only inference|training|parity] [--models vgg16 …] [--batches 1 8 …]
#                                     [--threads 1 2] [--repetitions 5] [--seconds 1] [--before COSCHED] [--out FOLDER]
#
# Everything takes about 35 minutes on 2 quiet cores, with --seconds 0.3 about 18. Results: results/peers/<time>/peers.{md,csv,json} and
# plots/peers.{png,pdf}.
# Peers: onnxruntime-node from npm (no scripts of packages are run) in ~/.cache/cosched/peers, where the exported models
# (about 1.4 GB) go too; python3-torch, python3-torchvision, python3-onnx and OpenBLAS from Debian, by apt. What can't be
# installed is named and its column stays empty; nothing here is needed by cosched or its tests.
# --before: another build of cosched, such as one of last week's commit, takes turns, too, and has a table of its own.
# Each chooses kernels by the rates it has measured itself, unless --kernel-rates says by which both do.
# ONEDNN_MAX_CPU_ISA=AVX2 in the environment: what cosched does on a processor without AVX-512.
# How: each system is a process of its own for each cell (ort_worker.js, torch_worker.py, `cosched bench engine
# --interactive`); they take turns, and while one measures the others are stopped (workers.py). cells.py makes the tables,
# parity.py checks the outputs, peer_models.py has the networks.
set -euo pipefail
export PATH=/usr/bin:$PATH  # Debian's python3 has Debian's torch.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../setup/setup.sh"
cache=${COSCHED_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/cosched/peers}
onnxruntime=onnxruntime-node@1.30.0
caller=$PWD

# apt_install PACKAGE…: those that are missing, as root only; a failure is told, not fatal.
apt_install() {
  local package missing=()
  for package; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    say "Missing, and only root can install it (apt-get install --no-install-recommends): ${missing[*]}"; return
  fi
  say "Installing ${missing[*]}"
  { apt-get -q -o DPkg::Lock::Timeout=300 update && DEBIAN_FRONTEND=noninteractive apt-get -q -y \
      -o DPkg::Lock::Timeout=300 install --no-install-recommends "${missing[@]}"; } >"$cache/apt.log" 2>&1 </dev/null ||
    say "apt-get failed: $cache/apt.log"
}

install_onnxruntime() {
  [ -e "$cache/node_modules/onnxruntime-node/package.json" ] && return
  command -v node >/dev/null && command -v npm >/dev/null || apt_install nodejs npm
  command -v npm >/dev/null || { say "Without npm there is no ONNX Runtime"; return; }
  say "Installing $onnxruntime into $cache"
  # Its script would only download a CUDA library; the CPU's is in the package.
  npm install --prefix "$cache" --no-audit --no-fund --ignore-scripts "$onnxruntime" >"$cache/npm.log" 2>&1 ||
    say "npm failed: $cache/npm.log"
}

case " $* " in *" -h "* | *" --help "*) exec python3 "$here/compare.py" --cache "$cache" --help ;; esac
mkdir -p "$cache"
install_onnxruntime
# Without OpenBLAS, Debian's PyTorch multiplies matrices with the reference BLAS, at a fraction of its speed.
apt_install python3-torch python3-torchvision python3-onnx libopenblas0-openmp
install_packages run
build release cosched
cd "$caller"
export PYTHONDONTWRITEBYTECODE=1
unset MKL_NUM_THREADS OMP_NUM_THREADS  # The workers say how many threads.
log=$(mktemp); trap 'rm -f "$log"' EXIT
status=0
python3 "$here/compare.py" --cache "$cache" "$@" | tee "$log" || status=$?
out=$(tail -n 1 "$log")
[ ! -e "$out/peers.csv" ] || python3 "$root/plots/peers.py" "$out"
exit "$status"
