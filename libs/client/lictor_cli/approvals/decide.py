"""What approving and rejecting a request have in common."""

import json
import uuid
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from lictor.desk_orders import ask_desk
from lictor.errors import LictorError
from lictor_approval.signed_decisions import sign_decision
from lictor_cli.approvals.show import described
from lictor_cli.approvals.sources import find_request, program_of, request_argument, requests_at
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import (
    common_arguments,
    confirmed,
    need_terminal,
    printable,
    quiet_logs,
    say,
    say_json,
    warn,
)
from lictor_schema.approvals.approval import ApprovalDecision, ApprovalOrder, ApprovalRequest
from lictor_schema.core.base_model import utc_millis
from lictor_seal import SigningKey, TrustStore


def saying_arguments(parser: ArgumentParser, *, reason_required: bool) -> None:
    """The options of both."""
    request_argument(parser)
    parser.add_argument(
        "--key", metavar="KEYFILE", required=True, help="the approver's private key"
    )
    parser.add_argument(
        "--by",
        metavar="NAME",
        help="the name of the key among the approvers (default: the one in KEYFILE.trust.json)",
    )
    parser.add_argument("--reason", metavar="TEXT", required=reason_required, help="why")
    parser.add_argument(
        "--hash",
        metavar="HASH",
        help="the binding that was looked at; refused when the request is about another",
    )
    parser.add_argument("--yes", action="store_true", help="don't ask at the terminal")
    common_arguments(parser)


async def say_about(
    options: Namespace, what: Literal["approve", "reject"], good_for: timedelta
) -> int:
    """Sign it, and hand it in."""
    quiet_logs()
    key = signing_key(Path(options.key), options.by)
    async with requests_at(options.url) as client:
        life, entries = await find_request(client, options.request)
        request = life.request
        if options.hash not in (None, request.binding_hash):
            warn(f"the request is about {request.binding_hash}; look at it again.")
            return FAILED
        if what == "approve":
            # What can't be shown can't be approved.
            await program_of(client, request)
        if not options.yes:
            need_terminal(
                f"look at it with `lictor approvals show {request.request_id}`, and {what} it with --yes and --hash"
            )
            for line in described(life, entries):
                say(line)
            if not confirmed(what, "exactly this"):
                warn("nothing was decided.")
                return FAILED
        order = ApprovalOrder(
            request_id=request.request_id,
            signed=sign_decision(
                decision_of(request, what, key.name, options.reason, good_for), key
            ),
        )
        answer = await ask_desk(client, "approval", order, of="approvals")
    if options.json:
        say_json(json.loads(answer.to_json()))
    else:
        say(f"{request.request_id} is {printable(answer.state or 'unknown')}")
    return OK


def decision_of(
    request: ApprovalRequest,
    what: Literal["approve", "reject"],
    by: str,
    reason: str | None,
    good_for: timedelta,
) -> ApprovalDecision:
    """The decision to sign, dated now."""
    now = datetime.now(UTC)
    return ApprovalDecision(
        request_id=request.request_id,
        binding_hash=request.binding_hash,
        decision=what,
        by=by,
        decided_at=utc_millis(now),
        expires_at=utc_millis(now + good_for),
        nonce=str(uuid.uuid4()),
        reason=reason,
    )


def signing_key(path: Path, name: str | None) -> SigningKey:
    """The key in a file, under the name it has among the approvers."""
    if not path.exists():
        raise LictorError(f"{path} does not exist; `lictor approvals keygen` makes a key.")
    if name is None:
        beside = path.with_name(f"{path.name}.trust.json")
        if not beside.is_file():
            raise LictorError(
                f"{beside} does not exist, so the key's name is not known; name it with --by."
            )
        keys = TrustStore.load(beside).keys
        if len(keys) != 1:
            raise LictorError(f"{beside} holds {len(keys)} keys; name one with --by.")
        name = keys[0].key.name
    return SigningKey.load(path, name)
