"""The supervisor: governed decisions, the drift they show, and what is done about it."""

__version__ = "0.1.0"
