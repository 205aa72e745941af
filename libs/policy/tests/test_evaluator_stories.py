"""The golden stories: events in, decisions out, told in YAML."""

import json
from pathlib import Path
from typing import Any

import pytest

from lictor_policy.stories import Story, disagreements, play_step
from lictor_policy.strict_yaml import read_yaml

STORIES = sorted((Path(__file__).parent / "stories").glob("*.yaml"))


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_goes_as_told(path: Path, stage: Any) -> None:
    story = Story.model_validate_json(json.dumps(read_yaml(path.read_bytes()).data))
    for number, told in enumerate(story.steps, 1):
        outcome = play_step(stage, told)
        if told.expect is not None:
            problems = disagreements(told.expect, outcome, stage)
            assert not problems, f"{story.title}: step {number}: {'; '.join(problems)}"
        assert outcome.record.to_json() == outcome.record_json


def test_no_story_is_forgotten() -> None:
    assert len(STORIES) >= 7
