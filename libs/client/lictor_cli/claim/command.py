"""`lictor claim`: what the organisation relies on, what bears on it, and the cycles that come of it."""

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import UTC, datetime
from pathlib import Path

from nats.aio.client import Client
from pydantic import ValidationError

from lictor.desk_orders import ask_desk, new_request_id
from lictor.errors import LictorError
from lictor.history.id_prefixes import one_of
from lictor.history.stream_contents import extent, streams_at
from lictor_bus.logs.entry_logs import all_entries
from lictor_bus.names.streams import CERPA
from lictor_bus.wire.read import read_all
from lictor_cli.main import OK
from lictor_cli.output.terminal import (
    common_arguments,
    printable,
    quiet_logs,
    say,
    say_json,
    say_table,
)
from lictor_schema.contracts.cerpa_claim import ClaimMade, ClaimRequest, MeasurementReport
from lictor_schema.contracts.cerpa_cycle import (
    Assumption,
    CerpaClaim,
    CerpaCycle,
    CerpaDomain,
    CerpaEvent,
    CycleStatus,
)
from lictor_schema.core.canonical_json import CanonicalError
from lictor_schema.errors import describe_validation_error

HELP = """\
Claims: statements that are relied on, with the measurable conditions they rest on. Drift of a decision type is
held against the claims about it, and so is what is measured elsewhere. What contradicts a claim opens a cycle,
which a patch (`lictor patch propose --cycle`) or a new form of the claim settles; a red one only a patch, or a
new form by somebody who does not stand for the claim.
"""
_OPERATORS = ("lt", "le", "eq", "ne", "ge", "gt")


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="add|list|measure|cycles")
    add = verbs.add_parser("add", help="register a claim, or a new form of one", allow_abbrev=False)
    add.add_argument("id", metavar="CLAIM_ID", help="its id; one that exists gets a new form")
    add.add_argument("text", metavar="TEXT", help="the statement")
    add.add_argument("--subject", metavar="NAME", required=True, help="such as a decision type")
    add.add_argument(
        "--assume",
        metavar="METRIC,OP,BOUND[,WINDOW_MS]",
        type=_assumption,
        action="append",
        default=[],
        help=f"what it rests on, such as latency_ms,le,200; OP is one of {', '.join(_OPERATORS)}",
    )
    add.add_argument("--expires", metavar="TIME", type=_moment, help="when it stops to hold")
    add.add_argument("--by", metavar="NAME", required=True, help="who stands for it")
    _domain_argument(add)
    common_arguments(add)
    listing = verbs.add_parser("list", help="list claims", allow_abbrev=False)
    common_arguments(listing)
    measure = verbs.add_parser("measure", help="tell what was measured", allow_abbrev=False)
    measure.add_argument("file", metavar="FILE", help="a CerpaEvent as JSON; - for stdin")
    measure.add_argument("--by", metavar="NAME", required=True, help="who tells it")
    common_arguments(measure)
    cycles = verbs.add_parser("cycles", help="list cycles, each as it is now", allow_abbrev=False)
    cycles.add_argument("--status", choices=[each.value for each in CycleStatus])
    common_arguments(cycles)


def _domain_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--domain",
        choices=[each.value for each in CerpaDomain],
        default=CerpaDomain.ACTIONOPS.value,
        help="the field of work; drift belongs to actionops, the default",
    )


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
    """Register, list, tell or show."""
    quiet_logs()
    async with streams_at(options.url, "claim") as client:
        await extent(client, CERPA)
        if options.verb == "add":
            return await _add(client, options)
        if options.verb == "measure":
            return await _measure(client, options)
        if options.verb == "list":
            return await _list(client, options)
        return await _cycles(client, options)


async def _add(client: Client, options: Namespace) -> int:
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
    asked = ClaimRequest(request_id=new_request_id(), by=options.by, claim=claim)
    answer = await ask_desk(client, "claim", asked)
    if options.json:
        say_json(json.loads(answer.to_json()))
    else:
        say(f"claimed  {printable(claim.id)} about {printable(claim.subject)}")
    return OK


async def _measure(client: Client, options: Namespace) -> int:
    event = _event(options.file)
    asked = MeasurementReport(request_id=new_request_id(), by=options.by, event=event)
    answer = await ask_desk(client, "event", asked)
    if options.json:
        say_json(json.loads(answer.to_json()))
    else:
        say(f"told  {printable(event.id)} about {printable(event.subject)}")
    return OK


def _event(name: str) -> CerpaEvent:
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    try:
        return CerpaEvent.from_json(data)
    except ValidationError as error:
        wrong = describe_validation_error(error)[0]
        raise LictorError(f"{name}: {wrong.path} {wrong.problem}; correct it.") from None
    except CanonicalError as error:
        raise LictorError(f"{name}: {error}") from None


async def _list(client: Client, options: Namespace) -> int:
    made: dict[tuple[str, str], CerpaClaim] = {}
    entries = all_entries(client, CERPA, "lictor.claim.made.*", ClaimMade.from_json)
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


async def _cycles(client: Client, options: Namespace) -> int:
    found = [
        each
        for each in (await all_cycles(client)).values()
        if options.status in (None, each.status.value)
    ]
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


async def all_cycles(client: Client) -> dict[str, CerpaCycle]:
    """Every cycle as it is now, in the order they began."""
    found: dict[str, CerpaCycle] = {}
    async for stored in read_all(client, CERPA, "lictor.cycle.*.*"):
        try:
            cycle = CerpaCycle.from_json(stored.body)
        except (ValidationError, CanonicalError):
            # Somebody else's message; see lictor_bus.logs.entry_logs.
            continue
        found[cycle.cycle_id] = cycle
    return found


async def find_cycle(client: Client, given: str) -> CerpaCycle:
    """A cycle as it is now; its first characters name it where they are enough."""
    await extent(client, CERPA)
    cycles = await all_cycles(client)
    return cycles[one_of(given, cycles, "cycle", "lictor claim cycles")]
