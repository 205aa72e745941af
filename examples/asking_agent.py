"""An agent that asks a person before it pays: it waits, is told no and why, and does what it was told.

Somebody decides meanwhile, from anywhere, with a key of their own:

    lictor approvals keygen ann.pem --name ann@example.org --add approvers.json
    LICTOR_AGENTS=examples/agents LICTOR_APPROVERS=approvers.json lictor up
    python examples/asking_agent.py                    # in a second terminal
    lictor approvals list                              # in a third
    lictor approvals reject REQUEST --key ann.pem --reason "It arrived late, not broken: pay the shipping of 12 back."

The "agent" is a script: it takes the first number in what it is told for the sum to pay.
"""

import asyncio
import re
import sys
import uuid

import lictor
from lictor.models import ToolVerdict


def waits(verdict: ToolVerdict) -> None:
    """Tells whoever runs the agent; a real one would send them a link."""
    if verdict.asked and verdict.approval is not None:
        print(
            f"waiting for a person: lictor approvals show {verdict.approval.request_id}", flush=True
        )


async def main() -> None:
    async with (
        lictor.connect(agent_id="refunder") as governor,
        governor.guard(str(uuid.uuid4()), definition="refunder", on_ask=waits) as guard,
    ):

        @guard.tool
        def look_up(order: str) -> str:
            return f"order {order}: 480 paid, shipping 12, delivered two days late"

        @guard.tool(wait="1h")
        def refund(order: str, amount: int) -> str:
            return f"paid back {amount} for order {order}"

        print(await look_up("A-17"))
        try:
            print(await refund("A-17", 480))
        except lictor.ToolAsked as asked:
            print(
                f"nobody decided in time; the same call goes on later: {asked.approval.request_id}"
            )
        except lictor.ToolDenied as denied:
            approval = denied.verdict.approval
            guidance = "" if approval is None else approval.guidance or ""
            print(f"told: {guidance}")
            if found := re.search(r"\d+", guidance):
                print(await refund("A-17", int(found[0])))


try:
    asyncio.run(main())
except lictor.LictorError as error:
    sys.exit(f"lictor: {error}")
