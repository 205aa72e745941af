"""The commands front-end: guarded trusted calls, written directly in terms of the Effect IR.

A program in commands is executable, not a description: `execute` makes exactly the trusted calls that its document
says, because both follow the same commands, and terms mean the same in both.
"""

from lictor_prove.commands.execution import Executed, ExecutionError, execute
from lictor_prove.commands.lowering import lowered, lowered_with_shape
from lictor_prove.commands.program import Commands, without_guarantees
from lictor_prove.commands.reader import read_commands
from lictor_prove.commands.source_rules import HEADER

__all__ = [
    "HEADER",
    "Commands",
    "Executed",
    "ExecutionError",
    "execute",
    "lowered",
    "lowered_with_shape",
    "read_commands",
    "without_guarantees",
]
