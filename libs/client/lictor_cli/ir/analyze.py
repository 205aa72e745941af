"""`lictor ir analyze`: what the guarantees of programs and documents come to, over every trace of their effects."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lictor.errors import LictorError
from lictor_cli.main import DIFFERENT, FAILED, OK
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json
from lictor_cli.prove.layer_source import layer_arguments, layer_of, names_layer
from lictor_cli.prove.submission import language_argument, language_of, read_source

if TYPE_CHECKING:
    from lictor_ir.analysis import Budget, Entailment, Possible, Signature
    from lictor_ir.document import Document, Guarantee
    from lictor_ir.goals import Goal

HELP = """\
Tell what the guarantees of each file come to, whatever its program does: which of them can't be kept by doing what
they speak of, which of them the others imply, and with --implies whether those of FILE imply those of another file, and
the other way round. Each answer shows a trace, or rests on formulas that have no model (in --json as SMT-LIB scripts).

Files are programs in Python (.py), read under their trusted layer, or Effect IR documents; a document is held to a
layer if roots are named. Exit code 1 when a guarantee can't be kept or a file can't be read, 4 when --implies finds
that something is not implied, or can't tell.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path)
    parser.add_argument(
        "--implies", metavar="OTHER", type=Path, help="a file whose guarantees may be implied"
    )
    language_argument(parser)
    layer_arguments(parser)
    parser.add_argument("--target", metavar="NAME", default="main")
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=float,
        default=10.0,
        help="how long one file may take (default: 10); what is not told then is unknown",
    )
    common_arguments(parser, connects=False)


@dataclass(frozen=True)
class _Read:
    document: "Document"
    signature: "Signature"


def run(options: Namespace) -> int:
    """Analyze each file, and tell."""
    quiet_logs()
    if not 0 < options.timeout <= 86_400:
        raise LictorError(
            f"--timeout is {options.timeout:g}: it must be more than 0, at most 86400."
        )
    try:
        from lictor_ir.analysis import Budget
    except ModuleNotFoundError as error:
        raise LictorError(f"{error.name} is not installed here; install lictor-prove.") from None
    implies: Path | None = options.implies
    other = None if implies is None else (implies, _read(implies, options))
    code = OK
    for file in options.files:
        found = _read(file, options)
        told = _analyzed(file, found, Budget(round(options.timeout * 1000)))
        if other is not None:
            told["implies"] = _compared(found, other, options)
        if options.json:
            say_json(told)
        else:
            for line in _lines(told):
                say(line)
        code = max(code, _code(told), key=(OK, DIFFERENT, FAILED).index)
    return code


def _code(told: dict[str, Any]) -> int:
    if any(each["alone"]["possibility"] in _NEVER for each in told["guarantees"]):
        return FAILED
    if any(each["together"]["possibility"] == "impossible" for each in told["guarantees"]):
        return FAILED
    implies = told.get("implies")
    if implies is not None and any(each["verdict"] != "implied" for each in implies["forward"]):
        return DIFFERENT
    return OK


# -- reading ---------------------------------------------------------------------------------------


def _read(file: Path, options: Namespace) -> _Read:
    from lictor_ir.analysis import Signature
    from lictor_ir.errors import IrError
    from lictor_ir.validation.document import validate
    from lictor_prove.errors import ProveError, Rejected
    from lictor_prove.layers.signature import signature_of
    from lictor_prove.proof.prover import document_of
    from lictor_prove.proof.submitted_documents import bound_to, read_document

    source = read_source(file)
    language = language_of(file, options)
    try:
        if language == "ir" and not names_layer(options):
            document = read_document(source.encode())
            validate(document)
            return _Read(document, Signature.of(document))
        layer = layer_of(options)
        if language != "ir":
            document = document_of(
                source, name=file.name, target=options.target, layer=layer, language=language
            )
        else:
            document = bound_to(read_document(source.encode()), layer)
        return _Read(document, signature_of(layer, document))
    except Rejected as refused:
        reason = refused.reasons[0]
        place = f"{reason.line}:{reason.column}: " if reason.line is not None else ""
        raise LictorError(
            f"{file}: {place}{printable(reason.message)}; {printable(reason.remedy)}"
        ) from None
    except (IrError, ProveError) as error:
        raise LictorError(f"{file}: {printable(str(error))}") from None


# -- analyzing -------------------------------------------------------------------------------------


