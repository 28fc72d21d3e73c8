"""Whether this machine is fit for the daemon: every part looked at, each with what mends it."""
