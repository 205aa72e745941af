"""`lictor claim add`: a statement that is relied on, and what it rests on."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import UTC, datetime

from pydantic import ValidationError

from lictor.desk_orders import ask_desk, new_request_id
from lictor_cli.claim.sources import claims_at
from lictor_cli.desk_order import by_option, problems_in_words, told
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs
from lictor_schema.contracts.cerpa_claim import ClaimRequest
from lictor_schema.contracts.cerpa_cycle import Assumption, CerpaClaim, CerpaDomain
from lictor_schema.errors import describe_validation_error
from lictor_schema.services.desk_answer import DeskAnswer

HELP = "Register a claim, or a new form of one."
_OPERATORS = ("lt", "le", "eq", "ne", "ge", "gt")


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("id", metavar="CLAIM_ID", help="its id; one that exists gets a new form")
    parser.add_argument("text", metavar="TEXT", help="the statement")
    parser.add_argument("--subject", metavar="NAME", required=True, help="such as a decision type")
    parser.add_argument(
        "--assume",
        metavar="METRIC,OP,BOUND[,WINDOW_MS]",
        type=_assumption,
        action="append",
        default=[],
        help=f"what it rests on, such as latency_ms,le,200; OP is one of {', '.join(_OPERATORS)}",
    )
    parser.add_argument("--expires", metavar="TIME", type=_moment, help="when it stops to hold")
    by_option(parser, "who stands for it")
    parser.add_argument(
        "--domain",
        choices=[each.value for each in CerpaDomain],
        default=CerpaDomain.ACTIONOPS.value,
        help="the field of work; drift belongs to actionops, the default",
    )
    common_arguments(parser)


def _assumption(text: str) -> Assumption:
    metric, _, rest = text.partition(",")
    operator, _, rest = rest.partition(",")
    bound, _, window = rest.partition(",")
    value: dict[str, str | int] = {"metric": metric, "operator": operator, "bound": bound}
    if window:
        value["window_ms"] = int(window) if window.isdecimal() else window
    try:
        return Assumption.model_validate(value)
    except ValidationError as error:
        wrong = describe_validation_error(error)[0]
        raise ArgumentTypeError(f"{text!r}: {wrong.path} {wrong.problem}") from None


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ArgumentTypeError(f"{text!r} is no time with its zone, such as 2026-03-02T09:00:00Z")
    return moment


async def run(options: Namespace) -> int:
    """Register it."""
    quiet_logs()
    with problems_in_words():
        claim = CerpaClaim(
            id=options.id,
            domain=CerpaDomain(options.domain),
            timestamp=datetime.now(UTC),
            source="lictor claim add",
            text=options.text,
            subject=options.subject,
            assumptions=tuple(options.assume),
            authority=options.by,
            expires_at=options.expires,
        )
        order = ClaimRequest(request_id=new_request_id(), by=options.by, claim=claim)
    async with claims_at(options.url) as client:
        answer = await ask_desk(client, "claim", order, DeskAnswer)
    return told(options, answer, f"claimed  {printable(claim.id)} about {printable(claim.subject)}")
