"""A task's state as it is now: never older than the last event that the caller or the task's own runtime has stored.

EVENTS is asked for the sequence of that event, and the store until the fold has passed it. A state that lacks the event
then may be right, since events may be refused; it is not believed when DECISIONS has a decision about a later event
than it knows.
"""

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

from nats.aio.client import Client
from redis.asyncio import Redis

from lictor_bus.concurrency import together
from lictor_bus.fold.state_store import Peeked, StateReader
from lictor_bus.fold.state_tags import StateTags
from lictor_bus.names import streams, subjects
from lictor_bus.wire.read import last_on_subjects, last_sequence
from lictor_policy.judge.step import KEEP_CLOSED_TASKS_S
from lictor_policy.task.state import TaskState
from lictor_policy_evaluator.decisions.past_decisions import event_sequence
from lictor_schema.core.time import SECOND_US

_FIRST_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.02


class Current(NamedTuple):
    """A task as far as its history was counted."""

    state: TaskState | None
    sequence: int


class NotCaughtUp(Exception):
    """The fold didn't pass the task's last event in time."""


class TaskStates:
    """Reads the states of tasks beside the workers that fold them."""

    def __init__(
        self,
        client: Client,
        redis: "Redis",
        *,
        service: str,
        partitions: int,
        tags: StateTags | None = None,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._client = client
        self._partitions = partitions
        self._now_ns = now_ns
        self._readers = [StateReader(redis, service, str(n), tags) for n in range(partitions)]

    async def now(self, runtime: str, task_id: str, within_s: float) -> Current:
        """The task's state, no older than the last event the runtime has stored for it; or NotCaughtUp."""
        deadline = time.monotonic() + within_s
        key = subjects.token(task_id)
        reader = self._readers[subjects.partition_of(key, self._partitions)]
        last, found = await together(
            self._last(self._of_runtime(runtime, task_id), within_s), reader.peek(key)
        )
        pause = _FIRST_PAUSE_S
        counted = {self._of_runtime(runtime, task_id)}
        while True:
            state = self._read(found)
            # Asked by another runtime than the one whose task it is: that one's events count too. Of a task that is
            # not known yet it may be any.
            whose = (
                subjects.stored_events(self._partitions, task_id)
                if state is None
                else self._of_runtime(state.runtime, task_id)
            )
            if whose not in counted:
                counted.add(whose)
                last = max(last, await self._last(whose, within_s))
            if found.cursor >= last:
                if found.position < last:
                    await self._refuse_what_was_put_back(reader, key, found)
                return Current(state, found.cursor)
            if time.monotonic() >= deadline:
                raise NotCaughtUp
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE_S)
            found = await reader.peek(key)

    async def _refuse_what_was_put_back(self, reader: StateReader, key: str, found: Peeked) -> None:
        """Raise ForgedState if there is a decision that the state has forgotten, although nothing was to be."""
        forgotten_us = self._now_ns() // 1000 - KEEP_CLOSED_TASKS_S * SECOND_US
        subject = subjects.DECISION.where(task=key)
        for stored in await last_on_subjects(self._client, streams.DECISIONS, [subject]):
            if found.state is None and stored.stored_at_ns // 1000 <= forgotten_us:
                continue
            if found.position < event_sequence(stored) <= found.cursor:
                raise await reader.doubt(key)

    def _read(self, found: Peeked) -> TaskState | None:
        """The state, unless an event stored now would find it forgotten."""
        if found.state is None:
            return None
        if found.until_us is not None and self._now_ns() // 1000 > found.until_us:
            return None
        return TaskState.decode(found.state)

    def _of_runtime(self, runtime: str, task_id: str) -> str:
        return subjects.stored_event(self._partitions, runtime, task_id)

    async def _last(self, subject: str, within_s: float) -> int:
        return await last_sequence(self._client, streams.EVENTS, subject, timeout_s=within_s)
