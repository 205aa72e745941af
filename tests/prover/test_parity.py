"""The parity runner, on cases of our own: it finds them, judges them, and excuses only what a page explains."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import prover_clauz3
import prover_parity
import pytest
from prover_cases import Case, cache_folder, find_cases, spread, trusted_below
from prover_clauz3 import Answer, Clauz3
from prover_growth import growing_cases
from prover_ours import Ours
from prover_parity import Row, compared, explained, summary, unexplained

pytestmark = pytest.mark.parity

HERE = Path(__file__).parent
OWN = {
    "row_kept_whole": "pass",
    "loop_count_within_the_bound": "pass",
    "fluent_closed_again": "pass",
    "order_that_holds": "pass",
    "stated_weakness": "pass",
    "hidden_in_lambda": "fail",
    "contract_shadowed_by_a_lambda": "fail",
    "hidden_in_with": "fail",
    "loop_counts_every_row": "fail",
    "switched_row_kept_whole": "pass",
    "switched_row_mixing": "fail",
}


@pytest.fixture
def distribution(tmp_path: Path) -> Path:
    """A distribution like clauz3's, with cases of our own."""
    project = tmp_path / "examples" / "desk"
    # The layer of the enumeration has effects of the same names.
    without = shutil.ignore_patterns("probe")
    shutil.copytree(HERE / "layers" / "tools", project / "tools", ignore=without)
    (project / "cases").mkdir()
    for name, ending in OWN.items():
        text = (HERE / "adversarial" / f"{name}.py").read_text("utf-8")
        (project / "cases" / f"{name}_{ending}.py").write_text(text, "utf-8")
    (project / "cases" / "helper.py").write_text("", "utf-8")
    return tmp_path


def test_every_own_case_agrees_with_its_name(distribution: Path) -> None:
    cases = find_cases(distribution)
    assert len(cases) == len(OWN)
    rows = list(compared(cases, Ours(), None))
    assert [row.case.name for row in rows if not row.agrees] == []
    assert summary(rows, {})["agree"] == len(OWN)


def test_case_that_is_named_wrongly_is_a_disagreement(distribution: Path) -> None:
    folder = distribution / "examples" / "desk" / "cases"
    (folder / "hidden_in_lambda_fail.py").rename(folder / "hidden_in_lambda_pass.py")
    rows = list(compared(find_cases(distribution), Ours(), None))
    (wrong,) = unexplained(rows, {})
    assert wrong.case.name == "examples/desk/cases/hidden_in_lambda_pass.py"
    assert wrong.as_json()["reason"]
    assert unexplained(rows, {wrong.case.name: "a hole"}) == []


def test_proof_of_a_case_that_must_fail_is_not_excused_by_the_page() -> None:
    case = Case("x/cases/a_fail.py", Path("a_fail.py"), False, (), ())
    row = Row(case, Answer("proved", 1.0), None)
    assert unexplained([row], {case.name: "because"}) == [row]


def test_page_explains_one_hole_and_the_case_whose_guarantee_holds() -> None:
    why = explained(prover_parity.EXPLAINED.read_text("utf-8"))
    assert {"tests/fixtures/loop_email/cases/loop_var_rebind_fail.py"} == prover_parity.HOLDS
    assert list(why) == ["examples/trading/cases/row_mixing_hole_pass.py", *prover_parity.HOLDS]
    assert all(len(reason) > 80 for reason in why.values())


def test_roots_are_tools_or_what_stands_beside_the_cases(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "layer").mkdir()
    (tmp_path / "layer" / "effects.py").touch()
    (tmp_path / "empty").mkdir()
    assert trusted_below(tmp_path) == (tmp_path / "layer",)
    (tmp_path / "tools" / "org" / "domain" / "trusted").mkdir(parents=True)
    assert trusted_below(tmp_path) == (tmp_path / "tools" / "org" / "domain" / "trusted",)


def test_spread_is_fixed_and_covers_the_list() -> None:
    cases = tuple(Case(str(n), Path(str(n)), True, (), ()) for n in range(100))
    chosen = [int(case.name) for case in spread(cases, 10)]
    assert chosen == list(range(0, 100, 10))
    assert spread(cases, 500) == cases


def test_cache_is_outside_the_tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "lictor" / "parity"


def driver(folder: Path, body: str) -> Path:
    """A stand-in for the process that runs clauz3."""
    file = folder / "driver.py"
    file.write_text(
        "import json, sys, time\n"
        "def say(**told): print(json.dumps(told), flush=True)\n"
        "say(ready=True)\n"
        f"for line in sys.stdin:\n    case = json.loads(line)['entry']\n    {body}\n",
        "utf-8",
    )
    return file


def test_case_that_takes_too_long_is_told_and_the_next_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "time.sleep(60 if 'slow' in case else 0); say(verdict='proved', ms=1, detail='')"
    monkeypatch.setattr(prover_clauz3, "DRIVER", driver(tmp_path, body))
    slow, quick = (Case(name, Path(name), True, (), ()) for name in ("slow", "quick"))
    with Clauz3(Path(sys.executable), 0.3) as peer:
        assert peer.prove(slow).verdict == "timeout"
        assert peer.prove(quick, 20).verdict == "proved"


def test_process_that_dies_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prover_clauz3, "DRIVER", driver(tmp_path, "sys.exit(3)"))
    with Clauz3(Path(sys.executable), 20) as peer:
        assert peer.prove(Case("x", Path("x"), True, (), ())).verdict == "died"


def test_growing_programs_are_proved(tmp_path: Path) -> None:
    ours = Ours()
    for name, case in growing_cases(tmp_path):
        if "1000" not in name:
            assert ours.prove(case).proved, name
