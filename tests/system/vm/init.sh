#!/bin/sh
# The guest's first and only process: mounts what a camera needs, runs guest.sh, powers off.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONPATH=/opt/site PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
mount -t tmpfs tmp /tmp
mount -o ro /dev/vdb /mnt
cd /mnt || exit 1
sh tests/system/vm/guest.sh >/dev/ttyS1 2>&1
echo "status $?" >/dev/ttyS1
echo o >/proc/sysrq-trigger
sleep 60
