"""How the built-in policies name and read the facts they keep."""

import hashlib
from typing import TypeVar

from lictor_guard.errors import FactError
from lictor_guard.facts import Fact, OwnFacts

KEY_LENGTH = 200
Kind = TypeVar("Kind", bound=Fact)


def key_of(what: str, text: str) -> str:
    """The key of a fact about something that callers name: short, and another for every text."""
    if len(text) <= KEY_LENGTH:
        return f"{what}:{text}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    # A slash where the short ones have a colon: no short text can be spelled like a long one's key.
    return f"{what}/{digest}"


def remembered(facts: OwnFacts, key: str, kind: type[Kind]) -> Kind | None:
    """The fact under a key; FactError when something else stands there."""
    fact = facts.get(key)
    if fact is None or isinstance(fact, kind):
        return fact
    raise FactError(
        f"under {key!r} stands a {fact.kind!r} fact where {kind.kind!r} belongs;"
        " restore another state, or reset the session"
    )
