"""Packs made of a few words, and the shipped ones."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lictor_policy.judge.config import EvaluatorConfig, build_config, load_config
from lictor_policy.packs.pack import read_pack

PACKS = Path(__file__).parents[4] / "policy-packs"
TEMPLATES = (
    "checkpoint_forced",
    "placeholder_rewrite",
    "review_required",
    "status_downgraded",
    "blocked",
)


@pytest.fixture(scope="session")
def shipped() -> EvaluatorConfig:
    """The packs of this repository."""
    return load_config(PACKS)


@pytest.fixture(scope="session")
def shipped_as() -> Callable[..., EvaluatorConfig]:
    """The same packs as profiles want them."""
    return lambda *profiles: load_config(PACKS, None, profiles)


@pytest.fixture(scope="session")
def rule() -> Callable[..., dict[str, Any]]:
    """A rule as data: its name, what it decides, on which events, and when."""

    def build(
        name: str,
        decision: str,
        conditions: dict[str, Any],
        *event_types: str,
        severity: str = "medium",
        **changes: Any,
    ) -> dict[str, Any]:
        notice = {"required": True, "channel": "{{channel}}", "urgency": "low"}
        return {
            "id": name,
            "title": "A rule",
            "intent": "To be analyzed",
            "triggers": {"event_types": list(event_types or ["task_checkpoint_sent"])},
            "conditions": conditions,
            "evidence_requirements": {},
            "decision_output": {
                "decision": decision,
                "severity": severity,
                "reason": "because",
                "suggested_status": None,
                "required_actions": [],
                "operator_notice": notice if "escalate_after" in changes else None,
            },
            "operator_message_templates": dict.fromkeys(TEMPLATES, "text"),
            **changes,
        }

    return build


@pytest.fixture(scope="session")
def packs() -> Callable[..., EvaluatorConfig]:
    """One pack for each list of rules; `mode` and `applies_to` are for all of them."""

    def build(
        *given: list[dict[str, Any]], mode: str = "any_rule_match", **applies_to: Any
    ) -> EvaluatorConfig:
        return build_config(
            read_pack(
                json.dumps(_pack(f"pack-{number}", rules, mode, applies_to)).encode(),
                f"pack-{number}.yaml",
            )
            for number, rules in enumerate(given)
        )

    return build


def _pack(
    pack_id: str, rules: list[dict[str, Any]], mode: str, applies_to: dict[str, Any]
) -> dict[str, Any]:
    return {
        "apiVersion": "lictor/v1",
        "kind": "PolicyPack",
        "metadata": {
            "id": pack_id,
            "title": "Example",
            "version": "1",
            "summary": "An example",
            "owner": "tests",
            "severity_default": "low",
            "applies_to": applies_to,
            "tags": [],
        },
        "spec": {"evaluation_mode": mode, "rules": rules},
    }
