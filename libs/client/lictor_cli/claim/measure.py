"""`lictor claim measure`: what was measured elsewhere, held against the claims about it."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from pydantic import ValidationError

from lictor.desk_orders import ask_desk, new_request_id
from lictor.errors import LictorError
from lictor_cli.claim.sources import claims_at
from lictor_cli.desk_order import by_option, problems_in_words, told
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs
from lictor_schema.contracts.cerpa_claim import MeasurementReport
from lictor_schema.contracts.cerpa_cycle import CerpaEvent
from lictor_schema.core.canonical_json import CanonicalError
from lictor_schema.errors import describe_validation_error
from lictor_schema.services.desk_answer import DeskAnswer

HELP = "Tell what was measured."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("file", metavar="FILE", help="a CerpaEvent as JSON; - for stdin")
    by_option(parser, "who tells it")
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Tell it."""
    quiet_logs()
    async with claims_at(options.url) as client:
        event = _event(options.file)
        with problems_in_words():
            order = MeasurementReport(request_id=new_request_id(), by=options.by, event=event)
        answer = await ask_desk(client, "event", order, DeskAnswer)
    return told(options, answer, f"told  {printable(event.id)} about {printable(event.subject)}")


def _event(name: str) -> CerpaEvent:
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    try:
        return CerpaEvent.from_json(data)
    except ValidationError as error:
        wrong = describe_validation_error(error)[0]
        raise LictorError(f"{name}: {wrong.path} {wrong.problem}; correct it.") from None
    except CanonicalError as error:
        raise LictorError(f"{name}: {error}") from None
