#!/usr/bin/env bash
# Runs the device side's tests in a Debian arm64 root (a chroot under qemu-user will do) with the real
# rknn-toolkit-lite2: lite_on_a_double.sh ROOT PYTHON TREE [PYTEST'S OPTIONS]
#
# First as a board without an NPU: back ends, models, networks, sensors, doctor, contracts. Then as an
# RK3588 whose librknnrt is a double. ROOT has gcc; PYTHON (inside it) has rknn-toolkit-lite2 and
# edgefaced[dev]; TREE (inside it) is a checkout. EDGEFACED_TEST_DATA names the evaluation data inside
# ROOT. What is mounted is mounted for these processes alone; the PC's /sys stays outside, since
# onnxruntime for aarch64 dies of an x86's. As root.
set -euo pipefail
root=$1 python=$2 tree=$3 options="${*:4}" # "-m 'not slow'" spares half an hour under emulation
if [ -z "${ON_STAGE:-}" ]; then
    exec env ON_STAGE=1 unshare --mount --propagation private "$0" "$@"
fi
stage=$(mktemp -d)
library=$root/usr/lib/librknnrt.so
[ ! -s "$library" ] || { echo "$library is there already: is this a board?" >&2; exit 1; }
leave() {
    umount "$library" || true
    rm -f "$library" "$root$tree/librknnrt.so"
    umount -l "$root/proc" "$root/dev" "$stage" || true
    rmdir "$stage" || true
} 2>/dev/null
trap leave EXIT
tests() {
    chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 PATH=/usr/bin:/bin \
        EDGEFACED_TEST_DATA="${EDGEFACED_TEST_DATA:-}" \
        sh -c "cd $tree && $python -m pytest -q -p no:cacheprovider -o timeout=0 $*"
}
failed=0
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"
tests "$options" tests/unit/inference tests/unit/models tests/unit/recognition tests/unit/sensors \
    tests/unit/cli/test_doctor.py tests/contract/test_backends.py tests/contract/models || failed=1
umount -l "$root/proc"

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
tests -s tests/device/test_rknnlite.py || failed=1
exit $failed
