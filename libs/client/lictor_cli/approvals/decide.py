"""`lictor approvals approve, reject`: a signed yes to exactly one program, once; or a signed no."""

import uuid
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from lictor.desk_orders import ask_desk
from lictor.errors import LictorError
from lictor_approval.signed_decisions import sign_decision
from lictor_cli.approvals.show import described
from lictor_cli.approvals.sources import find_request, program_of, request_argument, requests_at
from lictor_cli.desk_order import (
    by_option,
    hash_option,
    is_as_looked_at,
    problems_in_words,
    reason_option,
    told,
    yes_option,
)
from lictor_cli.main import FAILED
from lictor_cli.output.terminal import (
    common_arguments,
    confirmed,
    need_terminal,
    printable,
    quiet_logs,
    say,
    warn,
)
from lictor_cli.verb import Verb
from lictor_schema.approvals.approval import (
    MAX_VALID_S,
    ApprovalDecision,
    ApprovalOrder,
    ApprovalRequest,
)
from lictor_schema.core.base_model import utc_millis
from lictor_schema.services.desk_answer import DeskAnswer
from lictor_seal import SigningKey, TrustStore


def _approve_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--good-for",
        metavar="SECONDS",
        type=_seconds,
        default=timedelta(minutes=10),
        help="how long the program may be started by it (default: 600)",
    )
    _arguments(parser, reason_required=False)


def _seconds(text: str) -> timedelta:
    if not text.isdecimal() or not 1 <= int(text) <= MAX_VALID_S:
        raise ArgumentTypeError(f"{text!r} is not a whole number of seconds up to 30 days")
    return timedelta(seconds=int(text))


def _reject_arguments(parser: ArgumentParser) -> None:
    _arguments(parser, reason_required=True)


def _arguments(parser: ArgumentParser, *, reason_required: bool) -> None:
    request_argument(parser)
    parser.add_argument(
        "--key", metavar="KEYFILE", required=True, help="the approver's private key"
    )
    by_option(
        parser,
        "the name of the key among the approvers (default: the one in KEYFILE.trust.json)",
        required=False,
    )
    reason_option(parser, required=reason_required)
    hash_option(parser, "the binding that was looked at; refused when the request is about another")
    yes_option(parser)
    common_arguments(parser)


async def _approve(options: Namespace) -> int:
    return await _decide(options, "approve", options.good_for)


async def _reject(options: Namespace) -> int:
    return await _decide(options, "reject", timedelta(minutes=5))


async def _decide(
    options: Namespace, what: Literal["approve", "reject"], good_for: timedelta
) -> int:
    quiet_logs()
    key = signing_key(Path(options.key), options.by)
    async with requests_at(options.url) as client:
        life, entries = await find_request(client, options.request)
        request = life.request
        now = request.binding_hash
        if not is_as_looked_at(options.hash, now, f"the request is about {now}"):
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
        with problems_in_words():
            decision = decision_of(request, what, key.name, options.reason, good_for)
        order = ApprovalOrder(request_id=request.request_id, signed=sign_decision(decision, key))
        answer = await ask_desk(client, "approval", order, DeskAnswer)
    state = printable(answer.state or "unknown")
    return told(options, answer, f"{request.request_id} is {state}")


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


APPROVE = Verb(
    """\
Approve a request: exactly the program, layer and guarantees that `lictor approvals show` shows. The decision
is signed with the approver's key, is good for one run, and for a while only. The agent that submitted the
program can't approve it.
""",
    _approve_arguments,
    _approve,
)
REJECT = Verb(
    "Reject a request, or take back an approval before the program starts.",
    _reject_arguments,
    _reject,
)
