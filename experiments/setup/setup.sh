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

# build PRESET TARGET…: configures if needed and builds; a line of progress, the whole output only if it fails. The first build of
# a machine also builds oneDNN (engine/kernels/onednn/provide.sh), beside cosched.
build() {
  local preset=$1; shift
  local log status=0; log=$(mktemp)
  cd "$root" || exit 1
  say "Building cosched (preset $preset)"
  if ! cmake --preset "$preset" 2>&1 | tee "$log" | sed -un '/^oneDNN/p' >&2; then
    tail -n 30 "$log" >&2; say "Configuring failed; the whole log is $log"; exit 1
  fi
  NINJA_STATUS='[%f/%t] ' cmake --build --preset "$preset" --target "$@" >"$log" 2>&1 &
  local toolchain=()
  [ "$preset" = aarch64 ] && toolchain=(--toolchain tests/aarch64/toolchain.cmake)
  progress $! "$log" "$(dirname "$(bash engine/kernels/onednn/provide.sh "${toolchain[@]}" --where)")/build.log"
  wait $! || status=$?
  if [ "$status" -ne 0 ]; then
    grep -A 15 -E 'error|FAILED' "$log" | tail -n 60 >&2; say "The build failed; the whole log is $log"; exit 1
  fi
  rm -f "$log"
}

# progress PROCESS LOG…: until the process ends, one line of how many files of all that the logs of ninja count are built, and of the
# time that the rest will take.
progress() {
  local process=$1 start=$SECONDS pause=20 line counts; shift
  [ -t 2 ] && pause=1
  while sleep "$pause" && kill -0 "$process" 2>/dev/null; do
    # Of each log the last "[BUILT/ALL]".
    counts=$(for log in "$@"; do
               [ -f "$log" ] && grep -ao '\[[0-9]*/[0-9]*\]' "$log" | tail -n 1
             done | tr -d '[]' | awk -F/ '{ built += $1; all += $2 } END { print built + 0, all + 0 }')
    line=$(awk -v spent=$((SECONDS - start)) '{
      printf "%d of %d files built", $1, $2
      if ($1 >= $2 / 20) printf ", about %d:%02d left", (left = spent * ($2 - $1) / $1) / 60, left % 60 }' <<<"$counts")
    if [ -t 2 ]; then printf '\r\033[K%s' "$line" >&2; else say "$line"; fi
  done
  [ -t 2 ] && printf '\r\033[K' >&2
  return 0
}
