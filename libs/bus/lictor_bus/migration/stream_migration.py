"""Migrates a stream of version 0.1: the broker copies it under the new subjects, and back under its name.

A mirror keeps the sequences of its messages, with their holes, their times, headers and ids, and renames them by
subject transforms; then it can become a stream of its own. JetStream has no other name for a stream, so there are two
such copies: the old stream into one beside it, and that one into a new stream under the old name.

Every step can be taken again, and where a migration stands is read from the streams themselves. The old stream is
removed when its copy was read whole and found the same, and the copy likewise.
"""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from nats.aio.client import Client
from nats.js.api import StreamConfig

from lictor_bus.errors import BusError
from lictor_bus.migration.message_runtimes import MIGRATED, MessageDigest, MessageRuntimes
from lictor_bus.migration.sole_migrator import MigrationRefused, SoleMigrator, sole_migrator
from lictor_bus.migration.stream_api import Answer, StreamApi
from lictor_bus.migration.subject_transforms import transforms
from lictor_bus.names import streams
from lictor_bus.names.older_subjects import with_runtime, without_runtime
from lictor_bus.names.streams import copy_of, in_migration, is_older, placeholder_of
from lictor_bus.wire.delivery import nanoseconds
from lictor_bus.wire.read import PAGE, stored_all
from lictor_bus.wire.stream_leader import MADE

_ORIGIN = "lictor-origin"
_LOOK_S = 0.05
_STALLED_S = 60.0
READS = 3
"""So many times each message is read: to learn whose it is, and to compare both copies."""

Advance = Callable[[], None]
"""Called for each message that was read."""


class ToMigrate(NamedTuple):
    """A stream that is to be migrated, or whose migration is not finished."""

    stream: str
    messages: int
    size: int


class Migrated(NamedTuple):
    """A stream that was migrated."""

    stream: str
    messages: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class _Origin:
    """What a copy was made of; noted with the copy once it was found to be the same."""

    made: str
    last: int
    count: int
    digest: str
    consumers: Sequence[Answer]

    @classmethod
    def noted(cls, copy: Answer | None) -> "_Origin | None":
        metadata: dict[str, str] = {} if copy is None else copy["config"].get("metadata") or {}
        return cls(**json.loads(metadata[_ORIGIN])) if _ORIGIN in metadata else None


async def to_migrate(client: Client) -> list[ToMigrate]:
    """The streams that hold messages of version 0.1, or are half migrated."""
    api, found = StreamApi(client), list[ToMigrate]()
    for name in MIGRATED:
        stream, copy = await api.info(name), await api.info(copy_of(name))
        if copy is None and (stream is None or not _unfinished(stream)):
            continue
        state = (stream or copy or {})["state"]
        found.append(ToMigrate(name, state["messages"], state["bytes"]))
    return found


def _unfinished(stream: Answer) -> bool:
    config = _config(stream)
    return in_migration(config) or (is_older(config) and bool(stream["state"]["last_seq"]))


async def migrate(
    client: Client, services: Sequence[str], advance: Advance = lambda: None
) -> list[Migrated]:
    """Migrate every stream that needs it; raises MigrationRefused while one of these services runs."""
    todo = await to_migrate(client)
    if not todo:
        return []
    done: list[Migrated] = []
    async with sole_migrator(client, services) as held:
        for each in todo:
            started = time.monotonic()
            await StreamMigration(client, each.stream, held, advance).run()
            done.append(Migrated(each.stream, each.messages, time.monotonic() - started))
    return done


