"""Every scenario has a test that names it back, or a sentence that says why it does not apply.

A citation alone proves little: tests are renamed, split and reused, and a page goes on citing what is about something
else. So each cited test says in its docstring which scenarios it is of, in words too, and each test that says so is
cited: whoever changes one side has to look at the other.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STORIES = ROOT / "tests/conformance/conformance_scenarios.py"
GUARDRAILS, CONTRACTS = "docs/guardrail-scenarios.md", "docs/contract-scenarios.md"
ACK = {
    "ACK 1": "test_task_completion_blocks_early_stop",
    "ACK 2": "test_task_completion_allows_stop_when_complete",
    "ACK 3": "test_task_completion_skipped_on_deadline_exhaustion",
    "ACK 4": "test_task_completion_skipped_on_budget_exhaustion",
    "ACK 5": "test_composite_checker_all_must_pass",
    "ACK 6": "test_no_checker_allows_free_stop",
}
"""The six that the guardrails document asks of every adapter, by the names that it gives them."""
EXPECTED = {
    GUARDRAILS: [*(str(number) for number in range(1, 153)), *ACK],
    CONTRACTS: [str(number) for number in range(1, 62)],
}
TEST = re.compile(r"`([\w/.-]+\.py)::(test_\w+)`")
STORY = re.compile(r'story "([^"]+)"')
NAMED = re.compile(r"\b(Contract scenarios?|Scenarios?) (\d+(?:(?:, | and )\d+)*): (\S.{9,})", re.S)
NOT_APPLICABLE = "Does not apply: "
WHERE = ("libs", "services", "tests")

ROWS = [
    (page, scenario, about, tested_by)
    for page in EXPECTED
    for scenario, about, tested_by in re.findall(
        r"^\| ([^|]+) \| ([^|]+) \| (.+) \|$", (ROOT / page).read_text("utf-8"), re.MULTILINE
    )
    if scenario != "scenario"
]


@cache
def docstrings_in(path: Path) -> dict[str, str]:
    """By function, what its docstring says."""
    found = ast.walk(ast.parse(path.read_text("utf-8")))
    functions = (each for each in found if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    return {each.name: ast.get_docstring(each) or "" for each in functions}


def scenarios_named(docstring: str) -> Iterator[tuple[str, str]]:
    """The page and the number of each scenario that a docstring names, with words on what it is about."""
    for kind, numbers, _ in NAMED.findall(docstring):
        page = CONTRACTS if kind.startswith("Contract") else GUARDRAILS
        yield from ((page, number) for number in re.findall(r"\d+", numbers))
    yield from ((GUARDRAILS, scenario) for scenario, name in ACK.items() if name in docstring)


@cache
def stories() -> dict[str, str]:
    """By name, what each story of the conformance suite is about."""
    calls = (
        each
        for each in ast.walk(ast.parse(STORIES.read_text("utf-8")))
        if isinstance(each, ast.Call)
    )
    told = (
        [each.value for each in call.args[:2] if isinstance(each, ast.Constant)]
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "Scenario"
    )
    return {str(name): str(about) for name, about in told}


def story_is_of(about: str, scenario: str) -> bool:
    if scenario in ACK:
        return ACK[scenario] in about
    return scenario in re.findall(r"\b\d+\b", about)


@pytest.mark.parametrize("page", EXPECTED)
def test_every_scenario_stands_on_its_page_once(page: str) -> None:
    assert [scenario for of, scenario, _, _ in ROWS if of == page] == EXPECTED[page]


@pytest.mark.parametrize(
    ("page", "scenario", "about", "tested_by"),
    ROWS,
    ids=[f"{Path(page).stem}-{scenario}" for page, scenario, _, _ in ROWS],
)
def test_a_scenario_has_tests_that_name_it_back_or_does_not_apply(
    page: str, scenario: str, about: str, tested_by: str
) -> None:
    if tested_by.startswith(NOT_APPLICABLE):
        sentence = tested_by.removeprefix(NOT_APPLICABLE)
        assert len(sentence) > 40, f"{scenario} ({about}): say why it does not apply"
        assert sentence.endswith("."), f"{scenario} ({about}): end the sentence"
        return
    named, told = TEST.findall(tested_by), STORY.findall(tested_by)
    assert named or told, f"{scenario} ({about}) names neither a test nor why it has none"
    for file, test in named:
        path = ROOT / file
        assert path.is_file(), f"{scenario} names {file}, which is not there"
        assert test in docstrings_in(path), f"{scenario} names {test}, which is not in {file}"
        assert (page, scenario) in scenarios_named(docstrings_in(path)[test]), (
            f"{test} does not say that it is of scenario {scenario} ({about}): look whether it is, and say so in its"
            ' docstring, such as "Scenario 53: an empty trigger never fires."'
        )
    for story in told:
        assert story in stories(), f"{scenario} names the story {story!r}, which is not told"
        assert story_is_of(stories()[story], scenario), (
            f"the story {story!r} is not about scenario {scenario}: look whether it is, and say so in its `about`"
        )


def test_whoever_names_a_scenario_is_cited_for_it() -> None:
    cited = {
        (page, scenario, ROOT / file, test)
        for page, scenario, _, tested_by in ROWS
        for file, test in TEST.findall(tested_by)
    }
    naming = {
        (page, scenario, path, test)
        for folder in WHERE
        for path in sorted((ROOT / folder).rglob("test_*.py"))
        if ".venv" not in path.parts and path.parent.name != "conformance"
        for test, docstring in docstrings_in(path).items()
        for page, scenario in scenarios_named(docstring)
    }
    uncited = sorted(
        f"{scenario}: {path.name}::{test}" for _, scenario, path, test in naming - cited
    )
    assert not uncited, f"these name a scenario whose row does not cite them: {uncited}"


@pytest.mark.parametrize(
    ("docstring", "named"),
    [
        ("Scenario 53: an empty trigger never fires.", [(GUARDRAILS, "53")]),
        (
            "Contract scenarios 4 and 5: stale context is soft.",
            [(CONTRACTS, "4"), (CONTRACTS, "5")],
        ),
        ("Scenario 53.", []),
        ("It takes 53 seconds: no more.", []),
        ("ACK: test_no_checker_allows_free_stop.", [(GUARDRAILS, "ACK 6")]),
        ("", []),
    ],
)
def test_a_number_alone_names_no_scenario(docstring: str, named: list[tuple[str, str]]) -> None:
    assert list(scenarios_named(docstring)) == named


POINTS = re.findall(
    r"^\| (\d+) \| (.+) \| (.+) \|$",
    (ROOT / "docs/verified-outcomes.md").read_text("utf-8"),
    re.MULTILINE,
)


def test_every_verified_outcome_stands_on_its_page_once() -> None:
    assert [point for point, _, _ in POINTS] == [str(number) for number in range(1, 35)]


@pytest.mark.parametrize(("point", "about", "tests"), POINTS, ids=[point[0] for point in POINTS])
def test_a_verified_outcome_cites_tests_that_exist(point: str, about: str, tests: str) -> None:
    cited = TEST.findall(tests)
    assert cited, f"{point} ({about}) cites no test"
    for file, test in cited:
        assert test in docstrings_in(ROOT / file), f"{point} cites {test}, which is not in {file}"
