"""Reading more than fits into one answer of the broker: it is cut by bytes, whatever number was asked for."""

import time

import pytest

from lictor_bus.errors import MessageRefused
from lictor_bus.logs.dead_letters import DeadLetters, list_dead
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.read import last_on_subjects, read_from

LETTERS = 6


@pytest.fixture
async def heavy(bench):
    """A bus with 23 MB of dead letters."""
    dead = DeadLetters(bench.client, "totals")
    for sequence in range(1, LETTERS + 1):
        original = Delivery("lictor.ev.0.test.a", b"x" * 3_900_000, {}, sequence, time.time_ns())
        await dead.store(streams.EVENTS, original, MessageRefused("too large", remedy="send less"))
    first = await read_from(bench.client, streams.DEAD, subjects.DEAD_LETTER.all, 1, LETTERS)
    assert len(first) < LETTERS
    return bench


async def test_every_dead_letter_is_listed(heavy):
    listed = [stored_letter.letter.sequence async for stored_letter in list_dead(heavy.client)]
    assert listed == list(range(1, LETTERS + 1))


async def test_the_last_message_of_every_subject_is_found(heavy):
    found = await last_on_subjects(heavy.client, streams.DEAD, ["lictor.dead.totals.EVENTS.*"])
    assert [each.sequence for each in found] == list(range(1, LETTERS + 1))
