"""Assembles the Debian package from wheels: no compiler, no root, no emulation."""
