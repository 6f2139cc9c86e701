#!/usr/bin/env bash
# Installs a package of cosched in a Debian 12 that has nothing else (mmdebstrap, minbase), and runs the quickstart there as a plain
# user, without the source tree: its records are checked by the checker that the package brings. By hand, as root: it needs a mirror of
# Debian, a gigabyte in /var/tmp, and minutes.
#
#   tests/kit/debian.sh [PACKAGE.deb [OPTION of `cosched run quickstart` …]]     default: the one in build/package
#   KEEP=DIR keeps the root file system there; if it is there already, it is used as it is.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
package=$(realpath "${1:-$(compgen -G "$here/build/package/cosched_*.deb" | head -n 1)}")
shift || true
[ "$(id -u)" -eq 0 ] || { echo "debian.sh: only root makes another system's files" >&2; exit 2; }
root=${KEEP:-$(mktemp -d /var/tmp/cosched-kit.XXXXXX)}
[ -n "${KEEP:-}" ] || trap 'rm -rf "$root"' EXIT

if [ ! -e "$root/usr/bin/cosched" ]; then
  echo "Installing $package in $root" >&2
  mmdebstrap --quiet --variant=minbase \
    --customize-hook="copy-in '$package' /var/tmp" \
    --customize-hook='chroot "$1" sh -c "DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends \
      /var/tmp/cosched_*.deb python3-matplotlib python3-pandas" && rm "$1"/var/tmp/cosched_*.deb' \
    --customize-hook='chroot "$1" useradd --create-home tester' \
    bookworm "$root" >&2
fi
# What is mounted goes with the shell's own view of the file system.
unshare --mount --propagation private bash -euo pipefail -c '
  root=$1; shift
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  inside() { chroot --userspec=tester "$root" env -i HOME=/home/tester PATH=/usr/bin:/bin LANG=C.UTF-8 "$@"; }
  inside sh -c "cd && cosched --version && cosched run quickstart \"\$@\"" quickstart "$@"
  inside sh -c "cd && for run in results/quickstart/*/; do
      /usr/share/cosched/tests/check_results.py \"\$run\" && ls \"\$run\"plots/*.png; done"
' debian.sh "$root" "$@"
