"""Whose message it was: the runtime that a message of version 0.1 belongs to, by its body.

All messages of one subject get one runtime, because the broker renames by subject. Where they name several, or none,
the subject belongs to nobody: no runtime can follow it, and services and operators read it as before.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from nats.aio.client import Client

from lictor_bus.names import streams, subjects
from lictor_bus.names.older_subjects import with_runtime
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.read import read_from

_STARTS_A_TASK: Final = "task_started"
# On which condition, and in which batch, a message was stored: a mirror leaves that out, and nobody reads it.
_OF_THE_STORING: Final = ("Nats-Expected-", "Nats-Batch-")
# What direct gets add to the headers of a message.
_OF_THE_ANSWER: Final = frozenset(
    (
        "Nats-Stream",
        "Nats-Subject",
        "Nats-Sequence",
        "Nats-Time-Stamp",
        "Nats-Num-Pending",
        "Nats-Last-Sequence",
        "Nats-UpTo-Sequence",
    )
)

Body = Mapping[str, Any]
Named = Callable[[Body], str | None]
"""The token of the runtime that a body names; None where it names none."""


def _token(name: object) -> str | None:
    return subjects.token(name) if isinstance(name, str) and name else None


def _part(body: Body, name: str) -> Body:
    found = body.get(name)
    return cast(Body, found) if isinstance(found, dict) else {}


def _asked(body: Body) -> str | None:
    # Of a question about an action the record has the token already.
    asked_by = body.get("asked_by")
    return asked_by if isinstance(asked_by, str) else _token(_part(body, "request").get("runtime"))


def _nobody(body: Body) -> str | None:  # noqa: ARG001 -- programs, proofs, approvals and runs of 0.1 named no runtime
    return None


_NAMED: Final[Mapping[str, Named]] = {
    streams.DECISIONS: lambda body: _token(body.get("runtime")),
    streams.RECEIPTS: lambda body: _token(body.get("runtime")),
    streams.EPISODES: lambda body: _token(_part(body, "sealedEpisode").get("runtime")),
    streams.GATES: _asked,
    streams.GUIDANCE: _nobody,
    streams.PROGRAMS: _nobody,
    streams.PROOFS: _nobody,
    streams.APPROVALS: _nobody,
    streams.RUNS: _nobody,
}

MIGRATED: Final = tuple(name for name in streams.STREAMS if name in _NAMED)
"""The streams whose subjects have changed."""


class MessageRuntimes:
    """Takes in the messages of a stream, one after the other; then tells whose each subject is."""

    def __init__(self, stream: str) -> None:
        self._named_by = _NAMED[stream]
        self._found: dict[str, str | None] = {}
        self._starters: dict[str, str] = {}
        self._stream = stream

    def take(self, stored: Delivery) -> None:
        """The next message."""
        if with_runtime(stored.subject, "*") == stored.subject:
            return
        body = _read(stored.body)
        runtime = self._named_by(body)
        known = self._found.setdefault(stored.subject, runtime)
        if known != runtime:
            self._found[stored.subject] = None
        if runtime is not None and body.get("event_type") == _STARTS_A_TASK:
            self._starters.setdefault(_last(stored.subject), runtime)

    async def whose(self, client: Client) -> Mapping[str, str]:
        """By subject, the token of its runtime."""
        if self._stream == streams.GUIDANCE:
            return {each: await _of_session(client, _last(each)) for each in self._found}
        return {each: self._whose(each, runtime) for each, runtime in self._found.items()}

    def _whose(self, subject: str, runtime: str | None) -> str:
        # Decisions on events stand under the runtime that started the task, whoever reported the event.
        if (
            self._stream == streams.DECISIONS
            and subject.count(".") == subjects.DECISION.any.count(".") - 1
        ):
            runtime = self._starters.get(_last(subject), runtime)
        return subjects.NOBODY if runtime is None else runtime


async def _of_session(client: Client, key: str) -> str:
    found = await read_from(client, streams.SESSIONS, subjects.session_log(key), 1, 1)
    runtime = _token(_read(found[0].body).get("runtime")) if found else None
    return subjects.NOBODY if runtime is None else runtime


def _read(body: bytes) -> Body:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return cast(Body, value) if isinstance(value, dict) else {}


def _last(subject: str) -> str:
    return subject.rpartition(".")[2]


class MessageDigest:
    """A hash over messages in their order: where and when each is stored, its subject in 0.1, and all of it."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.count = 0
        self.last = 0

    def take(self, stored: Delivery, subject: str) -> None:
        """The next message, under the subject that it had in 0.1."""
        headers = sorted(
            (name, value)
            for name, value in stored.headers.items()
            if name not in _OF_THE_ANSWER and not name.startswith(_OF_THE_STORING)
        )
        head = json.dumps(
            [stored.sequence, stored.stored_at_ns, subject, headers, len(stored.body)]
        )
        self._hash.update(head.encode())
        self._hash.update(stored.body)
        self.count += 1
        self.last = stored.sequence

    def hex(self) -> str:
        """The hash over those so far."""
        return self._hash.hexdigest()
