"""Holds what is here against what was approved, just before it runs; whatever differs makes the approval stale.

The layer's files are read once: what is hashed is what is loaded. The program is read by the front-end again, and its
document must be the approved one: a program that is read differently now is not the program that was proved.
"""

from __future__ import annotations

from pathlib import Path

from lictor_ir.json.document import document_hash
from lictor_prove.errors import ProveError, Rejected
from lictor_prove.layers.files import discover_trusted_roots, read_files
from lictor_prove.layers.load import LivingLayer, load_living
from lictor_prove.proof.given_inputs import why_not_with
from lictor_prove.proof.prover import ReadProgram, read
from lictor_prove.proof.runnability import why_not_run
from lictor_prove.this_python import this_python
from lictor_run.child_orders import Approved
from lictor_run.errors import RunStopped
from lictor_schema.proofs.program import is_executable, program_hash

_PROVE_AGAIN = "prove it again, and have it approved again"
_AGAIN = "submit the program again, and have it approved again"


def check_python(approved: Approved) -> None:
    """Refuse to run in another Python than the program was proved and rehearsed for."""
    here = this_python()
    if approved.python is None:
        raise RunStopped(
            "stale.python",
            f"its proof does not say for which Python it holds, and this runner has {here}",
            _PROVE_AGAIN,
        )
    if approved.python != here:
        raise RunStopped(
            "stale.python",
            f"it was proved for {approved.python}, and this runner has {here}",
            f"{_PROVE_AGAIN}; prover, rehearser and runner need the same minor version of Python",
        )


def load_layer_again(root: str, layer_hash: str) -> LivingLayer:
    """The layer in that directory, if it is the one that is named. It runs the layer's modules."""
    base = Path(root)
    try:
        files = read_files(discover_trusted_roots([base]), [base])
        if files.hash != layer_hash:
            raise stale("stale.layer", f"the trusted layer is now {files.hash}, not {layer_hash}")
        return load_living(files)
    except ProveError as error:
        raise stale("stale.layer", f"the trusted layer can't be loaded: {error}") from None


def read_again(approved: Approved, living: LivingLayer) -> ReadProgram:
    """The program, if all of it is what was approved. What was parsed here is what runs."""
    language = approved.language
    if not is_executable(language):
        raise RunStopped(
            "language.not_run",
            f"what is written in the language {language!r} describes a program, and can't run",
            "submit the program itself",
        )
    found = program_hash(approved.program)
    if found != approved.program_hash:
        raise stale("stale.program", f"the program is {found}, not {approved.program_hash}")
    try:
        program = read(
            approved.program,
            name=approved.source_name,
            layer=living.layer,
            target=approved.target,
            language=language,
        )
    except Rejected as refused:
        raise stale("stale.rejected", f"the program is rejected now: {refused}") from None
    except ProveError as error:
        raise stale("stale.layer", f"the program can't be read under its layer: {error}") from None
    document = program.document
    found = document_hash(document)
    if found != approved.ir_hash:
        raise stale("stale.ir", f"the program's Effect IR is now {found}, not {approved.ir_hash}")
    stated = tuple((each.name, bool(each.required_by)) for each in document.guarantees)
    if stated != approved.guarantees:
        raise stale("stale.guarantees", "the guarantees are not those that were proved")
    never = why_not_run(document) or why_not_with(document, approved.inputs)
    if never is not None:
        raise RunStopped(never.code, never.message, never.remedy)
    return program


def stale(code: str, message: str) -> RunStopped:
    """What was approved is not what is here."""
    return RunStopped(code, message, _AGAIN)
