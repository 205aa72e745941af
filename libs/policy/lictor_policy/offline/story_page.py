"""Stories as a page to read: what happened, what was decided, what the operator is told.

`python -m lictor_policy.offline.story_page PACKS STORIES` writes the page; a test compares it with the one in
the documentation.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from lictor_policy.judge.config import PACK_ORDER, EvaluatorConfig, load_config
from lictor_policy.judge.step import StepOutcome
from lictor_policy.offline.stories import Stage, Story, StoryStep, play_step, read_story
from lictor_schema.decisions.decision import Disposition

_HEAD = """# Stories

What each failure mode looks like, and what Lictor does about it. The stories are the files in
`libs/policy/tests/stories`; they are played by the tests, and this page is written from what happens
when they are played (`python -m lictor_policy.offline.story_page policy-packs libs/policy/tests/stories`). Times
are minutes and seconds since the start.
"""
_OTHERS = "More stories"


def story_page(config: EvaluatorConfig, stories: Iterable[Story]) -> str:
    """The page, by pack in the order in which packs are judged."""
    chapters: dict[str, list[Story]] = {name: [] for name in (*PACK_ORDER, _OTHERS)}
    for story in stories:
        pack, _, _ = (story.failure_mode or _OTHERS).partition(":")
        chapters[pack].append(story)
    parts = [_HEAD]
    for name, told in chapters.items():
        if told:
            parts.append(f"## {name}\n")
            parts.extend(_story(config, story) for story in told)
    return "\n".join(parts)


def _story(config: EvaluatorConfig, story: Story) -> str:
    stage = Stage(config)
    lines = [f"### {story.title}", ""]
    if story.failure_mode is not None:
        lines += [f"Failure mode: {story.failure_mode.partition(': ')[2]}.", ""]
    lines += ["| at | what happens | decision |", "|---|---|---|"]
    said: list[str] = []
    for told in story.steps:
        outcome = play_step(stage, told)
        lines.append(f"| {_clock(told.at)} | {_happening(told)} | {_decision(outcome)} |")
        said += _words(told, outcome)
    if said:
        lines += ["", *said[:-1]]
    return "\n".join(lines) + "\n"


def _clock(seconds: int) -> str:
    return f"{seconds // 60}:{seconds % 60:02d}"


def _happening(told: StoryStep) -> str:
    if told.timer is not None:
        name = f"the {told.timer.value} timer is due"
    elif told.evidence is not None:
        kinds = (
            f"{item.get('quality', 'strong')} {item.get('class', 'verification_output')}"
            for item in told.evidence
        )
        name = f"evidence is attached: {', '.join(kinds)}"
    else:
        name = f"`{told.event}`"
    return name if told.note is None else f"{name}. {told.note}"


def _decision(outcome: StepOutcome) -> str:
    record = outcome.record
    if record.decision.decision is Disposition.ALLOW:
        return "allow; the task is closed" if record.task_closed else "allow"
    also = ", ".join(f"`{rule.rule_id}`" for rule in record.matched_rules[1:])
    name = f"**{record.decision.decision.value}** by `{record.decision.policy_id}`"
    return f"{name}; also {also}" if also else name


def _words(told: StoryStep, outcome: StepOutcome) -> list[str]:
    decision = outcome.record.decision
    if decision.decision is Disposition.ALLOW:
        return []
    lines: list[str] = []
    notice = decision.operator_notice
    if decision.rewritten_message is not None:
        lines.append(f"> {_clock(told.at)} shown instead: {decision.rewritten_message}")
    if notice is not None and notice.message and notice.message != decision.rewritten_message:
        lines.append(f"> {_clock(told.at)} the operator reads: {notice.message}")
    return [text for line in lines for text in (line, "")]


def load_stories(folder: Path) -> list[Story]:
    """Every story of a folder, by file name."""
    return [read_story(path.read_bytes(), str(path)) for path in sorted(folder.glob("*.yaml"))]


if __name__ == "__main__":
    packs, folder = map(Path, sys.argv[1:3])
    sys.stdout.write(story_page(load_config(packs), load_stories(folder)))
