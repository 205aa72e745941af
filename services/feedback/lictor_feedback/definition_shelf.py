"""The agent definitions there are: those of this installation, the one built in, and all that were ever stored.

The stream DEFINITIONS is the truth. A session is pinned to a version by its hash, so every version stays loadable;
which version is the newest is asked of the stream whenever a session begins, because any instance may publish one.
Nothing is believed because it stands there: what does not read, hash and compile as it should is passed over.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nats.aio.client import Client

from lictor_bus.logs.definitions import last_definition, store_definition, stored_definitions
from lictor_bus.names import subjects
from lictor_bus.wire.delivery import Delivery
from lictor_guard.definitions.compiled_definition import Guarded
from lictor_guard.definitions.loading import DEFAULT_NAME, default_definition, read_directory
from lictor_guard.definitions.stored_versions import StoredVersion, read_stored, stored_form
from lictor_guard.errors import DefinitionError
from lictor_guard.plugins.installed import Plugins
from lictor_schema.core.canonical_json import hash_bytes

log = logging.getLogger("lictor.feedback")

UNKNOWN = "unknown"
_PUBLISHER = "feedback service"


@dataclass(frozen=True)
class Installation:
    """What this installation wants to be in force."""

    definitions: Mapping[str, Guarded]
    default: str
    directory: Path | None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Installation":
        """The folder ``LICTOR_AGENTS``, if it is set, and the name ``LICTOR_DEFAULT_AGENT``."""
        directory = environment.get("LICTOR_AGENTS")
        default = environment.get("LICTOR_DEFAULT_AGENT") or DEFAULT_NAME
        if not directory:
            return cls({}, default, None)
        return cls(read_directory(Path(directory)), default, Path(directory))

    @property
    def told(self) -> str:
        """What health reports about it."""
        names = ", ".join(sorted(self.definitions)) or "none"
        where = "" if self.directory is None else f" from {self.directory}"
        return f"definitions{where}: {names}; sessions that name none get {self.default}"


class DefinitionShelf:
    """Definitions, compiled once each."""

    def __init__(
        self, client: Client, installation: Installation, plugins: Plugins | None = None
    ) -> None:
        self._client = client
        self._installation = installation
        self._plugins = plugins
        self._by_hash: dict[str, Guarded] = {}
        self._seen: dict[tuple[str, str], Guarded | None] = {}
        for each in (default_definition(), *installation.definitions.values()):
            self._by_hash[each.hash] = each

    async def open(self) -> None:
        """Store what this installation wants to be in force; report it if its default can't be found."""
        for name, guarded in self._installation.definitions.items():
            newest = await self._newest_hash(name)
            if newest == guarded.hash:
                continue
            if not await self._is_stored(guarded):
                if await self._version_is_taken(guarded):
                    log.warning(
                        "%s %s of this installation has other content than the one that was published under that"
                        " version, and takes its place as %s; give it a version of its own",
                        name,
                        guarded.definition.metadata.version,
                        guarded.hash,
                    )
                await self._store(guarded)
            elif newest is not None:
                # Another instance, or an operator, has published a newer one: what comes last must not depend on who
                # starts last.
                log.warning(
                    "%s %s of this installation was replaced by %s, which stays in force; to go back to it,"
                    " publish it (`lictor agent publish`)",
                    name,
                    guarded.definition.metadata.version,
                    newest,
                )
        built_in = default_definition()
        # An operator's own version under this name stays the newest.
        if DEFAULT_NAME not in self._installation.definitions and not await self._is_stored(
            built_in
        ):
            await self._store(built_in)
        await self.newest(None)

    async def newest(self, name: str | None) -> Guarded:
        """The newest version of a definition that can be used; of the default one without a name."""
        wanted = name or self._installation.default
        last = await last_definition(self._client, wanted)
        found = None if last is None else await self._opened(last)
        if found is not None:
            return found
        if last is not None:
            found = await self._last_usable(wanted)
        if found is None:
            which = "" if name else " (the default, by LICTOR_DEFAULT_AGENT)"
            raise DefinitionError(
                f"no usable agent definition is called {wanted!r}{which};"
                " `lictor agent list` shows which there are"
            )
        return found

    async def by_hash(self, definition_hash: str) -> Guarded:
        """Exactly this version."""
        found = self._by_hash.get(definition_hash)
        if found is not None:
            return found
        async for stored in stored_definitions(self._client):
            found = await self._opened(stored) if _is(stored, definition_hash) else None
            if found is not None:
                return found
        raise DefinitionError(
            f"no usable agent definition has the hash {definition_hash}; restore stream"
            " DEFINITIONS and the plugins it was published with, or begin a new session"
        )

    async def name_of(self, definition_hash: str) -> str:
        """What a version is called, usable or not; `unknown` when it is not stored any more."""
        known = self._by_hash.get(definition_hash)
        if known is not None:
            return known.definition.metadata.name
        async for stored in stored_definitions(self._client):
            version = _read(stored)
            if version is not None and version.hash == definition_hash:
                return version.definition.metadata.name
        return UNKNOWN

    async def _newest_hash(self, name: str) -> str | None:
        last = await last_definition(self._client, name)
        found = None if last is None else await self._opened(last)
        return None if found is None else found.hash

    async def _is_stored(self, guarded: Guarded) -> bool:
        async for stored in stored_definitions(self._client, guarded.definition.metadata.name):
            found = await self._opened(stored) if _is(stored, guarded.hash) else None
            if found is not None:
                return True
        return False

    async def _version_is_taken(self, guarded: Guarded) -> bool:
        """Whether another document was stored under its name and version, and never this one."""
        definition = guarded.definition
        found = [
            version.definition
            async for stored in stored_definitions(self._client, definition.metadata.name)
            if (version := _read(stored)) is not None
            and version.definition.metadata.version == definition.metadata.version
        ]
        return bool(found) and definition not in found

    async def _last_usable(self, name: str) -> Guarded | None:
        usable: Guarded | None = None
        async for stored in stored_definitions(self._client, name):
            usable = await self._opened(stored) or usable
        return usable

    async def _store(self, guarded: Guarded) -> None:
        name = guarded.definition.metadata.name
        sequence = await store_definition(self._client, name, stored_form(guarded, _PUBLISHER))
        version = guarded.definition.metadata.version
        log.info("DEFINITIONS %d: %s %s is %s", sequence, name, version, guarded.hash)

    async def _opened(self, stored: Delivery) -> Guarded | None:
        """What a stored message compiles to; None, and reported once, when it can't be used."""
        # Not by its sequence: a stream that was made anew counts from one again.
        key = stored.subject, hash_bytes(stored.body)
        if key not in self._seen:
            self._seen[key] = await self._open(stored)
        return self._seen[key]

    async def _open(self, stored: Delivery) -> Guarded | None:
        try:
            version = read_stored(stored.body)
            name = version.definition.metadata.name
            if stored.subject != subjects.definition(name):
                raise DefinitionError(f"{name} stands on the subject of another name")
            known = self._by_hash.get(version.hash)
            if known is not None and known.plugins == version.plugins:
                return known
            # Compiling takes long enough to be noticed by a gate.
            guarded = await asyncio.to_thread(version.compile, self._plugins)
        except DefinitionError as error:
            log.error("DEFINITIONS %d can't be used: %s", stored.sequence, error)
            return None
        return self._by_hash.setdefault(guarded.hash, guarded)


def _read(stored: Delivery) -> StoredVersion | None:
    try:
        return read_stored(stored.body)
    except DefinitionError:
        return None


def _is(stored: Delivery, definition_hash: str) -> bool:
    version = _read(stored)
    return version is not None and version.hash == definition_hash
