"""The ledger: every event, durably, in order, in a chain that shows what was changed."""
