"""A worker process: reads jobs from its pool, proves them, and writes what it found. Started by `lictor_prove.pool`.

Frames on both pipes are a length of eight bytes and a pickled value. What a layer prints goes to stderr, never between
the frames. The process may grow by a given memory; asking for more fails here and nowhere else.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import resource
import signal
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from lictor_ir.errors import IrError
from lictor_prove.errors import ProveError, Reason
from lictor_prove.layer_model import Layer
from lictor_prove.proof import Progress, Proof, rejected, unknown
from lictor_prove.settings import DEFAULT, Executable, Settings

HEADER: Final = struct.Struct(">Q")
_PR_SET_PDEATHSIG: Final = 1


@dataclass(frozen=True, slots=True)
class Roots:
    """Where a trusted layer is loaded from."""

    trusted: tuple[str, ...]
    imports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """A program to be proved under a layer: its source, or an Effect IR document in either form, as bytes."""

    program: str | bytes
    name: str = "program"
    target: str = "main"
    language: Executable = "python"
    """What the source is written in."""
    roots: Roots | None = None
    """Where its layer is. A document without one is taken at its word about what calls demand and promise."""
    layer_hash: str | None = None
    """The layer that the roots must hold; None takes what is there."""
    settings: Settings = DEFAULT


@dataclass(frozen=True, slots=True)
class Warm:
    """Load these layers now, so that the first job does not wait for it."""

    roots: tuple[Roots, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a job: a proof, or why no program can be judged by this layer."""

    proof: Proof | None
    config_error: str = ""
    spent: bool = False
    """The process should be replaced."""


def main(arguments: list[str]) -> None:
    """Serve until the pool closes the pipe."""
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    layers: dict[Roots, Layer] = {}
    import z3 as _z3  # pyright: ignore[reportMissingTypeStubs, reportUnusedImport]  # noqa: F401

    _end_with_parent()
    _limit(int(arguments[0]))
    while (message := read_frame(incoming)) is not None:
        if isinstance(message, Warm):
            for roots in message.roots:
                try:
                    _layer(layers, roots, None)
                except ProveError:
                    continue  # the first job with this layer says so
        else:
            write_frame(outgoing, _done(message, layers, outgoing))


def _end_with_parent() -> None:
    """A worker whose pool was killed has nobody to answer; in the middle of a proof it would not notice."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _limit(memory_mb: int) -> None:
    """Allow so much more address space than the process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + memory_mb * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _done(job: Job, layers: dict[Roots, Layer], outgoing: BinaryIO) -> Done:
    try:
        return Done(_proof(job, layers, outgoing))
    except ProveError as error:
        return Done(None, str(error))
    except MemoryError:
        return Done(
            unknown(
                "prover.memory",
                f"the proof needs more than {job.settings.memory_mb} MB",
                "make the program simpler, or give the proof more memory",
            ),
            spent=True,
        )
    except Exception as error:  # noqa: BLE001 -- one bad program must not take the worker with it
        return Done(
            unknown(
                "prover.internal",
                f"the prover failed: {type(error).__name__}: {error}",
                "report this program; until then it must not run",
            ),
            spent=True,
        )


def _proof(job: Job, layers: dict[Roots, Layer], outgoing: BinaryIO) -> Proof:
    from lictor_prove.documents import prove_bound, read_document
    from lictor_prove.prover import prove, prove_document

    def progress(told: Progress) -> None:
        write_frame(outgoing, told)

    layer = None if job.roots is None else _layer(layers, job.roots, job.layer_hash)
    if isinstance(job.program, bytes):
        try:
            document = read_document(job.program)
        except IrError as error:
            reason = Reason("ir.unreadable", str(error), "send a document in one of its two forms")
            return rejected(reason)
        if layer is None:
            return prove_document(document, job.settings, progress=progress)
        return prove_bound(document, layer, job.settings, progress=progress)
    if layer is None:
        raise ProveError("a program is proved under a trusted layer, and none is given")
    return prove(
        job.program,
        name=job.name,
        target=job.target,
        language=job.language,
        layer=layer,
        settings=job.settings,
        progress=progress,
    )


def _layer(layers: dict[Roots, Layer], roots: Roots, wanted: str | None) -> Layer:
    from lictor_prove.layers import load_layer

    known = layers.get(roots)
    if known is None or (wanted is not None and known.hash != wanted):
        known = load_layer(
            [Path(root) for root in roots.trusted], [Path(root) for root in roots.imports]
        )
        layers[roots] = known
    if wanted is not None and known.hash != wanted:
        raise ProveError(f"the layer {wanted} is not what the trusted roots hold: {known.hash}")
    return known


# -- frames ----------------------------------------------------------------------------------------


def read_frame(stream: BinaryIO) -> Any:
    """The next value, or None at the end."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    (size,) = HEADER.unpack(header)
    return pickle.loads(stream.read(size))


def write_frame(stream: BinaryIO, value: object) -> None:
    """Send a value."""
    data = pickle.dumps(value)
    stream.write(HEADER.pack(len(data)) + data)
    stream.flush()


if __name__ == "__main__":
    # Run by its name, this module would be another one than the pool's: frames name the pool's.
    from lictor_prove import worker

    worker.main(sys.argv[1:])
