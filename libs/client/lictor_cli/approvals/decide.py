"""`lictor approvals approve, reject, edit, delegate`: a signed decision about exactly one request."""

import json
import uuid
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from lictor.desk_orders import ask_desk
from lictor.errors import LictorError
from lictor_approval.call_decisions import latest_use
from lictor_approval.request_life import kind_of
from lictor_approval.signed_decisions import sign_decision
from lictor_cli.approvals.deciders import Deciders, approvers_option
from lictor_cli.approvals.meant_params import meant, meant_arguments
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
from lictor_cli.json_input import json_object, object_in
from lictor_cli.main import FAILED
from lictor_cli.output.terminal import (
    common_arguments,
    confirmed,
    harmless_json,
    need_terminal,
    printable,
    quiet_logs,
    say,
    warn,
)
from lictor_cli.verb import Verb
from lictor_schema.approvals.approval import (
    MAX_VALID_S,
    AnyApprovalRequest,
    ApprovalDecision,
    ApprovalOrder,
    ApprovalRequest,
)
from lictor_schema.approvals.call_approval import CallApprovalRequest
from lictor_schema.core.base_model import utc_millis
from lictor_schema.services.desk_answer import DeskAnswer
from lictor_schema.sessions.session_questions import Params
from lictor_seal import SigningKey, TrustStore

_PROGRAM_GOOD_FOR = timedelta(minutes=10)
_REJECTION_GOOD_FOR = timedelta(minutes=5)


@dataclass(frozen=True)
class Terms:
    """What is to be said about a request."""

    decision: Literal["approve", "reject", "delegate"]
    verb: str
    """As it is typed to confirm it."""
    good_for: timedelta | None = None
    """How long; None for as long as the request lets it."""
    only_calls: bool = False
    """Whether nothing of the kind can be said about a program."""
    said: dict[str, Any] = field(default_factory=dict[str, Any])
    """Beside that: scope, params, may_ask_again, delegate."""
    shown: tuple[str, ...] = ()
    """What else to look at before it is confirmed."""


def _seconds(text: str) -> timedelta:
    if not text.isdecimal() or not 1 <= int(text) <= MAX_VALID_S:
        raise ArgumentTypeError(f"{text!r} is not a whole number of seconds up to 30 days")
    return timedelta(seconds=int(text))


def _arguments(parser: ArgumentParser, *, reason_required: bool = False) -> None:
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
    approvers_option(parser)
    common_arguments(parser)


def _good_for_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--good-for",
        metavar="SECONDS",
        type=_seconds,
        help="how long it may be used (default: 600 for a program; for a call, as its policies say)",
    )


def _approve_arguments(parser: ArgumentParser) -> None:
    _good_for_argument(parser)
    parser.add_argument(
        "--session",
        action="store_true",
        help="a call: let exactly the same call be made again in this session, where its policies allow that",
    )
    meant_arguments(parser)
    _arguments(parser)


def _approve_terms(options: Namespace) -> Terms:
    names_params = options.as_edited or options.as_asked
    if options.session and names_params:
        raise LictorError("parameters that are named are approved once, not for the session.")
    scope = {"scope": "session"} if options.session else {}
    only_calls = options.session or names_params
    return Terms("approve", "approve", options.good_for, only_calls, scope)


def _reject_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--may-ask-again",
        action="store_true",
        help="a call: let the agent ask about it again at once",
    )
    _arguments(parser, reason_required=True)


def _reject_terms(options: Namespace) -> Terms:
    again = {"may_ask_again": True} if options.may_ask_again else {}
    return Terms("reject", "reject", _REJECTION_GOOD_FOR, options.may_ask_again, again)


def _edit_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--params",
        metavar="FILE|JSON",
        required=True,
        help="all parameters of the call, as a JSON object or a file that holds one",
    )
    _good_for_argument(parser)
    _arguments(parser)


def _edit_terms(options: Namespace) -> Terms:
    params = params_given(options.params)
    shown = (
        *_with_params("Approved with these parameters instead:", params),
        "Files that only these name are not shown above: nothing says what is in them.",
    )
    return Terms("approve", "edit", options.good_for, True, {"params": params}, shown)


def _with_params(title: str, params: Params) -> tuple[str, ...]:
    lines = json.dumps(params, indent=2, ensure_ascii=False, sort_keys=True).splitlines()
    return title, *(f"  {harmless_json(each)}" for each in lines)


