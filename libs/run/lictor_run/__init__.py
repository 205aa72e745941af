"""Runs an approved program with its trusted layer: in a limited process, as it was proved, all or compensated."""

__version__ = "0.1.0"
