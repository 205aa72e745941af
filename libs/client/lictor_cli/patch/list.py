"""`lictor patch list`: every patch and where it stands."""

from argparse import ArgumentParser, Namespace

from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, quiet_logs, say, say_json, say_table
from lictor_cli.patch.sources import all_patches, patch_as_json, patches_at
from lictor_contracts.patch.life import Patch
from lictor_schema.contracts.patch import PatchState

HELP = "List patches and where they stand."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--state", choices=[each.value for each in PatchState])
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """List them."""
    quiet_logs()
    async with patches_at(options.url) as client:
        found = [
            patch
            for patch, _ in await all_patches(client)
            if options.state in (None, patch.state.value)
        ]
    if options.json:
        for patch in found:
            say_json(patch_as_json(patch))
    elif found:
        say_table(
            ("patch", "state", "since", "change", "why"),
            (
                (patch.patch_id, patch.state.value, patch.changed_at, _change(patch), _why(patch))
                for patch in found
            ),
        )
    else:
        say("no patches")
    return OK


def _change(patch: Patch) -> str:
    if patch.proposal is None:
        return "to be written"
    target = patch.proposal.target
    waits = ", needs a human" if patch.needs_human and not patch.state.is_final else ""
    return f"{target.id} {target.version} -> {patch.proposal.new_version}{waits}"


def _why(patch: Patch) -> str:
    if patch.request is not None:
        request = patch.request
        return f"{request.drift_type.value} of {request.decision_type}: {request.cause}"
    return patch.proposal.reason if patch.proposal is not None else "-"
