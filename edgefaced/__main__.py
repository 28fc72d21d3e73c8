"""The command line's doorstep: `edgefaced` and `python -m edgefaced` begin here."""

from __future__ import annotations

import sys


def main() -> None:
    """Opens the front door; a Ctrl-C while it is being loaded is a Ctrl-C as any other."""
    try:
        from edgefaced.cli.main import main as front_door
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        sys.exit(130)
    front_door()


if __name__ == "__main__":
    main()
