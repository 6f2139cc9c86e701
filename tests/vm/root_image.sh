#!/usr/bin/env bash
# Prints the folder of the virtual machine's root: root.ext4, vmlinuz and initrd. Made once for each recipe (this file, the Debian
# release of this machine and the packages), in minutes, and kept in $COSCHED_CACHE or ~/.cache/cosched. As root, since it makes
# another system's files.
#
#   tests/vm/root_image.sh PROGRAM…     whose libraries are to be there
set -euo pipefail
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
packages=(systemd systemd-sysv udev dbus dbus-user-session libpam-systemd kmod util-linux login passwd procps
          linux-image-cloud-amd64 initramfs-tools zstd python3-minimal libpython3-stdlib hwloc-nox libcap2-bin
          podman runc crun conmon uidmap slirp4netns fuse-overlayfs)
# Which of the programs' libraries comes from which package: /lib is a link to /usr/lib, which packages may not know.
mapfile -t libraries < <(ldd "$@" 2> /dev/null | grep -o '=> /[^ ]*' | cut -c 4- | sort -u)
mapfile -t owners < <(for library in "${libraries[@]}"; do
                        dpkg-query -S "$library" 2> /dev/null || dpkg-query -S "/usr$library" "${library#/usr}" 2> /dev/null || true
                      done | sed 's/: .*//; s/:.*//' | sort -u)
packages+=("${owners[@]}")
key=$( (cat "${BASH_SOURCE[0]}"; echo "$release" "${packages[@]}") | sha256sum | cut -c 1-12)
folder=${COSCHED_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cosched}/vm-$key
if [ -e "$folder/done" ]; then echo "$folder"; exit; fi

rm -rf "$folder"
mkdir -p "$folder"
work=$(mktemp -d /var/tmp/cosched-vm.XXXXXX)
trap 'rm -rf "$work"' EXIT
cat > "$work/early.sh" << 'EARLY'
#!/bin/sh
# Before the kernel is installed: only the drivers of this machine go to its initrd.
set -e
mkdir -p "$1/etc/initramfs-tools/conf.d"
printf 'MODULES=list\nCOMPRESS=gzip\n' > "$1/etc/initramfs-tools/conf.d/cosched"
printf 'virtio_pci\nvirtio_blk\next4\n' > "$1/etc/initramfs-tools/modules"
EARLY
cat > "$work/late.sh" << 'LATE'
#!/bin/sh
set -e
root=$1
chroot "$root" useradd --create-home --shell /bin/bash tester
echo 127.0.0.1 localhost vm > "$root/etc/hosts"; echo vm > "$root/etc/hostname"
echo '/dev/vda / ext4 defaults 0 0' > "$root/etc/fstab"
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer man-db.timer \
            e2scrub_reap.service getty@tty1.service serial-getty@ttyS0.service systemd-timesyncd.service; do
  ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
cat > "$root/usr/local/sbin/cosched-tests" << 'TESTS'
#!/bin/sh
# The tree with the built programs is where it was when they were built; what comes out goes to the third disk.
tree=$(sed -n 's/.*cosched.tree=\([^ ]*\).*/\1/p' /proc/cmdline)
mkdir -p "$tree" && mount /dev/vdb "$tree"
/usr/bin/python3 "$tree/tests/vm/guest.py" "$tree" > /dev/ttyS0 2>&1
sync
systemctl poweroff --force --force
TESTS
chmod +x "$root/usr/local/sbin/cosched-tests"
cat > "$root/etc/systemd/system/cosched-tests.service" << 'UNIT'
[Unit]
After=systemd-user-sessions.service systemd-logind.service dbus.service
[Service]
Type=oneshot
TimeoutStartSec=infinity
ExecStart=/usr/local/sbin/cosched-tests
[Install]
WantedBy=multi-user.target
UNIT
ln -s /etc/systemd/system/cosched-tests.service "$root/etc/systemd/system/multi-user.target.wants/cosched-tests.service"
LATE
chmod +x "$work/early.sh" "$work/late.sh"
echo "Making the virtual machine's root ($release, ${#packages[@]} packages), once: $folder" >&2
mmdebstrap --quiet --variant=minbase --include="$(IFS=,; echo "${packages[*]}")" --essential-hook="$work/early.sh" \
  --customize-hook="$work/late.sh" "$release" "$work/root" >&2
cp "$work/root"/boot/vmlinuz-* "$folder/vmlinuz"
cp "$work/root"/boot/initrd.img-* "$folder/initrd"
mke2fs -q -t ext4 -d "$work/root" "$folder/root.ext4" 3G >&2
touch "$folder/done"
echo "$folder"