class StreamMigration:
    """Migrates one stream."""

    def __init__(
        self, client: Client, name: str, held: SoleMigrator, advance: Advance = lambda: None
    ) -> None:
        self._client = client
        self._api = StreamApi(client)
        self._name = name
        self._copy = copy_of(name)
        self._held = held
        self._advance = advance

    async def run(self) -> None:
        """Take whatever step is next, until there is none."""
        while await self._step():
            pass

    async def _step(self) -> bool:
        found, copy = await self._api.info(self._name), await self._api.info(self._copy)
        config = None if found is None else _config(found)
        if found is not None and config is not None and is_older(config):
            await self._make_copy(found, copy)
        elif found is None and copy is not None:
            await self._make_anew(copy)
        elif found is not None and config is not None and config.mirror is not None:
            await self._fill(found, copy)
        elif found is not None and config is not None and in_migration(config):
            await self._finish(found, copy)
        elif found is not None and copy is not None:
            await self._remove_copy(found)
        else:
            return False
        return True

    async def _make_copy(self, found: Answer, copy: Answer | None) -> None:
        """The old stream becomes its copy, under new subjects."""
        if copy is not None:
            if nanoseconds(copy["created"]) < nanoseconds(found["created"]):
                raise MigrationRefused(
                    f"stream {self._name} was made again, by a service of version 0.1, while its messages were"
                    f" in {self._copy}: remove stream {self._name}, and run it again"
                )
            await self._remove(self._copy)
        runtimes, digest = MessageRuntimes(self._name), MessageDigest()
        async for stored in stored_all(self._client, self._name, ">", PAGE):
            runtimes.take(stored)
            digest.take(stored, stored.subject)
            self._advance()
        whose = await runtimes.whose(self._client)
        mirror = {
            "name": self._name,
            "subject_transforms": transforms(streams.STREAMS[self._name].subjects, whose),
        }
        made = {**_kept(found), "name": self._copy, "mirror": mirror}
        await self._create(made)
        await self._until_filled(self._copy, digest)
        copied = MessageDigest()
        async for stored in stored_all(self._client, self._copy, ">", PAGE):
            older = without_runtime(stored.subject)
            if stored.subject != with_runtime(older, whose.get(older, "")):
                raise BusError(
                    f"{self._copy} {stored.sequence}: {stored.subject} is nobody's subject"
                )
            copied.take(stored, older)
            self._advance()
        now = await self._api.info(self._name)
        if copied.hex() != digest.hex() or now is None or now["state"] != found["state"]:
            raise BusError(
                f"stream {self._name} changed while it was copied, or its copy is not the same; nothing was"
                " removed: stop whoever writes to it, and run it again"
            )
        origin = _Origin(
            made=_made(found),
            last=found["state"]["last_seq"],
            count=digest.count,
            digest=digest.hex(),
            consumers=await self._consumers(),
        )
        promoted: Answer = {
            **made,
            "subjects": [self._copy],
            "mirror_direct": False,
            "metadata": {_ORIGIN: json.dumps(asdict(origin))},
        }
        del promoted["mirror"]
        await self._api.do(f"STREAM.UPDATE.{self._copy}", promoted)
        await self._remove(self._name)

    async def _make_anew(self, copy: Answer) -> None:
        """The old stream is gone; a new one under its name is filled from the copy."""
        origin = self._origin(copy)
        metadata = {MADE: origin.made}
        await self._create(
            {
                **_kept(copy),
                "name": self._name,
                "mirror": {"name": self._copy},
                "metadata": metadata,
            }
        )

    async def _fill(self, found: Answer, copy: Answer | None) -> None:
        """All messages are there and the same; it becomes a stream of its own, which takes nothing yet."""
        origin = self._origin(copy)
        digest = MessageDigest()
        await self._until_filled(self._name, origin)
        async for stored in stored_all(self._client, self._name, ">", PAGE):
            digest.take(stored, without_runtime(stored.subject))
            self._advance()
        if digest.hex() != origin.digest:
            raise BusError(
                f"stream {self._name} is not the same as {self._copy}, which stays; remove {self._name} and run"
                " it again"
            )
        promoted: Answer = {
            **_kept(found),
            "name": self._name,
            "subjects": [placeholder_of(self._name)],
            "mirror_direct": False,
            "metadata": {MADE: origin.made},
        }
        await self._api.do(f"STREAM.UPDATE.{self._name}", promoted)

    async def _finish(self, found: Answer, copy: Answer | None) -> None:
        """It goes on at the same sequence, its consumers at the same message; now it is as it should be."""
        origin = self._origin(copy)
        placeholder = placeholder_of(self._name)
        # What was removed at the end of the old stream is no message that a mirror copies.
        for _ in range(origin.last - found["state"]["last_seq"]):
            await self._client.jetstream().publish(placeholder, b"")
        await self._api.do(f"STREAM.PURGE.{self._name}", {"filter": placeholder})
        for each in origin.consumers:
            await self._make_consumer(each)
        wanted = streams.STREAMS[self._name].config(
            partitions=streams.DEFAULT_PARTITIONS,
            replicas=found["config"]["num_replicas"],
            max_payload=self._client.max_payload,
        )
        wanted.metadata = {MADE: origin.made}
        await self._api.do(f"STREAM.UPDATE.{self._name}", wanted.as_dict())

    async def _remove_copy(self, found: Answer) -> None:
        if MADE not in (found["config"].get("metadata") or {}):
            raise MigrationRefused(
                f"stream {self._name} was made beside {self._copy}, which has its messages: if it is empty,"
                " remove it, and run it again"
            )
        await self._remove(self._copy)

    def _origin(self, copy: Answer | None) -> _Origin:
        origin = _Origin.noted(copy)
        if origin is None:
            raise MigrationRefused(
                f"stream {self._name} is gone, and {self._copy} is not known to hold all of it: restore"
                f" {self._name} from a backup, remove {self._copy}, and run it again"
            )
        return origin

    async def _create(self, config: Answer) -> None:
        size, most = len(json.dumps(config)), self._client.max_payload
        if size > most:
            raise MigrationRefused(
                f"the tasks in stream {self._name}, which belong to several runtimes, make a request of {size} bytes,"
                f" and NATS takes {most}: raise its `max_payload` until the migration is done"
            )
        await self._api.do(f"STREAM.CREATE.{config['name']}", config)

    async def _remove(self, stream: str) -> None:
        await self._held.check()
        await self._api.do(f"STREAM.DELETE.{stream}", {})

    async def _until_filled(self, stream: str, wanted: "MessageDigest | _Origin") -> None:
        """Wait until a mirror has every message; BusError when it does not get on."""
        before, since = -1, time.monotonic()
        while True:
            found = await self._api.info(stream)
            count = 0 if found is None else int(found["state"]["messages"])
            if count == wanted.count:
                return
            if count != before:
                before, since = count, time.monotonic()
            elif time.monotonic() - since > _STALLED_S:
                raise BusError(
                    f"stream {stream} has {count} of {wanted.count} messages, and gets no more: see what"
                    " the NATS server logs; the stream that it copies stays"
                )
            await asyncio.sleep(_LOOK_S)

    async def _consumers(self) -> list[Answer]:
        found = await self._client.jetstream().consumers_info(self._name)
        listed: list[Answer] = []
        for each in found:
            info = await self._api.do(f"CONSUMER.INFO.{self._name}.{each.name}", {})
            config: Answer = {k: v for k, v in info["config"].items() if k != "metadata"}
            if config.get("durable_name"):
                listed.append({"config": config, "done": info["ack_floor"]["stream_seq"]})
        return listed

    async def _make_consumer(self, noted: Answer) -> None:
        config: Answer = dict(noted["config"])
        name, path = config["durable_name"], self._name
        if subject := config.get("filter_subject"):
            config["filter_subject"] = with_runtime(subject, "*")
        with suppress(BusError):
            # Of an attempt before this one.
            await self._api.do(f"CONSUMER.DELETE.{path}.{name}", {})
        await self._api.do(
            f"CONSUMER.CREATE.{path}.{name}"
            + (f".{config['filter_subject']}" if config.get("filter_subject") else ""),
            {"stream_name": path, "config": config},
        )
        if noted["done"]:
            await self._api.do(f"CONSUMER.RESET.{path}.{name}", {"seq": noted["done"] + 1})


def _config(found: Answer) -> StreamConfig:
    # nats-py changes what it reads from.
    return StreamConfig.from_response(deepcopy(found["config"]))


def _made(found: Answer) -> str:
    metadata: dict[str, Any] = found["config"].get("metadata") or {}
    return metadata.get(MADE, found["created"])


def _kept(found: Answer) -> Answer:
    """What a copy has of the settings of its stream; the others it gets when it is finished."""
    config = found["config"]
    return {
        "description": config.get("description", ""),
        "storage": config["storage"],
        "num_replicas": config["num_replicas"],
        "retention": "limits",
        "duplicate_window": config["duplicate_window"],
        "allow_direct": True,
    }
