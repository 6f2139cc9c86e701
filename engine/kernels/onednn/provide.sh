#!/usr/bin/env bash
# Provides oneDNN with the THREADPOOL runtime and prints the folder of its installation (the last line on stdout).
#
# Called by onednn.cmake, first for the headers when cosched is configured, then for the library while cosched is built, by every
# preset and every clone; a person may call it too. The library is built once per machine and kept under
# ${COSCHED_CACHE:-${XDG_CACHE_HOME:-~/.cache}/cosched}. Debian's own binary has the OpenMP runtime, whose teams cannot shrink
# while a primitive runs, so it cannot serve here.
#
#   provide.sh               find the library, or build it (an interrupted build resumes)
#   provide.sh --headers     the same, but stop when the headers are there
#   provide.sh --check       only say whether a sound build is in the cache (exit 0) or not (exit 1)
#   provide.sh --where       only print the folder
#   provide.sh --toolchain FILE [OPTION]   the same for another kind of machine, compiled as CMake's toolchain file says
#
# COSCHED_ONEDNN_SOURCE=DIR  takes an unpacked oneDNN source tree placed by hand instead of fetching one.
#
# What no kernel of ours calls is left out (lean.sh), and the rest is compiled with precompiled headers (lean.cmake). On machines
# other than x86-64 it is oneDNN's reference code alone, which generates none (DNNL_TARGET_ARCH=GENERIC).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

version=3.7.2
debian_source=onednn
debian_suite=trixie
release_url="https://github.com/uxlfoundation/oneDNN/archive/refs/tags/v${version}.tar.gz"
# sha256 over the sorted "sha256  path" lines of what is compiled; the same for Debian's source package, which leaves
# out only src/common/spdlog and the bundled gtest, and for the release archive.
tree_sha256=2ac023e493f22928d0a6d2f6778b0ae4bd6afb06bf8d9c8935f32a5433a68387
options=(
  -DCMAKE_BUILD_TYPE=Release
  # -O1: the hot code is generated at run time, and the build takes two thirds of the time of -O2.
  "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG"
  "-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG"
  -DCMAKE_POSITION_INDEPENDENT_CODE=ON
  -DCMAKE_INSTALL_LIBDIR=lib
  -DDNNL_CPU_RUNTIME=THREADPOOL
  -DDNNL_GPU_RUNTIME=NONE
  -DDNNL_LIBRARY_TYPE=STATIC
  -DDNNL_BUILD_TESTS=OFF
  -DDNNL_BUILD_EXAMPLES=OFF
  -DDNNL_BUILD_DOC=OFF
  -DONEDNN_BUILD_GRAPH=OFF
  -DDNNL_ENABLE_WORKLOAD=TRAINING
  -DDNNL_ENABLE_PRIMITIVE_CPU_ISA=AVX512
  # For what brgemm does not take: see lean.sh.
  -DONEDNN_ENABLE_GEMM_KERNELS_ISA=AVX2
  "-DDNNL_ENABLE_PRIMITIVE=BATCH_NORMALIZATION;BINARY;CONVOLUTION;ELTWISE;MATMUL;POOLING;REDUCTION;REORDER"
)

toolchain=
machine=$(uname -m)
if [ "${1:-}" = "--toolchain" ]; then
  toolchain=$(realpath "${2:?--toolchain needs a file}")
  machine=$(sed -n 's/^set(CMAKE_SYSTEM_PROCESSOR \(.*\))/\1/p' "$toolchain")
  shift 2
fi
if [ "$machine" = x86_64 ]; then
  injected=("-DCMAKE_PROJECT_TOP_LEVEL_INCLUDES=$here/lean.cmake")
else
  # -O2: it is the code that runs. DNNL_ARCH_GENERIC: the sources themselves ask the compiler, and would list what is not compiled.
  options+=(-DDNNL_TARGET_ARCH=GENERIC "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG -DDNNL_ARCH_GENERIC=1")
  injected=()
fi
[ -z "$toolchain" ] || injected+=("-DCMAKE_TOOLCHAIN_FILE=$toolchain")

