"""What approving and rejecting a patch have in common."""

import json
from argparse import ArgumentParser, Namespace
from typing import Literal

from lictor.desk_orders import ask_desk, new_request_id
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json, warn
from lictor_cli.patch.sources import by_argument, find_patch, patch_argument, patches_at
from lictor_schema.contracts.patch import PatchStep


def saying_arguments(parser: ArgumentParser, *, reason_required: bool) -> None:
    """The options of both."""
    patch_argument(parser)
    by_argument(parser)
    parser.add_argument("--reason", metavar="TEXT", required=reason_required, help="why")
    parser.add_argument(
        "--hash",
        metavar="HASH",
        help="the hash of the change that was looked at (default: the change as it is now)",
    )
    common_arguments(parser)


async def say_about(options: Namespace, what: Literal["approve", "reject"]) -> int:
    """Say it to the desk."""
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
