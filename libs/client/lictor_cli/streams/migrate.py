"""`lictor streams migrate`: streams of version 0.1, made into those of today."""

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from lictor.history.stream_contents import streams_at
from lictor_bus.migration.stream_migration import READS, ToMigrate, migrate, to_migrate
from lictor_cli.main import OK
from lictor_cli.output.progress_bar import counting
from lictor_cli.output.terminal import common_arguments, counted, quiet_logs, say, say_json
from lictor_local.service_process import SERVICES

HELP = """\
Put what version 0.1 stored under the subjects of today, which carry the runtime. Messages keep their sequences, times,
headers and ids, so sealed episodes and the log verify as before.

Stop all services first, and have a backup. Each stream is copied whole, one after the other, so the server needs room
for the largest one once more. It may be interrupted at any point: run it again, and it goes on. Where there is nothing
to migrate, it does nothing. Run it as the NATS user `deploy`; `lictor up` does it by itself.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--dry-run", action="store_true", help="only tell what would be migrated")
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Migrate what there is."""
    quiet_logs()
    async with streams_at(options.url, "streams") as client:
        todo = await to_migrate(client)
        _announce(todo, as_json=options.json)
        if options.dry_run or not todo:
            return OK
        started, messages = time.monotonic(), sum(each.messages for each in todo)
        with counting("migrating", READS * messages, quiet=options.json) as advance:
            done = await migrate(client, tuple(SERVICES), advance)
    seconds = time.monotonic() - started
    rate = round(messages / seconds)
    if options.json:
        for each in done:
            say_json({"what": "migrated", **each._asdict()})
        say_json({"what": "done", "messages": messages, "messages_per_second": rate})
    else:
        say(
            f"migrated {counted(messages, 'message')} of {counted(len(done), 'stream')}"
            f" in {seconds:.1f} s: {rate} messages/s"
        )
    return OK


def _announce(todo: Sequence[ToMigrate], *, as_json: bool) -> None:
    if as_json:
        for each in todo:
            say_json({"what": "to migrate", **each._asdict()})
    elif not todo:
        say("there is nothing to migrate")
    else:
        for each in todo:
            say(f"{each.stream}  {counted(each.messages, 'message')}, {each.size} bytes")
        say(f"the server needs {max(each.size for each in todo)} bytes more meanwhile")
