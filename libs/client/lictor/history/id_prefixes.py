"""Ids as people give them: whole, or by their first characters where these name only one."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from nats.aio.client import Client

from lictor.errors import LictorError
from lictor.history.stream_contents import streams_at, subjects_at
from lictor_bus.names import subjects
from lictor_bus.names.streams import (
    APPROVALS,
    CERTIFICATES,
    DECISIONS,
    DRIFT,
    EPISODES,
    PATCHES,
    RUNS,
)
from lictor_bus.wire.read import last_on_subjects

SHORTEST = 4
"""Fewer characters name nothing: what is the only one today need not be tomorrow."""
_CANDIDATES = 8
_SCHEME = "sha256:"


class NoSuchId(LictorError):
    """Nothing has this id, or it is too short to name anything."""


@dataclass(frozen=True)
class IdKind:
    """What ids name, and the subjects that end in them."""

    what: str
    stream: str
    patterns: tuple[str, ...]
    """Subjects with `*` in the id's place, which is the last."""
    listing: str
    """The command that lists them."""
    field: str | None = None
    """Where a stored message has the id, for ids that can't stand in a subject as they are."""


REQUEST = IdKind(
    "request", APPROVALS, (subjects.APPROVAL.any,), "lictor approvals list", "request_id"
)
RUN = IdKind("run", RUNS, (subjects.RUN.any,), "lictor runs list", "run_id")
PATCH = IdKind("patch", PATCHES, (subjects.PATCH.any,), "lictor patch list", "patch_id")
DRIFT_EVENT = IdKind("drift event", DRIFT, (subjects.TRIAGE.any,), "lictor drift list", "drift_id")
EPISODE = IdKind("episode", EPISODES, (subjects.EPISODE.any,), "lictor log list")
CERTIFICATE = IdKind("certificate", CERTIFICATES, (subjects.CERTIFICATE.any,), "lictor runs list")
TASK = IdKind(
    "task",
    DECISIONS,
    (subjects.DECISION.any, subjects.DECISION_OF_GATE.any),
    "lictor decision list",
    "task_id",
)


def one_of(given: str, ids: Iterable[str], what: str, listing: str) -> str:
    """The one of these ids that is meant; raises with what there is when none is, or several."""
    known = set(ids)
    if given in known:
        return given
    shown = _harmless(given)
    hint = f"`{listing}` shows what there is."
    if len(given.removeprefix(_SCHEME)) < SHORTEST:
        raise NoSuchId(
            f"{shown!r} is too short to name a {what}: write its first {SHORTEST} characters or more; {hint}"
        )
    starts = (given,) if given.startswith(_SCHEME) else (given, _SCHEME + given)
    matching = sorted(each for each in known if each.startswith(starts))
    if not matching:
        raise NoSuchId(f"there is no {what} {shown}; {hint}")
    if len(matching) > 1:
        named = ", ".join(map(_harmless, matching[:_CANDIDATES]))
        more = ", …" if len(matching) > _CANDIDATES else ""
        raise LictorError(f"{len(matching)} begin with {shown}: {named}{more}; write out more.")
    return matching[0]


async def whole_id(client: Client, kind: IdKind, given: str) -> str:
    """The id of something stored, given whole or by its first characters; raises as `one_of` does."""
    if given and await _is_stored(client, kind, given):
        return given
    return one_of(given, await _all_ids(client, kind), kind.what, kind.listing)


async def whole_or_given(client: Client, kind: IdKind, given: str) -> str:
    """The same where nothing need be stored yet: what names nothing is taken as it is."""
    try:
        return await whole_id(client, kind, given)
    except NoSuchId:
        return given


async def id_at(url: str | None, kind: IdKind, given: str) -> str:
    """The same for a command that has no connection to read with."""
    async with streams_at(url, "ids") as client:
        return await whole_or_given(client, kind, given)


async def _is_stored(client: Client, kind: IdKind, given: str) -> bool:
    last = subjects.token(given)
    for pattern in kind.patterns:
        if await subjects_at(client, kind.stream, f"{pattern.removesuffix('*')}{last}"):
            return True
    return False


async def _all_ids(client: Client, kind: IdKind) -> set[str]:
    found: set[str] = set()
    shortened: list[str] = []
    for pattern in kind.patterns:
        for subject in await subjects_at(client, kind.stream, pattern):
            last = subject.rpartition(".")[2]
            if last.startswith("~"):
                shortened.append(subject)
            else:
                found.add(last)
    if shortened and kind.field is not None:
        for stored in await last_on_subjects(client, kind.stream, shortened):
            if (whole := _id_in(stored.body, kind.field)) is not None:
                found.add(whole)
    return found


def _harmless(given: str) -> str:
    """An id for a message: agents choose some, and none may steer a terminal."""
    return "".join(char if char.isprintable() else " " for char in given[:200])


def _id_in(body: bytes, field: str) -> str | None:
    try:
        value = json.loads(body)[field]
    except (ValueError, TypeError, KeyError, RecursionError):
        # Somebody else's message; see lictor_bus.logs.entry_logs.
        return None
    return value if isinstance(value, str) else None
