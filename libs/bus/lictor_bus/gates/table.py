"""The table of all gates."""

from typing import Any, cast

from lictor_bus.gate import Gate
from lictor_bus.gates import decision, desk, history, rehearsal, session, task

GATES = tuple(
    cast(Gate[Any, Any], value)
    for module in (task, session, decision, desk, history, rehearsal)
    for value in vars(module).values()
    if isinstance(value, Gate)
)
"""All of them."""


def answered_by(service: str) -> tuple[Gate[Any, Any], ...]:
    """What a service answers."""
    return tuple(gate for gate in GATES if gate.service == service)


def asked_by(asker: str) -> tuple[Gate[Any, Any], ...]:
    """What somebody may ask: RUNTIMES, OPERATORS, or a service."""
    return tuple(gate for gate in GATES if asker in gate.asked_by)
