"""How a machine evaluates, runs and calls: the same for programs and for the predicates of a layer."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from lictor_ir.terms import Term
from lictor_prove.python.interpreter import calls, expressions, statements
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import SymbolicValue


class InterpreterHooks:
    """The hooks of a machine that do not depend on what names mean."""

    def evaluate(self, machine: Machine, node: ast.expr) -> SymbolicValue:
        """The value of an expression."""
        return expressions.evaluate(machine, node)

    def run(self, machine: Machine, body: Sequence[ast.stmt]) -> None:
        """Run statements."""
        statements.run(machine, body)

    def call(
        self,
        machine: Machine,
        function: SymbolicValue,
        args: Sequence[SymbolicValue],
        keywords: Sequence[tuple[str, SymbolicValue]],
    ) -> SymbolicValue:
        """Call a value."""
        return calls.call(machine, function, args, keywords)

    def of_every_item(
        self, machine: Machine, node: ast.GeneratorExp, first: SymbolicValue, *, stop: bool
    ) -> Term | None:
        """What `all` or `any` says of a list of unknown length; None where nothing can be said of every item."""
        del machine, node, first, stop
        return None
