"""Setting the daemon up as a system service, and taking it away: steps that are values."""
