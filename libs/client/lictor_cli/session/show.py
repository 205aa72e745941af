"""`lictor session show`: how a guarded session stands, as its log tells it."""

import json
from argparse import ArgumentParser, Namespace
from typing import Any

from lictor.errors import LictorError
from lictor.history.session_story import Overview, entries, moment, told
from lictor_cli.main import OK
from lictor_cli.output.terminal import printable, quiet_logs, say, say_json
from lictor_cli.session.sources import say_entry, session_arguments, session_at

HELP = "Show how a session stands."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    session_arguments(parser)


async def run(options: Namespace) -> int:
    """Show it."""
    quiet_logs()
    overview = Overview()
    async with session_at(options) as (client, session):
        async for entry in entries(client, session.runtime, session.session_id):
            overview.add(entry)
    if overview.begun is None:
        raise LictorError(f"the log of session {session.session_id} does not say how it began.")
    if options.json:
        say_json(_as_json(overview))
    else:
        _say_overview(overview)
    return OK


def _as_json(overview: Overview) -> dict[str, Any]:
    stop = overview.stop
    return {
        "session": None if overview.begun is None else json.loads(overview.begun.to_json()),
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


def _say_overview(overview: Overview) -> None:
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
        ("calls", calls or "none yet"),
        ("used", f"{tokens}{cost}"),
        ("last stop", None if stop is None else told(stop)),
        ("snapshots", ", ".join(overview.snapshots)),
    ]
    for name, text in facts:
        if text:
            say(f"{name:<10}  {printable(text)}")
    for each in overview.waiting.values():
        say(f"{'waiting':<10}  {printable(f'{each.provider}: {each.summary}')}")
    for each in overview.asked.values():
        about = f"{each.binding.tool}: request {each.request_id}, until {each.expires_at}"
        say(f"{'asked':<10}  {printable(about)}")
    say(f"the last of {overview.entries} entries:")
    for entry in overview.last:
        say_entry(entry)
