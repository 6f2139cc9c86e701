# Set-up shared by experiments/quickstart.sh, tests/run.sh and tests/lint.sh: installs missing Debian packages and builds.
# Sourced, not run. Everything it prints goes to stderr; stdout belongs to the caller's results.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { printf '%s\n' "$*" >&2; }

# install_packages NEED…: the packages of packages.txt whose second column is one of NEED.
install_packages() {
  local package need missing=()
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "This is no Debian system: install the equivalents of experiments/setup/packages.txt yourself. Going on."
    return
  fi
  while read -r package need _; do
    case " $* " in *" $need "*) ;; *) continue ;; esac
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done < <(grep -v '^#' "$root/experiments/setup/packages.txt")
  [ ${#missing[@]} -eq 0 ] && return

  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { say "Missing packages: ${missing[*]}
Neither root nor sudo: ask an administrator to run  apt-get install ${missing[*]}"; exit 2; }
    as_root=(sudo)
  fi
  say "Installing ${#missing[@]} Debian packages: ${missing[*]}"
  local log; log=$(mktemp)
  if ! { "${as_root[@]}" apt-get -q -o DPkg::Lock::Timeout=300 update &&
         "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
           install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2; say "Installing packages failed; the whole log is $log"; exit 1
  fi
  rm -f "$log"
}

# build PRESET TARGET…: configures if needed and builds; a line of progress, the whole output only if it fails.
# The first build of a machine also builds oneDNN (engine/kernels/onednn/provide.sh shows its progress).
build() {
  local preset=$1; shift
  local log; log=$(mktemp)
  cd "$root" || exit 1
  bash engine/kernels/onednn/provide.sh >/dev/null || exit 1
  say "Building cosched (preset $preset)"
  if ! cmake --preset "$preset" >"$log" 2>&1; then
    tail -n 30 "$log" >&2; say "Configuring failed; the whole log is $log"; exit 1
  fi
  local tty=cat; [ -t 2 ] || tty="awk NR%25==0{print;fflush()}"
  if ! cmake --build --preset "$preset" --target "$@" 2>&1 | tee -a "$log" | $tty >&2; then
    grep -A 15 -E 'error|FAILED' "$log" | tail -n 60 >&2; say "The build failed; the whole log is $log"; exit 1
  fi
  rm -f "$log"
}
