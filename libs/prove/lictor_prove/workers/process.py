"""A worker process: reads jobs from its pool, proves them, and writes what it found. Started by
`lictor_prove.workers.pool`.

Frames on both pipes are a length of eight bytes and a pickled value. What a layer prints goes to stderr, never between
the frames. The process may grow by a given memory; asking for more fails here and nowhere else.
"""

from __future__ import annotations

import gc
import os
import pickle
import struct
import sys
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Final

from lictor_ir.certificate.format import FrontEnd
from lictor_ir.errors import IrError
from lictor_ir.forked_child import end_with_parent, limit_memory
from lictor_prove.certificate.creation import CertificateLimits, certified
from lictor_prove.certificate.kept_proof import KeptCertificate
from lictor_prove.certificate.second_solver import NAME as SECOND
from lictor_prove.errors import ProveError, Reason
from lictor_prove.layer_model import Layer
from lictor_prove.proof.result import Progress, Proof, rejected
from lictor_prove.proof.settings import DEFAULT, Executable, ProofSettings
from lictor_prove.workers.failures import failed, too_large
from lictor_schema.proofs.proof import ProofVerdict

CERTIFIES: Final = "certifies"
"""The argument of a worker that will make certificates: what it needs is loaded at once."""
YOUNG: Final = 50_000
"""So many values are made before the collector looks for cycles: some megabytes."""
HEADER: Final = struct.Struct(">Q")


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
    settings: ProofSettings = DEFAULT
    certify: CertificateLimits | None = None
    """Make a certificate of what is proved, within these limits."""
    kept: KeptCertificate | None = None
    """Of an earlier proof: what it shows, solvers are not asked."""
    seed: str = ""
    """For the runs that are rehearsed; without one, none are planned."""


@dataclass(frozen=True, slots=True)
class Proved:
    """A verdict whose certificate is still being made: whatever becomes of that, it stands."""

    proof: Proof


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

    # What every proof needs: afterwards, memory is for the proofs.
    import_module("lictor_prove.proof.prover")
    import_module("lictor_prove.rehearsal.proof_plan")
    if arguments[1:] == [CERTIFIES]:
        import_module(SECOND)
    end_with_parent()
    limit_memory(int(arguments[0]))
    while (message := read_frame(incoming)) is not None:
        if isinstance(message, Warm):
            for roots in message.roots:
                try:
                    _layer(layers, roots, None)
                except ProveError:
                    continue  # the first job with this layer says so
        else:
            write_frame(outgoing, _done(message, layers, outgoing))


def spare_the_collector() -> None:
    """Look for cycles seldom, and not at all among the modules and layers that are loaded by now.

    A proof makes many small values and few cycles; each look walks through all that there are.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG)


def _done(job: Job, layers: dict[Roots, Layer], outgoing: BinaryIO) -> Done:
    try:
        proof = _proof(job, layers, outgoing)
    except ProveError as error:
        return Done(None, str(error))
    except MemoryError:
        return Done(too_large(job.settings), spent=True)
    except Exception as error:  # noqa: BLE001 -- one bad program must not take the worker with it
        return Done(failed(error), spent=True)
    if job.certify is None or proof.verdict is not ProofVerdict.PROVED or proof.certificate:
        return Done(proof)
    write_frame(outgoing, Proved(proof))
    return _certified(job, proof, job.certify)


def _certified(job: Job, proof: Proof, limits: CertificateLimits) -> Done:
    front_end = FrontEnd.DOCUMENT if isinstance(job.program, bytes) else FrontEnd(job.language)
    try:
        return Done(certified(proof, front_end, job.settings, limits))
    except Exception as error:  # noqa: BLE001 -- what is proved is proved, also without a certificate
        why = f"making the certificate failed: {type(error).__name__}: {error}"
        return Done(replace(proof, uncertified=why), spent=True)


def _proof(job: Job, layers: dict[Roots, Layer], outgoing: BinaryIO) -> Proof:
    from lictor_prove.proof.prover import prove
    from lictor_prove.proof.submitted_documents import prove_alone, prove_bound, read_document

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
            return prove_alone(document, job.settings, progress=progress, kept=job.kept)
        return prove_bound(document, layer, job.settings, progress=progress, kept=job.kept)
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
        kept=job.kept,
        seed=job.seed,
    )


def _layer(layers: dict[Roots, Layer], roots: Roots, wanted: str | None) -> Layer:
    from lictor_prove.layers import load_layer

    known = layers.get(roots)
    if known is None or (wanted is not None and known.hash != wanted):
        known = load_layer(
            [Path(root) for root in roots.trusted], [Path(root) for root in roots.imports]
        )
        layers[roots] = known
        spare_the_collector()
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
    from lictor_prove.workers import process

    process.main(sys.argv[1:])
