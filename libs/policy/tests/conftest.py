"""The shipped packs, packs made of a few words, and the stage on which stories are played."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lictor_policy.judge.config import EvaluatorConfig, build_config, load_config
from lictor_policy.offline.stories import Stage, evidence_item, usual_event
from lictor_policy.packs.files import MemoryFiles
from lictor_policy.packs.pack import load_pack, read_pack
from lictor_schema.events.event import Event
from lictor_schema.packs.pack import PolicyPack

PACKS = Path(__file__).parents[3] / "policy-packs"


@pytest.fixture(scope="session")
def shipped() -> EvaluatorConfig:
    """The packs of this repository."""
    return load_config(PACKS)


@pytest.fixture(scope="session")
def shipped_packs() -> list[PolicyPack]:
    """The same packs as they were read."""
    return [load_pack(path).pack for path in sorted(PACKS.glob("*/policy.yaml"))]


@pytest.fixture
def stage(shipped: EvaluatorConfig) -> Stage:
    """The shipped packs and no event yet."""
    return Stage(shipped)


@pytest.fixture(scope="session")
def new_stage() -> type[Stage]:
    return Stage


@pytest.fixture(scope="session")
def make_event() -> Callable[..., Event]:
    return usual_event


@pytest.fixture(scope="session")
def make_evidence() -> Callable[..., dict[str, Any]]:
    return evidence_item


@pytest.fixture(scope="session")
def pack_of() -> Callable[..., dict[str, Any]]:
    """A pack as data, with the rules given."""

    def build(*rules: dict[str, Any], **metadata: Any) -> dict[str, Any]:
        return {
            "apiVersion": "reporting-governance/v1alpha1",
            "kind": "PolicyPack",
            "metadata": {
                "id": "example",
                "title": "Example",
                "version": "1",
                "summary": "An example",
                "owner": "tests",
                "severity_default": "low",
                "applies_to": {},
                "tags": [],
                **metadata,
            },
            "spec": {"evaluation_mode": "any_rule_match", "rules": list(rules)},
        }

    return build


@pytest.fixture(scope="session")
def rule_of() -> Callable[..., dict[str, Any]]:
    """A rule as data; it fires on every started task unless changed."""

    def build(rule_id: str = "example.rule", decision: str = "block", **changes: Any) -> Any:
        templates = ("checkpoint_forced", "placeholder_rewrite", "review_required")
        templates = (*templates, "status_downgraded", "blocked")
        output = {
            "decision": decision,
            "reason": "because",
            "suggested_status": None,
            "required_actions": [],
            "operator_notice": None,
            **changes.pop("output", {}),
        }
        return {
            "id": rule_id,
            "title": "A rule",
            "intent": "To be tested",
            "triggers": {"event_types": ["task_started"]},
            "conditions": {"fact": "task.mode", "in": ["interactive", "silent"]},
            "evidence_requirements": {},
            "decision_output": output,
            "operator_message_templates": dict.fromkeys(templates, "text"),
            **changes,
        }

    return build


@pytest.fixture(scope="session")
def config_of() -> Callable[..., EvaluatorConfig]:
    """A configuration of packs given as data; JSON is YAML too."""

    def build(*packs: dict[str, Any]) -> EvaluatorConfig:
        return build_config(
            read_pack(json.dumps(pack).encode(), f"pack{number}.yaml")
            for number, pack in enumerate(packs)
        )

    return build


@pytest.fixture(scope="session")
def files_of() -> Callable[..., MemoryFiles]:
    """A pack directory held in memory: data by file name."""

    def build(files: dict[str, Any]) -> MemoryFiles:
        return MemoryFiles(
            "packs", {name: json.dumps(data, indent=1).encode() for name, data in files.items()}
        )

    return build


@pytest.fixture(scope="session")
def own_pack(pack_of: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """A pack of `lictor/v1`; keywords in `spec` go there, the others into the metadata."""

    def build(*rules: dict[str, Any], spec: dict[str, Any] | None = None, **metadata: Any) -> Any:
        pack = pack_of(*rules, **metadata)
        return {**pack, "apiVersion": "lictor/v1", "spec": {**pack["spec"], **(spec or {})}}

    return build
