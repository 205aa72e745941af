"""The built-in completion checkers, and how a definition's checker is built from them."""

from collections.abc import Callable

from lictor_guard.checkers.composite import AllOf, AnyOf
from lictor_guard.checkers.evidence import EvidenceChecker
from lictor_guard.checkers.files import FileOutput
from lictor_guard.checkers.owned_checker import Owned, ask
from lictor_guard.checkers.verification import Verification
from lictor_guard.plugins.completion_checker import CompletionChecker
from lictor_schema.sessions.completion import (
    AllOfSpec,
    AnyOfSpec,
    CheckerSpec,
    EvidenceSpec,
    FileOutputSpec,
    VerificationSpec,
)
from lictor_schema.sessions.tool_policy import PluginSpec

__all__ = [
    "AllOf",
    "AnyOf",
    "EvidenceChecker",
    "FileOutput",
    "Owned",
    "Verification",
    "ask",
    "build_checker",
]


def build_checker(
    spec: CheckerSpec, plugin: Callable[[PluginSpec], CompletionChecker]
) -> CompletionChecker:
    """The checker that a definition describes; `plugin` makes those from installed packages."""
    match spec:
        case FileOutputSpec():
            return FileOutput(spec)
        case EvidenceSpec():
            return EvidenceChecker(spec)
        case VerificationSpec():
            return Owned(f"checker/{spec.name}", Verification(spec))
        case AllOfSpec():
            return AllOf(tuple(build_checker(child, plugin) for child in spec.checkers))
        case AnyOfSpec():
            return AnyOf(tuple(build_checker(child, plugin) for child in spec.checkers))
        case PluginSpec():
            return Owned(f"checker/{spec.name}", plugin(spec))