def params_given(text: str) -> dict[str, Any]:
    """The parameters in an argument: an object, or the path of a file that holds one."""
    if text.lstrip().startswith(("{", "[")):
        return object_in(text, "--params")
    return json_object(Path(text))


def _delegate_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--to",
        metavar="NAME",
        required=True,
        help="who may decide too: a name in the approvers' file",
    )
    _arguments(parser)


def _delegate_terms(options: Namespace) -> Terms:
    shown = (f"{printable(options.to)} may then decide in your place; both of you count as one.",)
    return Terms("delegate", "delegate", None, True, {"delegate": options.to}, shown)


def _verb(
    help_text: str,
    arguments: Callable[[ArgumentParser], None],
    terms: Callable[[Namespace], Terms],
) -> Verb:
    def run(options: Namespace) -> Coroutine[Any, Any, int]:
        return _decide(options, terms(options))

    return Verb(help_text, arguments, run)


async def _decide(options: Namespace, terms: Terms) -> int:
    quiet_logs()
    key = signing_key(Path(options.key), options.by)
    async with requests_at(options.url) as client:
        life, entries = await find_request(client, options.request)
        request, now = life.request, life.request.binding_hash
        if terms.only_calls and kind_of(life) == "program":
            raise LictorError(
                f"request {request.request_id} is about a program: it is approved as it is, once, or rejected."
            )
        looked_at = options.hash
        if terms.verb == "approve" and isinstance(request, CallApprovalRequest):
            said = meant(life, options)
            shown = _with_params("Approved with these parameters:", said["params"]) if said else ()
            terms = replace(terms, said={**terms.said, **said}, shown=shown)
            # There, it is the hash of the parameters.
            looked_at = None if options.as_edited else options.hash
        if not is_as_looked_at(looked_at, now, f"the request is about {now}"):
            return FAILED
        if terms.decision == "approve" and isinstance(request, ApprovalRequest):
            # What can't be shown can't be approved.
            await program_of(client, request)
        if not options.yes:
            need_terminal(
                f"look at it with `lictor approvals show {request.request_id}`, and {terms.verb} it with --yes"
                " and --hash"
            )
            deciders = Deciders.here(options.approvers, datetime.now(UTC))
            for line in (*described(life, entries, deciders), *terms.shown):
                say(line)
            if not confirmed(terms.verb, "exactly this"):
                warn("nothing was decided.")
                return FAILED
        with problems_in_words():
            decision = decision_of(request, terms, key.name, options.reason)
        order = ApprovalOrder(request_id=request.request_id, signed=sign_decision(decision, key))
        answer = await ask_desk(client, "approval", order, DeskAnswer)
    state = printable(answer.state or "unknown")
    return told(options, answer, f"{request.request_id} is {state}")


def decision_of(
    request: AnyApprovalRequest, terms: Terms, by: str, reason: str | None
) -> ApprovalDecision:
    """The decision to sign, dated now."""
    now = datetime.now(UTC)
    return ApprovalDecision(
        request_id=request.request_id,
        binding_hash=request.binding_hash,
        decision=terms.decision,
        by=by,
        decided_at=utc_millis(now),
        expires_at=_good_until(request, terms, now),
        nonce=str(uuid.uuid4()),
        reason=reason,
        **terms.said,
    )


def _good_until(request: AnyApprovalRequest, terms: Terms, now: datetime) -> str:
    if isinstance(request, CallApprovalRequest) and terms.decision != "reject":
        latest = latest_use(request)
        return latest if terms.good_for is None else min(latest, utc_millis(now + terms.good_for))
    return utc_millis(now + (terms.good_for or _PROGRAM_GOOD_FOR))


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


APPROVE = _verb(
    """\
Approve a request: exactly the program, layer and guarantees, or exactly the call and its parameters, that `lictor
approvals show` shows. The decision is signed with the approver's key, is good once, and for a while only. The agent
that asks can't approve.
""",
    _approve_arguments,
    _approve_terms,
)
REJECT = _verb(
    """\
Reject a request, or take back an approval before it is used. Of a call, the agent reads the reason.
""",
    _reject_arguments,
    _reject_terms,
)
EDIT = _verb(
    """\
Approve a tool call with other parameters: the call as it was asked about is denied, and the agent is told which
parameters to call with. They are all of its parameters, not only those that change.
""",
    _edit_arguments,
    _edit_terms,
)
DELEGATE = _verb(
    """\
Name another approver who may decide on a tool call in your place. You may still decide; both of you count as one. Who
was named may name one more.
""",
    _delegate_arguments,
    _delegate_terms,
)
