"""Only a program has values that are declared unknown."""

from typing import cast

import pytest

from lictor_ir.types import INT
from lictor_prove.python.machine.machine_state import Hooks, Machine
from lictor_prove.python.machine.unknown_values import unknown
from lictor_prove.python.refusals import Unmodelled


def test_what_a_predicate_computes_is_never_unknown() -> None:
    """An unknown of a predicate would be taken for the one of the program that has the same name."""
    with pytest.raises(Unmodelled):
        unknown(Machine(cast(Hooks, None)), INT, "a sum", ())
    unknown(Machine(cast(Hooks, None), declares_unknowns=True), INT, "a sum", ())
