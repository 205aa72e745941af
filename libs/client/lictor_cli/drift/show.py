"""`lictor drift show`: one drift event, and how far its handling is."""

from argparse import ArgumentParser, Namespace

from lictor.errors import LictorError
from lictor.history.id_prefixes import DRIFT_EVENT, whole_id
from lictor_bus.logs.entry_logs import triage_log
from lictor_cli.drift.sources import drift_argument, drift_at, handled, handled_as_json
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json
from lictor_schema.core.base_model import utc_millis

HELP = "Show a drift event, and its handling."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    drift_argument(parser)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Show it."""
    quiet_logs()
    async with drift_at(options.url) as client:
        drift_id = await whole_id(client, DRIFT_EVENT, options.drift)
        found = handled(entry for _, entry in (await triage_log(client, drift_id)).entries)
    if not found:
        raise LictorError(f"there is nothing about drift event {drift_id} that can be read.")
    each = found[0]
    if options.json:
        say_json(handled_as_json(each))
        return OK
    event = each.event
    for name, value in (
        ("drift", event.drift_id),
        ("type", f"{event.drift_type.value}, {event.severity.value}"),
        ("cause", event.cause),
        ("decision", f"{event.decision_type}, episode {event.episode_id}"),
        ("detected", utc_millis(event.detected_at)),
        ("notes", event.notes or "-"),
        ("evidence", ", ".join(event.evidence_refs) or "-"),
        ("cure", event.recommended_patch_type.value),
        ("same cause", event.fingerprint.key),
    ):
        say(f"{name:<10}  {printable(value)}")
    for step in each.steps:
        why = f": {step.reason}" if step.reason else ""
        say(f"{step.state.value:<13}  {utc_millis(step.at)} by {printable(step.by + why)}")
    return OK
