"""`lictor prove`: what programs will do, proved before they run; here, or by the prover on the bus."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lictor.cli import FAILED, LAYER, OK
from lictor.commands.counting import counting
from lictor.commands.layer_source import layer_arguments, layer_of, layer_roots, names_layer
from lictor.commands.output import common_arguments, printable, quiet_logs, say, say_json
from lictor.commands.prove_goals import written_goals
from lictor.commands.prove_text import told
from lictor.errors import LayerUnusable, LictorError

if TYPE_CHECKING:
    from lictor_prove.errors import Reason
    from lictor_prove.layer_model import Layer
    from lictor_prove.proof import Proof
    from lictor_prove.settings import Settings
    from lictor_prove.standing import Analysis
    from lictor_schema import ProofResult
    from lictor_schema.proofs import Language

HELP = """\
Prove what programs will do: each file is read, never run; its effects are laid open, and the guarantees that it
states and that its trusted layer requires are decided for every input and every path. A verdict is `proved`,
`refuted` (with a run that breaks it), `unknown` or `rejected`; only `proved` may run.

The trusted layer is Python code that is run to learn what it declares: name only roots that you trust.
With --submit, the running prover decides, with its own layers.
"""
MAX_BYTES = 4 * 1024 * 1024
_BROKEN = "layer.broken"


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="programs in Python (.py) or commands (.lictor), or Effect IR documents",
    )
    language_argument(parser)
    layer_arguments(parser)
    parser.add_argument(
        "--target", metavar="NAME", default="main", help="the function to prove (default: main)"
    )
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=float,
        default=30.0,
        help="how long one program may take (default: 30); what is undecided then is unknown",
    )
    parser.add_argument(
        "--coverage",
        choices=("entailment", "mention"),
        default="entailment",
        help="a contract is covered when what is proved implies it, or only when it is named (default: entailment)",
    )
    parser.add_argument(
        "--summary",
        action="store_true",
        help="tell in plain words what each program may do and what is guaranteed",
    )
    parser.add_argument(
        "--certificate",
        metavar="DIR",
        type=Path,
        help="write a certificate of each proof there; `lictor ir check` checks it without a solver",
    )
    parser.add_argument(
        "--smtlib",
        metavar="DIR",
        type=Path,
        help="write every goal of each file there as an SMT-LIB script, whatever was found about it",
    )
    parser.add_argument(
        "--submit", action="store_true", help="have the running prover decide, as one batch"
    )
    parser.add_argument("--task", metavar="ID", help="with --submit: the task they belong to")
    parser.add_argument(
        "--layer", metavar="HASH", help="with --submit: the layer (default: the prover's first)"
    )
    common_arguments(parser)


def language_argument(parser: ArgumentParser) -> None:
    """What the files are written in."""
    parser.add_argument(
        "--language",
        choices=("python", "commands", "ir"),
        help="what the files are written in (default: by their names: .py, .lictor, else ir)",
    )


def language_of(path: Path, options: Namespace) -> "Language":
    """What a file is written in: as it is said, else by its name. A wrong name is refused, never run as another."""
    if options.language is not None:
        return options.language
    suffixes: dict[str, Language] = {".py": "python", ".lictor": "commands"}
    return suffixes.get(path.suffix, "ir")


async def run(options: Namespace) -> int:
    """Prove each file, and tell."""
    quiet_logs()
    if not 0 < options.timeout <= 86_400:
        raise LictorError(
            f"--timeout is {options.timeout:g}: it must be more than 0, at most 86400."
        )
    if options.submit and options.coverage != "entailment":
        raise LictorError(
            "--coverage is for proofs made here; the running prover tells entailment."
        )
    if options.submit and options.summary:
        raise LictorError("--summary is for proofs made here: leave --submit or --summary out.")
    if options.submit and options.certificate is not None:
        raise LictorError(
            "--certificate is for proofs made here; with --submit, the result names its certificate, and"
            " `lictor ir fetch HASH` fetches it."
        )
    if options.submit and options.smtlib is not None:
        raise LictorError("--smtlib is for proofs made here: leave --submit or --smtlib out.")
    codes = [OK]
    if options.submit:
        for document in await _submitted(options):
            codes.append(_tell(document, options))
        return max(codes)
    with counting("proving", len(options.files), quiet=options.json) as advance:
        for document in _proved_here(options):
            codes.append(_tell(document, options))
            advance()
    return max(codes)


def _tell(document: dict[str, Any], options: Namespace) -> int:
    if options.json:
        say_json(document)
    else:
        for line in told(document, _lines(document["file"])):
            say(line)
        for line in (document.get("summary") or "").splitlines() if options.summary else ():
            say(f"    {line}")
        for line in _next_step(document) if options.submit else ():
            say(f"    {line}")
    if any(reason["code"] == _BROKEN for reason in document["reasons"]):
        return LAYER
    return OK if document["verdict"] == "proved" else FAILED


def _next_step(document: dict[str, Any]) -> Iterator[str]:
    """The ids that the next commands take."""
    yield f"submission {document['submission_id']} of task {printable(document['task_id'])}"
    if document["verdict"] != "proved":
        return
    if document["request_id"] is None:
        yield "no approval is asked for yet; `lictor approvals list` shows what waits"
    else:
        yield f"request {document['request_id']}: `lictor approvals show {document['request_id']}`"


def _lines(file: str) -> list[str]:
    """The source again, to show what a reason is about; nothing when it can't be read."""
    try:
        return read_source(Path(file)).splitlines()
    except LictorError:
        return []


