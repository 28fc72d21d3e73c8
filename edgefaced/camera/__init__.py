"""Cameras behind one seam that lends frames: V4L2, picamera2, and replayed files."""