say() { printf 'oneDNN: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

cache=${COSCHED_CACHE:-${XDG_CACHE_HOME:-${HOME:?oneDNN: HOME is not set; set COSCHED_CACHE to a folder}/.cache}/cosched}
# A change of options, version or checksum is another library: it gets a folder of its own.
key=$({ printf '%s\n' "$version" "$tree_sha256" "$machine" "${options[@]}"; cat "$here"/lean.{sh,cmake}; } |
  sha256sum | cut -c1-12)
home="$cache/onednn-$version-threadpool-$key"
prefix="$home/install"

sound() {
  [ -f "$prefix/MANIFEST.sha256" ] && (cd "$prefix" && sha256sum --status -c MANIFEST.sha256 2>/dev/null)
}

finish() { printf '%s\n' "$prefix"; exit 0; }

tree_checksum() {
  (cd "$1" && find CMakeLists.txt cmake include src -type f -not -path 'src/common/spdlog/*' -print0 | LC_ALL=C sort -z |
    xargs -0 sha256sum | sha256sum | cut -d' ' -f1)
}

# A private apt configuration, so that the machine's own lists and sources stay as they are.
fetch_debian() {
  command -v apt-get >/dev/null || return 1
  local own="$home/apt" mirror keyring
  mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null |
    grep -E '/debian/?$' | grep -v -i security | head -n 1) || true
  [ -n "$mirror" ] || { say "apt knows no mirror of Debian"; return 1; }
  for keyring in /usr/share/keyrings/debian-archive-keyring.gpg /usr/share/keyrings/debian-archive-keyring.pgp; do
    [ -f "$keyring" ] && break
  done
  [ -f "$keyring" ] || { say "no Debian archive keyring on this machine"; return 1; }
  rm -rf "$own"; mkdir -p "$own/parts" "$own/lists/partial" "$own/download"
  printf 'Types: deb-src\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' \
    "$mirror" "$debian_suite" "$keyring" >"$own/parts/onednn.sources"
  local apt=(apt-get -q -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$own/parts"
    -o "Dir::State::Lists=$own/lists" -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache=
    -o APT::Sandbox::User=root -o Debug::NoLocking=1)
  say "fetching the source package of Debian $debian_suite from $mirror"
  "${apt[@]}" update >"$own/log" 2>&1 || return 1
  (cd "$own/download" && "${apt[@]}" source --download-only "$debian_source=$version+*" >>"$own/log" 2>&1 ||
    "${apt[@]}" source --download-only "$debian_source" >>"$own/log" 2>&1) || return 1
  unpack "$own"/download/onednn_*.orig.tar.*
}

fetch_release() {
  local archive="$home/release.tar.gz"
  say "fetching the release archive $release_url"
  if command -v curl >/dev/null; then curl -fsSL --connect-timeout 15 -o "$archive" "$release_url" || return 1
  elif command -v wget >/dev/null; then wget -q -T 15 -t 1 -O "$archive" "$release_url" || return 1
  else say "neither curl nor wget is installed"; return 1; fi
  unpack "$archive"
}

unpack() {
  [ -f "$1" ] || return 1
  rm -rf "$home/unpacking"; mkdir -p "$home/unpacking"
  tar -C "$home/unpacking" --strip-components=1 -xf "$1" || return 1
  take "$home/unpacking"
}

# The folder `source` is whole: it gets its name when all that is not needed has left it.
take() {
  accept "$1" && bash "$here/lean.sh" "$1" && rm -rf "$home/source" && mv "$1" "$home/source"
}

accept() {
  [ -f "$1/CMakeLists.txt" ] || { say "$1 holds no oneDNN source tree"; return 1; }
  local found
  found=$(sed -n 's/^set(PROJECT_VERSION "\(.*\)")/\1/p' "$1/CMakeLists.txt")
  [ "$found" = "$version" ] || { say "$1 is version ${found:-unknown}; $version is needed"; return 1; }
  found=$(tree_checksum "$1")
  [ "$found" = "$tree_sha256" ] || { say "$1 has checksum $found; $tree_sha256 is expected"; return 1; }
}

