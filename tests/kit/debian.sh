#!/usr/bin/env bash
# Installs a package of cosched in a Debian 12 that has nothing else (mmdebstrap, minbase), and runs the quickstart there as a plain
# user, without the source tree: its records are checked by the checker that the package brings. By hand, as root: it needs a mirror of
# Debian, a gigabyte in /var/tmp, and minutes.
#
#   tests/kit/debian.sh [PACKAGE.deb [OPTION of `cosched run quickstart` …]]     default: the one in build/package
#   KEEP=DIR keeps the root file system there, and installs in it if it is there already.
#   ALSO=COMMAND runs that there afterwards, as the same user: ALSO='cosched reproduce all --quick'
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
package=${1:-$(compgen -G "$here/build/package/cosched_*.deb" | head -n 1 || true)}
[ -f "$package" ] || { echo "debian.sh: there is no package ${package:-in build/package}: make it, cd build && cpack -G DEB" >&2; exit 2; }
package=$(realpath "$package")
shift || true
[ "$(id -u)" -eq 0 ] || { echo "debian.sh: only root makes another system's files" >&2; exit 2; }
root=${KEEP:-$(mktemp -d /var/tmp/cosched-kit.XXXXXX)}
[ -n "${KEEP:-}" ] || trap 'rm -rf "$root"' EXIT

[ -e "$root/etc/debian_version" ] || mmdebstrap --quiet --variant=minbase bookworm "$root" >&2
cp --dereference /etc/resolv.conf "$root/etc/resolv.conf"
cp "$package" "$root/var/tmp/cosched.deb"
# What is mounted goes with the shell's own view of the file system.
unshare --mount --propagation private bash -euo pipefail -c '
  root=$1; shift
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  apt() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" >&2; }
  apt update
  apt install --no-install-recommends python3-matplotlib python3-pandas
  apt install --reinstall --no-install-recommends /var/tmp/cosched.deb
  chroot "$root" id tester > /dev/null 2>&1 || chroot "$root" /usr/sbin/useradd --create-home tester
  inside() { chroot --userspec=tester:tester "$root" env -i HOME=/home/tester PATH=/usr/bin:/bin LANG=C.UTF-8 sh -euc "$@"; }
  inside "cd; rm -rf results; cosched --version; cosched run quickstart \"\$@\"" quickstart "$@"
  inside "cd; for run in results/quickstart/*; do
            python3 /usr/share/cosched/tests/check_results.py \"\$run\"; ls \"\$run\"/plots/*.png; done"
  [ -z "${ALSO:-}" ] || inside "cd; $ALSO"
' debian.sh "$root" "$@"
