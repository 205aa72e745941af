"""What cvc5 says about a goal, with its model; in a child process, because it can hang past its limits."""

from __future__ import annotations

import struct
import sys
from fractions import Fraction
from importlib import import_module
from typing import Any

from lictor_ir.errors import UnsupportedError
from lictor_ir.goals.goal import Goal
from lictor_ir.places import place
from lictor_ir.solver.answers import Answer, Conclusion, SolverModel, model_of, undecided
from lictor_ir.solver.smtlib_lowering import Script
from lictor_ir.solver.solver_child import SolverChild
from lictor_ir.terms import Term
from lictor_ir.types import BOOL, FLOAT, INT, REAL, STR, EnumOf
from lictor_prove.certificate.second_solver import NAME

_OPTIONS = {"produce-models": "true", "strings-exp": "true"}


def cvc5_child(goal: Goal, timeout_ms: int, memory_mb: int) -> SolverChild:
    """A child in which cvc5 is asked about a goal."""
    import_module(NAME)  # before the fork, so that it is loaded once
    return SolverChild(NAME, lambda: _answer(goal, timeout_ms), timeout_ms, memory_mb)


def _answer(goal: Goal, timeout_ms: int) -> Answer:
    """In the child."""
    cvc5: Any = import_module(NAME)
    # Its numbers come as text, and may be longer than Python reads otherwise.
    sys.set_int_max_str_digits(0)
    script = Script()
    try:
        text = script.text(goal)
        solver = cvc5.Solver(cvc5.TermManager())
        for name, value in _OPTIONS.items():
            solver.setOption(name, value)
        solver.setOption("tlimit-per", str(max(1, timeout_ms)))
        parser = cvc5.InputParser(solver)
        symbols = parser.getSymbolManager()
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "goal")
        said = ""
        while not (command := parser.nextCommand()).isNull():
            said += command.invoke(solver, symbols)
        if said.strip() == "unsat":
            return Answer(Conclusion.HOLDS, how=NAME)
        if said.strip() == "sat":
            places = cvc5.InputParser(solver, symbols)
            places.setIncrementalStringInput(cvc5.InputLanguage.SMT_LIB_2_6, "places")
            model = _Reading(solver, places, script).model()
            return Answer(Conclusion.FAILS, model, how=NAME, candidate=True)
    except (RuntimeError, UnsupportedError) as error:  # cvc5's own errors are RuntimeErrors
        return undecided(f"{NAME} gave up: {error}", NAME)
    return undecided(f"{NAME} did not decide it within {timeout_ms} ms", NAME)


class _Reading:
    """Reads the values of places out of cvc5's model."""

    def __init__(self, solver: Any, parser: Any, script: Script) -> None:
        self._solver = solver
        self._parser = parser
        self._spelled = script.spelled
        self._members = {number: member for member, number in script.members.items()}

    def model(self) -> SolverModel:
        """Every place whose value and indices cvc5 tells."""
        return model_of(
            (found, self._value(term), [self._value(index) for index in found.indices])
            for term in self._spelled
            if (found := place(term)) is not None
        )

    def _value(self, term: Term) -> Any:
        type_ = term.type
        self._parser.appendIncrementalStringInput(f"{self._spelled[term]}\n")
        found = self._solver.getValue(self._parser.nextTerm())
        if type_ == BOOL:
            return found.getBooleanValue()
        if type_ == INT:
            return int(found.getIntegerValue())
        if isinstance(type_, EnumOf):
            return self._members.get(int(found.getIntegerValue()))
        if type_ == REAL:
            return Fraction(found.getRealValue())
        if type_ == FLOAT:
            _, _, bits = found.getFloatingPointValue()
            return struct.unpack(">d", int(bits.getBitVectorValue(), 2).to_bytes(8))[0]
        return found.getStringValue() if type_ == STR else None
