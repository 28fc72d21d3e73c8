#!/usr/bin/python3
"""In the test machine: runs what the host asks for over a serial port, a JSON line a request.

Requests have an id and run side by side; an answer may come after that of a later request.
"""

import base64
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

PORT = Path("/dev/virtio-ports/agent")


def run(request: dict[str, Any]) -> dict[str, Any]:
    """What a shell command wrote and ended with; 124 where it took too long."""
    try:
        done = subprocess.run(
            ["/bin/bash", "-c", request["command"]],
            input=base64.b64decode(request["input"]),
            capture_output=True,
            timeout=request["timeout_s"],
        )
        code, out, err = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        code, out, err = 124, late.stdout or b"", late.stderr or b""
    return {
        "id": request["id"],
        "code": code,
        "out": base64.b64encode(out).decode(),
        "err": base64.b64encode(err).decode(),
    }


def main() -> None:
    """Answers until the machine goes down."""
    sending = threading.Lock()
    with PORT.open("r+b", buffering=0) as port:

        def answer(value: dict[str, Any]) -> None:
            left = memoryview(json.dumps(value).encode() + b"\n")
            with sending:
                while left:
                    left = left[port.write(left) :]

        def serve(request: dict[str, Any]) -> None:
            answer(run(request))

        answer({"id": 0, "code": 0, "out": "", "err": ""})
        pending = b""
        while piece := port.read(65536):
            *lines, pending = (pending + piece).split(b"\n")
            for line in lines:
                threading.Thread(target=serve, args=(json.loads(line),), daemon=True).start()
    sys.exit("the host hung up")


if __name__ == "__main__":
    main()
