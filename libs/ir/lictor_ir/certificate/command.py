"""`python -m lictor_ir check CERT…`: the checker as a command that needs this library alone.

A file comes from anybody: reading is bounded in size, and checking is done in a child with limits on time and memory.
"""

from __future__ import annotations

import gc
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from lictor_ir.certificate.check import Report, check, script_of
from lictor_ir.certificate.format import MAX_BYTES, OUTSIDE, By, Level
from lictor_ir.certificate.premises import premise_lines, premises_json
from lictor_ir.document import Guarantee
from lictor_ir.errors import CertificateError, FormError
from lictor_ir.forked_child import Forked, Tell
from lictor_ir.goals import Strength, strengths
from lictor_ir.text.document_writer import write_contract

VALID, REFUSED, UNREADABLE = 0, 1, 2
MEMORY_MB: Final = 2_048
HELP: Final = """\
Check certificates of proofs: every goal is derived again from the Effect IR that the certificate carries, and its
evidence is gone through. No solver is asked, and no program is looked at.

exit codes: 0 every certificate is valid, at the level demanded or above; 1 one is refused, shows less, or could not be
checked within the limits on time and memory; 2 one can't be read.
"""
ETHOS: Final = (
    "ethos --include=CVC5/proofs/eo/cpc/Cpc.eo --reference-define-fun --require-proof-of-false"
    " --reference={goal}.smt2 {goal}.cpc"
)
_README: Final = """\
Goals of the certificate {hash},
as SMT-LIB 2 scripts, and their proofs in the CPC format. CVC5 is a checkout of cvc5's sources. The scripts name their
terms with define-fun, so ethos must take these as definitions (--reference-define-fun). A proof counts when the word
`correct` is printed; `incomplete` does not, and ends with 0 all the same.

"""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = ArgumentParser(prog="python -m lictor_ir", allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb", required=True)
    checking = verbs.add_parser("check", help="check certificates of proofs", description=HELP)
    add_arguments(checking)
    checking.add_argument("--json", action="store_true", help="one object a certificate")
    options = parser.parse_args(list(arguments))
    return run(options)


def add_arguments(parser: ArgumentParser) -> None:
    """The options of the check."""
    parser.add_argument("files", metavar="CERT", nargs="+", type=Path, help="files of certificates")
    parser.add_argument(
        "--level",
        choices=[level.value for level in Level],
        default=Level.C.value,
        help="what is demanded (default: c, that no solver is believed)",
    )
    parser.add_argument(
        "--extract",
        metavar="DIR",
        type=Path,
        help="write each script with its proof there, for ethos",
    )
    parser.add_argument(
        "--timeout", metavar="S", type=int, default=60, help="for one certificate (default: 60)"
    )


def run(options: Namespace) -> int:
    """Check each file, and tell; the worst outcome is the command's."""
    return max(checked(path, options)[0] for path in options.files)


def checked(path: Path, options: Namespace) -> tuple[int, bytes]:
    """Check one file in a child, and tell: the exit code, and the bytes that it is about."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        outcome = _refused(path, UNREADABLE, "unreadable", error.strerror or str(error), options)
        data = b""
    else:
        outcome = _within_limits(path, data, options)
    sys.stdout.write(outcome.text)
    return outcome.code, data


class _Outcome(NamedTuple):
    code: int
    text: str


def _within_limits(path: Path, data: bytes, options: Namespace) -> _Outcome:
    """What a child finds; it is killed when its time is up, because a file may keep one operation busy for long."""

    def work(tell: Tell) -> None:
        # Little garbage is made, and memory is limited.
        gc.disable()
        tell(json.dumps(_one(path, data, options)).encode())

    seconds = max(1, options.timeout)
    with Forked(work, MEMORY_MB) as child:
        try:
            frame = child.told(seconds)
        except TimeoutError:
            why = f"it could not be checked within {seconds} s; give it more with --timeout"
            return _refused(path, REFUSED, "unchecked", why, options)
    if frame is None:
        why = f"the process that checked it broke off, perhaps for want of memory ({MEMORY_MB} MB)"
        return _refused(path, REFUSED, "unchecked", why, options)
    return _Outcome(*json.loads(frame))


def _one(path: Path, data: bytes, options: Namespace) -> _Outcome:
    try:
        report = check(data)
        if options.extract is not None:
            extract(report, options.extract)
        return _found(path, report, options)
    except CertificateError as error:
        return _refused(path, REFUSED, "refused", str(error), options)
    except FormError as error:
        return _refused(path, UNREADABLE, "unreadable", str(error), options)
    except OSError as error:
        return _refused(path, UNREADABLE, "unreadable", error.strerror or str(error), options)
    except (MemoryError, RecursionError):
        why = (
            f"it is deeper or larger than is checked, with {MEMORY_MB} MB; nobody should rely on it"
        )
        return _refused(path, REFUSED, "unchecked", why, options)
    except Exception as error:  # noqa: BLE001 -- whatever a file does to the checker, it is not shown to be valid
        why = f"it could not be checked: {type(error).__name__}: {error}; report this file"
        return _refused(path, REFUSED, "unchecked", why, options)


def _found(path: Path, report: Report, options: Namespace) -> _Outcome:
    enough = report.level >= Level(options.level)
    if options.json:
        lines = iter([json.dumps({"file": str(path), "valid": enough, **told(report)})])
    else:
        lines = _lines(path, report, options.level)
    return _Outcome(VALID if enough else REFUSED, "".join(f"{line}\n" for line in lines))


def told(report: Report) -> dict[str, Any]:
    """The report as JSON has it."""
    certificate = report.certificate
    return {
        "hash": report.hash,
        "level": report.level.value,
        "program": report.document.program,
        "target": report.document.target,
        "front_end": certificate.front_end.value,
        "program_hash": certificate.program_hash,
        "layer_hash": certificate.layer_hash,
        "ir_hash": certificate.ir_hash,
        "guarantees": [
            {
                "name": each.name,
                "contract": write_contract(report.document, each.contract),
                "required_by": each.required_by or None,
                "strength": strength.value,
            }
            for each, strength in _guarantees(report)
        ],
        "goals": [
            {
                "goal": each.goal,
                "by": each.by.value,
                "level": each.level.value,
                "steps": each.steps,
                "unknown_rule": each.unknown_rule,
                "reason": each.reason or None,
            }
            for each in report.goals
        ],
        "rules": dict(sorted(report.rules.items())),
        "bytes": report.size,
        "engine": certificate.engine,
        "solvers": dict(certificate.solvers),
        "rests_on": _premises(report),
        "outside": list(OUTSIDE),
    }


def extract(report: Report, folder: Path) -> None:
    """Write what another checker needs: a script and a proof for each goal that has one, and how to run it."""
    folder.mkdir(parents=True, exist_ok=True)
    commands: list[str] = []
    for goal, evidence in zip(report.derived, report.certificate.goals, strict=True):
        text = script_of(goal)
        if evidence.by is By.PROOF and text is not None and evidence.proof is not None:
            (folder / f"{goal.id}.smt2").write_text(text, "utf-8")
            (folder / f"{goal.id}.cpc").write_text(evidence.proof, "utf-8")
            commands.append(ETHOS.format(goal=goal.id))
    readme = _README.format(hash=report.hash) + "".join(f"    {each}\n" for each in commands)
    (folder / "README").write_text(readme, "utf-8")


def _lines(path: Path, report: Report, demanded: str) -> Iterator[str]:
    certificate = report.certificate
    enough = report.level >= Level(demanded)
    head = "valid" if enough else "too weak"
    yield f"{head}     {printable(str(path))}  level {report.level}, {report.size} bytes"
    if not enough:
        yield f"    level {demanded} is demanded; --level {report.level} takes it as it is"
    yield f"    name     {report.hash}"
    program = certificate.program_hash or "none: the Effect IR was handed in"
    yield f"    program  {program}  ({printable(report.document.program)})"
    yield f"    target   {printable(report.document.target)}"
    yield f"    IR       {certificate.ir_hash}"
    yield f"    layer    {certificate.layer_hash or 'none'}"
    for guarantee, strength in _guarantees(report):
        yield f"    guarantee  {printable(guarantee.name)}: {strength.words}"
        # A name is what somebody wrote; this is what was shown.
        yield f"      {printable(write_contract(report.document, guarantee.contract))}"
    if not report.document.guarantees:
        yield "    guarantee  none: nothing is promised"
    for each in report.goals:
        steps = f", {each.steps} steps" if each.steps else ""
        why = f": {printable(each.reason)}" if each.reason else ""
        yield f"    {each.level}  {each.goal}  by {each.by}{steps}{why}"
    yield "    rests on:"
    for each in premise_lines(_premises(report)):
        yield f"      {printable(each)}"
    yield "    not shown:"
    for each in OUTSIDE[: -1 if report.level is Level.C else None]:
        yield f"      {each}"


def _premises(report: Report) -> dict[str, Any]:
    """What is believed."""
    held = strengths(report.document, report.derived)
    return premises_json(report.document, report.certificate, held)


def _guarantees(report: Report) -> Iterator[tuple[Guarantee, Strength]]:
    """Each guarantee, and of which runs it holds."""
    held = strengths(report.document, report.derived)
    return zip(report.document.guarantees, held, strict=True)


def _refused(path: Path, code: int, word: str, message: str, options: Namespace) -> _Outcome:
    if options.json:
        line = json.dumps({"file": str(path), "valid": False, word: message})
    else:
        line = f"{word}  {printable(str(path))}: {printable(message)}"
    return _Outcome(code, f"{line}\n")


def printable(text: str) -> str:
    """The text on one line, without what could speak to a terminal."""
    shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    return shown if len(shown) <= 500 else shown[:500] + "…"
