#!/usr/bin/env bash
# Tests in a machine that has cgroup version 2, on one that has not: QEMU boots a kernel of Debian's with nothing but the built tests.
# What they do is told by its outcome only: an emulated core is some ten times slower, so times of it mean nothing. Needs root (it installs
# qemu-system-x86, busybox-static and cpio, and downloads a kernel package, which is not installed); builds the preset portable, since
# the emulated CPU is not this one. From any folder.
#
#   tests/cgroup2/emulated.sh [--filter TESTS] [--cores N] [--minutes M] [PROGRAM]     e.g.  --filter 'RealCgroup.*' test_experiments
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../experiments/setup/setup.sh"
filter='RealCgroup.*:ActuatorTest.*:CpuLimitWatchTest.*'
cores=2
minutes=20
program=test_experiments
while [ $# -gt 0 ]; do
  case "$1" in
    --filter) filter=${2:?--filter needs the names of tests}; shift 2 ;;
    --cores) cores=${2:?--cores needs a number}; shift 2 ;;
    --minutes) minutes=${2:?--minutes needs a number}; shift 2 ;;
    -*) echo "$0: unknown option $1; there are --filter, --cores, --minutes" >&2; exit 2 ;;
    *) program=$1; shift ;;
  esac
done
install_packages run test
build portable "$program" cosched
dpkg -s qemu-system-x86 busybox-static cpio > /dev/null 2>&1 ||
  apt-get install -y --no-install-recommends qemu-system-x86 busybox-static cpio > /dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work"

# The newest of Debian's kernels for virtual machines.
kernel=$(apt-cache search --names-only '^linux-image-[0-9.]+.*-cloud-amd64$' | cut -d ' ' -f 1 | sort -V | tail -1)
[ -n "$kernel" ] || { echo "$0: apt knows no linux-image-…-cloud-amd64" >&2; exit 1; }
apt-get download "$kernel" 2> /dev/null
dpkg -x linux-image-*.deb kernel

# What the guest has: busybox, the programs under the paths that they were built for, and their libraries.
mkdir -p guest/{bin,proc,sys,dev,tmp,etc,root,run} "guest$root/build-portable" guest/usr/bin guest/lib guest/lib64
cp /bin/busybox guest/bin/
ln -s /bin/busybox guest/bin/sh
cp "$root/build-portable/$program" "$root/build-portable/cosched" "guest$root/build-portable/"
strip "guest$root/build-portable/"*
for file in $(ldd "$root/build-portable/$program" "$root/build-portable/cosched" | grep -o '/[^ ]*\.so[^ ]*' | sort -u); do
  mkdir -p "guest$(dirname "$file")"
  cp -L "$file" "guest$file"
done
echo 'root:x:0:0:root:/root:/bin/sh' > guest/etc/passwd
cat > guest/init << INIT
#!/bin/sh
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin HOME=/root
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp; mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm; ln -s /proc/self/fd /dev/fd; mount -t cgroup2 cgroup2 /sys/fs/cgroup
# As systemd leaves it: children of the root have the controllers, and this process is in one.
echo '+cpu +cpuset +memory +pids' > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/init; echo 1 > /sys/fs/cgroup/init/cgroup.procs
ip link set lo up
cd $root/build-portable
./$program --gtest_filter='$filter'
ended=\$?; [ \$ended -lt 128 ] || dmesg | tail -5
echo "GUEST ENDED \$ended"
poweroff -f
INIT
chmod +x guest/init
(cd guest && find . | cpio -o -H newc 2> /dev/null | gzip -1) > initramfs

echo "$kernel, $cores emulated cores: $program --gtest_filter='$filter'"
timeout "${minutes}m" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp "$cores" -m 3072 -kernel kernel/boot/vmlinuz-* \
  -initrd initramfs -append "console=ttyS0 quiet panic=-1 cgroup_no_v1=all psi=1" -nographic -no-reboot < /dev/null |
  tr -d '\r' | tee console || true
grep -q '^GUEST ENDED' console || { echo "the guest did not end within $minutes minutes" >&2; exit 1; }
grep -q '^GUEST ENDED 0' console
