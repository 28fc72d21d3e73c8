"""Lines of general-purpose input and output: relays, buttons, door contacts, motion sensors."""
