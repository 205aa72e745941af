"""Holds a generated program's document and proof against what the program does when it is run.

`Differential.check` raises for the first thing that differs: an effect that the document does not predict or predicts
otherwise, an error that no obligation tells, a guarantee that was proved and does not hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from concrete_runs import CONSTANTS, PARAMETERS, Run, compiled
from concrete_runs import runs as runs_of
from predicted_traces import NEEDLESS, Mismatch, Predictor, alike, ir_value
from stated_contracts import Stated, breaks, stated

from lictor_ir.document import Document, ObligationKind
from lictor_ir.errors import DifferenceError, TooManyWaysError, UnspecifiedError
from lictor_ir.evaluation.contract_truth import holds
from lictor_ir.evaluation.following import Following
from lictor_ir.evaluation.steps import Trace
from lictor_ir.evaluation.traces import failed_obligations
from lictor_ir.evaluation.traces import run as document_run
from lictor_prove.errors import Rejected
from lictor_prove.layer_model import Layer
from lictor_prove.layers import load_layer
from lictor_prove.proof.prover import Proof, ProofSettings, prove_document
from lictor_prove.python import read_program

LAYERS = Path(__file__).parent / "layers"
QUICK = ProofSettings(goal_ms=1_000, total_ms=2_000)
SEEDS = range(6)
"""Answers that trusted calls give; the first half also says where the bounds of guarantees are."""
MORE_SEEDS = range(len(SEEDS), 30)
"""Answers of runs that are held against guarantees alone."""
STATED = 4


class FalseProof(AssertionError):
    """A guarantee was proved, and a run breaks it."""


class Missed(AssertionError):
    """A run raises where the document has no obligation that fails."""


def line_of(error: Exception) -> int:
    """The line of a program that raised, the innermost one."""
    at, line = error.__traceback__, 0
    while at is not None:
        if at.tb_frame.f_code.co_filename == "<generated>":
            line = at.tb_lineno
        at = at.tb_next
    return line


def desk() -> Layer:
    """The layer that generated programs call."""
    return load_layer([LAYERS / "tools" / "desk" / "trusted"], [LAYERS])


def source_of(program: str, guarantees: Sequence[Stated]) -> str:
    """The program as a file: with its imports, and its guarantees on main."""
    lines = [
        "import lictor_layer",
        "from tools.desk.trusted import contracts as c",
        f"from tools.desk.trusted.effects import {', '.join(PARAMETERS)}",
        *(
            f"from tools.desk.trusted.constants import {name}"
            for name in CONSTANTS
            if name in program
        ),
        "",
    ]
    promises = "".join(f"@lictor_layer.guarantee(c.{each.text})\n" for each in guarantees)
    return "\n".join(lines) + "\n" + program.replace("def main(", f"{promises}def main(")


@dataclass
class Differential:
    """Checks programs, and counts what became of them."""

    layer: Layer
    tally: Counter[str] = field(default_factory=Counter[str])
    reasons: Counter[str] = field(default_factory=Counter[str])
    source_lines: Sequence[str] = ()
    """Of the program as it was read."""
    program_lines: Sequence[str] = ()
    """Of the program as it is run: the end of what was read, but for guarantees."""

    def may_raise(self, document: Document, error: Exception) -> bool:
        """Whether a value that is declared unknown, and may raise, is computed in the line that raised."""
        from_end = len(self.program_lines) - line_of(error)
        line = len(self.source_lines) - from_end
        before_main = [
            at for at, text in enumerate(self.program_lines, 1) if text.startswith("def main(")
        ]
        if before_main and line_of(error) < before_main[0]:
            line -= sum(text.startswith("@lictor_layer") for text in self.source_lines)
        return any(
            each.may_raise and each.text.endswith(f"(line {line})") for each in document.unknowns
        )

    def check(self, program: str, first: int, step: int, slack: int, seed: int) -> None:
        """One program: read, run, compared; guarantees are chosen by `first` and `step`."""
        try:
            runs = self.runs(program, [seed + each for each in SEEDS])
            more = [*runs, *self.runs(program, [seed + each for each in MORE_SEEDS])]
        except SyntaxError as error:
            # `:=` where Python does not take it: what can't be compiled must be refused.
            self.tally["programs"] += 1
            self.tally["rejected"] += 1
            with suppress(Rejected):
                self.read(self.source(program, []))
                raise Mismatch(f"it is read, and Python does not compile it: {error}") from None
            return
        if not runs:
            self.tally["too long"] += 1
            return
        guarantees = self.chosen(stated(runs[: (len(runs) + 1) // 2], slack), more, first, step)
        self.tally["programs"] += 1
        try:
            source = self.source(program, guarantees)
            self.source_lines, self.program_lines = source.splitlines(), program.splitlines()
            document = self.read(source)
        except Rejected as refused:
            self.tally["rejected"] += 1
            self.reasons.update(reason.code for reason in refused.reasons)
            return
        self.tally["runs"] += len(runs)
        for each in runs:
            self.predict(document, each, guarantees)
        proof = self.prove(document)
        self.tally[str(proof.verdict)] += 1
        for each in more:
            self.hold(proof, each, guarantees)

    def chosen(
        self, choices: Sequence[Stated], runs: Sequence[Run], first: int, step: int
    ) -> list[Stated]:
        """A few of these; often some run breaks half of them, so that proving one is seen to be false."""
        false = [each for each in choices if any(breaks(run, each) for run in runs)]
        found = [
            some[(first + n * step) % len(some)]
            for n in range(STATED if first % 3 else STATED // 2)
            for some in ((false if n % 2 and first % 3 else choices) or choices,)
        ]
        return list({each.text: each for each in found}.values())

    def runs(self, program: str, seeds: Sequence[int]) -> list[Run]:
        """What the program does, with answers that each seed decides."""
        return runs_of(compiled(program), seeds)

    def source(self, program: str, guarantees: Sequence[Stated]) -> str:
        """The program as a file."""
        return source_of(program, guarantees)

    def read(self, source: str) -> Document:
        """The document of a program, or Rejected."""
        return read_program(source, name="generated.py", layer=self.layer)

    def prove(self, document: Document) -> Proof:
        """What the prover says."""
        return prove_document(document, QUICK)

    def predict(self, document: Document, done: Run, guarantees: Sequence[Stated]) -> None:
        """The document says exactly what happened, and an obligation fails exactly when the run failed."""
        if document.unknowns:
            self.follow(document, done)
            return
        predictor = Predictor(done)
        try:
            predictor.follow(document)
        except Mismatch as slip:
            if done.raised is not None or not predictor.excused(document, slip.atom):
                raise
            self.tally["needless obligations"] += 1
            return
        raising = predictor.broken(document, ObligationKind.NO_ERROR, ObligationKind.ASSERTION)
        refused = predictor.broken(document, ObligationKind.PRECONDITION)
        if done.raised is not None:
            self.tally["raised"] += 1
            if not raising:
                raise Missed(f"{done.raised!r} is raised, and no obligation fails")
            return
        if bool(refused) != done.refused:
            raise Mismatch(f"preconditions: the run breaks one is {done.refused}, {refused} fail")
        if raising:
            failed = sorted({each.text for each in raising} - {NEEDLESS})
            if failed:
                raise Mismatch(f"Python raises nothing, and these fail: {failed}")
            self.tally["needless obligations"] += 1
            return
        self.same_as_library(document, done, guarantees)

    def follow(self, document: Document, done: Run) -> None:
        """What happened fits the document, where unknowns decide; and it fails only where something may fail."""
        self.tally["with unknowns"] += 1
        try:
            following = Following(document, {name: ir_value(x) for name, x in done.inputs.items()})
            for call in done.calls:
                given = {name: ir_value(value) for name, value in call.arguments.items()}
                following.called(call.effect, given)
                following.returned(ir_value(call.result))
            traces = following.ended() if done.raised is None else following.traces
        except TooManyWaysError:
            self.tally["left open"] += 1
            return
        except DifferenceError as difference:
            if done.refused:
                # Behind a call that refuses, nothing is said.
                return
            raise Mismatch(f"{difference}; the run: {done.calls}, {done.raised!r}") from None
        if done.raised is not None:
            self.tally["raised"] += 1
            if not self.may_raise(document, done.raised) and not any(
                self.may_fail(document, trace) for trace in traces
            ):
                raise Missed(f"{done.raised!r} is raised, and nothing says that it may be")

    def may_fail(self, document: Document, trace: Trace) -> bool:
        """Whether an obligation fails, or rests on an unknown."""
        for each in document.obligations:
            alone = replace(document, obligations=(each,), guarantees=())
            try:
                if failed_obligations(replace(trace, document=alone)):
                    return True
            except UnspecifiedError:
                return True
        return False

    def same_as_library(self, document: Document, done: Run, guarantees: Sequence[Stated]) -> None:
        """The library's own oracle sees the same calls, and finds contracts kept where plain Python does."""
        calls = iter(done.calls)

        def answer(
            call: str, _indices: tuple[int, ...], effect: str, given: Mapping[str, Any]
        ) -> Any:
            happened = next(calls, None)
            if happened is None or happened.effect != effect:
                raise Mismatch(f"the library runs {call} ({effect}) where {happened} happens")
            for name, value in given.items():
                if not alike(value, ir_value(happened.arguments[name])):
                    raise Mismatch(f"the library passes {name}={value!r} in {happened}")
            return ir_value(happened.result)

        trace = document_run(document, done.inputs, answer)
        if (missed := next(calls, None)) is not None:
            raise Mismatch(f"the library does not run {missed}")
        if bool(failed_obligations(trace)) != done.refused:
            raise Mismatch("the library finds other preconditions broken")
        for each, promised in zip(guarantees, document.guarantees, strict=True):
            if not each.is_exact:
                continue
            try:
                kept = holds(promised.contract, trace)
            except UnspecifiedError:
                self.tally["contract left open"] += 1
                continue
            if kept != each.kept(done):
                raise Mismatch(f"the library says {each.text} is kept: {kept}; Python says not")

    def hold(self, proof: Proof, done: Run, guarantees: Sequence[Stated]) -> None:
        """Nothing that was proved is broken."""
        document = proof.ir.document if proof.ir is not None else None
        raised = done.raised is not None and not (
            document is not None and self.may_raise(document, done.raised)
        )
        if str(proof.verdict) == "proved" and (raised or done.refused):
            raise FalseProof(f"proved, and a run fails: {done.raised!r} {done.calls}")
        for each, result in zip(guarantees, proof.guarantees, strict=True):
            if str(result.verdict) != "proved":
                continue
            self.tally["proved guarantees"] += 1
            if done.raised is not None and str(result.strength) != "every_prefix":
                continue
            if breaks(done, each):
                raise FalseProof(f"{each.text} is proved, and broken by {done.calls}")
