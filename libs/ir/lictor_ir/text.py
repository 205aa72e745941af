"""The text form of Effect IR: for people to read, for tests to state, and exact both ways."""

from lictor_ir.text_read import read
from lictor_ir.text_write import write, write_contract

__all__ = ["read", "write", "write_contract"]
