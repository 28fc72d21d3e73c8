"""edgefaced: on-device, real-time face recognition."""

__version__ = "0.1.0"
