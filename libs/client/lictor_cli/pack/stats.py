"""`lictor pack stats`: what each rule did, counted from the decision records."""

import json
from argparse import ArgumentParser, Namespace
from datetime import datetime

from lictor.decision_marks import false_alarms
from lictor.history.stream_contents import extent, stored, streams_at
from lictor_bus.names import subjects
from lictor_bus.names.streams import DECISIONS
from lictor_cli.main import OK
from lictor_cli.output.progress_bar import counting
from lictor_cli.output.terminal import (
    common_arguments,
    counted,
    quiet_logs,
    say,
    say_json,
    say_table,
    warn,
)
from lictor_cli.selection import since_argument
from lictor_policy.offline.rule_stats import RuleStats

HELP = """\
Count, by rule and version, from the decision records:

  fired       it fired, and its decision stood
  false       of those, how many operators have marked as false alarms (`lictor decision mark`)
  overridden  it fired, but a stronger rule decided
  suppressed  a suppression window let it rest
  shadow      it would have fired, but is in shadow mode (see `lictor pack shadow-report`)
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    since_argument(parser)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Count and show."""
    stats = await count_records(options.url, options.since, quiet=options.json)
    rows = sorted(stats.rules.items(), key=lambda row: (-row[1].fired, row[0]))
    if options.json:
        for name, counts in rows:
            say_json(
                {
                    **name._asdict(),
                    "fired": counts.fired,
                    "false_alarms": counts.false_alarms,
                    "overridden": counts.overridden,
                    "suppressed": counts.suppressed,
                    "shadow": counts.shadow,
                    "last": counts.last,
                }
            )
        say_json({"records": stats.records, "no_rule": stats.no_rule})
        return OK
    if rows:
        say_table(
            ("rule", "version", "fired", "false", "overridden", "suppressed", "shadow", "last"),
            (
                (
                    name.rule_id,
                    name.pack_version,
                    str(counts.fired),
                    str(counts.false_alarms),
                    str(counts.overridden),
                    str(counts.suppressed),
                    str(counts.shadow),
                    counts.last,
                )
                for name, counts in rows
            ),
        )
        say()
    say(f"{counted(stats.records, 'decision')}, {stats.no_rule} of them without any rule")
    return OK


async def count_records(url: str | None, since: datetime | None, *, quiet: bool) -> RuleStats:
    """The counts of all records, or of those since a time."""
    quiet_logs()
    async with streams_at(url, "pack-stats") as client:
        stats = RuleStats(false_alarms=await false_alarms(client))
        size = await extent(client, DECISIONS)
        with counting("reading decisions", size.messages, quiet=quiet) as advance:
            found = stored(
                client, DECISIONS, subjects.DECISION.any, size.last_sequence, since=since
            )
            async for delivery in found:
                advance()
                try:
                    stats.take(json.loads(delivery.body))
                except (ValueError, RecursionError):
                    stats.unreadable += 1
    if stats.unreadable:
        warn(f"{stats.unreadable} messages are no decision records this version reads; left out")
    return stats
