"""A decision under contract: a refund that must be fresh, allowed, verified, and in time.

Run `lictor up` in one terminal with LICTOR_PACKS set to examples/packs, and this in another, in the same directory or
below. The order book is a dictionary; what the gate says to each try is printed.
"""

import asyncio
import json
import sys
import uuid
from typing import Any

import lictor
from lictor.governed_decision import ActionDenied

ORDERS = {"o-17": {"status": "paid"}}
KEY = str(uuid.uuid4())


def contract(action_id: str, **other: str) -> dict[str, Any]:
    """The refund; every try of it has the same key."""
    return {
        "actionId": action_id,
        "actionType": "refund",
        "blastRadiusTier": "small",
        "targetRefs": [{"type": "order", "id": "o-17"}],
        "constraints": {},
        "authorization": {"mode": "auto"},
        "idempotencyKey": KEY,
        "rollbackPlan": {"type": "compensate"},
        **other,
    }


async def refund() -> dict[str, str]:
    ORDERS["o-17"]["status"] = "refunded"
    return ORDERS["o-17"]


async def read_back() -> dict[str, str]:
    return ORDERS["o-17"]


async def main() -> None:
    async with lictor.connect(agent_id="clerk") as governor:
        task = await governor.start_task("Refund order o-17", decision_type="refund")
        async with task.decision() as decision:
            await decision.count(hops=0, fanout=0, tool_calls=1, chain_depth=1)
            try:
                await decision.carry_out(contract("a-1"), refund)
            except ActionDenied as denied:
                print(f"denied: {denied}")
            async with decision.stage("context"):
                await decision.capture("balance", value={"cents": 4900})
            async with decision.stage("act"):
                result = await decision.carry_out(contract("a-2"), refund)
            print(f"allowed: the order is {result['status']}")
            answer = await decision.verify(
                "a-2", expected={"status": "refunded"}, observed=read_back
            )
            assert answer.verification is not None
            print(f"verified: {answer.verification.result.value}")
        await task.attach_evidence(
            "The order book says refunded",
            refs=[{"kind": "log", "ref": "orders/o-17"}],
            quality="strong",
            evidence_class="verification_output",
            supports=["completion"],
        )
        await task.claim_complete("Order o-17 is refunded.")
        episode = json.loads(await task.sealed())["sealedEpisode"]
        print(f"sealed: {episode['outcome']['code']}: {episode['outcome']['reason']}")
        print(f"see: lictor seal export {episode['episodeId']} -o refund.json")


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except lictor.LictorError as error:
        sys.exit(f"lictor: {error}")
