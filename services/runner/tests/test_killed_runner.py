"""A runner that is killed anywhere leaves nothing unknown: its run is never repeated, and what it did is taken back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from runner_bus import PATIENCE_S, Bus, runner_bus
from runs_on_disk import program

from lictor.history.everyones_history import EveryonesHistory
from lictor.run_results import result_of
from lictor_local.embedded_servers import EmbeddedServers
from lictor_run.transaction import effects_of
from lictor_runner.run_journal import StreamJournal
from lictor_schema.approvals.run import AnyRunEntry, RunFinished

TWO = program("pay('ada', 1)\nbook('room')")
FAILING = program("pay('ada', 1)\nbook('room')\nsend('refuse')")
UNDONE = {"pay": "give_back", "book": "cancel"}


class Killed(BaseException):
    """The runner is gone, in the middle of whatever it did; its child dies with it."""


def _die_at(patch: pytest.MonkeyPatch, entry: int, *, after: bool) -> None:
    """The next runner dies when it writes that entry: before it is stored, or after."""
    append = StreamJournal.append
    written = 0

    async def dying(journal: StreamJournal, told: AnyRunEntry) -> None:
        nonlocal written
        at, written = written, written + 1
        if at == entry and not after:
            raise Killed
        await append(journal, told)
        if at == entry:
            raise Killed

    patch.setattr(StreamJournal, "append", dying)


async def _killed_and_taken_over(
    bus: Bus, source: str, entry: int, *, after: bool
) -> tuple[str, str | None]:
    request_id, delivery = await bus.approved(source)
    with pytest.MonkeyPatch.context() as patch:
        _die_at(patch, entry, after=after)
        with pytest.raises(Killed):
            await bus.runner().handle(delivery)
    # It comes again: to another runner, or to the same one after a restart.
    return request_id, await bus.runner().handle(delivery)


async def _check(bus: Bus, request_id: str, outcome: str | None) -> None:
    """Nothing happened twice, and whatever happened was taken back or is named."""
    done = bus.bank.done()
    for effect, undo in UNDONE.items():
        assert [each[0] for each in done].count(effect) <= 1, done
        made = any(each[0] == effect for each in done)
        undone = any(each[0] == undo for each in done)
        unsettled = [
            each
            for each in effects_of(await bus.journal(request_id))
            if each.effect == effect and not each.is_settled
        ]
        if made and not undone:
            assert unsettled, (effect, done)
        if not unsettled:
            assert made == undone or (undone and effect == "book"), (effect, done)
    life = await bus.life(request_id)
    assert life.state.value == outcome
    assert (await bus.kinds(request_id)).count("run_started") <= 1


@pytest.mark.parametrize(
    ("entry", "after", "outcome"),
    [
        (0, False, "failed"),
        pytest.param(0, True, "failed", marks=pytest.mark.slow),
        (1, True, "in_doubt"),
        (2, False, "in_doubt"),
        pytest.param(3, False, "compensated", marks=pytest.mark.slow),
        (3, True, "compensated"),
        (4, False, "compensated"),
        (5, False, "compensated"),
    ],
    ids=[
        "claimed, and no journal",
        "begun, and nothing done",
        "before paying, which was announced",
        "after paying, before that is written",
        "between two effects",
        "before booking, which was announced",
        "after booking, before that is written",
        "after the last effect",
    ],
)
async def test_a_run_that_lost_its_runner_is_taken_back(
    bus: Bus, entry: int, after: bool, outcome: str
) -> None:
    request_id, found = await _killed_and_taken_over(bus, TWO, entry, after=after)
    assert found == outcome
    await _check(bus, request_id, outcome)


async def test_a_run_that_was_complete_is_told_by_the_next_runner(bus: Bus) -> None:
    request_id, found = await _killed_and_taken_over(bus, TWO, 5, after=True)
    assert found == "executed"
    assert bus.bank.done() == [["pay", "ada", 1], ["book", "room"]]
    assert (await bus.life(request_id)).state.value == "executed"


RETURNING = program("receipt = pay(name, cents)\nbook('room')\nreturn [receipt, cents]").replace(
    "def main() -> None", "def main(name: str, cents: int) -> object"
)
GIVEN = {"name": "ada", "cents": 1}


@pytest.mark.parametrize("entry", range(6))
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_result_is_told_once_or_the_run_is_taken_back_wherever_its_runner_was_killed(
    bus: Bus, entry: int, after: bool
) -> None:
    """Entries: begun, two calls of two entries each, and the end with the result."""
    request_id, delivery = await bus.approved(RETURNING, inputs=GIVEN)
    with pytest.MonkeyPatch.context() as patch:
        _die_at(patch, entry, after=after)
        with pytest.raises(Killed):
            await bus.runner().handle(delivery)
    found = await bus.runner().handle(delivery)
    # It comes again, to whichever runner: nothing runs a second time, and nothing is told again.
    assert await bus.runner().handle(delivery) is None
    await _check(bus, request_id, found)
    ends = [each for each in await bus.journal(request_id) if isinstance(each, RunFinished)]
    assert len(ends) == 1
    history = EveryonesHistory(bus.client)
    report = await result_of(history, request_id, PATIENCE_S)
    assert report.outcome.value == found
    if (entry, after) == (5, True):
        assert (found, report.value) == ("executed", ["receipt-ada-1", 1])
        assert ends[0].result is not None
    else:
        assert report.value is None
        assert ends[0].result is None
        assert report.reason is not None
        assert report.reason.code == "runner.lost"
    paid = [each for each in bus.bank.done() if each[0] == "pay"]
    assert len(paid) <= 1
    assert all(each == ["pay", "ada", 1] for each in paid)


@pytest.mark.parametrize(
    ("entry", "after", "outcome"),
    [
        pytest.param(7, False, "compensated", marks=pytest.mark.slow),
        (7, True, "compensated"),
        pytest.param(8, False, "compensated", marks=pytest.mark.slow),
        pytest.param(9, True, "in_doubt", marks=pytest.mark.slow),
        (10, False, "in_doubt"),
        pytest.param(11, False, "compensated", marks=pytest.mark.slow),
    ],
    ids=[
        "before anything is taken back",
        "before the booking is cancelled",
        "after the booking is cancelled",
        "before the money is given back",
        "after the money is given back",
        "after everything is taken back",
    ],
)
async def test_taking_back_goes_on_where_a_killed_runner_left_it(
    bus: Bus, entry: int, after: bool, outcome: str
) -> None:
    request_id, found = await _killed_and_taken_over(bus, FAILING, entry, after=after)
    assert found == outcome
    await _check(bus, request_id, outcome)
    assert [each[0] for each in bus.bank.done()].count("give_back") <= 1


async def test_a_runner_that_wakes_up_after_another_took_over_makes_no_further_effect(
    bus: Bus,
) -> None:
    request_id, delivery = await bus.approved(program("pay('ada', 1)\nsleep_a_little()\nsend('x')"))
    first = asyncio.create_task(bus.runner().handle(delivery))
    await bus.until_journal(request_id, "effect_started", 2)
    # The broker thinks the first is gone.
    outcome = await bus.runner().handle(delivery)
    with pytest.raises(Exception, match="another runner"):
        await first
    assert outcome == "in_doubt"
    assert ["send", "x"] not in bus.bank.done()
    assert (await bus.life(request_id)).state.value == "in_doubt"


async def test_a_killed_process_leaves_its_run_to_the_next_one(bus: Bus) -> None:
    async with bus.process() as process:
        request_id, _ = await bus.approved(program("pay('ada', 1)\nsleep_long()"))
        await bus.until_journal(request_id, "effect_started", 2)
        # That it starts is written before it does.
        async with asyncio.timeout(PATIENCE_S):
            while ["sleep"] not in bus.bank.done():
                await asyncio.sleep(0.02)
        process.kill()
        await process.wait()
    async with bus.process():
        life = await bus.until_state(request_id, "in_doubt")
    assert bus.bank.done()[-1] == ["give_back", "ada", 1, "receipt-ada-1"]
    assert "the runner that began it is gone" in str(life.reason)


# -- the broker ------------------------------------------------------------------------------------


@asynccontextmanager
async def _own_servers(base: Path) -> AsyncIterator[tuple[EmbeddedServers, Bus]]:
    async with (
        EmbeddedServers(base / "data") as servers,
        runner_bus(servers.endpoints, base) as made,
    ):
        yield servers, made


async def test_a_run_outlives_a_broker_that_is_killed_and_started_again(tmp_path: Path) -> None:
    source = program("pay('ada', 1)\nsleep_a_little()\npay('bob', 2)")
    async with _own_servers(tmp_path) as (servers, bus):
        request_id, delivery = await bus.approved(source)
        running: asyncio.Task[Any] = asyncio.create_task(bus.runner().handle(delivery))
        await bus.until_journal(request_id, "effect_started", 2)
        await servers.kill_nats()
        await servers.start_nats()
        assert await running == "executed"
        assert (await bus.life(request_id)).state.value == "executed"
        assert bus.bank.done() == [["pay", "ada", 1], ["slept"], ["pay", "bob", 2]]
        assert (await bus.kinds(request_id))[-1] == "run_finished"
