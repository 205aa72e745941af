"""The Python front-end: a program's source becomes an Effect IR document, or is rejected. It is never executed."""

from lictor_prove.python.reader import ParsedProgram, parse_program, read_parsed, read_program

__all__ = ["ParsedProgram", "parse_program", "read_parsed", "read_program"]
