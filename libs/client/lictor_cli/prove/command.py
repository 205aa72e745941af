"""`lictor prove`: what programs will do, proved before they run; here, or by the prover on the bus."""

import re
import secrets
from argparse import ArgumentParser, Namespace
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from lictor.errors import LayerUnusable, LictorError
from lictor_cli.main import FAILED, LAYER, OK
from lictor_cli.output.progress_bar import counting
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json
from lictor_cli.prove.input_options import given_inputs, input_arguments
from lictor_cli.prove.layer_source import layer_arguments, layer_of, names_layer
from lictor_cli.prove.proof_output import Broken, FileReport, Written, told, written_goals
from lictor_cli.prove.submission import language_argument, language_of, read_source, submitted
from lictor_cli.prove.suggestions import Suggestion, unified, write

if TYPE_CHECKING:
    from lictor_prove.proof.result import Proof
    from lictor_prove.proof.settings import ProofSettings
    from lictor_prove.rehearsal.stage import Stage
    from lictor_schema.proofs.inputs import Inputs
    from lictor_schema.proofs.program import Language

HELP = """\
Prove what programs will do: each file is read, and its effects are laid open; the guarantees that it states and that
its trusted layer requires are decided for every input and every path. A verdict is `proved`, `refuted` (with a run
that breaks it), `unknown` or `rejected`; only `proved` may run.

What is proved is rehearsed: the program runs in a process that can reach nothing, with stand-ins for trusted calls,
and must do what the proof says. It never has effects here. Where that can't be done, it is `proved, not rehearsed`.

The trusted layer is Python code that is run to learn what it declares: name only roots that you trust.
With --submit, the running prover decides, with its own layers.
"""
LOCAL_TASK = "local"
"""The task of a proof that nobody submitted."""
_BROKEN = "layer.broken"
_SEED = re.compile("[0-9a-f]{32}")


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
        "--no-rehearsal",
        action="store_true",
        help="don't compare what is proved with Python: then it is `proved, not rehearsed`",
    )
    parser.add_argument(
        "--seed",
        metavar="HEX",
        help="rehearse with the runs of an earlier proof, whose result names this seed (default: a new one)",
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="show how a rejected program could be rewritten, as a diff, and what is proved of it then",
    )
    parser.add_argument(
        "--write", action="store_true", help="with --fix: write the rewritten program to its file"
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
        "--runtime",
        metavar="NAME",
        default="shell",
        help="with --submit: the runtime whose task that is (default: shell)",
    )
    parser.add_argument(
        "--layer", metavar="HASH", help="with --submit: the layer (default: the prover's first)"
    )
    parser.add_argument(
        "--wait",
        action="store_true",
        help="with --submit: wait until it is decided and has run, and show the result; Ctrl-C withdraws nothing",
    )
    parser.add_argument(
        "--wait-timeout",
        metavar="S",
        type=float,
        help="with --wait: how long (default: until the request has ended); then exit code 6",
    )
    input_arguments(parser)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Prove each file, and tell."""
    quiet_logs()
    if not 0 < options.timeout <= 86_400:
        raise LictorError(
            f"--timeout is {options.timeout:g}: it must be more than 0, at most 86400."
        )
    if not options.submit and (options.wait or options.wait_timeout is not None):
        raise LictorError("--wait is for --submit: what is proved here runs nowhere.")
    if options.wait_timeout is not None and not (options.wait and options.wait_timeout > 0):
        raise LictorError("--wait-timeout needs --wait, and must be more than 0.")
    if options.submit and options.coverage != "entailment":
        raise LictorError(
            "--coverage is for proofs made here; the running prover tells entailment."
        )
    if options.submit and options.no_rehearsal:
        raise LictorError("--no-rehearsal is for proofs made here; the running prover rehearses.")
    if options.submit and options.seed is not None:
        raise LictorError("--seed is for proofs made here; the running prover draws its own.")
    if options.seed is not None and not _SEED.fullmatch(options.seed):
        raise LictorError(
            f"--seed is {options.seed!r}: it must be the 32 hexadecimal digits that a result names."
        )
    if options.write and not options.fix:
        raise LictorError("--write is for --fix: it writes what that shows.")
    if options.submit and options.fix:
        raise LictorError("--fix is for proofs made here: leave --submit or --fix out.")
    if options.submit and options.summary:
        raise LictorError("--summary is for proofs made here: leave --submit or --summary out.")
    if options.submit and options.certificate is not None:
        raise LictorError(
            "--certificate is for proofs made here; with --submit, the result names its certificate, and"
            " `lictor ir fetch HASH` fetches it."
        )
    if options.submit and options.smtlib is not None:
        raise LictorError("--smtlib is for proofs made here: leave --submit or --smtlib out.")
    if len(options.files) > 1 and (options.input or options.inputs is not None):
        raise LictorError("--input and --inputs are for one program: prove each with its own.")
    codes = [OK]
    if options.submit:
        reports = await submitted(options)
        codes += [_tell(report, options) for report in reports]
        if options.wait:
            from lictor_cli.prove.waiting import waited

            codes.append(await waited(reports, options))
        return max(codes)
    with (
        counting("proving", len(options.files), quiet=options.json) as advance,
        _stage(options) as stage,
    ):
        for report in _proved_here(options, stage):
            codes.append(_tell(report, options))
            advance()
    return max(codes)


@contextmanager
def _stage(options: Namespace) -> "Generator[Stage | None]":
    """Where programs are rehearsed; it gets ready while the first of them is read."""
    if options.no_rehearsal:
        yield None
        return
    try:
        from lictor_run.rehearsal.local_stage import LocalStage
    except ModuleNotFoundError as error:
        raise LictorError(
            f"{error.name} is not installed here; install lictor-run, or use --no-rehearsal."
        ) from None
    with LocalStage() as stage:
        stage.start()
        yield stage


def _tell(report: FileReport, options: Namespace) -> int:
    if options.json:
        say_json(report.document())
    else:
        for line in told(report, _lines(report.file)):
            say(line)
        for line in (report.summary or "").splitlines():
            say(f"    {line}")
        for line in _next_step(report) if options.submit else ():
            say(f"    {line}")
    if any(reason.code == _BROKEN for reason in report.proof.reasons):
        return LAYER
    return OK if report.proof.verdict == "proved" else FAILED


def _next_step(report: FileReport) -> Iterator[str]:
    """The ids that the next commands take."""
    proof = report.proof
    yield f"submission {proof.submission_id} of task {printable(proof.task_id)}"
    if proof.verdict != "proved":
        return
    if report.request_id is None:
        yield "no approval is asked for yet; `lictor approvals list` shows what waits"
    else:
        yield f"request {report.request_id}: `lictor approvals show {report.request_id}`"


def _lines(file: str) -> list[str]:
    """The source again, to show what a reason is about; nothing when it can't be read."""
    try:
        return read_source(Path(file)).splitlines()
    except LictorError:
        return []