obtain_source() {
  [ -d "$home/source" ] && return
  if [ -n "${COSCHED_ONEDNN_SOURCE:-}" ]; then
    rm -rf "$home/unpacking"; cp -r "$COSCHED_ONEDNN_SOURCE" "$home/unpacking"
    take "$home/unpacking" || die "COSCHED_ONEDNN_SOURCE is refused (see above)"
    return
  fi
  fetch_debian || { say "the source package could not be had$([ -f "$home/apt/log" ] && tail -n 2 "$home/apt/log" | sed 's/^/; apt: /' | tr -d '\n')"; fetch_release; } ||
    die "no source. Place the tree of oneDNN $version by hand (unpack the release archive $release_url) and call with
  COSCHED_ONEDNN_SOURCE=DIR $0
or give a build of your own with the THREADPOOL runtime to CMake: -DDNNL_DIR=PREFIX/lib/cmake/dnnl"
}

configure() {
  cmake -S "$home/source" -B "$home/build" -G Ninja "${options[@]}" -DCMAKE_INSTALL_PREFIX="$prefix" \
    "${injected[@]}" \
    >"$home/configure.log" 2>&1 || { tail -n 20 "$home/configure.log" >&2; die "configuring failed ($home/configure.log)"; }
}

# With the times that installing gives them: what was compiled with them stays.
place_headers() {
  mkdir -p "$prefix"
  cp -rp "$home/source/include" "$home/build/include" "$prefix/"
}

build() {
  local jobs memory
  jobs=$(nproc)
  # The largest object takes 1.5 GB of memory.
  memory=$(awk '/MemAvailable/ {print int($2 / 1600000)}' /proc/meminfo)
  [ "$memory" -ge 1 ] || memory=1
  [ "$jobs" -le "$memory" ] || jobs=$memory
  say "building $version in $home (once per machine; it resumes if interrupted)"
  # A terminal gets ninja's own line; a log gets a line every 20 objects.
  if [ -t 2 ]; then
    NINJA_STATUS='oneDNN [%f/%t, %es] ' ninja -C "$home/build" -j "$jobs" >&2 || die "the build failed; call again to resume"
  else
    NINJA_STATUS='oneDNN: [%f/%t] %es ' ninja -C "$home/build" -j "$jobs" 2>&1 | tee "$home/build.log" |
      awk '/^oneDNN: \[/ { if (n++ % 20 == 0) { print $1, $2, $3; fflush() }; next }
           /error|FAILED|Killed/ { print; fflush() }' >&2 ||
      die "the build failed ($home/build.log); call again to resume"
  fi
}

install() {
  cmake --install "$home/build" >"$home/install.log" 2>&1 || die "installing failed ($home/install.log)"
  # The manifest comes last and by rename: a folder without it is no library.
  (cd "$prefix" && find . -type f -not -path './share/*' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum >../MANIFEST.partial)
  mv "$home/MANIFEST.partial" "$prefix/MANIFEST.sha256"
}

[ "${1:-}" = "--where" ] && finish
if sound; then finish; fi
[ "${1:-}" = "--check" ] && exit 1
mkdir -p "$home" || die "the cache folder $home can't be made; set COSCHED_CACHE"
exec 9>"$home/lock"
flock -n 9 || { say "another build is running; waiting for it"; flock 9; }
if sound; then finish; fi
[ -e "$prefix/lib" ] && { say "the library in the cache is damaged: building it anew"; rm -rf "$prefix"; }
for tool in cmake ninja; do
  command -v "$tool" >/dev/null || die "$tool is missing; install the packages of experiments/setup/packages.txt"
done
obtain_source
configure
place_headers
[ "${1:-}" = "--headers" ] && finish
build
install
sound || die "the library that was just built does not match its manifest"
# The source and the objects (1 GB) are not needed any more.
rm -rf "$home/build" "$home/source" "$home/apt" "$home/release.tar.gz"
say "ready in $prefix"
finish
