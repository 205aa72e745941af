"""A few stages, each for one order at a time: who asks waits for the next that is free."""

import asyncio
import logging
from collections.abc import Sequence

from lictor_bus.concurrency import together
from lictor_prove.rehearsal.orders import Observation, StageOrder
from lictor_run.rehearsal.local_stage import LocalStage

log = logging.getLogger("lictor.rehearser")


class StagePool:
    """Stages that are started together, and closed together."""

    def __init__(self, stages: Sequence[LocalStage]) -> None:
        self._stages = stages
        self._free: asyncio.Queue[LocalStage] = asyncio.Queue()
        for stage in stages:
            stage.start()
            self._free.put_nowait(stage)

    async def why_refused(self) -> str:
        """Why nothing can be rehearsed here; empty when it can."""
        told = await together(*(asyncio.to_thread(stage.why_refused) for stage in self._stages))
        return next((why for why in told if why), "")

    async def perform(self, order: StageOrder) -> Observation:
        """What a stage observes."""
        stage = await self._free.get()
        # A question that is given up leaves its stage at work: it is free when it is done, and not before.
        work = asyncio.create_task(asyncio.to_thread(stage.perform, order))
        work.add_done_callback(lambda _: self._free.put_nowait(stage))
        return await asyncio.shield(work)

    async def close(self) -> None:
        """End all stages, also when one does not end well."""
        closing = [asyncio.to_thread(stage.close) for stage in self._stages]
        for failed in await asyncio.gather(*closing, return_exceptions=True):
            if failed is not None:
                raise failed
