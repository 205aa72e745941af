"""`lictor drift list`: what did not go as its contract says."""

from argparse import ArgumentParser, Namespace

from lictor_cli.drift.sources import drift_at, handled_as_json, handled_drift
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, quiet_logs, say, say_json, say_table
from lictor_cli.selection import since_argument
from lictor_schema.contracts.drift import DriftSeverity, DriftType, TriageState
from lictor_schema.core.base_model import utc_millis

HELP = "List drift events."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--type", choices=[each.value for each in DriftType])
    parser.add_argument("--severity", choices=[each.value for each in DriftSeverity])
    parser.add_argument("--state", choices=[each.value for each in TriageState])
    since_argument(parser)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """List them."""
    quiet_logs()
    async with drift_at(options.url) as client:
        every = await handled_drift(client)
    found = [
        each
        for each in every
        if options.type in (None, each.event.drift_type)
        and options.severity in (None, each.event.severity)
        and options.state in (None, each.state)
        and (options.since is None or each.event.detected_at >= options.since)
    ]
    if options.json:
        for each in found:
            say_json(handled_as_json(each))
    elif found:
        say_table(
            ("drift", "detected", "type", "severity", "state", "decision type: cause"),
            (
                (
                    each.event.drift_id,
                    utc_millis(each.event.detected_at),
                    each.event.drift_type.value,
                    each.event.severity.value,
                    each.state.value,
                    f"{each.event.decision_type}: {each.event.cause}",
                )
                for each in found
            ),
        )
    else:
        say("no drift")
    return OK
