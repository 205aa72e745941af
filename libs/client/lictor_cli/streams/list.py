"""`lictor streams list`: every stream, what it holds, and how much."""

from argparse import ArgumentParser, Namespace

from lictor.history.stream_contents import streams_at
from lictor_bus.errors import StreamMissing
from lictor_bus.names.streams import STREAMS
from lictor_bus.wire.stream_leader import LeaderView, leader_view
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, quiet_logs, say_json, say_table
from lictor_schema.core.base_model import utc_millis

HELP = "List the streams: what each holds, how many messages, and since when."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """List them."""
    quiet_logs()
    found: dict[str, LeaderView | None] = {}
    async with streams_at(options.url, "streams") as client:
        for name in STREAMS:
            try:
                found[name] = await leader_view(client, name)
            except StreamMissing:
                found[name] = None
    if options.json:
        for name, view in found.items():
            say_json(
                {
                    "stream": name,
                    "messages": None if view is None else view.messages,
                    "last_sequence": None if view is None else view.last,
                    "made_at": None if view is None else utc_millis(view.created),
                    "description": STREAMS[name].description,
                }
            )
        return OK
    say_table(
        ("stream", "messages", "made", "holds"),
        (
            (
                name,
                "missing" if view is None else str(view.messages),
                "" if view is None else utc_millis(view.created),
                STREAMS[name].description,
            )
            for name, view in found.items()
        ),
    )
    return OK
