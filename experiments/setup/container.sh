#!/usr/bin/env bash
# Makes the image localhost/cosched of podman's: Debian 12 with cosched's package, and what draws plots. The base comes from a mirror of
# Debian's by mmdebstrap, once, so no registry is asked. It needs podman and mmdebstrap, and a built tree.
#
#   experiments/setup/container.sh [FOLDER]     of the package; default: build/package, where it is made if it is not there
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
package=${1:-$root/build/package}
base=localhost/cosched-debian:12

say() { printf '%s\n' "$*" >&2; }
for tool in podman mmdebstrap; do
  command -v "$tool" >/dev/null || { say "container.sh: no $tool: apt-get install --no-install-recommends podman runc conmon mmdebstrap"; exit 2; }
done
if ! compgen -G "$package/cosched_*.deb" >/dev/null; then
  [ $# -eq 0 ] || { say "container.sh: no cosched_*.deb in $package"; exit 2; }
  say "Making the package in $package"
  (cd "$root/build" && cpack >"$root/build/cpack.log" 2>&1) || { tail -n 20 "$root/build/cpack.log" >&2; exit 1; }
fi
if ! podman image exists "$base"; then
  say "Making the base image $base from Debian's packages, once"
  tar=$(mktemp --suffix=.tar /var/tmp/cosched-debian.XXXXXX)
  trap 'rm -f "$tar"' EXIT
  mmdebstrap --quiet --variant=minbase bookworm "$tar" >&2
  podman import --quiet "$tar" "$base" >/dev/null
fi
# Steps of the build run without a container of their own, so it also works where containers' limits or cgroups don't.
podman build --quiet --isolation=chroot --network=host --build-arg "BASE=$base" --tag localhost/cosched \
  --file "$root/experiments/setup/Containerfile" "$package" >/dev/null
cat <<'TOLD'
localhost/cosched is made. Its quickstart, with results/ in this folder:
  podman run --rm -v "$PWD:/work" localhost/cosched
Anything else, such as an experiment file of yours:
  podman run --rm -v "$PWD:/work" localhost/cosched run mine.toml
Where podman's own runtime or limits are refused: podman --runtime runc run --ulimit nofile=4096:4096 --ulimit nproc=4096:4096 …
TOLD
