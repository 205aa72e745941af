"""What `lictor prove` reports about one file: as JSON, and in lines for a person."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lictor.errors import LictorError
from lictor_cli.output.terminal import counted, printable
from lictor_cli.prove.suggestions import Suggestion
from lictor_schema.proofs.coverage import CoverageReport, CoverageStatus
from lictor_schema.proofs.proof import (
    GuaranteeResult,
    ProofAnalysis,
    ProofReason,
    ProofResult,
    ProofVerdict,
)

if TYPE_CHECKING:
    from lictor_prove.proof.result import Proof


MORE = "reasons.more"
"""The code of a last reason that says how many others there are."""
_IMPOSSIBLE = {
    "impossible": "no program can keep it",
    "only_trivial": "it can be kept only by doing nothing that it speaks of",
}


@dataclass(frozen=True, slots=True)
class Broken:
    """A precondition, a possible error or an assertion that is not proved."""

    kind: str
    text: str
    line: int | None
    verdict: str
    counterexample: str | None


@dataclass(frozen=True, slots=True)
class Written:
    """Where a certificate was written, or why there is none."""

    file: str | None = None
    missing: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """What was found about one file, by whichever prover, and what this command did with it."""

    file: str
    proof: ProofResult
    broken: tuple[Broken, ...] | None = None
    """None from the running prover, which does not publish it."""
    undecided: tuple[str, ...] = ()
    """For a person: why a guarantee is not decided, one text a guarantee. The proof's reasons say it, too."""
    summary: str | None = None
    """For a person who asks for it, whatever the verdict is."""
    certificate: Written | None = None
    smtlib: Mapping[str, Any] | None = None
    request_id: str | None = None
    fixable: bool = False
    """Whether a rejected program can be rewritten mechanically."""
    fix: Suggestion | None = None
    """With --fix, how."""

    def document(self) -> dict[str, Any]:
        """The JSON of the report: the same fields in every case, around the proof as it is published."""
        return {
            "file": self.file,
            "proof": self.proof.model_dump(mode="json", by_alias=True),
            "broken": None if self.broken is None else [asdict(each) for each in self.broken],
            "certificate": None if self.certificate is None else asdict(self.certificate),
            "smtlib": self.smtlib,
            "request_id": self.request_id,
            "fixable": self.fixable,
            "fix": None if self.fix is None else asdict(self.fix),
        }


def told(report: FileReport, source: Sequence[str]) -> Iterator[str]:
    """What was found about one program."""
    proof = report.proof
    is_proved = proof.verdict is ProofVerdict.PROVED
    is_rejected = proof.verdict is ProofVerdict.REJECTED
    yield f"{proof.verdict_words:<9} {printable(report.file)}  ({proof.elapsed_ms} ms)"
    if proof.rehearsal is not None:
        yield f"    {printable(proof.rehearsal.words)}"
    remedies = _Remedies(proof)
    for at, guarantee in enumerate(proof.guarantees):
        yield from _guarantee(guarantee, report.undecided[at] if report.undecided else "")
        if guarantee.verdict is ProofVerdict.UNKNOWN:
            yield from remedies.of("guarantee.unknown")
    if not proof.guarantees and is_proved:
        yield "    no guarantee is stated: the program may do whatever its trusted calls allow"
    if is_proved and not proof.executable:
        yield from _cannot_run(proof.cannot_run)
    if not is_rejected and proof.layer_hash is None:
        yield "    no trusted layer: what its calls demand and promise is the document's own word"
    for broken in report.broken or ():
        yield from _broken(broken, source)
        if broken.verdict == ProofVerdict.UNKNOWN.value:
            yield from remedies.of(f"{broken.kind}.unknown")
    # A difference from Python is about no guarantee: it is about the proof.
    differs = any(reason.code == "prover.differs" for reason in proof.reasons)
    if is_rejected or differs or not (proof.guarantees or report.broken):
        for reason in sorted(proof.reasons, key=_by_line) if is_rejected else proof.reasons:
            yield from _reason(reason, source)
    elif proof.verdict is ProofVerdict.UNKNOWN:
        for reason in remedies.left:
            yield from _reason(reason, source)
    yield from _suggested(report)
    yield from _analysis(proof.analysis)
    yield from _coverage(proof.coverage)
    yield from _certificate(report)
    yield from _goals(report.smtlib)


class _Remedies:
    """What to do about what is undecided, to stand below it: reasons come in the order of what they are about."""

    def __init__(self, proof: ProofResult) -> None:
        refuted = "guarantee.refuted"  # its run is its reason
        self.left = [each for each in proof.reasons if each.code != refuted]
        """Reasons that stand below nothing yet."""

    def of(self, code: str) -> Iterator[str]:
        """What to do about the next thing with this code."""
        found = next((each for each in self.left if each.code == code), None)
        if found is not None:
            self.left.remove(found)
            yield _to_do(found)


def _suggested(report: FileReport) -> Iterator[str]:
    if report.fix is None:
        if report.fixable:
            yield "    some of this can be rewritten mechanically: `lictor prove --fix` shows how"
        return
    written = "written to the file" if report.fix.written else "not written; --write does that"
    yield f"    rewritten so, it is {report.fix.verdict} ({written}):"
    for line in report.fix.diff.splitlines():
        sign, rest = line[:1], line[1:]
        indent = " " * (len(rest) - len(rest.lstrip()))
        yield f"    {sign}{indent}{printable(rest, 2_000)}".rstrip()


