"""What is implied by what was proved, asked in a process of its own: whatever goes wrong is unknown."""

from dataclasses import replace
from pathlib import Path

import pytest

from libs.prove.tests.layers_on_disk import EFFECTS, write
from lictor_approval.approval_policy import contracts_named, read_policy
from lictor_ir.json.document import document_hash
from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.layers.installed import installed_layers
from lictor_prove.proof.prover import document_of
from lictor_prove.workers.entailment import EntailmentQuestion, Wanted, entailed, look, wanted_of
from lictor_prove.workers.process import Roots
from lictor_schema.core.canonical_json import content_hash

ROOT = Path(__file__).parents[4]
NEWSLETTER = (ROOT / "examples/programs/newsletter.py").read_text("utf-8")
CONTRACTS = "tools.mail.trusted.contracts."


@pytest.fixture(scope="module")
def question() -> EntailmentQuestion:
    here = installed_layers({"LICTOR_LAYERS": str(ROOT / "examples/layers")})
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


SHAPES = """
    from lictor_layer import DirectoryPath, Row, Spec, contract, effect
    from tools.mail.trusted.effects import send

    Send = effect(send)

    class Friend(Row):
        address: str

    @contract
    def only(to: list[str]) -> Spec:
        return Send.all(lambda e: e.addr in to)

    @contract
    def only_one_of(to: set[str]) -> Spec:
        return Send.all(lambda e: e.addr in to)

    @contract
    def only_these(to: tuple[str, ...]) -> Spec:
        return Send.all(lambda e: e.addr in to)

    @contract
    def only_keys(to: dict[str, int]) -> Spec:
        return Send.all(lambda e: e.addr in to)

    @contract
    def only_pairs(pairs: list[tuple[str, str]]) -> Spec:
        return Send.all(lambda e: (e.addr, e.text) in pairs)

    @contract
    def shorter_than(most: float) -> Spec:
        return Send.all(lambda e: len(e.text) < most)

    @contract
    def at_most(n: int) -> Spec:
        return Send.count() <= n

    @contract
    def to_row(row: type[Friend]) -> Spec:
        return Send.all(lambda e: e.addr == row.address)

    @contract
    def below(folder: DirectoryPath) -> Spec:
        prefix = folder.value + "/"
        return Send.all(lambda e: e.text.startswith(prefix))

    @contract
    def any_of(to) -> Spec:
        return Send.all(lambda e: e.addr in to)
"""
TO_ANN = """
from lictor_layer import guarantee
from tools.mail.trusted.contracts import only, only_pairs
from tools.mail.trusted.effects import send

@guarantee(only(["ann@example.org"]))
@guarantee(only_pairs([("ann@example.org", "notes/a")]))
def main():
    send("ann@example.org", "notes/a")
"""
ANN, BOB = "ann@example.org", "bob@example.org"


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> EntailmentQuestion:
    base = tmp_path_factory.mktemp("shapes")
    write(base, {"effects": EFFECTS, "contracts": SHAPES})
    roots = discover_trusted_roots([base])
    layer = load_layer(roots, [base])
    document = document_of(TO_ANN, name="ann.py", layer=layer)
    return EntailmentQuestion(
        program=TO_ANN,
        language="python",
        name="ann.py",
        target="main",
        roots=Roots(tuple(map(str, roots)), (str(base),)),
        layer_hash=layer.hash,
        ir_hash=document_hash(document),
        wanted=(),
    )


@pytest.mark.parametrize(
    ("stated", "implied"),
    [
        (f"only, arguments: [[{ANN}, {BOB}]]", "implied"),
        (f"only, arguments: [[{BOB}]]", "not_implied"),
        (f"only, named: {{to: [{ANN}]}}", "implied"),
        (f"only_one_of, arguments: [[{ANN}, {ANN}]]", "implied"),
        (f"only_one_of, arguments: [[{BOB}]]", "not_implied"),
        (f"only_these, arguments: [[{ANN}]]", "implied"),
        (f"only_keys, arguments: [{{{ANN}: 1}}]", "implied"),
        (f"only_keys, arguments: [{{{BOB}: 1}}]", "not_implied"),
        (f"only_pairs, arguments: [[[{ANN}, notes/a], [{BOB}, x]]]", "implied"),
        (f"only_pairs, arguments: [[[{BOB}, notes/a]]]", "not_implied"),
        ("shorter_than, arguments: [7.5]", "implied"),
        ("shorter_than, arguments: [6.5]", "not_implied"),
        ("below, arguments: [notes]", "implied"),
        ("below, arguments: [notes/a]", "not_implied"),
        (f"any_of, arguments: [[{ANN}]]", "implied"),
        ("to_row, arguments: [Friend]", "not_implied"),
        # What can't mean what is asked for decides nothing.
        (f"only, arguments: [{ANN}]", "unknown"),
        ("only, arguments: [[1]]", "unknown"),
        (f"only_pairs, arguments: [[[{ANN}]]]", "unknown"),
        ("to_row, arguments: [Nobody]", "unknown"),
        ("below, arguments: [../notes]", "unknown"),
        ("shorter_than, arguments: [seven]", "unknown"),
        ("at_most, arguments: [true]", "unknown"),
    ],
)
def test_a_contract_in_a_policy_decides_whatever_its_arguments_are_made_of(
    shapes: EntailmentQuestion, stated: str, implied: str
) -> None:
    policy = read_policy(
        f"""
format: lictor-approval-policy/v1
rules:
  - name: stated
    decision: reject
    reason: so
    when:
      entails: [{{contract: {CONTRACTS}{stated}}}]
""".encode(),
        "policy.yaml",
    )
    (call,) = contracts_named(policy)
    ((found, why),) = look(replace(shapes, wanted=(wanted_of(call),))).implied
    assert found == implied, why
