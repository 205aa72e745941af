"""`lictor log cosign`: a witness that remembers what it has seen."""

import fcntl
import os
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from lictor.errors import LictorError
from lictor.installation.atomic_files import replace_durably
from lictor_cli.log.sources import (
    CHECKPOINT_FILE,
    exported_note,
    exported_tree,
    read_note,
    trust_argument,
)
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, say_json
from lictor_seal import (
    ConsistencyProof,
    SigningKey,
    TrustStore,
    checkpoint_in,
    witness_checkpoint,
)

HELP = """\
As a witness: cosign the head of an exported log, if it follows from the last one that was seen. What was seen is
kept in a file of the witness's own; the first head is taken as it is.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("directory", metavar="DIR", nargs="?", help="an exported log")
    which.add_argument(
        "--request",
        metavar="FILE",
        help="a proof with its checkpoint, as `lictor log prove` writes it",
    )
    parser.add_argument("--key", metavar="PEM", required=True, help="the witness's private key")
    parser.add_argument("--name", metavar="NAME", required=True, help="the witness's name")
    parser.add_argument(
        "--state", metavar="FILE", required=True, help="where the last seen head is kept"
    )
    parser.add_argument(
        "--write", action="store_true", help="put the cosignature into DIR's checkpoint too"
    )
    trust_argument(parser)
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """Cosign, or refuse with the reason."""
    trust = TrustStore.load(Path(options.trust))
    witness = SigningKey.load(Path(options.key), options.name)
    state = Path(options.state)
    with _alone(state):
        seen = read_note(state) if state.exists() else None
        note, proof = _asked(options, seen)
        now = int(time.time())
        at = datetime.fromtimestamp(now, UTC)
        cosigned = witness_checkpoint(
            note,
            seen=seen,
            proof=proof,
            # Who stole a key that was retired could show us a log that goes on without its heirs.
            log_keys=[each.key for each in trust.keys if each.problem_at(at) is None],
            witness=witness,
            time=now,
        )
        # Remembered before it is told: a witness that forgets what it signed would sign a fork.
        replace_durably(state, note.encode())
    if options.write and options.directory is not None:
        replace_durably(Path(options.directory) / CHECKPOINT_FILE, cosigned.encode())
    if options.json:
        stated = checkpoint_in(note)
        say_json(
            {"origin": stated.origin, "size": stated.size, "time": now, "checkpoint": cosigned}
        )
    else:
        sys.stdout.write(cosigned)
    return OK


def _asked(options: Namespace, seen: str | None) -> tuple[str, ConsistencyProof | None]:
    """The checkpoint to cosign, and the proof that leads to it from the last seen one."""
    if options.request is not None:
        proof = ConsistencyProof.from_text(read_note(Path(options.request)))
        if proof.checkpoint is None:
            raise LictorError(
                f"{options.request} holds no checkpoint; prove up to a size that the log signed."
            )
        return proof.checkpoint, proof
    directory = Path(options.directory)
    note = exported_note(directory)
    if seen is None:
        return note, None
    old, tree = checkpoint_in(seen).size, exported_tree(directory)
    # A shorter log has no proof, and needs none to be refused.
    proof = ConsistencyProof(old, tree.consistency(old)) if old <= tree.size else None
    return note, proof


@contextmanager
def _alone(state: Path) -> Generator[None]:
    """Two witnesses with one memory must not look at it at once."""
    lock = os.open(
        state.with_name(f"{state.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
    )
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
