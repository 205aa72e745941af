"""`lictor claim cycles`: what contradicted a claim, and what became of it."""

import json
from argparse import ArgumentParser, Namespace

from lictor_cli.claim.sources import all_cycles, claims_at
from lictor_cli.main import OK
from lictor_cli.output.terminal import (
    common_arguments,
    printable,
    quiet_logs,
    say,
    say_json,
    say_table,
)
from lictor_schema.contracts.cerpa_cycle import CerpaCycle, CycleStatus

HELP = "List cycles, each as it is now."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--status", choices=[each.value for each in CycleStatus])
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """List them."""
    quiet_logs()
    async with claims_at(options.url) as client:
        cycles = await all_cycles(client)
    found = [each for each in cycles.values() if options.status in (None, each.status.value)]
    if options.json:
        for each in found:
            say_json(json.loads(each.to_json()))
    elif found:
        say_table(
            ("cycle", "status", "claim", "verdict", "why"),
            (
                (
                    each.cycle_id,
                    each.status.value,
                    f"{each.claim.id} about {each.claim.subject}",
                    each.review.verdict.value,
                    printable(why_so(each), 240),
                )
                for each in found
            ),
        )
    else:
        say("no cycles")
    return OK


def why_so(cycle: CerpaCycle) -> str:
    """What was found, and what became of it or is needed."""
    result, wanted = cycle.apply_result, cycle.patch
    if result is not None and result.success:
        # Cycles of earlier versions don't say it; only a new form of a claim updates one.
        before = "claim" if result.updated_claims else "patch"
        how = (result.settled_by or before).replace("_", " ")
        return f"settled by {how}{f', {result.by}' if result.by else ''}: {cycle.review.rationale}"
    if result is not None:
        return f"{cycle.review.rationale}; {result.reason}"
    if cycle.status is CycleStatus.ESCALATED and wanted is not None:
        return wanted.description
    return cycle.review.rationale
