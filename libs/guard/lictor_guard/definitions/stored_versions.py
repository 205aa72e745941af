"""Definitions as they are kept: written once under their hash, and trusted again only if everything fits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import ValidationError

from lictor_guard.definitions.compiled_definition import (
    Guarded,
    compile_definition,
    hash_of_document,
)
from lictor_guard.errors import DefinitionError
from lictor_guard.plugins.installed import Plugins
from lictor_policy.packs.yaml_models import problems_of
from lictor_schema.core.canonical_json import CanonicalError, parse_json
from lictor_schema.sessions.agent_definition import AgentDefinition, StoredDefinition


@dataclass(frozen=True)
class StoredVersion:
    """A version of a definition, read back; not compiled yet."""

    definition: AgentDefinition
    hash: str
    plugins: Mapping[str, str]
    published_by: str

    def compile(self, plugins: Plugins | None = None) -> Guarded:
        """Make it ready to judge with; DefinitionError when it does not mean what it meant when it was stored."""
        guarded = compile_definition(self.definition, plugins, pinned=self.hash)
        if guarded.plugins != self.plugins:
            raise DefinitionError(
                f"it was published with {_listed(self.plugins)}, but installed is"
                f" {_listed(guarded.plugins)}; install what it was published with, or publish it anew"
            )
        return guarded


def stored_form(guarded: Guarded, published_by: str) -> bytes:
    """The stored form of a definition: every default written out, so that a later one changes nothing."""
    stored = StoredDefinition(
        definition=guarded.definition, plugins=dict(guarded.plugins), published_by=published_by
    )
    return stored.to_json()


def read_stored(body: bytes) -> StoredVersion:
    """A stored version; DefinitionError when it is no stored version."""
    try:
        stored = StoredDefinition.from_json(body)
        data = cast("dict[str, Any]", parse_json(body))
        # Hashed as it was stored: reading it fills in the defaults of fields that came later.
        name = hash_of_document(data["definition"], stored.plugins)
    except CanonicalError as error:
        raise DefinitionError(f"is not a stored definition: {error}") from None
    except ValidationError as error:
        place, problem = _problems(error, body)[0]
        where = ".".join(map(str, place)) or "the document"
        raise DefinitionError(f"is not a stored definition: {where}: {problem}") from None
    return StoredVersion(stored.definition, name, stored.plugins, stored.published_by)


def _problems(error: ValidationError, body: bytes) -> list[tuple[tuple[str | int, ...], str]]:
    try:
        data = parse_json(body)
    except CanonicalError as unreadable:
        return [((), str(unreadable))]
    return problems_of(error, data, StoredDefinition)


def _listed(plugins: Mapping[str, str]) -> str:
    return ", ".join(f"{name} of {stamp}" for name, stamp in sorted(plugins.items())) or "none"
