"""The published JSON Schemas take what ships, and refuse what the documents don't have."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lictor_policy.packs.strict_yaml import read_yaml

ROOT = Path(__file__).parents[4]
PACKS = ROOT / "policy-packs"


def validator(name: str) -> Draft202012Validator:
    path = ROOT / "schemas" / "json" / f"policy-{name}.schema.json"
    return Draft202012Validator(json.loads(path.read_text("utf-8")))


SHIPPED = [(path, "pack") for path in sorted(PACKS.glob("*/policy.yaml"))]
SHIPPED += [(path, "overlay") for path in sorted(PACKS.glob("profiles/*.yaml"))]


@pytest.mark.parametrize(
    ("path", "kind"), SHIPPED, ids=[str(path.relative_to(PACKS)) for path, _ in SHIPPED]
)
def test_what_ships_fits_the_published_schema(path: Path, kind: str) -> None:
    assert not list(validator(kind).iter_errors(read_yaml(path.read_bytes()).data))


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"extends": ["base"]}},
        {"spec": {"rule_files": ["more.yaml"]}},
        {"metadata": {"mode": "shadow"}},
        {"rule": {"mode": "shadow"}},
        {"rule": {"escalate_after": 3}},
    ],
    ids=str,
)
def test_the_schema_knows_which_version_has_which_field(
    change: Any, pack_of: Any, rule_of: Any
) -> None:
    pack = pack_of(rule_of(**change.get("rule", {})), **change.get("metadata", {}))
    pack["spec"].update(change.get("spec", {}))
    assert not validator("pack").is_valid(pack)
    assert validator("pack").is_valid({**pack, "apiVersion": "lictor/v1"})
