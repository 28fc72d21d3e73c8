"""Cameras of Linux: a thin layer of our own over the kernel's V4L2 calls, without a library."""
