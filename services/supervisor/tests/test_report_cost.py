"""What a report costs: whoever may ask over HTTP can't make the sealer verify its whole log again and again."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from lictor_bus.errors import BusError
from lictor_contracts.report.measurements import Measuring
from lictor_schema.contracts.coherence_report import CoherenceReport
from lictor_seal import TrustStore
from lictor_supervisor.coherence_report import CoherenceReports


class Counting(CoherenceReports):
    """Reports that count how often one is made, and take as long as they are told."""

    def __init__(self) -> None:
        self.moment = 100.0
        self.takes_s = 0.0
        self.made = 0
        self.fails = False
        nobody: Any = None
        super().__init__(nobody, lambda: TrustStore(()), clock=lambda: self.moment)

    async def make(self, since: datetime | None) -> CoherenceReport:
        self.made += 1
        await asyncio.sleep(0)
        self.moment += self.takes_s
        if self.fails:
            raise BusError("the streams can't be read")
        return Measuring(since, datetime.now(UTC)).report()


async def test_all_who_ask_at_once_get_one_report() -> None:
    reports = Counting()
    pages = await asyncio.gather(*(reports.page() for _ in range(50)))
    assert (reports.made, len(set(pages))) == (1, 1)


@pytest.mark.parametrize(("takes_s", "lasts_s"), [(0.1, 15), (60, 540)])
async def test_a_report_lasts_the_longer_the_more_it_cost(takes_s: float, lasts_s: float) -> None:
    reports = Counting()
    reports.takes_s = takes_s
    await reports.page()
    reports.moment += lasts_s - 0.01
    await reports.page()
    assert reports.made == 1
    reports.moment += 0.02
    await reports.page()
    assert reports.made == 2


async def test_who_goes_away_does_not_take_it_from_the_others() -> None:
    reports = Counting()
    impatient = asyncio.create_task(reports.page())
    patient = asyncio.create_task(reports.page())
    await asyncio.sleep(0)
    impatient.cancel()
    assert await patient is not None
    assert reports.made == 1


async def test_a_report_that_can_not_be_made_is_not_tried_without_end() -> None:
    reports = Counting()
    reports.fails = True
    assert [await reports.page() for _ in range(3)] == [None, None, None]
    assert reports.made == 1
    reports.moment += 15
    reports.fails = False
    assert await reports.page() is not None
