"""`lictor session show`: how a guarded session stands, as its log tells it."""

import json
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from nats.aio.client import Client

from lictor.errors import LictorError
from lictor.history.session_story import Overview, entries, moment, told
from lictor.history.stored_definitions import kept_versions
from lictor_bus.logs.halts import halts_in_force
from lictor_cli.main import OK
from lictor_cli.output.terminal import printable, quiet_logs, say, say_json
from lictor_cli.session.sources import halts_as_json, say_entry, session_arguments, session_at
from lictor_guard.errors import DefinitionError
from lictor_guard.labels.replay import labels_of_log
from lictor_guard.plugins.tool_call import StandingLabel
from lictor_schema.sessions.session_log import AnySessionEntry

HELP = "Show how a session stands."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    session_arguments(parser)


async def run(options: Namespace) -> int:
    """Show it."""
    quiet_logs()
    overview = Overview()
    calls: list[AnySessionEntry] = []
    async with session_at(options) as (client, session):
        async for entry in entries(client, session.runtime, session.session_id):
            overview.add(entry)
            calls.append(entry)
        if overview.begun is None:
            raise LictorError(f"the log of session {session.session_id} does not say how it began.")
        begun = overview.begun
        labels = await _labels(client, begun.definition_hash, calls)
        found = await halts_in_force(client)
    halts = halts_as_json(found.of_session(begun.runtime, begun.session_id, begun.definition))
    if options.json:
        say_json({**_as_json(overview, halts), "labels": _labels_as_json(labels)})
    else:
        _say_overview(overview, halts, labels)
    return OK


async def _labels(
    client: Client, definition_hash: str, log: list[AnySessionEntry]
) -> list[StandingLabel] | None:
    """The labels that the session has; None where its definition is not stored, or of no use to this version."""
    for each in await kept_versions(client):
        if each.version.hash == definition_hash:
            definition = each.version.definition
            with suppress(DefinitionError):
                return labels_of_log(definition, enumerate(log, 1)) if definition.labels else []
    return None


def _labels_as_json(labels: list[StandingLabel] | None) -> list[dict[str, Any]] | None:
    return None if labels is None else [asdict(each) for each in labels]


def _as_json(overview: Overview, halts: list[dict[str, Any]]) -> dict[str, Any]:
    stop = overview.stop
    return {
        "session": None if overview.begun is None else json.loads(overview.begun.to_json()),
        "halted": halts,
        "entries": overview.entries,
        "calls": overview.outcomes,
        "usage": {
            "input_tokens": overview.input_tokens,
            "output_tokens": overview.output_tokens,
            "cost_usd": str(overview.cost_usd),
        },
        "blocked_stops": overview.blocked_stops,
        "stop": None if stop is None else json.loads(stop.to_json()),
        "snapshots": overview.snapshots,
        "waiting": [json.loads(each.to_json()) for each in overview.waiting.values()],
        "asked": [json.loads(each.to_json()) for each in overview.asked.values()],
        "last": [json.loads(each.to_json()) for each in overview.last],
    }


def _say_overview(
    overview: Overview, halts: list[dict[str, Any]], labels: list[StandingLabel] | None
) -> None:
    begun, stop = overview.begun, overview.stop
    assert begun is not None
    calls = ", ".join(f"{number} {outcome}" for outcome, number in overview.outcomes.items())
    tokens = f"{overview.input_tokens} tokens in, {overview.output_tokens} out"
    cost = f", {overview.cost_usd} USD" if overview.cost_usd else ""
    facts = [
        ("session", f"{begun.session_id} of {begun.runtime}"),
        ("task", begun.task_id),
        ("agent", begun.agent_id),
        ("definition", f"{begun.definition} {begun.version} ({begun.definition_hash})"),
        ("began", moment(begun.at_us)),
        ("deadline", None if begun.deadline_us is None else moment(begun.deadline_us)),
        *(("halted", "by {by} ({scope}) at {at}: {reason}".format(**each)) for each in halts),
        ("calls", calls or "none yet"),
        ("used", f"{tokens}{cost}"),
        ("last stop", None if stop is None else told(stop)),
        ("snapshots", ", ".join(overview.snapshots)),
    ]
    for name, text in facts:
        if text:
            say(f"{name:<10}  {printable(text)}")
    if labels is None:
        say(
            f"{'labels':<10}  unknown: the session's definition is not stored, or can't be used here"
        )
    for each in labels or ():
        verb = "may come" if each.underway else "is there"
        since = f"{verb} by call {each.call_id} of {each.tool} at {moment(each.at_us)}"
        say(f"{'label':<10}  {printable(f'{each.label}: {since}')}")
    for each in overview.waiting.values():
        say(f"{'waiting':<10}  {printable(f'{each.provider}: {each.summary}')}")
    for each in overview.asked.values():
        about = f"{each.binding.tool}: request {each.request_id}, until {each.expires_at}"
        say(f"{'asked':<10}  {printable(about)}")
    say(f"the last of {overview.entries} entries:")
    for entry in overview.last:
        say_entry(entry)
