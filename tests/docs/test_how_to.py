"""The code of the how-to pages does what they say. Pages with a package in them are run where its service is tested."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from lictor_policy.conditions import facts
from lictor_policy.packs.scaffold import new_pack
from lictor_policy.task.state import TaskState
from lictor_schema.core.base_model import Model
from lictor_schema.events import payloads

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs/how-to"


def blocks(page: str, language: str) -> list[str]:
    """The examples of a page in one language, without their indentation."""
    text = (PAGES / f"{page}.md").read_text("utf-8")
    found = re.findall(rf"^ *```{language}\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(it) for it in found]


def test_every_page_with_code_names_the_test_that_runs_it() -> None:
    for path in PAGES.glob("*.md"):
        if not any(blocks(path.stem, language) for language in ("python", "yaml", "toml")):
            continue
        named = re.findall(r"run\b[^`]* by\s+`([\w/]+\.py)`", path.read_text("utf-8"))
        assert len(named) == 1, f"{path.name} does not say which test runs its code"
        assert path.stem in (ROOT / named[0]).read_text("utf-8"), f"{named[0]}: no {path.stem}"


def test_the_fact_of_the_page_can_be_asked() -> None:
    names = dict(vars(facts))
    question, listed = blocks("add-a-fact", "python")
    exec(question, names)  # noqa: S102 -- the code of our own page
    (fact,) = eval(listed, names)  # noqa: S307 -- likewise
    assert fact.name not in {it.name for it in names["_ALL"]}
    (condition,) = blocks("add-a-fact", "yaml")
    assert yaml.safe_load(condition)["conditions"]["fact"] == fact.name
    for parent, expected in ((None, False), ("parent", True)):
        state = TaskState._make([None] * len(TaskState._fields))._replace(parent_task_id=parent)
        assert fact.compute(state, None, None) is expected


def test_the_field_of_the_page_is_one_of_a_payload() -> None:
    names: dict[str, Any] = {**vars(payloads), "Model": Model}
    (field,) = blocks("add-an-event-field", "python")
    exec(f"class Payload(Model):\n{textwrap.indent(field, '    ')}", names)  # noqa: S102 -- our own page
    assert names["Payload"].model_validate({}).priority is None
    assert names["Payload"].model_validate({"priority": "high"}).priority == "high"


def test_the_rule_of_the_page_is_the_one_that_a_new_pack_begins_with() -> None:
    (shown,) = blocks("add-a-policy-rule", "yaml")
    (rule,) = yaml.safe_load(shown)
    written = yaml.safe_load(new_pack("known-channels")["policy.yaml"])
    (whole,) = written["spec"]["rules"]
    assert holds_all(whole, rule)


def holds_all(whole: object, part: object) -> bool:
    """Whether everything in a part of a document is in the document."""
    if isinstance(whole, dict) and isinstance(part, dict):
        return all(key in whole and holds_all(whole[key], part[key]) for key in part)
    return whole == part


@pytest.mark.parametrize(("folder", "verdict"), [("done", "proved"), ("elsewhere", "refuted")])
def test_the_effect_and_the_contract_of_the_page_prove_and_refute(
    folder: str, verdict: str, tmp_path: Path
) -> None:
    effect, contract, program = blocks("add-an-effect-and-a-contract", "python")
    shutil.copytree(ROOT / "examples/layers", tmp_path / "layers")
    trusted = tmp_path / "layers/tools/mail/trusted"
    for name, code in (("effects.py", effect), ("contracts.py", contract)):
        with (trusted / name).open("a") as file:
            file.write(f"\n\n{code}")
    (tmp_path / "program.py").write_text(program.replace('"m1", "done"', f'"m1", "{folder}"'))
    lictor = Path(sys.executable).parent / "lictor"
    proving = [lictor, "prove", "program.py", "--import-root", "layers"]
    told = subprocess.run(proving, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert told.stdout.startswith(verdict), told.stdout + told.stderr
