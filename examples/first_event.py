"""Report to Lictor from Python: start a task, claim that it is done, and hear what was decided.

Run `lictor up` in one terminal, and this in another, in the same directory or below.
"""

import asyncio
import sys

import lictor


async def main() -> None:
    async with lictor.connect(agent_id="my-agent") as governor:
        task = await governor.start_task("Tidy the release notes")
        claim = await task.claim_complete("The release notes are tidy.")
        record = await task.decision_on(claim)
        print(f"{record.decision.decision.value}: {record.decision.reason}")
        print(f"see: lictor decision show {record.record_id}")


try:
    asyncio.run(main())
except lictor.LictorError as error:
    sys.exit(f"lictor: {error}")
