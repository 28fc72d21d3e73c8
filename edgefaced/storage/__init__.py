"""SQLite files and keys that are durable, private, and honest about errors."""
