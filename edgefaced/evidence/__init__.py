"""Pictures of events: encrypted, few, not for long, and gone with the person."""
