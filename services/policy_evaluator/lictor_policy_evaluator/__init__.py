"""Judges canonical events against policy packs."""

__version__ = "0.1.0"
