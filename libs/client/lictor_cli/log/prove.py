"""`lictor log prove`: the proof that the log only grew."""

import sys
from argparse import ArgumentParser, Namespace
from base64 import b64encode
from pathlib import Path

from lictor_cli.log.sources import (
    episodes_stream,
    exported_note,
    exported_tree,
    size_of_tree,
    streamed_tree,
)
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, quiet_logs, say_json
from lictor_seal import ConsistencyProof, checkpoint_in

HELP = "Prove that the log of one size is a prefix of the log of another; `lictor seal verify --since` takes the proof."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "directory", metavar="DIR", nargs="?", help="an exported log (default: the stream)"
    )
    parser.add_argument(
        "--from",
        dest="old",
        metavar="SIZE",
        type=size_of_tree,
        required=True,
        help="the older size",
    )
    parser.add_argument(
        "--to", dest="new", metavar="SIZE", type=size_of_tree, help="the newer size (default: now)"
    )
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Print the proof."""
    quiet_logs()
    if options.directory is not None:
        tree = exported_tree(Path(options.directory))
        note = exported_note(Path(options.directory))
        notes = {checkpoint_in(note).size: note}
    else:
        async with episodes_stream(options.url) as client:
            tree, notes = await streamed_tree(client)
    new = tree.size if options.new is None else options.new
    hashes = tree.consistency(options.old, new)
    proof = ConsistencyProof(options.old, hashes, notes.get(new))
    if options.json:
        say_json(
            {
                "from": options.old,
                "fromRoot": b64encode(tree.root(options.old)).decode(),
                "to": new,
                "toRoot": b64encode(tree.root(new)).decode(),
                "proof": [b64encode(each).decode() for each in hashes],
                "checkpoint": proof.checkpoint,
            }
        )
    else:
        sys.stdout.write(proof.to_text())
    return OK
