"""Facts: what a session remembers, one small frozen value under each name.

A session's state is a flat map from names to facts, so that a question loads only the few it needs, however long the
session is. A name is `<owner>/<key>`: every policy, provider and checker owns its facts and can't see those of another,
not even of its own kind. Each kind of fact says whether it is STATE, which a restore sets back, LOG, which stays, or
LASTING, which stays after a reset too.

A subclass of Fact is all that it takes to store a new kind; it is found by itself for reading back and for the tests.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import ValidationError

from lictor_guard.errors import FactError
from lictor_schema.core.base_model import Model

Retention = Literal["state", "log", "lasting"]
"""A restore sets `state` back; a reset forgets it, and what policies, providers and checkers `log`. What is `lasting`
stays whatever becomes of the session."""
_SEPARATOR = " "

_KINDS: dict[str, type["Fact"]] = {}


class Fact(Model):
    """One thing a session remembers. `class Read(Fact, kind="read", retention="state")`."""

    kind: ClassVar[str]
    retention: ClassVar[Retention]

    def __init_subclass__(cls, *, kind: str, retention: Retention, **options: Any) -> None:
        super().__init_subclass__(**options)
        other = _KINDS.setdefault(kind, cls)
        if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(f"fact kind {kind!r} is taken by {other.__qualname__}")
        _KINDS[kind] = cls
        cls.kind = kind
        cls.retention = retention

    def encode(self) -> bytes:
        """The stored form: the kind, a space, JSON."""
        return f"{self.kind}{_SEPARATOR}{self.model_dump_json()}".encode()


def decode_fact(stored: bytes | str) -> Fact:
    """A fact from its stored form; FactError when no such kind is known or it does not fit."""
    text = stored.decode() if isinstance(stored, bytes) else stored
    kind, _, body = text.partition(_SEPARATOR)
    found = _KINDS.get(kind)
    if found is None:
        raise FactError(f"fact kind {kind!r} is not known to this version; upgrade, or start anew")
    try:
        return found.model_validate_json(body)
    except ValidationError as error:
        raise FactError(f"a stored {kind!r} fact does not fit: {error}") from None


def fact_kinds() -> Mapping[str, type[Fact]]:
    """Every kind of fact there is, by name."""
    return dict(_KINDS)


Changes = Mapping[str, Fact | None]
"""What becomes of some facts, by key or name; None removes one."""


def full_name(owner: str, key: str) -> str:
    """The name of an owner's fact; an owner's name holds no slash beyond its role's."""
    return f"{owner}/{key}"


Loaded = Fact | bytes | None
"""A fact as it was loaded: as a value, in its stored form, or not there."""


class Facts:
    """The facts that were loaded for one step. Asking for one that was not loaded is a defect, and raises KeyError.

    What is given in its stored form is read when it is first asked for: most steps look at few of the facts that they
    might need.
    """

    __slots__ = ("_loaded",)

    def __init__(self, loaded: Mapping[str, Loaded]) -> None:
        self._loaded = dict(loaded)

    def get(self, name: str) -> Fact | None:
        """The fact under a full name; None when the session has none. FactError when it can't be read."""
        found = self._loaded[name]
        if isinstance(found, bytes):
            found = self._loaded[name] = decode_fact(found)
        return found

    def of(self, owner: str) -> "OwnFacts":
        """What one owner sees."""
        return OwnFacts(self, owner)

    def changed(self, changes: Changes) -> "Facts":
        """The same with some facts replaced."""
        return Facts({**self._loaded, **changes})

    def items(self) -> Iterable[tuple[str, Fact | None]]:
        """Everything loaded, by full name."""
        return [(name, self.get(name)) for name in self._loaded]


class OwnFacts:
    """One owner's facts, by its own keys."""

    __slots__ = ("_facts", "_owner")

    def __init__(self, facts: Facts, owner: str) -> None:
        self._facts = facts
        self._owner = owner

    def get(self, key: str) -> Fact | None:
        """The fact under a key; None when there is none."""
        return self._facts.get(full_name(self._owner, key))


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
