"""The files that the work must have brought about."""

from collections.abc import Sequence

from lictor_guard.plugins.completion_checker import (
    CompletionContext,
    CompletionResult,
    PlainChecker,
)
from lictor_guard.text.wording import beyond_agent, quoted
from lictor_schema.sessions.completion import FileOutputSpec
from lictor_schema.sessions.session_questions import SeenFile

NAMED = 3
"""So many missing files are named; the rest are counted."""


class FileOutput(PlainChecker):
    """True files must stand under all of these paths."""

    def __init__(self, spec: FileOutputSpec) -> None:
        self._files = tuple(dict.fromkeys(spec.files))
        self._allow_empty = spec.allow_empty

    def look_at(self) -> Sequence[str]:
        """All of them."""
        return self._files

    def check(self, context: CompletionContext) -> CompletionResult:
        """Which of them are missing?"""
        if not self._files:
            return CompletionResult.ok("no output files are required")
        if context.files is None:
            return CompletionResult.incomplete(
                f"there is no view of the workspace to verify {_count(len(self._files))} in:"
                f" {beyond_agent('give the adapter the workspace')}"
            )
        view = context.files
        missing = [path for path in self._files if not self._stands(view.get(path))]
        if not missing:
            return CompletionResult.ok(f"{_count(len(self._files))} found")
        named = ", ".join(quoted(path) for path in missing[:NAMED])
        more = ", ..." if len(missing) > NAMED else ""
        empty = "" if self._allow_empty else " or empty"
        return CompletionResult.incomplete(f"{_count(len(missing))} missing{empty}: {named}{more}")

    def _stands(self, seen: SeenFile | None) -> bool:
        if seen is None or seen.state != "file":
            return False
        # An unknown size may be zero.
        return self._allow_empty or bool(seen.size)


def _count(number: int) -> str:
    return f"{number} required output file{'' if number == 1 else 's'}"
