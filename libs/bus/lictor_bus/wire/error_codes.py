"""Codes of the JetStream API by which an answer is told apart."""

from typing import Final

UNAVAILABLE: Final = 503
STREAM_NOT_FOUND: Final = 10059
WRONG_LAST_SEQUENCE: Final = 10071
DUPLICATE_IN_BATCH: Final = 10201
"""A batch holds a message id that the stream knows."""
WRONG_LAST_SEQUENCES: Final = (WRONG_LAST_SEQUENCE, 10164)
"""Something came in between, of one message or in a batch."""
