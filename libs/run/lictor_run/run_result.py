"""What the target of a run returned: told by the child, held to its bounds by the parent.

Nothing is proved about it. A value that can't be written down, or is too large, is said to be so: the run did what was
approved, whatever became of its result.
"""

from __future__ import annotations

from typing import Any

from lictor_prove.written_values import written
from lictor_run.trusted_calls import MAX_RESULT
from lictor_schema.approvals.run import RunReason, RunResult
from lictor_schema.core.canonical_json import CanonicalError, canonical_json, hash_bytes

_MAX_WHY = 500


def told_result(value: Any) -> dict[str, Any]:
    """What the child says of a value that the target returned."""
    try:
        result = written(value)
        size = len(canonical_json(result))
    except Exception as error:  # noqa: BLE001 -- the run is done: nothing that is wrong with its result undoes it
        return {"unwritable": f"{error or type(error).__name__}"[:_MAX_WHY]}
    return {"value": result} if size <= MAX_RESULT else {"size": size}


def heard_result(told: Any) -> RunResult:
    """What the parent makes of it; ValueError for what the child can't mean."""
    match told:
        case {"value": value, **others} if not others:
            try:
                data = canonical_json(value)
            except CanonicalError as error:
                raise ValueError(str(error)) from None
            if len(data) > MAX_RESULT:
                raise ValueError("a result is larger than it may be")
            return RunResult(value=value, hash=hash_bytes(data))
        case {"size": int(size), **others} if not others:
            return too_large(size)
        case {"unwritable": str(why), **others} if not others:
            return RunResult(
                problem=RunReason(
                    code="result.unwritable",
                    message=f"what the target returned can't be written down: {why[:_MAX_WHY]}",
                    remedy="return what is made of None, bool, int, float, str, lists, tuples, sets, dicts and rows",
                )
            )
        case _:
            raise ValueError("a child tells a result in no known way")


def too_large(size: int) -> RunResult:
    """A result that no journal keeps."""
    return RunResult(
        problem=RunReason(
            code="result.too_large",
            message=f"what the target returned has {size} bytes, more than the journal keeps ({MAX_RESULT})",
            remedy="return less, or have a trusted function store it and return where",
        )
    )
