"""The configuration: strict, frozen, every unit in its key's name; and where things are kept."""
