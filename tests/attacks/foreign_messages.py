"""Foreign messages: what somebody who may ask the broker anything can have it store, on any subject.

Copies of stored messages with their headers, answers of the broker, and whatever else: noise in bodies and headers.
"""

import json
import random
from collections.abc import Sequence

from nats.aio.client import Client

from lictor_bus.names.streams import STREAMS

_HUGE = 200_000
_NOISE_HEADERS = (
    b"Nats-Msg-Id: \xff\xfe\r\n",
    b"Lictor-Source-Sequence: ninety\r\n",
    b"Lictor-Log: \xc3\x28\r\n",
    b"Lictor-Log: lictor.nowhere\r\n",
    b"Lictor-Dead: {\r\nLictor-Original-Headers: []\r\n",
    b":::\r\n no name\r\n\x00: \x00\r\n",
    b"Nats-Stream: EVENTS\r\nNats-Subject: lictor.ev.x\r\nNats-Sequence: none\r\n",
    b"Status: 503\r\nDescription: gone\r\n",
    b"traceparent: " + b"0" * 3000 + b"\r\n",
)
_BODIES = (
    b"",
    b"{}",
    b"null",
    b"[]",
    b"\xff\xfe\x00",
    b'{"entry_id":"',
    b'{"kind":"',
    b'{"entry_id":"x","kind":"call_denied"}',
    b'{"event_sequence":1e999}',
    b'{"event_sequence":"1"}',
    b"[" * 60_000,
    b"x" * _HUGE,
    b'{"stream":"DECISIONS","seq":7}',
)


class Intruder:
    """Stores foreign messages, each of a kind that the generator of chance chooses."""

    def __init__(self, client: Client, chance: random.Random) -> None:
        self._client = client
        self._chance = chance
        self.stored = 0

    async def put(self, subject: str) -> None:
        """One foreign message on a subject; whether the broker takes it is its own matter."""
        kind = self._chance.choice((self._copy, self._copy, self._answer, self._noise, self._noise))
        await kind(subject)
        self.stored += 1

    async def everywhere(self, each: int = 1, more: Sequence[str] = ()) -> None:
        """Some on every subject that holds a message, and on those named."""
        found = [*more]
        for stream in await self._streams():
            info = await self._client.jetstream().stream_info(stream, subjects_filter=">")
            found += [name for name in (info.state.subjects or {}) if "sched" not in name]
        for subject in found:
            for _ in range(each):
                await self.put(subject)
        await self._client.flush()

    async def _streams(self) -> list[str]:
        there = {each.config.name for each in await self._client.jetstream().streams_info()}
        return [name for name in STREAMS if name in there]

    async def _copy(self, subject: str) -> None:
        """A stored message of any stream, with its headers and those that the broker adds."""
        stream = self._chance.choice(await self._streams())
        last = (await self._client.jetstream().stream_info(stream)).state.last_seq
        asked = {"seq": self._chance.randint(1, last)} if last else {"last_by_subj": ">"}
        await self._client.publish(
            f"$JS.API.DIRECT.GET.{stream}", json.dumps(asked).encode(), reply=subject
        )

    async def _answer(self, subject: str) -> None:
        """What the broker answers to a question, or to a message that it stores."""
        asked = self._chance.choice(
            ("$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO.DEAD", "lictor.mark.x.x")
        )
        await self._client.publish(asked, b"", reply=subject)

    async def _noise(self, subject: str) -> None:
        body = self._chance.choice(_BODIES)
        headers = b"NATS/1.0\r\n" + self._chance.choice(_NOISE_HEADERS) + b"\r\n"
        # As bytes: nats-py would refuse to send such headers.
        command = b"HPUB %b %d %d\r\n%b%b\r\n" % (
            subject.encode(),
            len(headers),
            len(headers) + len(body),
            headers,
            body,
        )
        await self._client._send_command(command)
        await self._client._flush_pending()
