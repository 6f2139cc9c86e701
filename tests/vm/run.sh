#!/usr/bin/env bash
# Tests in a virtual machine with a kernel of Debian's, cgroup version 2 and systemd, 8 CPUs in 2 sockets x 2 cores x 2 threads and 2
# nodes of memory, as root and as other users: what no machine of 2 cores, root and cgroup version 1 shows. Emulated, so what runs
# there is told by its outcome only. From any folder; as root, since the machine's root file system is made here (once, in
# minutes; root_image.sh). Exit code 77 with the reason where it can't run.
#
#   tests/vm/run.sh [--quick] [--roles ROLE,…] [--suites SUITE,…] [--filter TESTS] [--minutes M] [--keep FOLDER] [--build FOLDER]
#
# Roles: root (after a login), root-delegated (systemd-run --scope -p Delegate=yes), user (after a login), delegated (systemd-run
# --user --scope -p Delegate=yes), podman (a rootless container). Suites: suites.toml. --keep: the logs go there.
# --build: a build folder of this tree in place of build, and what is in it is not built first.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../experiments/setup/setup.sh"
skip() { echo "Skipped"; echo "skipped: $*"; exit 77; }

build_folder=
arguments=()
while [ $# -gt 0 ]; do
  case "$1" in
    --build) build_folder=$(realpath "${2:?--build needs a folder}"); shift 2 ;;
    --quick) arguments+=("$1"); shift ;;
    --roles | --suites | --filter | --minutes | --keep) arguments+=("$1" "${2:?"$1 needs a value"}"); shift 2 ;;
    *) echo "$0: unknown option $1" >&2; exit 2 ;;
  esac
done

[ "$(uname -m)" = x86_64 ] || skip "the virtual machine is an x86-64 one, this machine is not"
[ "$(id -u)" -eq 0 ] || skip "only root can make the virtual machine's root file system"
[ "$(. /etc/os-release && echo "$ID")" = debian ] || skip "the programs need this system's libraries, and the machine's are Debian's"
(install_packages vm) || skip "packages of experiments/setup/packages.txt for \"vm\" can't be installed"
machine=(/usr/bin/python3 "$root/tests/vm/machine.py" --tree "$root" "${arguments[@]}")
programs=$("${machine[@]}" --build . --image . --programs)
if [ -z "$build_folder" ]; then
  build_folder=$root/build
  # shellcheck disable=SC2086 # Several targets.
  build release $programs
fi
image=$(cd "$build_folder" && bash "$root/tests/vm/root_image.sh" $programs) || skip "the machine's root file system can't be made"
exec "${machine[@]}" --build "$build_folder" --image "$image"
