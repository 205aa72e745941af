"""The broker's own requests about streams, for what nats-py has no words for."""

import json
from typing import Any

from nats.aio.client import Client
from nats.errors import Error as NatsError

from lictor_bus.errors import BusError, JetStreamAway
from lictor_bus.wire.error_codes import STREAM_NOT_FOUND

_ANSWER_WITHIN_S = 30.0

Answer = dict[str, Any]


class StreamApi:
    """Asks the broker, and takes a refusal for an error."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def ask(self, request: str, body: Answer) -> Answer:
        """An answer, also one with an ``error``."""
        try:
            answer = await self._client.request(
                f"$JS.API.{request}", json.dumps(body).encode(), timeout=_ANSWER_WITHIN_S
            )
        except (NatsError, TimeoutError) as error:
            raise JetStreamAway(
                f"JetStream does not answer {request}: see whether it has a leader, and whether this user may ask it"
            ) from error
        return json.loads(answer.data)

    async def do(self, request: str, body: Answer) -> Answer:
        """An answer without an error; BusError otherwise."""
        answer = await self.ask(request, body)
        if error := answer.get("error"):
            raise BusError(f"{request}: {error.get('description')}")
        return answer

    async def info(self, stream: str) -> Answer | None:
        """What the broker says of a stream; None when there is none."""
        answer = await self.ask(f"STREAM.INFO.{stream}", {})
        error = answer.get("error")
        if error is None:
            return answer
        if error.get("err_code") == STREAM_NOT_FOUND:
            return None
        raise BusError(f"stream {stream}: {error.get('description')}")
