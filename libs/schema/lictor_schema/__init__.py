"""The one vocabulary of Lictor: everything that crosses a process boundary is a model of one of these rooms.

Import a model from the module of its noun: `from lictor_schema.gates.gate import GateAnswer`.
"""

from typing import Any

_MOVED = ("Feedback", "Observation")
"""What the guide to feedback providers imported from here; for one release, with a warning."""


def __getattr__(name: str) -> Any:
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module
    from warnings import warn

    warn(f"import {name} from lictor_guard.api", DeprecationWarning, stacklevel=2)
    return getattr(import_module("lictor_schema.sessions.feedback"), name)
