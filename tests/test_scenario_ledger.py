"""Every scenario has a test that exists, or a sentence that says why it does not apply."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STORIES = ROOT / "tests/conformance/conformance_scenarios.py"
EXPECTED = {
    "docs/guardrail-scenarios.md": [
        *(str(number) for number in range(1, 153)),
        *(f"ACK {number}" for number in range(1, 7)),
    ],
    "docs/contract-scenarios.md": [str(number) for number in range(1, 62)],
}
TEST = re.compile(r"`([\w/.-]+\.py)::(test_\w+)`")
STORY = re.compile(r'story "([^"]+)"')
NOT_APPLICABLE = "Does not apply: "

ROWS = [
    (page, scenario, about, tested_by)
    for page in EXPECTED
    for scenario, about, tested_by in re.findall(
        r"^\| ([^|]+) \| ([^|]+) \| (.+) \|$", (ROOT / page).read_text("utf-8"), re.MULTILINE
    )
    if scenario != "scenario"
]


@cache
def functions_in(path: Path) -> frozenset[str]:
    found = ast.walk(ast.parse(path.read_text("utf-8")))
    functions = (each for each in found if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(each.name for each in functions)


@cache
def texts_in(path: Path) -> frozenset[str]:
    found = ast.walk(ast.parse(path.read_text("utf-8")))
    constants = (each.value for each in found if isinstance(each, ast.Constant))
    return frozenset(each for each in constants if isinstance(each, str))


@pytest.mark.parametrize("page", EXPECTED)
def test_every_scenario_stands_on_its_page_once(page: str) -> None:
    assert [scenario for of, scenario, _, _ in ROWS if of == page] == EXPECTED[page]


@pytest.mark.parametrize(
    ("scenario", "about", "tested_by"),
    [row[1:] for row in ROWS],
    ids=[f"{Path(page).stem}-{scenario}" for page, scenario, _, _ in ROWS],
)
def test_a_scenario_has_a_test_or_does_not_apply(scenario: str, about: str, tested_by: str) -> None:
    if tested_by.startswith(NOT_APPLICABLE):
        sentence = tested_by.removeprefix(NOT_APPLICABLE)
        assert len(sentence) > 40, f"{scenario} ({about}): say why it does not apply"
        assert sentence.endswith("."), f"{scenario} ({about}): end the sentence"
        return
    named, stories = TEST.findall(tested_by), STORY.findall(tested_by)
    assert named or stories, f"{scenario} ({about}) names neither a test nor why it has none"
    for file, test in named:
        path = ROOT / file
        assert path.is_file(), f"{scenario} names {file}, which is not there"
        assert test in functions_in(path), f"{scenario} names {test}, which is not in {file}"
    for story in stories:
        assert story in texts_in(STORIES), (
            f"{scenario} names the story {story!r}, which is not told"
        )
