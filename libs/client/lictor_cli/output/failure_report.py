"""From an exception to one sentence, and which kind of failure it is."""

import os
import sys
from typing import Literal, cast

from lictor.errors import InvalidEvent, LayerUnusable, LictorError, Unreachable


def report(error: BaseException) -> Literal["failed", "layer", "unreachable"]:
    """Say what went wrong on stderr; the traceback only with LICTOR_DEBUG=1."""
    error = _first(error)
    if os.environ.get("LICTOR_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    sys.stdout.flush()
    sys.stderr.write(f"lictor: {sentence(error)}\n")
    if _is_unreachable(error):
        return "unreachable"
    return "layer" if _is_of_a_layer(error) else "failed"


def sentence(error: BaseException) -> str:
    """The error in words for a human."""
    if isinstance(error, LictorError) or _is_ours(error):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}."
    return (
        f"this should not have happened: {type(error).__name__}: {error}."
        " Set LICTOR_DEBUG=1 to see where, and please report it."
    )


def problems_of(error: LictorError) -> list[dict[str, str]]:
    """What is wrong with an event, field by field, for `--json`."""
    if not isinstance(error, InvalidEvent):
        return []
    return [problem.model_dump(mode="json") for problem in error.problems]


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


# The libraries below have error roots of their own. They are looked up, not imported: an error of a
# library that was never loaded can't have been raised.
def _is_ours(error: BaseException) -> bool:
    return (
        _is_a(error, "lictor_bus.errors", "BusError")
        or _is_a(error, "lictor_seal.errors", "SealError")
        or _is_a(error, "lictor_policy.errors", "EvaluatorError")
        or _is_a(error, "lictor_guard.errors", "GuardError")
        or _is_a(error, "lictor_contracts.errors", "ContractError")
        or _is_a(error, "lictor_approval.errors", "ApprovalError")
        or _is_a(error, "lictor_ir.errors", "IrError")
        or _is_a(error, "lictor_prove.errors", "ProveError")
    )


def _is_unreachable(error: BaseException) -> bool:
    return (
        isinstance(error, Unreachable)
        or _is_a(error, "lictor_bus.errors", "BrokerUnreachable")
        or _is_a(error, "lictor_bus.errors", "StoreUnreachable")
    )


def _is_of_a_layer(error: BaseException) -> bool:
    return isinstance(error, LayerUnusable) or _is_a(
        error, "lictor_prove.errors", "ProverConfigError"
    )


def _is_a(error: BaseException, module: str, name: str) -> bool:
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(error, getattr(loaded, name))
