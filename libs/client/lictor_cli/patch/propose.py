"""`lictor patch propose`: a human writes the change that a patch waits for, or one of their own."""

import json
import sys
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from lictor.desk_orders import ask_desk, new_request_id
from lictor.errors import LictorError
from lictor.installation.directories import packs_directory
from lictor_cli.claim.sources import find_cycle
from lictor_cli.desk_order import by_option, reason_option
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json
from lictor_cli.patch.sources import find_patch, patches_at
from lictor_contracts.drift.events import worst
from lictor_contracts.patch.document import PatchDocumentError, read_document
from lictor_contracts.patch.proposal import propose
from lictor_policy.errors import PackError
from lictor_policy.packs.files import PACK_FILE, DirectoryFiles
from lictor_schema.contracts.cerpa_cycle import CerpaCycle
from lictor_schema.contracts.drift import DriftSeverity
from lictor_schema.contracts.patch import CycleRef, PatchOperation, PatchRequest, PatchStep
from lictor_schema.core.base_model import utc_millis
from lictor_schema.errors import describe_validation_error
from lictor_schema.services.desk_answer import DeskAnswer

HELP = """\
Propose a change of a pack: for a patch that waits for one (--for), or of one's own. The operations are
JSON, a list of {"op": "set"|"insert"|"remove", "path": POINTER, "old": ..., "new": ...}; each says what
it expects to find. Nothing is changed by a proposal.
"""
_OPERATIONS = TypeAdapter(tuple[PatchOperation, ...])


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("pack", metavar="PACK", help="the pack to change")
    parser.add_argument("operations", metavar="FILE", help="the operations; - for stdin")
    parser.add_argument(
        "--for",
        dest="patch",
        metavar="PATCH_ID",
        help="the patch that waits; its first characters are enough",
    )
    parser.add_argument(
        "--cycle",
        metavar="CYCLE_ID",
        help="the cycle of `lictor claim cycles` that it answers (or its first letters)",
    )
    by_option(parser, "who does it")
    reason_option(parser)
    parser.add_argument(
        "--packs",
        metavar="DIR",
        help="the packs as they are (default: LICTOR_PACKS, or the nearest"
        " policy-packs, or those that come with Lictor)",
    )
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Work the proposal out, and bring it to the desk."""
    quiet_logs()
    operations = _operations(options.operations)
    name = f"{options.pack}/{PACK_FILE}"
    files = DirectoryFiles(Path(options.packs) if options.packs else packs_directory())
    try:
        document = read_document("policy_pack", name, files.read(name).decode("utf-8"))
    except (PackError, UnicodeDecodeError, PatchDocumentError) as error:
        raise LictorError(str(error)) from None
    async with patches_at(options.url) as client:
        patch = None if options.patch is None else (await find_patch(client, options.patch))[0]
        request = None if patch is None else patch.request
        cycle = None if options.cycle is None else await find_cycle(client, options.cycle)
        proposal = propose(
            document,
            operations,
            reason=options.reason,
            severity=_severity(request, cycle),
            proposed_by=options.by,
            proposed_at=utc_millis(datetime.now(UTC)),
            caused_by=(
                *(() if request is None else (request.request_id,)),
                *(() if cycle is None else (cycle.review.id,)),
            ),
        )
        patch_id = proposal.proposal_id if patch is None else patch.patch_id
        step = PatchStep(
            request_id=new_request_id(),
            patch_id=patch_id,
            step="propose",
            by=options.by,
            proposal=proposal,
            cycle=None
            if cycle is None
            else CycleRef(cycle_id=cycle.cycle_id, subject=cycle.claim.subject),
        )
        await ask_desk(client, "patch", step, DeskAnswer)
    if options.json:
        say_json({"patch_id": patch_id, "proposal": json.loads(proposal.to_json())})
    else:
        say(f"proposed  {patch_id}: needs approval by {proposal.approval.value}")
        for each in proposal.tightens:
            say(f"tightens  {printable(each)}")
        for each in proposal.loosens:
            say(f"loosens   {printable(each)}")
    return OK


def _severity(request: PatchRequest | None, cycle: CerpaCycle | None) -> DriftSeverity:
    found = [DriftSeverity.GREEN]
    found += [] if request is None else [request.severity]
    found += [] if cycle is None or cycle.review.severity is None else [cycle.review.severity]
    return worst(*found)


def _operations(name: str) -> tuple[PatchOperation, ...]:
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    try:
        return _OPERATIONS.validate_json(data)
    except ValidationError as error:
        wrong = describe_validation_error(error)[0]
        raise LictorError(f"{name}: {wrong.path} {wrong.problem}; correct it.") from None
