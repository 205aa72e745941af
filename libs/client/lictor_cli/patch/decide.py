"""`lictor patch approve, reject`: a human says yes to exactly one change, or no to it or to having one at all."""

import json
from argparse import ArgumentParser, Namespace
from functools import partial
from typing import Literal

from lictor.desk_orders import ask_desk, new_request_id
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json, warn
from lictor_cli.patch.sources import by_argument, find_patch, patch_argument, patches_at
from lictor_cli.verb import Verb
from lictor_schema.contracts.patch import PatchStep


def _arguments(what: Literal["approve", "reject"], parser: ArgumentParser) -> None:
    patch_argument(parser)
    by_argument(parser)
    parser.add_argument("--reason", metavar="TEXT", required=what == "reject", help="why")
    parser.add_argument(
        "--hash",
        metavar="HASH",
        help="the hash of the change that was looked at (default: the change as it is now)",
    )
    common_arguments(parser)


async def _decide(what: Literal["approve", "reject"], options: Namespace) -> int:
    quiet_logs()
    async with patches_at(options.url) as client:
        patch, _ = await find_patch(client, options.patch)
        if options.hash is not None and options.hash != patch.proposal_hash:
            warn(f"the change is {patch.proposal_hash} now; look at it again.")
            return FAILED
        step = PatchStep(
            request_id=new_request_id(),
            patch_id=patch.patch_id,
            step=what,
            by=options.by,
            proposal_hash=patch.proposal_hash,
            reason=options.reason,
        )
        answer = await ask_desk(client, "patch", step)
    if options.json:
        say_json(json.loads(answer.to_json()))
    else:
        say(f"{printable(patch.patch_id)} is {answer.state}")
    return OK


APPROVE = Verb(
    """Approve a patch: exactly the change with this hash, which `lictor patch show` shows. Whoever proposed it
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
