"""The example programs, run with their layer: what happens is what their documents say."""

from pathlib import Path
from typing import Any, Literal

import pytest
from runs_on_disk import MemoryJournal, at_once

from lictor_ir.document import Document
from lictor_ir.evaluation.traces import run as document_run
from lictor_ir.json.document import document_hash
from lictor_prove.layers.files import discover_trusted_roots, read_files
from lictor_prove.layers.load import load_living
from lictor_prove.proof.prover import document_of
from lictor_prove.this_python import this_python
from lictor_prove.written_values import ValueReader, written
from lictor_run.approved_run import Run
from lictor_run.child_orders import Approved, LayerPlace
from lictor_run.lockstep import ir_value
from lictor_schema.approvals.run import EffectDone, EffectStarted, RunOutcome
from lictor_schema.proofs.program import program_hash

ROOT = Path(__file__).parents[3]
LAYER = ROOT / "examples" / "layers"
RUN_ID = "00000000-0000-4000-8000-00000000000d"


@pytest.mark.parametrize(
    ("name", "language"), [("newsletter.py", "python"), ("newsletter.lictor", "commands")]
)
async def test_an_example_makes_the_effects_that_its_document_predicts(
    name: str, language: Literal["python", "commands"]
) -> None:
    source = (ROOT / "examples" / "programs" / name).read_text("utf-8")
    living = load_living(read_files(discover_trusted_roots([LAYER]), [LAYER]))
    document = document_of(source, name=name, layer=living.layer, language=language)
    approved = Approved(
        run_id=RUN_ID,
        program=source,
        language=language,
        source_name=name,
        target="main",
        program_hash=program_hash(source),
        ir_hash=document_hash(document),
        layer_hash=living.layer.hash,
        guarantees=tuple((each.name, bool(each.required_by)) for each in document.guarantees),
        python=this_python(),
    )
    journal = MemoryJournal()
    run = Run(RUN_ID, "task", journal, writer="w")
    ended = await run.execute(approved, LayerPlace(str(LAYER)), at_once)
    assert ended.outcome is RunOutcome.EXECUTED, ended.reason
    made = [
        (each.effect, each.arguments) for each in journal.entries if isinstance(each, EffectStarted)
    ]
    assert [effect for effect, _ in made] == ["list_contacts", "send_mail", "send_mail"]
    assert made == _predicted(document, journal, living.rows)
    assert "to ada@example.com: Dear Ada" in ended.output


def _predicted(document: Document, journal: MemoryJournal, rows: Any) -> list[tuple[str, Any]]:
    """What the document says happens when calls return what they returned."""
    reader = ValueReader(rows)
    returned = iter(each.result for each in journal.entries if isinstance(each, EffectDone))

    def answer(*_: Any) -> Any:
        return ir_value(reader.read(next(returned)))

    trace = document_run(document, {}, answer)
    return [
        (step.effect, {name: written(value) for name, value in step.arguments.items()})
        for step in trace.steps
    ]
