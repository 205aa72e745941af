"""Evidence that the task must have, as the policy evaluator knows it."""

from lictor_guard.plugins.completion_checker import (
    CompletionContext,
    CompletionResult,
    PlainChecker,
)
from lictor_schema.sessions.completion import EvidenceSpec


class EvidenceChecker(PlainChecker):
    """So many items of a quality must be attached to the task; evidence that can't be determined does not count."""

    needs_standing = True

    def __init__(self, spec: EvidenceSpec) -> None:
        self._quality = spec.quality
        self._count = spec.count

    def check(self, context: CompletionContext) -> CompletionResult:
        """Is there enough of it?"""
        standing = context.standing
        if standing is None:
            return CompletionResult.incomplete(
                "the policy evaluator did not tell how the task stands, so its evidence is not known"
            )
        if standing.problem is not None:
            return CompletionResult.incomplete(
                f"how the task stands can't be told, so its evidence is not known: {standing.problem}"
            )
        if not standing.known:
            return CompletionResult.incomplete(
                "the policy evaluator knows no such task, so no evidence is attached to it"
            )
        found = standing.at_least(self._quality)
        if found >= self._count:
            return CompletionResult.ok(f"{_items(found)} of at least {self._quality} quality")
        return CompletionResult.incomplete(
            f"the task needs {_items(self._count)} of at least {self._quality} quality"
            f" and has {found or 'none'}: attach what shows that the work is done"
        )


def _items(number: int) -> str:
    return f"{number} item{'' if number == 1 else 's'} of evidence"
