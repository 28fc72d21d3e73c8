"""edgefaced: on-device, real-time face recognition."""

import os

__version__ = "0.1.0"

# Nothing leaves the machine. From 1.29 on, onnxruntime's official Linux builds report to their
# maker unless this is set before the library is loaded, and this file comes before any import of
# it. Set, not only defaulted: a promise does not depend on the environment.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
