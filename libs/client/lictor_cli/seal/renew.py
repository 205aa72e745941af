"""`lictor seal renew`: a bundle with a newer checkpoint and its cosignatures."""

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from lictor.errors import LictorError
from lictor.installation.atomic_files import replacing
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, say, say_json
from lictor_cli.seal.sources import opened
from lictor_seal import SealBundle, checkpoint_in, leaf_data, verify_inclusion
from lictor_seal.bundle import MAX_BUNDLE_SIZE

HELP = """\
Write a bundle of the same sealed episode with the checkpoint of an exported log, and the cosignatures
of its witnesses.
"""
_COPIED = 1024 * 1024


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("file", metavar="FILE", help="the bundle")
    parser.add_argument("--log", metavar="DIR", required=True, help="the exported log")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="where to")
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """Write it."""
    from lictor_cli.log.sources import exported_note, exported_tree

    directory = Path(options.log)
    note = exported_note(directory)
    stated = checkpoint_in(note)
    with opened(options.file) as file:
        bundle = SealBundle.from_bytes(file.readline(MAX_BUNDLE_SIZE + 1))
        proof = exported_tree(directory).inclusion(bundle.leaf_index)
        leaf = leaf_data(bundle.sealed_episode)
        if not verify_inclusion(leaf, bundle.leaf_index, stated.size, proof, stated.root):
            raise LictorError(
                f"{directory} does not hold this episode as leaf {bundle.leaf_index}: it is of another log, or was"
                " changed."
            )
        renewed = replace(bundle, inclusion_proof=proof, checkpoint=note)
        with replacing(Path(options.output)) as output:
            output.write(renewed.to_bytes())
            while more := file.read(_COPIED):
                output.write(more)
    if options.json:
        say_json({"file": options.output, "leafIndex": bundle.leaf_index, "logSize": stated.size})
    else:
        say(f"wrote {options.output}: leaf {bundle.leaf_index} of {stated.size}")
    return OK
