"""What is implied by what was proved, asked in a process of its own: whatever goes wrong is unknown."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lictor_ir.jsonform import document_hash
from lictor_prove.entailing import EntailmentQuestion, Held, Wanted, entailed, look
from lictor_prove.layers import load_layer
from lictor_prove.prover import document_of, prove
from lictor_prove.shelf import shelf
from lictor_prove.worker import Roots
from lictor_schema import content_hash

from .layers_on_disk import write

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
        guarantees=tuple(
            Held(each.name, bool(each.required_by), "every_prefix") for each in document.guarantees
        ),
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
        {"guarantees": ()},
        {"guarantees": (Held("at_most", False, "every_prefix"),) * 4},
    ],
)
def test_another_program_than_the_one_that_was_proved_gets_no_answer(
    question: EntailmentQuestion, change: dict[str, Any]
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


# -- of which runs it was proved -------------------------------------------------------------------

LEDGER = {
    "effects": """
        from lictor_layer import trusted

        @trusted
        def book(cents: int) -> None: ...
    """,
    "contracts": """
        from lictor_layer import Spec, contract, effect

        @contract
        def balanced() -> Spec:
            return effect("book").sum(lambda e: e.cents) <= 0

        @contract
        def overdrawn_little(cents: int) -> Spec:
            return effect("book").sum(lambda e: e.cents) <= cents

        @contract
        def twice() -> Spec:
            return effect("book").count() == 2

        @contract
        def some() -> Spec:
            return effect("book").count() >= 1

        @contract
        def some_and_balanced() -> Spec:
            return (effect("book").count() >= 1) & (effect("book").sum(lambda e: e.cents) <= 0)

        @contract
        def at_most(count: int) -> Spec:
            return effect("book").count() <= count
    """,
}
BOOKING = """
from lictor_layer import guarantee
from tools.bank.trusted import contracts as bank
from tools.bank.trusted.effects import book

@guarantee(bank.balanced())
@guarantee(bank.twice())
@guarantee(bank.at_most(5))
def main() -> None:
    book(1000)
    book(-1000)
"""


def asked_of(
    base: Path, files: dict[str, str], program: str, language: Any = "python"
) -> EntailmentQuestion:
    roots = Roots((str(write(base, files, "tools/bank/trusted")),), (str(base),))
    layer = load_layer([Path(roots.trusted[0])], [base])
    proof = prove(program, name="p", layer=layer, language=language)
    assert proof.verdict.value == "proved", proof.reasons
    document = document_of(program, name="p", layer=layer, language=language)
    return EntailmentQuestion(
        program=program,
        language=language,
        name="p",
        target="main",
        roots=roots,
        layer_hash=layer.hash,
        ir_hash=document_hash(document),
        guarantees=tuple(
            Held(each.name, bool(each.required_by), result.strength and result.strength.value)
            for each, result in zip(document.guarantees, proof.guarantees, strict=True)
        ),
        wanted=(),
    )


@pytest.mark.parametrize(
    ("contract", "arguments", "implied"),
    [
        # After the first booking, the sum is 1000: that it is balanced in the end helps nobody whose run breaks off.
        ("balanced", (), False),
        ("overdrawn_little", (100,), False),
        ("some_and_balanced", (), False),
        ("twice", (), True),
        ("some", (), True),
        ("at_most", (5,), True),
        ("at_most", (2,), False),
    ],
)
def test_what_holds_of_completed_runs_alone_implies_only_what_is_about_the_end(
    tmp_path: Path, contract: str, arguments: tuple[object, ...], implied: bool
) -> None:
    question = asked_of(tmp_path, LEDGER, BOOKING)
    wanted = Wanted(f"tools.bank.trusted.contracts.{contract}", arguments)
    answer = look(replace(question, wanted=(wanted,)))
    assert answer.problem is None
    assert (answer.implied[0][0] == "implied") is implied, answer


def test_a_guarantee_of_which_it_is_not_told_for_which_runs_it_holds_implies_nothing(
    tmp_path: Path,
) -> None:
    question = asked_of(tmp_path, LEDGER, BOOKING)
    untold = tuple(replace(each, strength=None) for each in question.guarantees)
    wanted = Wanted("tools.bank.trusted.contracts.at_most", (5,))
    answer = look(replace(question, guarantees=untold, wanted=(wanted,)))
    assert answer.implied[0][0] != "implied"


def test_programs_in_commands_are_read_again_too(tmp_path: Path) -> None:
    program = """lictor-commands v1
guarantee twice()
guarantee at_most(5)

call book(cents = 1000)
call book(cents = -1000)
"""
    question = asked_of(tmp_path, LEDGER, program, language="commands")
    wanted = tuple(
        Wanted(f"tools.bank.trusted.contracts.{name}", arguments)
        for name, arguments in (("at_most", (5,)), ("at_most", (2,)), ("some", ()))
    )
    answer = look(replace(question, wanted=wanted))
    assert answer.problem is None
    assert answer.effects == ("book",)
    assert [each == "implied" for each, _ in answer.implied] == [True, False, True]