def _cannot_run(never: ProofReason | None) -> Iterator[str]:
    if never is None or never.code == "program.descriptive":
        yield "    this is a description: it tells what happens, and nothing runs it"
        return
    yield f"    can't be approved or run: {printable(never.message)}  [{never.code}]"
    yield f"        to do: {printable(never.remedy)}"


def _guarantee(guarantee: GuaranteeResult, undecided: str) -> Iterator[str]:
    by = " (required by the layer)" if guarantee.required else ""
    holds = f": {guarantee.strength.words}" if guarantee.strength else ""
    yield f"    {guarantee.verdict.value:<9} {printable(guarantee.name)}{by}{holds}"
    if guarantee.verdict is ProofVerdict.UNKNOWN and undecided:
        yield f"        {printable(undecided)}"
    yield from _run(guarantee.counterexample)


def _broken(broken: Broken, source: Sequence[str]) -> Iterator[str]:
    yield f"    {broken.verdict:<9} {broken.kind.replace('_', ' ')}: {printable(broken.text)}"
    yield from _place(broken.line, None, source)
    yield from _run(broken.counterexample)


def _run(counterexample: str | None) -> Iterator[str]:
    for line in (counterexample or "").splitlines():
        shown = printable(line)
        indent = len(line) - len(line.lstrip())
        yield f"        {' ' * indent}{shown}"


def _reason(reason: ProofReason, source: Sequence[str]) -> Iterator[str]:
    first, *more = reason.message.splitlines() or [""]
    yield f"    {printable(first)}  [{reason.code}]"
    for line in more:
        yield f"      {printable(line)}"
    yield from _place(reason.line, reason.column, source)
    yield _to_do(reason)


def _to_do(reason: ProofReason) -> str:
    return f"        to do: {printable(reason.remedy)}"


def _by_line(reason: ProofReason) -> tuple[bool, int]:
    """As they stand in the program; how many are left out comes last."""
    return reason.code == MORE, reason.line or 0


def _place(line: int | None, column: int | None, source: Sequence[str]) -> Iterator[str]:
    """The line of the program, with a mark below the place."""
    if line is None or not 0 < line <= len(source):
        return
    text = source[line - 1]
    shown = text.replace("\t", " ")
    if not shown.isprintable() or len(shown) > 200:
        yield f"      {line:>4} | {printable(text, 200)}"
        return
    yield f"      {line:>4} | {shown}"
    if column is not None and 0 < column <= len(shown) + 1:
        yield f"           | {' ' * (column - 1)}^"


def _analysis(analysis: ProofAnalysis | None) -> Iterator[str]:
    for standing in () if analysis is None else analysis.standings:
        name, possibility = printable(standing.name), standing.possibility.value
        if possibility in _IMPOSSIBLE:
            yield f"    {possibility}  {name}: {_IMPOSSIBLE[possibility]}"
        elif standing.vacuous:
            yield f"    vacuous  {name}: the program never does what it speaks of"
        if standing.redundant:
            others = ", ".join(map(printable, standing.implied_by))
            yield f"    redundant  {name}: {f'implied by {others}' if others else 'it holds of every program'}"


def _coverage(coverage: CoverageReport | None) -> Iterator[str]:
    for domain in () if coverage is None else coverage.domains:
        if domain.status.loudness > CoverageStatus.COVERED_BY_ENTAILMENT.loudness:
            yield f"    {domain.status.value}  {printable(f'{domain.domain}: {domain.told()}')}"


def _certificate(report: FileReport) -> Iterator[str]:
    here, proof = report.certificate, report.proof
    if here is not None and here.file is None:
        yield f"    no certificate: {printable(here.missing or '')}"
    elif proof.certificate_hash is not None:
        where = proof.certificate_hash if here is None else printable(here.file or "")
        yield f"    certificate  level {proof.certificate_level}: {where}"


def _goals(written: Mapping[str, Any] | None) -> Iterator[str]:
    if written is None or written["folder"] is None:
        return
    here = [each for each in written["goals"] if each["missing"] is None]
    yield f"    smtlib  {counted(len(here), 'goal')} in {printable(written['folder'])}"
    for each in written["goals"]:
        if each["missing"] is not None:
            yield f"        {each['goal']} can't be written: {printable(each['missing'])}"


def written_goals(file: Path, proof: "Proof", folder: Path) -> dict[str, Any]:
    """Write the goals of a proof to `folder/<name>-<hash>/<goal>.smt2`, and tell which could be written."""
    if proof.ir is None:
        return {"folder": None, "goals": []}
    from lictor_ir.errors import IrError
    from lictor_ir.goals import goals
    from lictor_ir.solver.smtlib_lowering import script

    digest = proof.ir.hash.removeprefix("sha256:")[:12]
    inside = folder / f"{file.stem}-{digest}"
    told: list[dict[str, Any]] = []
    try:
        inside.mkdir(parents=True, exist_ok=True)
        for goal in goals(proof.ir.document, proof.witnesses):
            try:
                text = script(goal)
            except IrError as error:
                told.append({"goal": goal.id, "file": None, "missing": str(error)})
                continue
            path = inside / f"{goal.id}.smt2"
            path.write_text(text, "utf-8")
            told.append({"goal": goal.id, "file": str(path), "missing": None})
    except OSError as error:
        raise LictorError(
            f"the goals can't be written to {inside}: {error.strerror or error}"
        ) from None
    return {"folder": str(inside), "goals": told}
