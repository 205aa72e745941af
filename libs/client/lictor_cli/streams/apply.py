"""`lictor streams apply`: make the streams, and bring them up to date."""

from argparse import ArgumentParser, Namespace
from collections import Counter

from lictor.history.stream_contents import streams_at
from lictor_bus.names.streams import STREAMS, declare
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, quiet_logs, say, say_json
from lictor_cli.streams.settings import (
    partitions_argument,
    partitions_of,
    replicas_argument,
    replicas_of,
)

HELP = """\
Make every stream that is missing, and change those that are otherwise than they should be. What is as it should be
is left alone, so it can be run again at any time, also while services run.

Services may not do this: run it as the NATS user `deploy` when Lictor is installed, and again at every upgrade before
the services start. `lictor up` does it by itself.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    partitions_argument(parser)
    replicas_argument(parser)
    parser.add_argument("--dry-run", action="store_true", help="only tell what would be done")
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Declare them all."""
    quiet_logs()
    partitions, replicas, dry_run = (
        partitions_of(options),
        replicas_of(options),
        options.dry_run,
    )
    counts = Counter[str]()
    async with streams_at(options.url, "streams") as client:
        for name in STREAMS:
            (done,) = await declare(
                client, name, partitions=partitions, replicas=replicas, dry_run=dry_run
            )
            counts[done.change] += 1
            if options.json:
                say_json({"stream": name, "what": done.change, "settings": done.settings})
            elif done.change != "unchanged":
                would = "would be " * dry_run
                say(f"{name}  {would}{done.change}  {', '.join(done.settings)}".rstrip())
    if options.json:
        say_json({"what": "would apply" if dry_run else "applied", **_counted(counts)})
    else:
        told = ", ".join(f"{number} {change}" for change, number in _counted(counts).items())
        say(f"{told}; nothing was done" if dry_run else told)
    return OK


def _counted(counts: Counter[str]) -> dict[str, int]:
    return {change: counts[change] for change in ("made", "changed", "unchanged")}
