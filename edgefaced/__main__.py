"""`python -m edgefaced`: the command line."""

from edgefaced.cli.main import main

if __name__ == "__main__":
    main()
