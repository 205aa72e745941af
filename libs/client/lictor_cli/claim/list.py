"""`lictor claim list`: every claim in its newest form."""

import json
from argparse import ArgumentParser, Namespace

from lictor_bus.logs.entry_logs import all_entries
from lictor_bus.names import subjects
from lictor_bus.names.streams import CERPA
from lictor_cli.claim.sources import claims_at
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, quiet_logs, say, say_json, say_table
from lictor_schema.contracts.cerpa_claim import ClaimMade
from lictor_schema.contracts.cerpa_cycle import CerpaClaim

HELP = "List claims."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """List them."""
    quiet_logs()
    made: dict[tuple[str, str], CerpaClaim] = {}
    async with claims_at(options.url) as client:
        entries = all_entries(client, CERPA, subjects.CLAIM.where(kind="made"), ClaimMade.from_json)
        async for _, entry in entries:
            made[entry.claim.subject, entry.claim.id] = entry.claim
    if options.json:
        for each in made.values():
            say_json(json.loads(each.to_json()))
    elif made:
        say_table(
            ("claim", "subject", "rests on", "text"),
            ((each.id, each.subject, _rests_on(each), each.text) for each in made.values()),
        )
    else:
        say("no claims")
    return OK


def _rests_on(claim: CerpaClaim) -> str:
    told = [f"{each.metric} {each.operator} {each.bound}" for each in claim.assumptions]
    return "; ".join(told) or "-"
