"""The version, and nothing else: packaging reads it without importing Treadle."""

__version__ = "0.1.0"
