"""What an agent reads never asks it for what only its developer or operator can do.

An agent that reads "give the guard `cwd`" or "see `lictor doctor`" goes round in circles, or tries it. Such remedies
are addressed to whoever runs it: `beyond_agent` says so.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lictor.fast import verdicts
from lictor.fast.answer_reader import Silence, read_check, read_stop
from lictor_guard.text import wording

ROOT = Path(__file__).parents[2]
READ_BY_AGENTS = [
    *sorted((ROOT / "libs/client/lictor/fast").glob("*.py")),
    *sorted((ROOT / "libs/client/lictor/runtimes").rglob("*.py")),
    *sorted((ROOT / "libs/guard/lictor_guard").rglob("*.py")),
    ROOT / "services/feedback/lictor_feedback/session/replies.py",
]
DENIALS = {"deny", "GateRefusal", "Refusal", "_denial", "Unresolvable", "Unaskable"}
OF_DEVELOPERS = re.compile(
    r"`(lictor|cwd|text_params|workspace)|stderr|service's log|mend the", re.I
)


def remedies(path: Path) -> Iterator[tuple[int, ast.expr]]:
    """The last thing that each denial in a file is made of."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in DENIALS:
            yield node.lineno, node.args[-1]


def spoken_plainly(remedy: ast.expr) -> str:
    """The texts of a remedy, but for those that `beyond_agent` addresses to somebody else."""
    if isinstance(remedy, ast.Call):
        addressed = getattr(remedy.func, "id", "") == "beyond_agent"
        return "" if addressed else " ".join(map(spoken_plainly, remedy.args))
    if isinstance(remedy, ast.Constant):
        return str(remedy.value)
    return " ".join(
        spoken_plainly(each) for each in ast.iter_child_nodes(remedy) if isinstance(each, ast.expr)
    )


def test_denials_are_found() -> None:
    assert sum(1 for path in READ_BY_AGENTS for _ in remedies(path)) > 20


@pytest.mark.parametrize("path", READ_BY_AGENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_remedy_asks_an_agent_for_what_only_others_can_do(path: Path) -> None:
    asked = [(line, spoken_plainly(remedy)) for line, remedy in remedies(path)]
    wrong = [each for each in asked if OF_DEVELOPERS.search(each[1])]
    assert not wrong, f"address them to whoever runs the agent, by beyond_agent(...): {wrong}"


def test_both_sides_of_the_wire_say_it_in_the_same_words() -> None:
    assert wording.beyond_agent("x") == verdicts.beyond_agent("x")


@pytest.mark.parametrize("answer", [Silence(reason="nobody answers"), b"nonsense"])
def test_a_service_that_is_away_is_nothing_that_an_agent_can_mend(answer: bytes | Silence) -> None:
    call, stop = read_check("Bash", "r", answer), read_stop("block", "r", answer)
    assert not call.allowed
    assert not stop.allowed
    for text in (call.text, stop.text):
        assert "To do: you can't mend this: report it to whoever runs you (for them: " in text


def test_what_an_agent_can_do_itself_it_is_asked_for() -> None:
    large = Silence(reason="too large", remedy="pass it through a file", too_large=True)
    assert read_check("Bash", "r", large).text.endswith("To do: pass it through a file")
