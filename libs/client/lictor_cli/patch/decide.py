"""`lictor patch approve, reject`: a human says yes to exactly one change, or no to it or to having one at all."""

from argparse import ArgumentParser, Namespace
from functools import partial
from typing import Literal

from lictor.desk_orders import ask_desk, new_request_id
from lictor_cli.desk_order import (
    by_option,
    hash_option,
    is_as_looked_at,
    problems_in_words,
    reason_option,
    told,
)
from lictor_cli.main import FAILED
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs
from lictor_cli.patch.sources import find_patch, patch_argument, patches_at
from lictor_cli.verb import Verb
from lictor_schema.contracts.patch import PatchStep
from lictor_schema.services.desk_answer import DeskAnswer


def _arguments(what: Literal["approve", "reject"], parser: ArgumentParser) -> None:
    patch_argument(parser)
    by_option(parser, "who does it")
    reason_option(parser, required=what == "reject")
    hash_option(
        parser, "the hash of the change that was looked at (default: the change as it is now)"
    )
    common_arguments(parser)


async def _decide(what: Literal["approve", "reject"], options: Namespace) -> int:
    quiet_logs()
    async with patches_at(options.url) as client:
        patch, _ = await find_patch(client, options.patch)
        now = patch.proposal_hash
        if not is_as_looked_at(options.hash, now, f"the change is {now} now"):
            return FAILED
        with problems_in_words():
            step = PatchStep(
                request_id=new_request_id(),
                patch_id=patch.patch_id,
                step=what,
                by=options.by,
                proposal_hash=now,
                reason=options.reason,
            )
        answer = await ask_desk(client, "patch", step, DeskAnswer)
    return told(options, answer, f"{printable(patch.patch_id)} is {answer.state}")


APPROVE = Verb(
    """\
Approve a patch: exactly the change with this hash, which `lictor patch show` shows. Whoever proposed it
can't approve it.
""",
    partial(_arguments, "approve"),
    partial(_decide, "approve"),
)
REJECT = Verb(
    "Reject a patch; that is its end. Drift of the same cause after that asks for another.",
    partial(_arguments, "reject"),
    partial(_decide, "reject"),
)
