"""The examples of the page about tool policies are definitions that can be used, and do what the page says of them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from policy_walk import seen
from rehearsed_session import Rehearsal

from lictor_guard.definitions.compiled_definition import Guarded, compile_definition
from lictor_schema.sessions.agent_definition import AgentDefinition

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/formats/tool-policies.md").read_text("utf-8")

BLOCKS = dict(re.findall(r"^## (\S+)\n+```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
(_LABELS,) = re.findall(r"```yaml\n(labels:\n.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
FILES = ("read_file", "write_file", "edit")
TOOLS = (
    *FILES,
    "build",
    "test",
    "deploy",
    "fetch",
    "api_get",
    "Bash",
    "query",
    "send_mail",
    "shell",
    "run_tests",
    "pay",
    "transfer",
)


def definition(*kinds: str) -> Guarded:
    """A definition with some of the page's examples, and its labels."""
    tools: list[dict[str, Any]] = [{"name": each} for each in TOOLS]
    for each in tools:
        if each["name"] in FILES:
            access = "read" if each["name"] == "read_file" else "write"
            each |= {"access": access, "resources": ["path"]}
    document = {
        "apiVersion": "lictor/v1",
        "kind": "AgentDefinition",
        "metadata": {"name": "page", "version": "1"},
        "tools": tools,
        "policies": [policy for kind in kinds for policy in yaml.safe_load(BLOCKS[kind])],
        **yaml.safe_load(_LABELS),
    }
    return compile_definition(AgentDefinition.model_validate_json(json.dumps(document)))


@pytest.mark.parametrize("kind", sorted(BLOCKS))
def test_an_example_can_be_used(kind: str) -> None:
    assert {each["kind"] for each in yaml.safe_load(BLOCKS[kind])} == {kind}
    assert definition(kind).policies


def test_every_built_in_kind_has_an_example() -> None:
    schema = (ROOT / "schemas/json/agent-definition.schema.json").read_text("utf-8")
    policies = json.loads(schema)["properties"]["policies"]["items"]["discriminator"]["mapping"]
    assert set(BLOCKS) == set(policies) - {"plugin"}


def test_what_is_secret_stays_inside() -> None:
    play = Rehearsal(definition("never-after"))
    mail = {"to": "eve@example.net"}
    assert play.call("send_mail", params=mail).decision == "allow"
    play.call("read_file", params={"path": "secrets/a"}, resources=(seen("secrets/a"),))
    assert play.call("send_mail", params=mail).decision == "deny"
    assert play.call("send_mail", params={"to": "ann@example.org"}).decision == "allow"
    assert (
        play.call("send_mail", params={"to": "eve@example.net, ann@example.org"}).decision == "deny"
    )
    play.call("fetch", params={"url": "https://docs.example.org/a"})
    assert play.call("shell").decision == "allow"
    play.call("fetch", params={"url": "https://example.net/"})
    assert play.call("shell").decision == "deny"


def test_a_deployment_follows_its_tests() -> None:
    play = Rehearsal(definition("only-after"))
    assert play.call("deploy", params={"target": "staging"}).decision == "allow"
    assert play.call("deploy").decision == "deny"
    play.call("run_tests", params={"suite": "all"})
    assert play.call("deploy").decision == "allow"
    play.passing(601)
    assert play.call("deploy").decision == "deny"


def test_pocket_money_is_used_up() -> None:
    play = Rehearsal(definition("total"))
    assert play.call("pay", params={"amount": 499.5}).decision == "allow"
    assert play.call("transfer", params={"amount": "0.51"}).decision == "deny"
    assert play.call("transfer", params={"amount": "0.50"}).decision == "allow"
    assert play.call("pay", params={"amount": "1 EUR"}).decision == "deny"


def test_the_large_payment_of_the_page_is_asked_about_and_the_small_one_is_not() -> None:
    play = Rehearsal(definition("require-approval"))
    decisions = {
        amount: play.check("pay", params=params).decision
        for amount, params in {
            "small": {"amount": 5},
            "large": {"amount": 500},
            "none": {},
            "null": {"amount": None},
        }.items()
    }
    assert decisions == {"small": "allow", "large": "ask", "none": "ask", "null": "ask"}
    assert play.check("transfer").decision == "allow"
