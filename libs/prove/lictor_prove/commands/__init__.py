"""The commands front-end: guarded trusted calls, written directly in terms of the Effect IR.

A program in commands is executable, not a description: `execute` makes exactly the trusted calls that its document
says, because both follow the same commands, and terms mean the same in both.
"""

from lictor_prove.commands.execution import Executed, ExecutionError, execute
from lictor_prove.commands.lowering import lowered
from lictor_prove.commands.program import Commands
from lictor_prove.commands.reader import read_commands
from lictor_prove.commands.source_rules import HEADER

__all__ = [
    "HEADER",
    "Commands",
    "Executed",
    "ExecutionError",
    "execute",
    "lowered",
    "read_commands",
]
