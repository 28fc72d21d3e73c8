#!/bin/bash
# Runs tests/device on a real V4L2 node: Debian in QEMU with the kernel's virtual cameras (vivid).
#
#   sudo tests/system/vm/run.sh [FOLDER]
#
# What is tested is the last commit. FOLDER (default: vm-camera under TMPDIR) keeps the image, so
# that a second run only boots. Needs root, mmdebstrap, qemu-system-x86, e2fsprogs and pip; no KVM.
# Prints what the guest said and ends with its status.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
checkout=$(cd "$here/../../.." && pwd)
folder=${1:-${TMPDIR:-/tmp}/vm-camera}
suite=bookworm      # its Python is 3.11
mkdir -p "$folder"

if [ ! -e "$folder/root.ext4" ]; then
    root=$folder/root
    rm -rf "$root"
    mmdebstrap --quiet --mode=root --variant=minbase \
        --include=linux-image-amd64,initramfs-tools,kmod,python3,v4l-utils \
        --aptopt='APT::Install-Recommends "false"' \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
        --essential-hook='mkdir -p "$1/etc/initramfs-tools/conf.d"
            echo MODULES=list > "$1/etc/initramfs-tools/conf.d/list"
            printf "virtio_pci\nvirtio_blk\next4\n" > "$1/etc/initramfs-tools/modules"' \
        "$suite" "$root"
    python3 -m pip install --quiet --target "$root/opt/site" --python-version 3.11 --only-binary :all: \
        numpy opencv-python-headless pydantic pillow pytest pytest-timeout hypothesis
    install -m 755 "$here/init.sh" "$root/opt/init"
    cp "$root"/boot/vmlinuz-* "$folder/vmlinuz"
    cp "$root"/boot/initrd.img-* "$folder/initrd.img"
    mke2fs -q -t ext4 -d "$root" "$folder/root.part" 2500M
    mv "$folder/root.part" "$folder/root.ext4"
    rm -rf "$root"
fi

code=$folder/code
rm -rf "$code" "$folder/code.ext4" "$folder/result.log"
mkdir "$code"
git -C "$checkout" archive HEAD edgefaced tests pyproject.toml | tar -C "$code" -xf -
mke2fs -q -t ext4 -d "$code" "$folder/code.ext4" 64M

timeout 900 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 1024 \
    -nodefaults -no-reboot -display none \
    -kernel "$folder/vmlinuz" -initrd "$folder/initrd.img" \
    -append "root=/dev/vda ro console=ttyS0 panic=-1 quiet init=/opt/init" \
    -drive "file=$folder/root.ext4,if=virtio,format=raw,snapshot=on" \
    -drive "file=$folder/code.ext4,if=virtio,format=raw,snapshot=on" \
    -serial "file:$folder/console.log" -serial "file:$folder/result.log" || true

cat "$folder/result.log"
tail -n 1 "$folder/result.log" | tr -d '\r' | grep -qx 'status 0'
