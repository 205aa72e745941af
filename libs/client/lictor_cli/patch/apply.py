"""`lictor patch apply`: an approved patch becomes a new version of its pack."""

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from nats.aio.client import Client

from lictor.desk_orders import DeskRefused, ask_desk, new_request_id
from lictor.errors import Unreachable
from lictor.installation.directories import changeable_packs
from lictor_cli.desk_order import by_option
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json, warn
from lictor_cli.pack import publish
from lictor_cli.pack.sources import known_methods, methods_argument, profiles_argument
from lictor_cli.patch.application import NotApplicable, Prepared, prepare, take_back, write
from lictor_cli.patch.sources import find_patch, patch_argument, patches_at
from lictor_contracts.patch.life import Patch
from lictor_schema.contracts.patch import PatchState, PatchStep
from lictor_schema.services.desk_answer import DeskAnswer

HELP = """\
Apply an approved patch to the packs of a directory. The change is worked out again from the pack as it
is; the patched packs are linted, tested and bundled on a copy; then the pack is written as its new
version, and that is recorded. With --key the packs are also signed and published (`lictor pack publish`).

When it can't be applied (the pack has moved on, the patched packs are refused), nothing is changed, the
failure is recorded, and the exit code is 1. When it was rejected meanwhile, the pack is put back as it was.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    patch_argument(parser)
    by_option(parser, "who does it")
    parser.add_argument(
        "--packs",
        metavar="DIR",
        help="the packs to change (default: LICTOR_PACKS, or the nearest policy-packs)",
    )
    parser.add_argument(
        "--key", metavar="KEYFILE", help="publish the patched packs, signed by this key"
    )
    parser.add_argument("--key-name", metavar="NAME", default="lictor-packs")
    parser.add_argument("--channel", metavar="NAME", default="main", help="default: main")
    parser.add_argument(
        "--wait", metavar="SECONDS", type=float, default=10.0, help="with --key; default: 10"
    )
    profiles_argument(parser)
    methods_argument(parser)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Check, write, tell; and publish where told."""
    quiet_logs()
    directory = Path(options.packs) if options.packs else changeable_packs()
    names = [name.strip() for name in options.profiles.split(",") if name.strip()]
    async with patches_at(options.url) as client:
        patch, _ = await find_patch(client, options.patch)
        if patch.state.is_final:
            warn(f"patch {patch.patch_id} is {patch.state.value} already; nothing was changed.")
            return FAILED
        try:
            prepared = prepare(patch, directory, names, known_methods(options.methods))
            write(prepared)
        except NotApplicable as error:
            return await _failed(client, patch, error, options)
        try:
            await _tell(client, patch, prepared, options)
        except DeskRefused as error:
            now, _ = await find_patch(client, patch.patch_id)
            # A desk that lost its broker refuses too, and may have kept it all the same.
            if now.state is not PatchState.APPLIED:
                take_back(prepared)
                told = NotApplicable(f"{error} The pack is as it was.", early=True)
                return await _failed(client, patch, told, options)
        except Unreachable as error:
            raise Unreachable(
                f"{prepared.path} is version {prepared.made.version}, and that is not recorded:"
                f" {error} Then run this again, which records it."
            ) from None
    _say(patch, prepared, options)
    if options.key is None:
        return OK
    return await publish.run(
        Namespace(
            packs=str(directory),
            key=options.key,
            key_name=options.key_name,
            create_key=False,
            channel=options.channel,
            profiles=options.profiles,
            methods=options.methods,
            rollback=False,
            expires=publish.EXPIRES_DAYS,
            wait=options.wait,
            json=options.json,
            url=options.url,
        )
    )


async def _tell(client: Client, patch: Patch, prepared: Prepared, options: Namespace) -> None:
    step = PatchStep(
        request_id=new_request_id(),
        patch_id=patch.patch_id,
        step="applied",
        by=options.by,
        proposal_hash=patch.proposal_hash,
        applied=prepared.made,
    )
    await ask_desk(client, "patch", step, DeskAnswer)


async def _failed(client: Client, patch: Patch, error: NotApplicable, options: Namespace) -> int:
    recorded = not error.early
    if recorded:
        step = PatchStep(
            request_id=new_request_id(),
            patch_id=patch.patch_id,
            step="failed",
            by=options.by,
            proposal_hash=patch.proposal_hash,
            reason=str(error),
        )
        await ask_desk(client, "patch", step, DeskAnswer)
    if options.json:
        say_json({"patch_id": patch.patch_id, "applied": False, "reason": str(error)})
    else:
        warn(f"not applied: {printable(str(error))}")
    return FAILED


def _say(patch: Patch, prepared: Prepared, options: Namespace) -> None:
    if options.json:
        made = json.loads(prepared.made.to_json())
        told = {"file": str(prepared.path), "already": prepared.already, **made}
        say_json({"patch_id": patch.patch_id, "applied": True, **told})
        return
    say(f"applied  {patch.patch_id}: {prepared.path} is version {prepared.made.version}")
    if prepared.already:
        say("         the file was so already; only that had not been recorded")
