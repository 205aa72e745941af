"""States of a newer version are left alone.

A state of an earlier format is folded anew. An older worker that did so with the states of a newer one would only have
its own thrown away by that, and so on: each would fold the whole stream, and neither come to its end.
"""

import json
from typing import Any

from lictor_bus.errors import NewerState


def refuse_newer_state(what: str, found: object, known: int) -> None:
    """Raise NewerState when the format that was found is newer than the one that is known here."""
    if type(found) is int and found > known:
        raise NewerState(
            f"{what} were stored in format {found}, and this version reads {known}: a newer version"
            " is at work; stop this one, or, to go back to it, stop the newer and empty Redis"
        )


def leading_format(raw: bytes) -> object:
    """The format of a state that is an array with its format in front; None for anything else."""
    try:
        value: Any = json.loads(raw)
        return value[0]
    except (ValueError, TypeError, LookupError):
        return None
