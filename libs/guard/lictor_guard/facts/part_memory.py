"""What policies, providers and checkers remember of what happened, each apart from the others.

One that raises must not lose the entry for the rest, nor go on with a gap in what it knows: it is noted as broken, and
a judgement takes it as a reason to deny.
"""

from collections.abc import Callable, Mapping
from typing import cast

from lictor_guard.errors import GuardError
from lictor_guard.facts.fact import Changes, Fact, Facts, full_name
from lictor_guard.facts.session_facts import BROKEN, Broken

MAX_NAME = 4096
MAX_STORED = 64 * 1024
"""Of a fact, in characters: what a state document can hold."""
_MAX_ERROR = 500


class LearnedFacts:
    """Changes by full name, gathered from one owner after the other."""

    def __init__(self, facts: Facts) -> None:
        self.changes: dict[str, Fact | None] = {}
        self._broken = broken_owners(facts)
        self._newly: dict[str, str] = {}

    def hear(self, owner: str, learn: Callable[[], Changes]) -> None:
        """Let one owner learn; what it raises breaks it, and it alone."""
        try:
            self.changes |= _own(owner, learn())
        except Exception as error:  # noqa: BLE001 (whatever a plugin raises)
            if owner not in self._broken:
                self._newly[owner] = describe(error)

    def done(self) -> dict[str, Fact | None]:
        """All changes, and who broke."""
        if not self._newly:
            return self.changes
        return {**self.changes, BROKEN: Broken(owners={**self._broken, **self._newly})}


def broken_owners(facts: Facts) -> Mapping[str, str]:
    """Who failed to learn from something, and how."""
    broken = facts.get(BROKEN)
    return broken.owners if isinstance(broken, Broken) else {}


def describe(error: BaseException) -> str:
    """An error in one short line, of any text."""
    return plain(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


def plain(text: str, limit: int = _MAX_ERROR) -> str:
    """Text that every JSON reader takes, cut to a length."""
    clean = text.encode("utf-8", "replace").decode()
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def _own(owner: str, learned: object) -> dict[str, Fact | None]:
    """What one owner returned, by full name; GuardError when it can't be kept."""
    if not isinstance(learned, Mapping):
        raise GuardError(f"returned {type(learned).__name__}; return a mapping of keys to facts")
    kept: dict[str, Fact | None] = {}
    for key, fact in cast(Mapping[object, object], learned).items():
        if not isinstance(key, str) or not (fact is None or isinstance(fact, Fact)):
            raise GuardError(f"returned {key!r}: {type(fact).__name__}; return facts by text keys")
        name = full_name(owner, key)
        if len(name) > MAX_NAME:
            raise GuardError(f"a fact's key has {len(key)} characters; hash long ones")
        if fact is not None and len(fact.encode().decode()) > MAX_STORED:
            raise GuardError(f"fact {key!r} is longer than {MAX_STORED} characters; keep less")
        kept[name] = fact
    return kept
