"""What can't be submitted or found is told as an error of ours, before anything is sent."""

from dataclasses import replace

import pytest

import lictor
from lictor.errors import LictorError
from lictor.programs import Program, SubmissionRefused

GOOD = Program("def main() -> None:\n    pass\n")


@pytest.mark.parametrize(
    ("program", "task", "field"),
    [
        (GOOD, "", "task_id"),
        (replace(GOOD, layer_hash="foo"), "t", "layer_hash"),
        (replace(GOOD, layer_hash="fbde18aa09ff26e9"), "t", "layer_hash"),
        (replace(GOOD, target=""), "t", "target"),
        (replace(GOOD, source=""), "t", "program"),
        (replace(GOOD, source="#" * 600_000), "t", "program"),
        (replace(GOOD, name=""), "t", "source_name"),
        (replace(GOOD, timeout_ms=-1), "t", "timeout_ms"),
    ],
)
async def test_what_is_no_submission_is_refused_by_field(
    governor: lictor.Governor, program: Program, task: str, field: str
) -> None:
    with pytest.raises(SubmissionRefused, match=rf"\b{field} .*nothing was submitted"):
        await governor.prove(GOOD, program, task_id=task, timeout_s=1)


async def test_what_has_no_id_is_not_waited_for(governor: lictor.Governor) -> None:
    for unknown in ("", "x" * 513):
        with pytest.raises(LictorError, match="nothing can be found: id "):
            await governor.result(unknown)
        with pytest.raises(LictorError, match="nothing can be found: id "):
            await governor.sealed_episode(unknown)
        with pytest.raises(LictorError, match="nothing can be found: id "):
            await governor.sealed_version(unknown, 1)
        with pytest.raises(LictorError, match="nothing can be found: task_id "):
            await anext(governor.decisions(unknown))
