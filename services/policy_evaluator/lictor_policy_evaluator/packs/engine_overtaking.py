"""Two engines side by side: the older one leaves the gates to the newer, and says so.

Its workers stop at the newer one's switch. Questions are shared among instances, so an older one that only denied would
deny its share for as long as it runs.
"""

import asyncio

from lictor_bus.gates.gate_runner import GateRunner
from lictor_policy.version import ENGINE_VERSION
from lictor_policy_evaluator.packs.partition_configs import Library


class Overtaking:
    """Ends the answering of gates once a newer engine is in force."""

    def __init__(self, library: Library, gates: GateRunner) -> None:
        self._library = library
        self._gates = gates
        self._stopping = asyncio.Event()
        self.trouble: str | None = None

    def stop(self) -> None:
        """Return from ``run``."""
        self._stopping.set()

    async def run(self) -> None:
        """Wait for a newer engine, or to be stopped."""
        waits = [
            asyncio.create_task(each.wait()) for each in (self._library.overtaken, self._stopping)
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if self._library.overtaken.is_set():
                self.trouble = (
                    f"a newer engine than {ENGINE_VERSION} is in force: this instance judges"
                    " nothing and answers no gate; stop it"
                )
                self._gates.stop()
                await self._stopping.wait()
        finally:
            for each in waits:
                each.cancel()
