"""The golden stories: events in, decisions out, told in YAML and shown in the documentation."""

from pathlib import Path
from typing import Any

import pytest

from lictor_policy.errors import StoryError
from lictor_policy.offline.stories import disagreements, play_step, read_story
from lictor_policy.offline.story_page import load_stories, story_page

FOLDER = Path(__file__).parents[1] / "stories"
STORIES = sorted(FOLDER.glob("*.yaml"))
PAGE = Path(__file__).parents[4] / "docs" / "stories.md"

FAILURE_MODES = {
    "no-silence: missed checkpoint",
    "no-silence: subagent result not forwarded",
    "no-silence: silent task without valid externalized checkpoint path",
    "no-silence: result arrived but no operator-visible follow-up",
    "no-silence: promised follow-up not delivered",
    "no-fake-progress: no new evidence since last checkpoint",
    "no-fake-progress: repeated status-only updates",
    "no-fake-progress: reminder-only activity presented as progress",
    "no-fake-progress: next-step claim without evidence",
    "no-fake-progress: promised follow-up that never gains evidence",
    "verified-completion-only: no completion without required evidence",
    "verified-completion-only: auto-downgrade to pending_verification",
    "verified-completion-only: operator review path when completion is ambiguous",
    "verified-completion-only: next-step or closure claim unsupported by evidence",
    "mandatory-checkpoint-structure: required answers missing",
    "mandatory-checkpoint-structure: looks active, omits the next state",
    "mandatory-checkpoint-structure: missing structure hides the task's state",
}


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_goes_as_told(path: Path, stage: Any) -> None:
    story = read_story(path.read_bytes(), path.name)
    for number, told in enumerate(story.steps, 1):
        outcome = play_step(stage, told)
        if told.expect is not None:
            problems = disagreements(told.expect, outcome, stage)
            assert not problems, f"{story.title}: step {number}: {'; '.join(problems)}"
        assert outcome.record.to_json() == outcome.record_json


def test_every_failure_mode_has_its_story() -> None:
    told = [story.failure_mode for story in load_stories(FOLDER) if story.failure_mode]
    assert sorted(told) == sorted(FAILURE_MODES)


def test_the_page_tells_the_stories_as_they_go(shipped: Any) -> None:
    page = story_page(shipped, load_stories(FOLDER))
    assert PAGE.read_text("utf-8") == page, "write docs/stories.md anew; its head says how"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (b"title: [", "s.yaml:"),
        (b"title: x", "s.yaml: steps: is required"),
        (b"title: x\nsteps: [{at: 0}]", "exactly one of event, evidence, timer"),
    ],
)
def test_a_story_that_cannot_be_read_says_why(source: bytes, told: str) -> None:
    with pytest.raises(StoryError) as caught:
        read_story(source, "s.yaml")
    assert told in str(caught.value)
