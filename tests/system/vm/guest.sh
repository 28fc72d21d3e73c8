#!/bin/sh
# In the guest: two virtual cameras, one that speaks the single-planar API and one the other.
set -eu
uname -r
modprobe vivid n_devs=2 node_types=0x1,0x1 num_inputs=1,1 input_types=0x0,0x0 multiplanar=1,2
sleep 1
grep . /sys/class/video4linux/*/name

failed=0
check() {
    echo "== $EDGEFACED_TEST_CAMERA ${EDGEFACED_TEST_CAMERA_FORMAT:-any format}"
    python3 -m pytest -q -p no:cacheprovider --color=no --tb=short -s "$@" || failed=1
}
for camera in vivid-000 vivid-001; do
    for format in NV12 I420 YUYV RGB BGR; do
        EDGEFACED_TEST_CAMERA=v4l2:$camera EDGEFACED_TEST_CAMERA_FORMAT=$format \
            check tests/device/test_camera.py
    done
    EDGEFACED_TEST_CAMERA=v4l2:$camera check tests/device/test_vivid.py
done
exit $failed
