"""Programs and proofs: what can run, and what only tells about running."""

from __future__ import annotations

from typing import get_args

import pytest

from lictor_schema.proofs.program import Language, ProgramSubmission, is_executable
from lictor_schema.proofs.proof import refuse_descriptive


def submission(language: str) -> ProgramSubmission:
    return ProgramSubmission.from_json(
        f'''{{"submission_id": "s", "task_id": "t", "agent_id": "a", "correlation_id": "c",
        "submitted_at": "2026-01-02T03:04:05.000Z", "language": "{language}",
        "source_name": "p", "program": "x"}}'''.encode()
    )


@pytest.mark.parametrize("language", get_args(Language))
def test_only_a_description_is_refused_as_a_program(language: Language) -> None:
    refused = refuse_descriptive(submission(language))
    assert is_executable(language) == (language != "ir") == (refused is None)
    if refused is not None:
        assert refused.code == "program.descriptive"
        assert refused.remedy
