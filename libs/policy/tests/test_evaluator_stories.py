"""The golden stories: events in, decisions out, told in YAML."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from lictor_policy.evaluate import Outcome

STORIES = sorted((Path(__file__).parent / "stories").glob("*.yaml"))
START = datetime.fromisoformat("2026-03-02T09:00:00+00:00")


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_goes_as_told(path: Path, stage: Any, make_evidence: Any) -> None:
    story = yaml.safe_load(path.read_text("utf-8"))
    for number, told in enumerate(story["steps"], 1):
        if "timer" in told:
            outcome = stage.fire(told["timer"], told["at"])
        elif "evidence" in told:
            items = [make_evidence(**item) for item in told["evidence"]]
            outcome = stage.say("task_evidence_attached", told["at"], items=items)
        else:
            outcome = stage.say(told["event"], told["at"], **told.get("payload", {}))
        seen = _seen(outcome, stage.pending)
        for name, wanted in told["expect"].items():
            where = f"{story['title']}: step {number}: {name}"
            assert _agrees(name, wanted, seen[name]), f"{where}: {wanted!r}, not {seen[name]!r}"
        assert outcome.record.to_json() == outcome.record_json


def test_no_story_is_forgotten() -> None:
    assert len(STORIES) >= 7


def _seen(outcome: Outcome, pending: Any) -> dict[str, Any]:
    record = outcome.record
    decision = record.decision
    notice = decision.operator_notice
    return {
        "decision": decision.decision.value,
        "rule": decision.policy_id,
        "also": [rule.rule_id for rule in record.matched_rules[1:]],
        "status": decision.suggested_status and decision.suggested_status.value,
        "claim": record.original_claim,
        "rewritten": decision.rewritten_message or "",
        "notice": (notice and notice.message) or "",
        "missing": "; ".join(record.evidence.missing),
        "attached": [item.evidence_id for item in record.evidence.attached],
        "best_quality": record.evidence.best_quality.value,
        "triggered_by": len(record.trigger_event_ids),
        "closed": record.task_closed,
        "final_status": record.episode
        and record.episode.final_status
        and record.episode.final_status.value,
        "timer": {
            kind: (pending[kind].due - START) // timedelta(seconds=1)
            if kind in pending
            else "cancelled"
            for kind in ("checkpoint", "silence")
        },
    }


def _agrees(name: str, wanted: Any, seen: Any) -> bool:
    if name == "timer":
        return all(seen[kind] == due for kind, due in wanted.items())
    if name in ("rewritten", "notice", "missing"):
        return wanted in seen
    return wanted == seen
