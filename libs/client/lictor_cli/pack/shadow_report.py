"""`lictor pack shadow-report`: what rules in shadow mode would have done."""

from argparse import ArgumentParser, Namespace

from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, counted, printable, say, say_json
from lictor_cli.pack.stats import count_records
from lictor_cli.selection import since_argument
from lictor_policy.offline.rule_stats import RuleCounts, RuleName

HELP = """\
Tell what rules in shadow mode would have done, from the decision records: how often each would have
fired, on how many events its decision would have been stricter than what stood, and examples.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--rule", metavar="ID", help="only this rule")
    since_argument(parser)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Report."""
    stats = await count_records(options.url, options.since, quiet=options.json)
    found = [
        (name, counts)
        for name, counts in sorted(stats.rules.items())
        if counts.shadow and options.rule in (None, name.rule_id)
    ]
    if options.json:
        for name, counts in found:
            say_json(
                {
                    **name._asdict(),
                    "would_have_fired": counts.shadow,
                    "would_have_changed": counts.would_change,
                    "decisions": dict(counts.would_decide),
                    "examples": [case._asdict() for case in counts.cases],
                }
            )
        return OK
    for name, counts in found:
        _tell(name, counts)
    if not found:
        say(
            f"no rule in shadow mode would have fired ({counted(stats.records, 'decision')} looked at)"
        )
    return OK


def _tell(name: RuleName, counts: RuleCounts) -> None:
    decisions = ", ".join(
        f"{what} {counted(count, 'time')}" for what, count in counts.would_decide.most_common()
    )
    say(f"{printable(name.rule_id)} ({printable(name.pack_id)} {printable(name.pack_version)})")
    say(
        f"  would have fired {counted(counts.shadow, 'time')} ({decisions}),"
        f" and been stricter than what stood {counted(counts.would_change, 'time')}"
    )
    for case in counts.cases:
        say(
            f"    {case.was} -> {case.would_be}  {case.event_type} {printable(case.event_id, 40)}"
            f" of {printable(case.task_id, 40)}: {printable(case.reason, 160)}"
        )
