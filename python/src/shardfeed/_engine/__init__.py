"""The engine as seen from a trainer: its process, a connection to it, and the memory that both share."""
