"""The rehearser as the prover sees it: asked over the bus, and never waited for without an end."""

import json
from uuid import uuid4

from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from pydantic import ValidationError

from lictor_bus.gates.rehearsal import REHEARSE
from lictor_bus.wire.connection import TolerantClient
from lictor_prove.rehearsal.order_json import MalformedMessage, observation_of, order_bytes
from lictor_prove.rehearsal.orders import Observation, StageOrder
from lictor_schema.errors import SchemaError
from lictor_schema.proofs.rehearsal_order import RehearsalObservation

_TIMEOUT_S = REHEARSE.within_s + 5.0
"""Longer than the rehearser takes to say that it took too long."""


class BusStage:
    """Runs programs wherever a rehearser answers; whatever else happens is a refusal."""

    def __init__(self, client: TolerantClient, timeout_s: float = _TIMEOUT_S) -> None:
        self._client = client
        self._timeout_s = timeout_s

    async def perform(self, order: StageOrder) -> Observation:
        """What the program did, or why nobody can tell."""
        asked = str(uuid4())
        body = json.dumps({"request_id": asked}).encode()[:-1] + b"," + order_bytes(order)[1:]
        most = int(self._client.max_payload * REHEARSE.share_of_payload)
        if len(body) > most:
            return Observation((), f"the order has {len(body)} bytes, more than {most}")
        try:
            reply = await self._client.request(REHEARSE.subject, body, timeout=self._timeout_s)
            answer = RehearsalObservation.from_json(reply.data)
            seen = observation_of(answer.model_dump_json(exclude={"request_id"}).encode())
        except NoRespondersError:
            return Observation((), "no rehearser is running")
        except (NatsError, OSError, ValidationError, SchemaError, MalformedMessage) as error:
            return Observation((), f"the rehearser does not answer: {_told(error)}")
        if not seen.refused and (answer.request_id != asked or len(seen.runs) != len(order.runs)):
            return Observation((), "the rehearser answers something else than it was asked")
        return seen


def _told(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:500]