def read_source(path: Path) -> str:
    """The text of a program; LictorError when it is none."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise LictorError(f"the program can't be read: {error.strerror or error}") from None
    if len(data) > MAX_BYTES:
        raise LictorError(f"the program has more than {MAX_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LictorError(
            f"the program is no UTF-8 text: byte {error.start} can't be read"
        ) from None


# -- in this process -------------------------------------------------------------------------------


def _proved_here(options: Namespace) -> Iterator[dict[str, Any]]:
    try:
        from lictor_ir.errors import IrError
        from lictor_prove.documents import prove_alone, prove_bound, read_document
        from lictor_prove.errors import ProverConfigError
        from lictor_prove.limited import prove_limited
        from lictor_prove.prover import prove
        from lictor_prove.settings import Settings
    except ModuleNotFoundError as error:
        raise LictorError(
            f"{error.name} is not installed here; install lictor-prove, or use --submit."
        ) from None
    from lictor_schema import is_executable

    total_ms = round(options.timeout * 1000)
    # Reading a program takes time too.
    settings = Settings(total_ms=total_ms, wall_ms=total_ms + 10_000, coverage=options.coverage)
    layers: dict[tuple[Path, ...], Layer] = {}

    def layer_for(file: Path) -> "Layer":
        trusted, imports = layer_roots(file, options)
        key = (*imports, Path(os.pardir), *trusted)
        if key not in layers:
            layers[key] = layer_of(file, options)
        return layers[key]

    for name in options.files:
        path = Path(name)
        language = language_of(path, options)
        try:
            source = read_source(path)
        except LictorError as error:
            yield _refused(name, "source.unreadable", str(error), "name a readable file")
            continue
        try:
            if language != "ir":
                proving = partial(
                    prove,
                    source,
                    name=path.name,
                    layer=layer_for(path),
                    target=options.target,
                    language=language,
                    settings=settings,
                )
            elif names_layer(options) or layer_roots(path, options)[0]:
                document = read_document(source.encode())
                proving = partial(prove_bound, document, layer_for(path), settings)
            else:
                proving = partial(prove_alone, read_document(source.encode()), settings)
            proof = prove_limited(proving, settings)
        except IrError as error:
            remedy = "name a program (.py, .lictor), or a document in one of its two forms"
            yield _refused(name, "ir.unreadable", str(error), remedy)
            continue
        except (LayerUnusable, ProverConfigError) as error:
            yield _refused(name, _BROKEN, str(error), "mend the layer; no program is judged by it")
            continue
        told = (
            _document(name, proof)
            if options.certificate is None
            else _certified(path, language, proof, options.certificate, settings)
        )
        if options.smtlib is not None:
            told["smtlib"] = written_goals(path, proof, options.smtlib)
        yield {**told, "executable": is_executable(language) and proof.cannot_run is None}


def _certified(
    path: Path, language: "Language", proof: "Proof", folder: Path, settings: "Settings"
) -> dict[str, Any]:
    """The proof, and where its certificate was written."""
    from lictor_ir.certificate.format import FrontEnd
    from lictor_prove.certify import certified

    front_end = FrontEnd.DOCUMENT if language == "ir" else FrontEnd(language)
    proof = certified(proof, front_end, settings)
    document, made = _document(str(path), proof), proof.certificate
    if made is None:
        missing = {"missing": proof.uncertified} if proof.uncertified else None
        return {**document, "certificate": missing}
    file = folder / f"{path.stem}-{made.hash.removeprefix('sha256:')[:12]}.certificate.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_bytes(made.data)
    except OSError as error:
        raise LictorError(
            f"the certificate can't be written to {file}: {error.strerror or error}"
        ) from None
    told = {"hash": made.hash, "level": made.level.value, "file": str(file)}
    return {**document, "certificate": told}


def _refused(file: str, code: str, message: str, remedy: str) -> dict[str, Any]:
    reason = {"code": code, "message": message, "remedy": remedy, "line": None, "column": None}
    return {
        "file": file,
        "verdict": "rejected",
        "guarantees": [],
        "reasons": [reason],
        "ms": 0.0,
    }


def _document(file: str, proof: "Proof") -> dict[str, Any]:
    return {
        "file": file,
        "verdict": proof.verdict.value,
        "guarantees": [
            {
                "name": each.name,
                "verdict": each.verdict.value,
                "description": each.description or None,
                "required_by": each.required_by or None,
                "strength": None if each.strength is None else each.strength.value,
                "decided_by": each.how,
                "counterexample": None if each.counterexample is None else str(each.counterexample),
                "reason": each.reason or None,
                "ms": round(each.ms, 3),
            }
            for each in proof.guarantees
        ],
        "reasons": [_reason(each) for each in proof.reasons],
        "broken": [
            {
                "kind": each.kind,
                "text": each.text,
                "line": each.line,
                "verdict": each.verdict.value,
                "counterexample": None if each.counterexample is None else str(each.counterexample),
            }
            for each in proof.obligations
            if each.verdict.value != "proved"
        ],
        "coverage": None if proof.coverage is None else proof.coverage.model_dump(mode="json"),
        "analysis": None if proof.analysis is None else _analysis(proof.analysis),
        "summary": None if (summary := proof.summary()) is None else summary.text(),
        "ir_hash": proof.ir_hash,
        "layer_hash": proof.layer_hash,
        "cannot_run": None if proof.cannot_run is None else _reason(proof.cannot_run),
        "ms": round(proof.ms, 3),
    }


def _reason(reason: "Reason") -> dict[str, Any]:
    return {
        "code": reason.code,
        "message": reason.message,
        "remedy": reason.remedy,
        "line": reason.line,
        "column": reason.column,
    }


def _analysis(analysis: "Analysis") -> dict[str, Any]:
    return {
        "standings": [
            {
                "name": each.name,
                "possibility": each.possibility.value,
                "vacuous": each.is_vacuous,
                "redundant": each.is_redundant,
                "implied_by": list(each.implied_by),
                "reason": each.reason or None,
                "witness": list(each.witness),
            }
            for each in analysis.standings
        ],
        "complete": analysis.is_complete,
    }


# -- by the prover on the bus ----------------------------------------------------------------------


async def _submitted(options: Namespace) -> list[dict[str, Any]]:
    from lictor.commands.prove_requests import request_ids
    from lictor.programs import Program
    from lictor.session import connect

    if options.task is None:
        raise LictorError("--submit needs --task: a proof belongs to the task it is for.")
    programs = [
        Program(
            read_source(Path(file)),
            name=Path(file).name,
            target=options.target,
            language=language_of(Path(file), options),
            layer_hash=options.layer,
            timeout_ms=round(options.timeout * 1000),
        )
        for file in options.files
    ]
    async with connect(options.url) as governor:
        # Each waits for its turn, and for the others before it.
        patience = options.timeout * len(programs) + 30
        found = await governor.prove(*programs, task_id=options.task, timeout_s=patience)
    requests = await request_ids(options.url, found)
    return [
        {
            **_result_document(file, result),
            "request_id": requests.get(result.submission_id),
        }
        for file, result in zip(options.files, found, strict=True)
    ]


def _result_document(file: str, result: "ProofResult") -> dict[str, Any]:
    document = result.model_dump(mode="json")
    return {
        "file": file,
        "verdict": document.pop("verdict"),
        "guarantees": document.pop("guarantees"),
        "ms": document.pop("elapsed_ms"),
        **document,
    }
