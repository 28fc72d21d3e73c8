#!/usr/bin/env bash
# Runs the device side's tests in a Debian arm64 root (a chroot under qemu-user will do) with the real
# rknn-toolkit-lite2 and a librknnrt without an NPU: lite_on_a_double.sh ROOT PYTHON TREE
#
# ROOT has gcc; PYTHON (inside it) has rknn-toolkit-lite2, pytest and what edgefaced needs; TREE (inside
# it) is a checkout. The device tree and the library are mounted for these processes alone. As root.
set -euo pipefail
root=$1 python=$2 tree=$3
if [ -z "${ON_STAGE:-}" ]; then
    exec env ON_STAGE=1 unshare --mount --propagation private "$0" "$@"
fi
stage=$(mktemp -d)
library=$root/usr/lib/librknnrt.so
[ ! -s "$library" ] || { echo "$library is there already: is this a board?" >&2; exit 1; }
leave() {
    umount "$library" || true
    rm -f "$library" "$root$tree/librknnrt.so"
    umount -l "$root/proc" "$stage" || true
    rmdir "$stage" || true
} 2>/dev/null
trap leave EXIT
mount -t tmpfs stage "$stage"
mkdir "$stage/kernel" "$stage/device-tree"
printf 'radxa,rock-5b\0rockchip,rk3588\0' > "$stage/device-tree/compatible"
mount --rbind /proc "$stage/kernel"
for name in self thread-self cpuinfo meminfo mounts stat version filesystems sys; do
    ln -s "kernel/$name" "$stage/$name"
done
mount --rbind "$stage" "$root/proc"
chroot "$root" gcc -O1 -shared -fPIC -o "$tree/librknnrt.so" "$tree/tests/support/librknnrt_double.c"
touch "$library"
mount --bind "$root$tree/librknnrt.so" "$library"
chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 PATH=/usr/bin:/bin \
    sh -c "cd $tree && $python -m pytest -q -s -p no:cacheprovider -o timeout=0 tests/device/test_rknnlite.py"
