"""The text form of Effect IR: for people to read, for tests to state, and exact both ways."""

from lictor_ir.text.document_reader import read
from lictor_ir.text.document_writer import write, write_contract

__all__ = ["read", "write", "write_contract"]
