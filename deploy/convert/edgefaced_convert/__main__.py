"""`python -m edgefaced_convert` begins here."""

from __future__ import annotations

from edgefaced_convert.cli import main

if __name__ == "__main__":
    main()
