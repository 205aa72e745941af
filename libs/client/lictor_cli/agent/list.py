"""`lictor agent list`: the definitions that sessions can begin with."""

from argparse import ArgumentParser, Namespace

from lictor.history.stored_definitions import KeptDefinition, kept_versions
from lictor.history.stream_contents import streams_at
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, quiet_logs, say, say_json, say_table
from lictor_schema.core.base_model import utc_millis

HELP = """\
List the agent definitions that are stored: of every name the newest, or with --all every version.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--all", action="store_true", help="every version, oldest first")
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Read the stream, and list."""
    quiet_logs()
    async with streams_at(options.url, "agent-list") as client:
        kept = await kept_versions(client)
    newest = {each.version.definition.metadata.name: each.sequence for each in kept}
    shown = [each for each in kept if options.all or each.sequence in newest.values()]
    if options.json:
        for each in shown:
            say_json(_json(each))
    elif not shown:
        say("no definition is stored yet")
    else:
        say_table(("name", "version", "stored", "by", "hash"), map(_row, shown))
    return OK


def _json(kept: KeptDefinition) -> dict[str, object]:
    metadata = kept.version.definition.metadata
    return {
        "name": metadata.name,
        "version": metadata.version,
        "hash": kept.version.hash,
        "sequence": kept.sequence,
        "stored_at": utc_millis(kept.stored_at),
        "published_by": kept.version.published_by,
        "plugins": dict(kept.version.plugins),
    }


def _row(kept: KeptDefinition) -> tuple[str, ...]:
    metadata = kept.version.definition.metadata
    stored_at = utc_millis(kept.stored_at)
    return (
        metadata.name,
        metadata.version,
        stored_at,
        kept.version.published_by,
        kept.version.hash,
    )
