#!/bin/bash
# Makes the disk that every test machine starts from: Debian 13, whose own kernel (6.12) has vivid,
# udmabuf and the dma-heap, so that nothing comes from backports.
#
#   image.sh FOLDER      leaves vmlinuz, initrd.img, root.tar and root.ext4 there
#
# Needs root, mmdebstrap and e2fsprogs; nothing is mounted by hand and no virtualisation is needed.
# Ends with 77 where Debian cannot be had now; anything else but 0 is a fault of what is made here.
set -euo pipefail
cannot() { echo "image.sh: $*" >&2; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
suite=trixie
lean=(--quiet --mode=root --variant=minbase
    --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"'
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*'
    --dpkgopt='path-exclude=/usr/share/locale/*')
system=systemd,systemd-sysv,dbus,udev,kmod,linux-image-amd64,initramfs-tools,procps,zstd
product=python3,python3-venv,libgomp1
scenery=mosquitto,mosquitto-clients,v4l-utils,gpiod,openssl,sqlite3
picamera2=python3-libcamera,libcamera-ipa,python3-prctl

# The modules: in a root of its own that is thrown away, with the compiler of the kernel.
modules=$folder/modules
rm -rf "$modules" "$folder/root"
mkdir -p "$modules"
mmdebstrap "${lean[@]}" --format=null \
    --include=linux-headers-amd64,linux-source-6.12,gcc,libc6-dev,make,xz-utils \
    --customize-hook="copy-in '$here/modules' /opt" \
    --customize-hook="chroot \"\$1\" /opt/modules/build || { touch '$modules/broken'; exit 1; }" \
    --customize-hook="copy-out /opt/modules/out '$modules'" \
    "$suite" /dev/null &
building=$!

mmdebstrap "${lean[@]}" --include="$system,$product,$scenery,$picamera2" \
    --essential-hook='mkdir -p "$1/etc/initramfs-tools/conf.d"
        printf "MODULES=list\nCOMPRESS=zstd\n" > "$1/etc/initramfs-tools/conf.d/list"
        printf "virtio_pci\nvirtio_blk\next4\n" > "$1/etc/initramfs-tools/modules"' \
    --customize-hook='chroot "$1" systemctl --quiet disable mosquitto' \
    --customize-hook='chroot "$1" systemctl --quiet mask apt-daily.timer apt-daily-upgrade.timer \
        dpkg-db-backup.timer e2scrub_all.timer fstrim.timer serial-getty@ttyS0.service getty@tty1.service' \
    --customize-hook='mkdir -p "$1/var/log/journal" "$1/cargo" "$1/etc/systemd/system/service.d"
        echo door > "$1/etc/hostname"
        # Not a first boot, at which systemd would enable every service that there is.
        echo 0000000000000000000000000000d008 > "$1/etc/machine-id"
        # An emulated processor, perhaps one of several on a busy machine.
        printf "[Service]\nTimeoutStartSec=15min\n" > "$1/etc/systemd/system/service.d/emulated.conf"
        printf "fakegpio\nfakethermal\n" > "$1/etc/modules-load.d/board.conf"
        printf "/dev/vda / ext4 rw 0 1\ncargo /cargo 9p ro,trans=virtio,version=9p2000.L,msize=262144 0 0\n" > "$1/etc/fstab"' \
    "$suite" "$folder/root" || cannot "no Debian: mmdebstrap ended with $?"
wait "$building" || {
    [ -e "$modules/broken" ] && exit 1
    cannot "no compiler for the kernel: mmdebstrap ended with $?"
}

root=$folder/root
kernel=$(ls "$root/lib/modules")
# A security update of the kernel may come out between the two.
[ -d "$modules/out/$kernel" ] || cannot "modules for $(ls "$modules/out"), kernel $kernel: run it again"
mkdir "$root/lib/modules/$kernel/updates"
cp "$modules/out/$kernel/"*.ko "$root/lib/modules/$kernel/updates/"
chroot "$root" depmod "$kernel"
install -m 755 "$here/guest/agent.py" "$root/usr/local/sbin/agent"
install -m 644 "$here/guest/agent.service" "$root/etc/systemd/system/"
ln -s /etc/systemd/system/agent.service "$root/etc/systemd/system/multi-user.target.wants/"

cp "$root"/boot/vmlinuz-* "$folder/vmlinuz"
cp "$root"/boot/initrd.img-* "$folder/initrd.img"
tar -C "$root" --numeric-owner -cf "$folder/root.tar" .
mke2fs -q -t ext4 -L root -d "$root" "$folder/root.part" 4G
mv "$folder/root.part" "$folder/root.ext4"
rm -rf "$root" "$modules"
