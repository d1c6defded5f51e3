"""The version, where nothing else need be imported to know it."""

__version__ = "0.1.0"
