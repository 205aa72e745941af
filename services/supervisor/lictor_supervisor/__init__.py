"""The supervisor: governed decisions, the drift they show, and what is done about it."""

__version__ = "0.1.0"

FORMERLY = "sealer"
"""The service that ran all this before it had a name of its own."""