# -- in this process -------------------------------------------------------------------------------


def _proved_here(options: Namespace, stage: "Stage | None") -> Iterator[FileReport]:
    try:
        from lictor_ir.errors import IrError
        from lictor_prove.errors import ProverConfigError, Reason
        from lictor_prove.proof.prover import prove
        from lictor_prove.proof.result import rejected
        from lictor_prove.proof.settings import DEFAULT, ProofSettings
        from lictor_prove.proof.submitted_documents import prove_alone, prove_bound, read_document
        from lictor_prove.rehearsal.plan import SEED_BYTES
        from lictor_prove.rehearsal.rounds import rehearse
        from lictor_prove.workers.limited_proof import prove_limited
    except ModuleNotFoundError as error:
        raise LictorError(
            f"{error.name} is not installed here; install lictor-prove, or use --submit."
        ) from None

    settings = ProofSettings(
        coverage=options.coverage,
        rehearsal_ms=0 if stage is None else DEFAULT.rehearsal_ms,
    ).within(round(options.timeout * 1000))
    # Loaded when the first file needs it, and once: a layer that is broken is told of each file.
    named_layer = cache(partial(layer_of, options))

    for name in options.files:
        path = Path(name)
        language = language_of(path, options)
        telling = partial(_report, path, name, language, options=options, settings=settings)
        try:
            source = read_source(path)
        except LictorError as error:
            # Of what could not be read there is no text, and the hash is that of none.
            reason = Reason("source.unreadable", str(error), "name a readable file")
            yield telling("", rejected(reason))
            continue
        layer = suggested = judging = None
        try:
            if language != "ir":
                layer = named_layer()
                judging = partial(
                    prove,
                    name=_source_name(path),
                    layer=layer,
                    target=options.target,
                    language=language,
                    settings=settings,
                    seed=options.seed or secrets.token_hex(SEED_BYTES),
                )
                proving = partial(judging, source)
            elif names_layer(options):
                document = read_document(source.encode())
                layer = named_layer()
                proving = partial(prove_bound, document, layer, settings)
            else:
                proving = partial(prove_alone, read_document(source.encode()), settings)
            proof = prove_limited(proving, settings)
            if stage is not None and language != "ir":
                proof = rehearse(proof, stage)
            if options.fix and proof.rewritten and judging is not None:
                after = prove_limited(partial(judging, proof.rewritten), settings)
                after = rehearse(after, stage) if stage is not None else after
                suggested = Suggestion(
                    unified(name, source, proof.rewritten), after.verdict.value, options.write
                )
                if options.write:
                    write(path, source, proof.rewritten)
            if proof.layer_hash is None and layer is not None:
                proof = replace(proof, layer_hash=layer.hash)
        except IrError as error:
            remedy = "name a program (.py, .lictor), or a document in one of its two forms"
            proof = rejected(Reason("ir.unreadable", str(error), remedy))
        except (LayerUnusable, ProverConfigError) as error:
            remedy = "name a layer that loads; no program is judged without one"
            proof = rejected(Reason(_BROKEN, str(error), remedy))
        yield replace(telling(source, proof), fix=suggested, fixable=bool(proof.rewritten))


