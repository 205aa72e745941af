"""`lictor replay`: prove that the events still lead to the decisions on record."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lictor.history.id_prefixes import TASK, whole_or_given
from lictor.history.stream_contents import extent, streams_at
from lictor_bus.names.streams import DECISIONS, EVENTS
from lictor_cli.main import FAILED, OK
from lictor_cli.output.progress_bar import counting
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json, warn

if TYPE_CHECKING:
    from lictor.history.stream_replay import ReplayReport
    from lictor_policy.judge.config import EvaluatorConfig
    from lictor_policy.offline.replay import RecordDifference

HELP = """\
Refold the event stream from its start, by the packs that were in force at each event, and compare
every decision with the one on record, byte for byte. Exit code 1 when any differs: the
record is not what the events lead to.
"""
_SHOWN_FIELDS = 12
_SHOWN_TEXT = 100


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--task", metavar="ID", help="only this task")
    parser.add_argument(
        "--from-bundle",
        metavar="DIR",
        help="judge everything by the packs of this directory, whatever was in force",
    )
    parser.add_argument(
        "--profiles",
        metavar="NAMES",
        help="with --from-bundle: the profiles to apply, between commas",
    )
    parser.add_argument(
        "--limit",
        metavar="N",
        type=_number,
        default=20,
        help="show at most N differences (default: 20); all are counted",
    )
    common_arguments(parser)


def _number(text: str) -> int:
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


async def run(options: Namespace) -> int:
    """Replay and tell."""
    # After the options are read: the engine takes longer to load than `--help` may.
    from lictor.history.stream_replay import replay

    quiet_logs()
    fixed = _fixed(options)
    async with streams_at(options.url, "replay") as client:
        total = (await extent(client, EVENTS)).messages + (await extent(client, DECISIONS)).messages
        # Of one task it is not known beforehand how much there is.
        quiet = options.json or options.task is not None
        with counting("replaying", total, quiet=quiet) as advance:
            task = (
                None if options.task is None else await whole_or_given(client, TASK, options.task)
            )
            report = await replay(
                client,
                task_id=task,
                fixed=fixed,
                keep=options.limit,
                advance=advance,
            )
    if options.json:
        for difference in report.differences:
            say_json({"what": "difference", **_as_json(difference)})
        say_json(_summary(report))
    else:
        _show(report)
    return FAILED if report.differing else OK


def _fixed(options: Namespace) -> "EvaluatorConfig | None":
    from lictor_policy.packs.bundle import bundle_directory

    if options.from_bundle is None:
        if options.profiles:
            warn("--profiles is ignored without --from-bundle.")
        return None
    names = (name.strip() for name in (options.profiles or "").split(","))
    return bundle_directory(Path(options.from_bundle), [name for name in names if name]).config


def _show(report: "ReplayReport") -> None:
    for difference in report.differences:
        say(
            f"{difference.kind:<9}  event {difference.event_sequence}"
            f"  task {printable(difference.task_id, _SHOWN_TEXT)}"
            f"  event id {printable(difference.event_id, _SHOWN_TEXT)}"
        )
        for path, recorded, replayed in difference.fields[:_SHOWN_FIELDS]:
            say(f"           {printable(path)}")
            say(f"             recorded  {printable(recorded, _SHOWN_TEXT)}")
            say(f"             replayed  {printable(replayed, _SHOWN_TEXT)}")
        if (more := len(difference.fields) - _SHOWN_FIELDS) > 0:
            say(f"           and {more} more fields")
    if (more := report.differing - len(report.differences)) > 0:
        say(f"and {more} more differences")
    for engine in sorted(report.other_engines):
        say(f"note: engine {printable(engine)} judged some of these events; this is another one")
    if report.by_other_engines:
        say(
            f"note: {report.by_other_engines} decisions were made by other engines: they are taken as"
            " they stand; to prove them, replay with the version that made them"
        )
    if report.undecided:
        say(f"note: {report.undecided} events at the end are not decided yet")
    say(
        f"{report.events} events, {report.refused} refused, {report.decisions} decisions by"
        f" {len(report.configs)} configurations: {report.differing} differences"
    )


def _summary(report: "ReplayReport") -> dict[str, object]:
    return {
        "what": "summary",
        "events": report.events,
        "refused": report.refused,
        "decisions": report.decisions,
        "same": report.same,
        "undecided": report.undecided,
        "configs": sorted(report.configs),
        "other_engines": sorted(report.other_engines),
        "by_other_engines": report.by_other_engines,
        "differences": report.differing,
    }


def _as_json(difference: "RecordDifference") -> dict[str, object]:
    return {
        **difference._asdict(),
        "fields": [each._asdict() for each in difference.fields],
    }
