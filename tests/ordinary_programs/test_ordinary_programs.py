"""The sample of ordinary programs: every one is Python that runs against the bodies of its layer."""

import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("*.py"))


def _forget_layers() -> None:
    for name in [name for name in sys.modules if name == "tools" or name.startswith("tools.")]:
        del sys.modules[name]


@pytest.fixture
def _office(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The layer's modules, loaded anew: some of its calls fail the first time."""
    monkeypatch.syspath_prepend(HERE / "layers")
    _forget_layers()
    yield
    _forget_layers()


@pytest.mark.usefixtures("_office")
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_program_runs_to_its_end_in_plain_python(path: Path) -> None:
    """What it calls is the layer's own body; a precondition that is not met would raise."""
    runpy.run_path(str(path), run_name="ordinary_program")["main"]()


def test_every_task_has_its_program_and_every_program_its_task() -> None:
    """Sixty that keep what they state, and eight that do not."""
    tasks = (HERE / "tasks.md").read_text()
    numbered = [int(number) for number in re.findall(r"^(\d+)\. ", tasks, re.MULTILINE)]
    broken = re.findall(r"^- (B\d)\. .*\(broken: .+\)$", tasks, re.MULTILINE)
    assert numbered == list(range(1, 61))
    expected = [f"{number:02}" for number in numbered] + broken
    assert [path.stem.split("_")[0] for path in PROGRAMS] == expected


def test_the_table_raises_the_alarm_when_a_broken_program_is_proved_or_one_was_not_judged() -> None:
    """`./taskw ordinary` ends with 1 then, and only then."""
    run = runpy.run_path(str(HERE / "run.py"), run_name="ordinary_run")

    def alarm(program: str, verdict: str) -> bool:
        row = run["Judged"](program, verdict, rehearsed=False, reason="", ms=0)
        return run["Figures"].of([row]).is_alarming

    assert alarm("B1_some", "proved")
    assert alarm("01_some", run["NOT_JUDGED"])
    assert not alarm("B1_some", "refuted")
    assert not alarm("01_some", "proved")