def _analyzed(file: Path, found: _Read, budget: "Budget") -> dict[str, Any]:
    from lictor_ir.analysis import analyze

    stated = found.document.guarantees
    analysis = analyze(found.signature, [each.contract for each in stated], budget)
    reduction = analysis.reduction
    redundant = {each.contract: each for each in reduction.redundant}
    return {
        "file": str(file),
        "guarantees": [
            {
                "name": guarantee.name,
                "required_by": guarantee.required_by or None,
                "alone": _possible(analysis.alone[at]),
                "together": _possible(analysis.together[at]),
                "redundant": at in redundant
                if at in redundant or reduction.needed[at].verdict.value == "not_implied"
                else None,
                "implied_by": [stated[each].name for each in redundant[at].by]
                if at in redundant
                else [],
                "because": _entailed(
                    redundant[at].entailment if at in redundant else reduction.needed[at]
                ),
            }
            for at, guarantee in enumerate(stated)
        ],
        "minimal": [stated[each].name for each in reduction.kept],
    }


def _compared(found: _Read, both: tuple[Path, _Read], options: Namespace) -> dict[str, Any]:
    from lictor_ir.analysis import Budget
    from lictor_ir.errors import IrError

    file, other = both
    budget = Budget(round(options.timeout * 1000))
    try:
        signature = found.signature.joined(other.signature)
        return {
            "file": str(file),
            "forward": _each_implied(
                signature, found.document.guarantees, other.document.guarantees, budget
            ),
            "backward": _each_implied(
                signature, other.document.guarantees, found.document.guarantees, budget
            ),
        }
    except IrError as error:
        raise LictorError(f"{file}: {printable(str(error))}") from None


def _each_implied(
    signature: "Signature",
    ours: Sequence["Guarantee"],
    theirs: Sequence["Guarantee"],
    budget: "Budget",
) -> list[dict[str, Any]]:
    from lictor_ir.analysis import entails

    premises = [each.contract for each in ours]
    # As for what is redundant: what one says is held against what the other says.
    signature = signature.without_demands()
    return [
        {"name": each.name, **_entailed(entails(signature, premises, each.contract, budget))}
        for each in theirs
    ]


def _possible(found: "Possible") -> dict[str, Any]:
    from lictor_ir.analysis import told

    return {
        "possibility": found.possibility.value,
        "reason": found.reason,
        "witness": None if found.witness is None else list(told(found.witness)),
        "scripts": _scripts(found.goals),
    }


def _entailed(found: "Entailment") -> dict[str, Any]:
    from lictor_ir.analysis import told

    return {
        "verdict": found.verdict.value,
        "reason": found.reason,
        "witness": None if found.witness is None else list(told(found.witness)),
        "scripts": _scripts(found.goals),
    }


def _scripts(goals: Sequence["Goal"]) -> list[str]:
    """What has no model, for any solver; a formula that can't be written so is left out."""
    from lictor_ir.errors import UnsupportedError
    from lictor_ir.solver.smtlib_lowering import script

    written: list[str] = []
    for goal in goals:
        try:
            written.append(script(goal))
        except UnsupportedError:
            continue
    return written


# -- for people ------------------------------------------------------------------------------------

_NEVER = ("impossible", "only_trivial")


def _lines(told: dict[str, Any]) -> Iterator[str]:
    count = len(told["guarantees"])
    kept = len(told["minimal"])
    says = "" if kept == count else f"; {kept} of them say as much"
    yield f"{printable(told['file'])}: {count} guarantee{'' if count == 1 else 's'}{says}"
    for each in told["guarantees"]:
        yield f"  {printable(each['name'])}"
        yield from _standing(each)
    if "implies" in told:
        other = printable(told["implies"]["file"])
        yield f"  {printable(told['file'])} implies {other}:"
        yield from _implied(told["implies"]["forward"])
        yield f"  {other} implies {printable(told['file'])}:"
        yield from _implied(told["implies"]["backward"])


def _standing(each: dict[str, Any]) -> Iterator[str]:
    alone, together = each["alone"], each["together"]
    if alone["possibility"] in _NEVER or alone["possibility"] == "unknown":
        yield f"    {alone['possibility']}: {printable(alone['reason'])}"
    elif together["possibility"] in _NEVER:
        yield f"    {together['possibility']} with the others: {printable(together['reason'])}"
    else:
        yield f"    can be kept{_trace(alone['witness'])}"
    if each["redundant"]:
        by = ", ".join(map(printable, each["implied_by"])) or "nothing: it holds of every trace"
        yield f"    redundant, implied by {by} ({printable(each['because']['reason'])})"
    elif each["redundant"] is None:
        yield f"    perhaps redundant: {printable(each['because']['reason'])}"
    else:
        yield f"    needed{_trace(each['because']['witness'])}"


def _implied(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    for each in found:
        yield f"    {each['verdict']:<11}  {printable(each['name'])}: {printable(each['reason'])}"
        for at, line in enumerate(each["witness"] or (), start=1):
            yield f"        {at}. {printable(line)}"
        if each["witness"] == []:
            yield "        (nothing happens)"


def _trace(witness: Sequence[str] | None) -> str:
    if witness is None:
        return ""
    return f": {'; '.join(map(printable, witness[:4])) or 'nothing happens'}"
