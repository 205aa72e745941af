"""What a completion checker is: it says whether the work is done, and what is missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from posixpath import normpath
from typing import Any, Protocol, runtime_checkable

from lictor_guard.errors import GuardError
from lictor_guard.facts.fact import Facts, OwnFacts
from lictor_guard.plugins.tool_call import Call
from lictor_guard.plugins.tool_policy import Reserver
from lictor_schema.gates.task_standing import TaskStanding
from lictor_schema.sessions.session_questions import SeenFile


@dataclass(frozen=True)
class CompletionResult:
    """Made by `ok()` or `incomplete(...)`."""

    complete: bool
    feedback: str | None = None

    def __post_init__(self) -> None:
        if not self.complete and not self.feedback:
            raise ValueError("incomplete needs to say what is missing")

    @classmethod
    def ok(cls, feedback: str | None = None) -> "CompletionResult":
        """The work is done."""
        return cls(True, feedback)

    @classmethod
    def incomplete(cls, feedback: str) -> "CompletionResult":
        """Something is missing."""
        return cls(False, feedback)


class SeenFilesystem:
    """The files that the adapter looked at, where the agent runs; asking for another raises, so it is incomplete."""

    def __init__(self, files: Mapping[str, SeenFile]) -> None:
        self._files = {normpath(path): seen for path, seen in files.items()}

    def exists(self, path: str) -> bool:
        """Whether anything stands there: a file, a directory, or something else."""
        return self._seen(path).state in ("file", "directory", "other")

    def is_file(self, path: str) -> bool:
        """Whether a true file stands there."""
        return self._seen(path).state == "file"

    def size(self, path: str) -> int | None:
        """Its size in bytes; None if it is no file, or the size is unknown."""
        return self._seen(path).size

    def _seen(self, path: str) -> SeenFile:
        found = self._files.get(normpath(path))
        if found is None:
            raise GuardError(f"nobody looked at {path!r}: name it in look_at()")
        return found


@dataclass(frozen=True)
class CompletionContext:
    """What a checker may look at."""

    now_us: int
    session_id: str
    stop_reason: str
    """Why the agent wants to stop; `structured_output` when it has only handed over its output yet."""
    final_message: str | None
    files: Mapping[str, SeenFile] | None
    """By path as the definition spells it; None when the adapter has no view of the workspace."""
    standing: TaskStanding | None
    """How the task stands; None when that is unknown."""
    facts: OwnFacts
    """The checker's own facts."""
    everyone: Facts | None = None
    """The facts of all checkers, on the way down to one that keeps some; None when it is asked."""
    broken: Mapping[str, str] = field(default_factory=dict[str, str])
    """By owner, the checkers that failed to learn from a result, and how: what they know is not all."""
    tentative_output: Any = None
    """What the agent hands over: a structured output, else its last words; None where the adapter does not say."""

    @property
    def filesystem(self) -> "SeenFilesystem | None":
        """The files that the checker asked for in `look_at`; None when the adapter has no view of the workspace."""
        return None if self.files is None else SeenFilesystem(self.files)

    def narrowed(self, owner: str) -> "CompletionContext":
        """The context as the checker with these facts may see it: without those of others."""
        if self.everyone is None:
            raise ValueError(f"the facts of {owner} are out of reach: a composite holds no facts")
        return replace(self, facts=self.everyone.of(owner), everyone=None)


@runtime_checkable
class CompletionChecker(Protocol):
    """A checker. Whatever it raises counts as incomplete."""

    def check(self, context: CompletionContext) -> CompletionResult:
        """Is the work done?"""
        ...


class PlainChecker(Reserver):
    """The optional half of a checker, for one that needs none of it."""

    needs_standing: bool = False

    def look_at(self) -> Sequence[str]:
        """The files it needs to be seen."""
        return ()

    def keys(self) -> Sequence[str]:
        """The facts it keeps; all of them are loaded whenever it is."""
        return ()

    def keys_of(self, call: Call) -> Sequence[str]:  # noqa: ARG002
        """Those that only this call needs: loaded when it is allowed and when it has ended, and not for a stop."""
        return ()
