#!/usr/bin/env bash
# Prints two lines: the folder of an aarch64 root, which toolchain.cmake compiles and links against and where programs find their
# libraries under qemu-user; and what exec.c becomes, which they preload. From any folder.
#
# The root is the headers and libraries of Debian's arm64 packages. Nothing is installed on this machine, and nobody need be root: the
# packages are fetched by apt with a configuration of its own and unpacked; no script of theirs runs. Made once for each list of
# packages and release of Debian, in half a minute, and kept in $COSCHED_CACHE or ~/.cache/cosched.
set -euo pipefail
# Of experiments/setup/packages.txt what cosched is built with, be it optional there; but no Open MPI: its mpirun is this machine's.
packages=(libc6-dev libstdc++-12-dev libeigen3-dev libhwloc-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libfmt-dev
          libonnx-dev libprotobuf-dev zlib1g-dev libbz2-dev liblzma-dev libgtest-dev libgmock-dev libbenchmark-dev libtbb-dev
          libzip-dev libncurses-dev libminimap2-dev libhts-dev libjpeg62-turbo-dev libpng-dev)

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
die() { echo "aarch64: $*" >&2; exit 1; }

fetch_packages() {
  local mirror apt
  mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -E '/debian/?$' | grep -v -i security | head -n 1) ||
    die "apt knows no mirror of Debian"
  echo "deb [arch=arm64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" > "$own/sources.list"
  apt=(apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::Etc::SourceList=$own/sources.list"
       -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$own/lists" -o "Dir::Cache=$own/cache"
       -o Dir::State::status=/dev/null -o APT::Sandbox::User=root -o Debug::NoLocking=1)
  { "${apt[@]}" update && "${apt[@]}" -y --no-install-recommends --download-only install "${packages[@]}"; } > "$own/log" 2>&1 ||
    { tail -n 5 "$own/log" >&2; die "the arm64 packages can't be fetched from $mirror ($own/log)"; }
}

unpack_packages() {
  local package link
  ln -s usr/lib "$root/lib"
  for package in "$own"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$root" --keep-directory-symlink --no-same-owner || die "$package can't be unpacked"
  done
  # Only what is looked up there: qemu-user takes each path of this folder in place of the machine's, be it /tmp or /etc.
  find "$root" -mindepth 1 -maxdepth 1 ! -name lib ! -name usr -exec rm -rf {} +
  find "$root/usr" -mindepth 1 -maxdepth 1 ! -name lib ! -name include ! -name share -exec rm -rf {} +
  find "$root/usr/share" -mindepth 1 -maxdepth 1 ! -name cmake ! -name pkgconfig ! -name eigen3 -exec rm -rf {} +
  # Links to /lib/… would be followed to the machine's own.
  find "$root" -type l -lname '/*' | while read -r link; do ln -sfr "$root$(readlink "$link")" "$link"; done
}

release=$(. /etc/os-release && [ "$ID" = debian ] && echo "$VERSION_CODENAME") || die "the root is made of Debian's packages, on Debian"
emulator=$(command -v qemu-aarch64) || die "qemu-aarch64 is missing: install qemu-user"
command -v aarch64-linux-gnu-gcc > /dev/null || die "aarch64-linux-gnu-gcc is missing: install g++-aarch64-linux-gnu"
folder=${COSCHED_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cosched}/aarch64-$(echo "$release ${packages[*]}" | sha256sum | cut -c 1-12)
root=$folder/root
own=$folder/apt
preloaded=$folder/exec-$( (echo "$emulator"; cat "$here/exec.c") | sha256sum | cut -c 1-12).so

mkdir -p "$folder"
exec 9> "$folder/lock"
flock 9
if [ ! -e "$folder/done" ]; then
  echo "Making the aarch64 root ($release, ${#packages[@]} packages and what they depend on), once: $root" >&2
  rm -rf "$own" "$root"
  mkdir -p "$own/lists/partial" "$own/cache/archives/partial" "$root/usr/lib"
  fetch_packages
  unpack_packages
  rm -rf "$own"
  touch "$folder/done"
fi
if [ ! -e "$preloaded" ]; then
  aarch64-linux-gnu-gcc -std=c11 -Wall -Wextra -O1 -shared -fPIC "--sysroot=$root" "-DEMULATOR=\"$emulator\"" "-DROOT=\"$root\"" \
    "-DPRELOADED=\"$preloaded\"" -o "$preloaded.new" "$here/exec.c" || die "exec.c can't be compiled"
  mv "$preloaded.new" "$preloaded"
fi
echo "$root"
echo "$preloaded"
