"""`lictor drift`: what did not go as its contract says, and how far its handling is."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nats.aio.client import Client

from lictor.desk_orders import ask_desk, new_request_id
from lictor.errors import LictorError
from lictor.history.id_prefixes import DRIFT_EVENT, whole_id
from lictor.history.stream_contents import extent, streams_at
from lictor_bus.logs.entry_logs import all_entries, triage_log
from lictor_bus.names.streams import DRIFT
from lictor_cli.main import OK
from lictor_cli.output.terminal import (
    common_arguments,
    printable,
    quiet_logs,
    say,
    say_json,
    say_table,
)
from lictor_cli.selection import since_argument
from lictor_schema.contracts.drift import DriftEvent, DriftSeverity, DriftType, TriageState
from lictor_schema.contracts.patch import TriageEntry, TriageMove
from lictor_schema.core.base_model import utc_millis

HELP = """\
Drift: decisions that did not go as their contract says, by cause. List them, show one, or move it a
step forward: new, triaged, patch_planned, patched, verified.
"""


@dataclass(frozen=True, slots=True)
class Handled:
    """A drift event and the steps of its handling."""

    event: DriftEvent
    steps: tuple[TriageEntry, ...]

    @property
    def state(self) -> TriageState:
        """Where it stands."""
        return self.steps[-1].state if self.steps else TriageState.NEW


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|show|triage")
    listing = verbs.add_parser("list", help="list drift events", allow_abbrev=False)
    listing.add_argument("--type", choices=[each.value for each in DriftType])
    listing.add_argument("--severity", choices=[each.value for each in DriftSeverity])
    listing.add_argument("--state", choices=[each.value for each in TriageState])
    since_argument(listing)
    common_arguments(listing)
    show = verbs.add_parser("show", help="show one, and its handling", allow_abbrev=False)
    show.add_argument("drift", metavar="DRIFT_ID", help="its id, or its first characters")
    common_arguments(show)
    triage = verbs.add_parser("triage", help="move one a step forward", allow_abbrev=False)
    triage.add_argument("drift", metavar="DRIFT_ID", help="its id, or its first characters")
    triage.add_argument(
        "to", metavar="STATE", choices=[each.value for each in list(TriageState)[1:]]
    )
    triage.add_argument("--by", metavar="NAME", required=True, help="who moves it")
    triage.add_argument("--reason", metavar="TEXT", help="why")
    common_arguments(triage)


async def run(options: Namespace) -> int:
    """List, show or move."""
    quiet_logs()
    async with streams_at(options.url, "drift") as client:
        await extent(client, DRIFT)
        if options.verb == "list":
            return await _list(client, options)
        if options.verb == "show":
            return await _show(client, options)
        return await _triage(client, options)


async def _list(client: Client, options: Namespace) -> int:
    found = [
        each
        for each in await handled_drift(client)
        if options.type in (None, each.event.drift_type)
        and options.severity in (None, each.event.severity)
        and options.state in (None, each.state)
        and (options.since is None or each.event.detected_at >= options.since)
    ]
    if options.json:
        for each in found:
            say_json(_as_json(each))
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


async def _show(client: Client, options: Namespace) -> int:
    drift_id = await whole_id(client, DRIFT_EVENT, options.drift)
    found = _handled(entry for _, entry in (await triage_log(client, drift_id)).entries)
    if not found:
        raise LictorError(f"there is nothing about drift event {drift_id} that can be read.")
    each = found[0]
    if options.json:
        say_json(_as_json(each))
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


async def _triage(client: Client, options: Namespace) -> int:
    drift_id = await whole_id(client, DRIFT_EVENT, options.drift)
    move = TriageMove(
        request_id=new_request_id(),
        drift_id=drift_id,
        to=TriageState(options.to),
        by=options.by,
        reason=options.reason,
    )
    answer = await ask_desk(client, "triage", move)
    if options.json:
        say_json(json.loads(answer.to_json()))
    else:
        say(f"{printable(drift_id)} is {answer.state}")
    return OK


async def handled_drift(client: Client) -> list[Handled]:
    """Every drift event with its handling, in the order they were published."""
    entries = [
        entry
        async for _, entry in all_entries(client, DRIFT, "lictor.triage.*", TriageEntry.from_json)
    ]
    return _handled(entries)


def _handled(entries: Iterable[TriageEntry]) -> list[Handled]:
    events: dict[str, DriftEvent] = {}
    steps: dict[str, list[TriageEntry]] = {}
    for entry in entries:
        if entry.event is not None:
            # Published again, because it was seen worse, it keeps its place.
            known = events.setdefault(entry.drift_id, entry.event)
            if entry.event.severity.rank > known.severity.rank:
                events[entry.drift_id] = entry.event
            steps.setdefault(entry.drift_id, [entry])
        elif entry.drift_id in steps:
            steps[entry.drift_id].append(entry)
    return [Handled(event, tuple(steps[drift_id])) for drift_id, event in events.items()]


def _as_json(each: Handled) -> dict[str, Any]:
    return {
        "state": each.state.value,
        "event": json.loads(each.event.to_json()),
        "steps": [
            {**json.loads(step.to_json()), "event": None}
            for step in each.steps
            if step.state is not TriageState.NEW
        ],
    }
