"""Bringing pinned files to this machine: from a package index, a folder of packages or a URL."""
