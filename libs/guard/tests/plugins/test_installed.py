"""Plugins of installed packages, made from the code that the how-to pages tell: found, stamped, and working."""

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

PAGES = Path(__file__).parents[4] / "docs" / "how-to"
HOW_TO = [PAGES / name for name in ("add-a-tool-policy.md", "add-a-feedback-provider.md")]
PROGRAM = """\
import json, sys
from lictor_guard.errors import DefinitionError
from lictor_guard.definitions.loading import read_definition

try:
    guarded = read_definition(sys.stdin.buffer.read(), "agent.yaml")
except DefinitionError as error:
    sys.exit(str(error))

from lictor_guard.plugins.tool_call import Call, Result
from lictor_guard.facts.session_facts import Tally
from lictor_guard.facts.fact import Facts, full_name
from lictor_guard.plugins.tool_policy import CheckContext

(owned,) = guarded.policies
context = CheckContext(now_us=0, session_id="s", definition="a")

def order(cents):
    return Call("1", "order", {"cents": cents}, (), "main", None)

assert owned.policy.keys(order(1)) == ("spent",)
name = full_name(owned.owner, "spent")
nothing = Facts({name: None}).of(owned.owner)
changes = owned.policy.on_result(order(4000), Result("ok"), nothing, context)
spent = Facts({name: changes["spent"]}).of(owned.owner)
(configured,) = guarded.providers

class Context:
    tally = Tally(calls=10, failed=4)

print(json.dumps({
    "plugins": dict(guarded.plugins),
    "first": owned.policy.check(order(5000), nothing, context).allowed,
    "second": owned.policy.check(order(1001), spent, context).reason,
    "runs": configured.provider.should_run(Context),
    "says": configured.provider.provide(Context).observations[0].description,
    "keys": list(configured.provider.keys()),
}))
"""


def blocks(language: str) -> list[str]:
    """The examples of the pages in one language, without their indentation."""
    pattern = re.compile(rf"^ *```{language}\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
    return [
        textwrap.dedent(found) for page in HOW_TO for found in pattern.findall(page.read_text())
    ]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """An installed package with the plugins of the pages."""
    folder = tmp_path / "site"
    info = folder / "acme_lictor-1.2.dist-info"
    info.mkdir(parents=True)
    (folder / "acme_lictor.py").write_text("\n\n".join(blocks("python")))
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-lictor\nVersion: 1.2\n")
    points = "\n".join(blocks("toml"))
    told = re.sub(r'\[project\.entry-points\."(.+)"\]', r"[\1]", points).replace('"', "")
    (info / "entry_points.txt").write_text(told)
    return folder


def compiled(package: Path, definition: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, (str(package), os.environ.get("PYTHONPATH", ""))))
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=definition,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )


def definition() -> str:
    head = 'apiVersion: lictor/v1\nkind: AgentDefinition\nmetadata: {name: a, version: "1"}\n'
    return head + "tools: [{name: order}]\n" + "".join(blocks("yaml"))


def test_what_the_pages_tell_works_when_it_is_installed(package: Path) -> None:
    done = compiled(package, definition())
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert told == {
        "plugins": {
            "policy:order-limit": "acme-lictor==1.2",
            "provider:failure-rate": "acme-lictor==1.2",
        },
        "first": True,
        "second": "the session may order for 1000 more cents",
        "runs": True,
        "says": "4 of 10 failed",
        "keys": [],
    }


def test_an_installed_plugin_is_named_when_another_is_asked_for(package: Path) -> None:
    done = compiled(package, definition().replace("plugin: order-limit", "plugin: order-limits"))
    assert done.returncode == 1
    assert "policies[0].plugin: no installed package has the policy 'order-limits'" in done.stderr
    assert "did you mean order-limit?" in done.stderr


def test_settings_that_a_plugin_refuses_are_an_error_at_its_place(package: Path) -> None:
    done = compiled(package, definition().replace("cents: 5000", "sents: 5000"))
    assert done.returncode == 1
    assert "agent.yaml:6: policies[0]: plugin 'order-limit' of acme-lictor==1.2" in done.stderr
    assert "KeyError: 'cents'" in done.stderr
