"""`lictor agent publish`: let new sessions begin with a definition, without a restart."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable

from lictor.history.stored_definitions import KeptDefinition, kept_versions
from lictor.history.stream_contents import streams_at
from lictor_bus.logs.definitions import store_definition
from lictor_bus.names.stream_check import require
from lictor_bus.names.streams import DEFINITIONS
from lictor_cli.agent import lint
from lictor_cli.agent.sources import find_files
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import common_arguments, quiet_logs, say, say_json, warn
from lictor_guard.definitions.compiled_definition import Guarded
from lictor_guard.definitions.loading import read_files
from lictor_guard.definitions.stored_versions import StoredVersion, stored_form
from lictor_guard.definitions.tightening import why_not_tighter

HELP = """\
Check agent definitions and store them: sessions that begin from now on get them. Sessions that have
begun keep the version they began with. A definition that is the newest already is not stored again;
other content under a version that was published is refused.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "definitions", metavar="DIR|FILE", nargs="+", help="definitions, or directories of them"
    )
    parser.add_argument(
        "--by", metavar="NAME", default="lictor agent publish", help="who publishes, for the record"
    )
    lint.approvers_argument(parser)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Check, and store what is new."""
    quiet_logs()
    lint_code = lint.checked(options.definitions, approvers=options.approvers, as_json=options.json)
    if lint_code != OK:
        warn("nothing was published.")
        return FAILED
    wanted = read_files(find_files(options.definitions))
    async with streams_at(options.url, "agent-publish") as client:
        await require(client, DEFINITIONS)
        kept = await kept_versions(client)
        taken = [each for each in wanted.values() if _is_other(each, kept)]
        for each in taken:
            metadata = each.definition.metadata
            warn(
                f"{metadata.name} {metadata.version} is published already with other content; give this one a new"
                f" version (`lictor agent diff {metadata.name} FILE` compares them)."
            )
        if taken:
            warn("nothing was published.")
            return FAILED
        newest = {each.version.definition.metadata.name: each.version for each in kept}
        for name, guarded in wanted.items():
            before, sequence = newest.get(name), None
            if before is None or before.hash != guarded.hash:
                body = stored_form(guarded, options.by)
                sequence = await store_definition(client, name, body)
            _tell(guarded, before, sequence, as_json=options.json)
    return OK


def _is_other(guarded: Guarded, kept: Iterable[KeptDefinition]) -> bool:
    """Whether its version is taken by another document; going back to one that was published is no other."""
    definition = guarded.definition
    same_version = [
        each.version.definition
        for each in kept
        if each.version.definition.metadata.name == definition.metadata.name
        and each.version.definition.metadata.version == definition.metadata.version
    ]
    return bool(same_version) and definition not in same_version


def _tell(
    guarded: Guarded, before: StoredVersion | None, sequence: int | None, *, as_json: bool
) -> None:
    metadata = guarded.definition.metadata
    against = None if before is None or sequence is None else why_not_tighter(before, guarded)
    what = "unchanged" if sequence is None else "published"
    if as_json:
        say_json(
            {
                "what": what,
                "name": metadata.name,
                "version": metadata.version,
                "hash": guarded.hash,
                "sequence": sequence,
                "tightens": before.hash if before is not None and against == () else None,
            }
        )
    else:
        say(f"{what:<9}  {metadata.name} {metadata.version}  {guarded.hash}")
        if before is not None and against is not None:
            version = before.definition.metadata.version
            if not against:
                say(f"{'':<9}  a tightening: allows nothing that {version} denies")
            say(f"{'':<9}  sessions that have begun go on by the version they began with")
