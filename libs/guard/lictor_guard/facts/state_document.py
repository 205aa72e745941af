"""A session's STATE as data: the document that a snapshot hands out, its hash, and reading one back."""

from collections.abc import Mapping

from pydantic import ValidationError

from lictor_guard.definitions.compiled_definition import Guarded
from lictor_guard.errors import FactError, SessionStateError
from lictor_guard.facts.fact import Fact, decode_fact
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.sessions.session_questions import StateDocument


def state_of(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Those facts that a restore sets back."""
    return {name: fact for name, fact in facts.items() if fact.retention == "state"}


def refuse_logged(state: Mapping[str, Fact], whole: Mapping[str, Fact]) -> None:
    """StateError for a state that would take the place of something logged: set back once more, it would be gone."""
    for name in state:
        if name in whole and whole[name].retention != "state":
            raise SessionStateError(
                f"fact {name!r}: a {whole[name].kind!r} stands there, which only logs; a restore can't"
                " replace it"
            )


def state_document(facts: Mapping[str, Fact], definition_hash: str) -> StateDocument:
    """The STATE among a session's facts, in the order of their names; SessionStateError when it can't be kept."""
    stored = {name: fact.encode().decode() for name, fact in sorted(state_of(facts).items())}
    try:
        return StateDocument(format=1, definition_hash=definition_hash, facts=stored)
    except ValidationError as error:
        raise SessionStateError(f"this state can't be kept as a document: {error}") from None


def state_hash(document: StateDocument) -> str:
    """The name of a state by its content."""
    return content_hash(document.model_dump(mode="json"))


def read_document(document: StateDocument, guarded: Guarded) -> dict[str, Fact]:
    """The facts of a document; StateError names the first thing for which it is refused."""
    if document.definition_hash != guarded.hash:
        raise SessionStateError(
            f"the document belongs to definition {document.definition_hash}, the session to"
            f" {guarded.hash}; restore it into a session of its own definition"
        )
    owners = {each.owner for each in (*guarded.policies, *guarded.providers, *guarded.checkers)}
    facts: dict[str, Fact] = {}
    for name, stored in document.facts.items():
        owner = "/".join(name.split("/", 2)[:2])
        if owner not in owners or name == owner:
            raise SessionStateError(f"fact {name!r}: nothing in the definition owns it")
        try:
            fact = decode_fact(stored)
        except FactError as error:
            raise SessionStateError(f"fact {name!r}: {error}") from None
        if fact.retention != "state":
            raise SessionStateError(
                f"fact {name!r}: a {fact.kind!r} only logs; a restore can't set it"
            )
        facts[name] = fact
    return facts