def _source_name(path: Path) -> str:
    """The name of a file as text: not every name is any, and what is published must be."""
    return path.name.encode(errors="replace").decode()


def _report(
    path: Path,
    file: str,
    language: "Language",
    source: str,
    proof: "Proof",
    *,
    options: Namespace,
    settings: "ProofSettings",
) -> FileReport:
    """The proof as the running prover would publish it, and what only a proof made here can tell."""
    from lictor_prove.proof.published_result import proof_result
    from lictor_schema.core.ids import submission_id
    from lictor_schema.proofs.program import program_hash

    written = None
    if options.certificate is not None:
        proof, written = _certified(path, language, proof, options.certificate, settings)
    name = _source_name(path)
    question = (language, name, options.target, proof.layer_hash or "", program_hash(source))
    summary = proof.summary() if options.summary else None
    return FileReport(
        file=file,
        proof=proof_result(
            proof,
            submission_id=submission_id(LOCAL_TASK, *question),
            task_id=LOCAL_TASK,
            program=source,
            language=language,
            source_name=name,
            decided_at=datetime.now(UTC),
            inputs=_written(options, source, language),
        ),
        broken=tuple(
            Broken(
                each.kind,
                each.text,
                each.line,
                each.verdict.value,
                None if each.counterexample is None else str(each.counterexample),
            )
            for each in proof.obligations
            if each.verdict.value != "proved"
        ),
        undecided=tuple(each.reason for each in proof.guarantees),
        summary=None if summary is None else summary.text(),
        certificate=written,
        smtlib=None if options.smtlib is None else written_goals(path, proof, options.smtlib),
    )


def _written(options: Namespace, source: str, language: "Language") -> "Inputs | None":
    """The values as they would be submitted."""
    from lictor_schema.proofs.inputs import InputRefused, written_inputs

    try:
        return written_inputs(given_inputs(options, source, language) or {}) or None
    except InputRefused as error:
        raise LictorError(f"{error}.") from None


def _certified(
    path: Path, language: "Language", proof: "Proof", folder: Path, settings: "ProofSettings"
) -> tuple["Proof", Written | None]:
    """The proof with its certificate, and where that was written."""
    from lictor_ir.certificate.format import FrontEnd
    from lictor_prove.certificate.creation import certified

    front_end = FrontEnd.DOCUMENT if language == "ir" else FrontEnd(language)
    proof = certified(proof, front_end, settings)
    made = proof.certificate
    if made is None:
        return proof, Written(missing=proof.uncertified) if proof.uncertified else None
    file = folder / f"{path.stem}-{made.hash.removeprefix('sha256:')[:12]}.certificate.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_bytes(made.data)
    except OSError as error:
        raise LictorError(
            f"the certificate can't be written to {file}: {error.strerror or error}"
        ) from None
    return proof, Written(file=str(file))
