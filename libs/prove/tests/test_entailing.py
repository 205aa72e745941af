"""What is implied by what was proved, asked in a process of its own: whatever goes wrong is unknown."""

from dataclasses import replace
from pathlib import Path

import pytest

from lictor_ir.jsonform import document_hash
from lictor_prove.entailing import EntailmentQuestion, Wanted, entailed, look
from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.prover import document_of
from lictor_prove.shelf import shelf
from lictor_prove.worker import Roots
from lictor_schema import content_hash

from .layers_on_disk import EFFECTS, write

ROOT = Path(__file__).parents[3]
NEWSLETTER = (ROOT / "examples/programs/newsletter.py").read_text("utf-8")
CONTRACTS = "tools.mail.trusted.contracts."


@pytest.fixture(scope="module")
def question() -> EntailmentQuestion:
    here = shelf({"LICTOR_LAYERS": str(ROOT / "examples/layers")})
    ((layer_hash, roots),) = here.layers.items()
    layer = load_layer(
        [Path(root) for root in roots.trusted], [Path(root) for root in roots.imports]
    )
    document = document_of(NEWSLETTER, name="n.py", layer=layer)
    return EntailmentQuestion(
        program=NEWSLETTER,
        language="python",
        name="n.py",
        target="main",
        roots=roots,
        layer_hash=layer_hash,
        ir_hash=document_hash(document),
        wanted=(Wanted(f"{CONTRACTS}at_most", (60,)),),
    )


@pytest.mark.parametrize(
    ("wanted", "implied"),
    [
        (Wanted(f"{CONTRACTS}at_most", (50,)), True),
        (Wanted(f"{CONTRACTS}at_most", (), {"count": 60}), True),
        (Wanted(f"{CONTRACTS}at_most", (49,)), False),
        (Wanted(f"{CONTRACTS}to_contacts"), True),
        (Wanted(f"{CONTRACTS}only_list", ("another",)), False),
        (Wanted(f"{CONTRACTS}at_most", ("many",)), False),
        (Wanted(f"{CONTRACTS}at_most"), False),
        (Wanted(f"{CONTRACTS}nothing_like_it"), False),
        (Wanted("os.system", ("true",)), False),
        (Wanted("at_most", (50,)), False),
    ],
)
def test_only_what_is_proved_to_follow_is_implied(
    question: EntailmentQuestion, wanted: Wanted, implied: bool
) -> None:
    answer = look(replace(question, wanted=(wanted,)))
    assert answer.problem is None
    assert (answer.implied[0][0] == "implied") is implied
    assert answer.effects == ("list_contacts", "send_mail")


@pytest.mark.parametrize(
    "change",
    [
        {"program": NEWSLETTER.replace("is out", "is late")},
        {"program": "def main(:"},
        {"name": "other.py"},
        {"target": "nowhere"},
        {"ir_hash": content_hash("another")},
        {"layer_hash": content_hash("another")},
        {"language": "commands"},
        {"language": "ir"},
    ],
)
def test_another_program_than_the_one_that_was_proved_gets_no_answer(
    question: EntailmentQuestion, change: dict[str, str]
) -> None:
    answer = look(replace(question, **change))
    assert answer.problem is not None
    assert (answer.effects, answer.implied) == ((), ())


async def test_the_child_answers_the_same_and_has_no_more_time_than_it_is_given(
    question: EntailmentQuestion,
) -> None:
    assert await entailed(question, 60) == look(question)
    late = await entailed(question, 0.01)
    assert (late.effects, late.implied) == ((), ())
    assert "longer than" in str(late.problem)


AMOUNTS = """
    from lictor_layer import Spec, contract, effect
    from tools.mail.trusted.effects import send

    @contract
    def exactly(n: int) -> Spec:
        return effect(send).count() == n

    @contract
    def at_least(n: int) -> Spec:
        return effect(send).count() >= n

    @contract
    def at_most(n: int) -> Spec:
        return effect(send).count() <= n

    @contract
    def between(least: int, most: int) -> Spec:
        return (effect(send).count() >= least) & (effect(send).count() <= most)
"""
ONCE = """
from lictor_layer import guarantee
from tools.mail.trusted.contracts import exactly
from tools.mail.trusted.effects import send

@guarantee(exactly(1))
def main():
    send("a@b", "x")
"""


def test_what_holds_of_completed_runs_alone_implies_nothing_of_runs_that_end_early(
    tmp_path: Path,
) -> None:
    write(tmp_path, {"effects": EFFECTS, "contracts": AMOUNTS})
    roots = discover_trusted_roots([tmp_path])
    layer = load_layer(roots, [tmp_path])
    document = document_of(ONCE, name="once.py", layer=layer)
    asked = [("exactly", (1,)), ("at_least", (1,)), ("at_most", (1,)), ("between", (1, 1))]
    answer = look(
        EntailmentQuestion(
            program=ONCE,
            language="python",
            name="once.py",
            target="main",
            roots=Roots(tuple(map(str, roots)), (str(tmp_path),)),
            layer_hash=layer.hash,
            ir_hash=document_hash(document),
            wanted=tuple(Wanted(f"{CONTRACTS}{name}", given) for name, given in asked),
        )
    )
    assert answer.problem is None
    assert [verdict for verdict, _ in answer.implied] == [
        "implied",
        "implied",
        "not_implied",
        "not_implied",
    ]


def test_programs_in_commands_are_read_again_too(question: EntailmentQuestion) -> None:
    program = (ROOT / "examples/programs/newsletter.lictor").read_text("utf-8")
    roots = question.roots
    layer = load_layer(
        [Path(each) for each in roots.trusted], [Path(each) for each in roots.imports]
    )
    document = document_of(program, name="n.lictor", layer=layer, language="commands")
    asked = replace(
        question,
        program=program,
        language="commands",
        name="n.lictor",
        ir_hash=document_hash(document),
        wanted=(Wanted(f"{CONTRACTS}at_most", (50,)), Wanted(f"{CONTRACTS}at_most", (49,))),
    )
    answer = look(asked)
    assert answer.problem is None
    assert answer.effects == ("list_contacts", "send_mail")
    assert [verdict for verdict, _ in answer.implied] == ["implied", "not_implied"]
