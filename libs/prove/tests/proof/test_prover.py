"""Verdicts: refuted only by a run that evaluation confirms, proved only when nothing is left open."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace

from lictor_ir.contracts import (
    All,
    Anything,
    Both,
    Comparison,
    Count,
    Distinct,
    Empty,
    Relation,
    Sum,
    field,
)
from lictor_ir.document import (
    Assumption,
    Atom,
    Binder,
    Document,
    Effect,
    Guarantee,
    Obligation,
    ObligationKind,
    Parameter,
    Schema,
    Span,
)
from lictor_ir.goals import Strength
from lictor_ir.provenance import argument_labels
from lictor_ir.terms import TRUE, Term, and_, apply, column, const, eq, not_, result, var
from lictor_ir.types import BOOL, INT, NONE, STR, ListOf, RowOf
from lictor_prove.proof.prover import prove_document
from lictor_prove.proof.result import Progress
from lictor_prove.proof.settings import ProofSettings
from lictor_schema.proofs.proof import ProofVerdict

ROWS = ListOf(RowOf("User"))
USERS = result("c1", ROWS)
EACH = Binder(var("i", INT), USERS)
EMAIL = column(apply("at", USERS, EACH.index), "email", STR)
X, S = var("x", INT), var("s", STR)
SENT = Relation(("send",))
TO = field("to", STR)


def send(at: int, to: Term, guard: Term = TRUE, *loops: Binder) -> Atom:
    arguments = {"to": to}
    return Atom(
        f"c{at}",
        "send",
        arguments,
        guard,
        tuple(loops),
        labels=argument_labels(arguments, ["x", "s"]),
        span=Span(at, 5, at, 20),
    )


def document(*atoms: Atom, **more: object) -> Document:
    made = Document(
        "t",
        None,
        None,
        effects=(
            Effect("query", (), ROWS),
            Effect("number", (), INT),
            Effect("send", (Parameter("to", STR),), NONE),
        ),
        schemas=(Schema("User", (Parameter("email", STR),)),),
        inputs=(Parameter("x", INT), Parameter("s", STR)),
        atoms=atoms,
    )
    return replace(made, **more)  # type: ignore[arg-type]


QUERY = Atom("c1", "query", {}, span=Span(1, 5, 1, 20))


def test_a_counterexample_tells_inputs_path_and_the_call_that_breaks_it() -> None:
    only_bob = Guarantee("only bob", All(SENT, eq(TO, const("bob"))))
    great = apply("lt", const(7), X)
    proof = prove_document(
        document(send(1, const("bob")), send(2, S, great), guarantees=(only_bob,))
    )
    assert proof.verdict is ProofVerdict.REFUTED
    found = proof.guarantees[0].counterexample
    assert found is not None
    assert int(dict(found.inputs)["x"]) > 7
    assert [each.offending for each in found.path] == [False, True]
    text = str(found)
    assert "only bob is broken" in text
    assert "> line 2: send(to=" in text
    assert "when 7 < x" in text
    assert proof.reasons[0].code == "guarantee.refuted"


def test_rows_that_break_a_guarantee_are_shown() -> None:
    once = Guarantee("once", Distinct(SENT, TO))
    proof = prove_document(document(QUERY, send(2, EMAIL, TRUE, EACH), guarantees=(once,)))
    assert proof.verdict is ProofVerdict.REFUTED
    assert "query (c1) returns [User(email=" in str(proof.guarantees[0].counterexample)


def test_every_part_of_a_guarantee_must_hold() -> None:
    both = Both((Empty(Relation(("query",))), Count(SENT, Comparison.AT_LEAST, const(1))))
    proof = prove_document(document(send(1, S), guarantees=(Guarantee("both", both),)))
    assert proof.verdict is ProofVerdict.PROVED
    assert proof.guarantees[0].strength == "on_completion"
    assert proof.guarantees[0].how == "evaluation"


def test_a_proof_and_its_summary_tell_one_strength_of_each_guarantee() -> None:
    length = apply("len", TO)
    grows = Guarantee("grows", Sum(SENT, length, Comparison.AT_MOST, const(9)))
    may_shrink = Guarantee(
        "may shrink", Sum(SENT, apply("neg", length), Comparison.AT_MOST, const(0))
    )
    in_part = Guarantee(
        "in part",
        Both(
            (
                Count(SENT, Comparison.AT_LEAST, const(1)),
                Anything(),
                Count(SENT, Comparison.AT_MOST, const(1)),
            )
        ),
    )
    stated = (grows, may_shrink, in_part, Guarantee("nothing", Anything()))
    proof = prove_document(document(send(1, const("bob")), guarantees=stated))
    assert proof.verdict is ProofVerdict.PROVED, proof.reasons
    summary = proof.summary()
    assert summary is not None
    for found in proof.guarantees:
        told = [
            each.strength for each in summary.guaranteed if f'stated as "{found.name}"' in each.text
        ]
        weakest = Strength.ON_COMPLETION if Strength.ON_COMPLETION in told else told[0]
        assert weakest is found.strength, found.name
    assert proof.guarantees[0].strength is Strength.EVERY_PREFIX
    assert [each.strength.value for each in summary.guaranteed[2:5]] == [
        "on_completion",
        "every_prefix",
        "every_prefix",
    ]
    broken = prove_document(document(send(1, S), guarantees=(grows,))).summary()
    assert broken is not None
    assert not broken.is_proved


def test_an_obligation_that_fails_refutes() -> None:
    stated = Obligation(
        ObligationKind.NO_ERROR, not_(eq(X, const(5))), "x is not 5", span=Span(3, 1, 3, 5)
    )
    proof = prove_document(document(obligations=(stated,)))
    assert proof.verdict is ProofVerdict.REFUTED
    assert proof.reasons[0].code == "no_error.refuted"
    assert proof.reasons[0].line == 3
    assert proof.obligations[0].counterexample is not None
    assert ("x", "5") in proof.obligations[0].counterexample.inputs


def test_an_index_outside_a_list_refutes_though_the_run_can_not_go_on() -> None:
    first = column(apply("at", USERS, const(0)), "email", STR)
    stated = Obligation(
        ObligationKind.NO_ERROR, apply("lt", const(0), apply("len", USERS)), "there is a row"
    )
    proof = prove_document(document(QUERY, send(2, first), obligations=(stated,)))
    assert proof.verdict is ProofVerdict.REFUTED


def test_what_only_breaks_in_runs_that_fail_is_not_refuted_by_them() -> None:
    stated = Obligation(ObligationKind.ASSERTION, apply("lt", X, const(0)), "x is negative")
    none = Guarantee("none", Empty(SENT))
    proof = prove_document(
        document(send(1, S, apply("le", const(0), X)), obligations=(stated,), guarantees=(none,))
    )
    assert proof.verdict is ProofVerdict.REFUTED
    assert proof.guarantees[0].verdict is ProofVerdict.UNKNOWN


def test_impossible_promises_prove_nothing() -> None:
    number = Atom("c1", "number", {})
    value = result("c1", INT)
    never = Assumption(
        "c1", and_(apply("lt", value, const(0)), apply("lt", const(0), value)), text="never"
    )
    none = Guarantee("none", Empty(SENT))
    stated = document(
        number,
        send(2, S, apply("lt", value, const(5))),
        assumptions=(never,),
        guarantees=(none,),
    )
    proof = prove_document(stated)
    assert proof.verdict is ProofVerdict.UNKNOWN
    assert [reason.code for reason in proof.reasons] == ["vacuous", "guarantee.unknown"]


def test_a_promise_of_a_call_that_is_never_made_is_no_problem() -> None:
    value = result("c1", INT)
    never = and_(apply("lt", X, const(0)), apply("lt", const(0), X))
    number = Atom("c1", "number", {}, never)
    promise = Assumption("c1", and_(eq(value, X), eq(value, apply("add", X, const(1)))), never)
    proof = prove_document(document(number, assumptions=(promise,)))
    assert proof.verdict is ProofVerdict.PROVED


def test_an_omitted_argument_is_unknown() -> None:
    only_bob = Guarantee("only bob", All(SENT, eq(TO, const("bob"))))
    proof = prove_document(document(Atom("c1", "send", {}), guarantees=(only_bob,)))
    assert proof.verdict is ProofVerdict.UNKNOWN
    assert "default" in proof.guarantees[0].reason


def test_membership_in_a_returned_list_may_go_either_way() -> None:
    listed = apply("in", S, result("c1", ListOf(STR)))
    effects = (Effect("names", (), ListOf(STR)), Effect("send", (Parameter("to", STR),), NONE))
    atoms = (Atom("c1", "names", {}), send(2, const("bob"), listed), send(3, S, not_(listed)))
    stated = replace(document(*atoms), effects=effects)
    few = Guarantee("few", Count(SENT, Comparison.AT_MOST, const(1)))
    bob = Guarantee("bob", All(SENT, eq(TO, const("bob"))))
    proof = prove_document(replace(stated, guarantees=(few, bob)))
    assert [each.verdict for each in proof.guarantees] == [
        ProofVerdict.PROVED,
        ProofVerdict.REFUTED,
    ]


def test_an_invalid_document_is_rejected_with_the_path() -> None:
    proof = prove_document(document(Atom("c1", "unheard", {})))
    assert proof.verdict is ProofVerdict.REJECTED
    assert proof.reasons[0].message.startswith("atoms")


def test_time_that_runs_out_is_unknown() -> None:
    y = apply("mul", X, X, X)
    stated = Obligation(
        ObligationKind.ASSERTION,
        not_(eq(apply("add", y, apply("len", S)), apply("mul", y, apply("len", S), const(7)))),
        "hard",
        and_(apply("lt", const(3), X), apply("lt", const(3), apply("len", S))),
    )
    proof = prove_document(document(obligations=(stated,)), ProofSettings(goal_ms=50, total_ms=50))
    assert proof.verdict is not ProofVerdict.REFUTED
    proof = prove_document(document(obligations=(stated,)), ProofSettings(goal_ms=50, total_ms=0))
    assert proof.verdict is ProofVerdict.UNKNOWN
    assert "time" in proof.obligations[0].reason


def test_progress_is_told() -> None:
    told: list[Progress] = []
    stated = Obligation(
        ObligationKind.ASSERTION, apply("le", X, X), "fine", apply("lt", const(0), X)
    )
    hard = replace(stated, formula=apply("lt", const(-1), X))
    prove_document(document(obligations=(stated, hard)), progress=told.append)
    assert told == [Progress("solving", 1, 2)]


def test_a_proof_travels_between_processes() -> None:
    proof = prove_document(document(send(1, S), guarantees=(Guarantee("none", Empty(SENT)),)))
    again = pickle.loads(pickle.dumps(proof))
    assert again.ir_hash == proof.ir_hash
    assert again.guarantees == proof.guarantees


def test_known_programs_are_proved_without_loading_z3() -> None:
    program = (
        "import sys; from lictor_prove.proof.prover import prove_document\n"
        "from lictor_ir.document import *; from lictor_ir.contracts import *\n"
        "from lictor_ir.terms import const; from lictor_ir.types import *\n"
        "send = Effect('send', (Parameter('to', STR),), NONE)\n"
        "atoms = tuple(Atom(f'c{n}', 'send', {'to': const(f'a{n}')}) for n in range(1, 50))\n"
        "few = Guarantee('few', Count(Relation(('send',)), Comparison.AT_MOST, const(49)))\n"
        "once = Guarantee('once', Distinct(Relation(('send',)), field('to', STR)))\n"
        "none = Guarantee('none', Empty(Relation(('send',))))\n"
        "for stated in ((few, once), (none,)):\n"
        "    print(prove_document(Document('t', None, None, effects=(send,), atoms=atoms,\n"
        "                                  guarantees=stated)).verdict)\n"
        "print('z3' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["proved", "refuted", "False"]


def test_sums_in_loops_are_refuted_by_real_rows() -> None:
    age = Schema("User", (Parameter("email", STR), Parameter("age", INT)))
    amount = column(apply("at", USERS, EACH.index), "age", INT)
    pay = Effect("pay", (Parameter("amount", INT),), NONE)
    atom = Atom("c2", "pay", {"amount": amount}, TRUE, (EACH,), labels={"amount": ("c1.age",)})
    short = Assumption("c1", apply("le", apply("len", USERS), const(3)), text="short")
    small = Guarantee(
        "small", Sum(Relation(("pay",)), field("amount", INT), Comparison.AT_MOST, const(10))
    )
    stated = replace(
        document(QUERY, atom, assumptions=(short,), guarantees=(small,)),
        effects=(Effect("query", (), ROWS), pay),
        schemas=(age,),
    )
    assert prove_document(stated).verdict is ProofVerdict.REFUTED


def test_booleans_of_inputs_are_found() -> None:
    b = var("b", BOOL)
    stated = replace(
        document(send(1, S, b), guarantees=(Guarantee("none", Empty(SENT)),)),
        inputs=(Parameter("b", BOOL), Parameter("s", STR)),
    )
    stated = replace(stated, atoms=(replace(stated.atoms[0], labels={"to": ("input:s",)}),))
    found = prove_document(stated).guarantees[0].counterexample
    assert found is not None
    assert ("b", "True") in found.inputs


def test_a_long_counterexample_tells_how_many_calls_there_are() -> None:
    few = Guarantee("few", Count(SENT, Comparison.AT_MOST, const(60)))
    alike = [send(line, const("bob")) for line in range(1, 31)]
    others = [send(line, const(f"to {line}")) for line in range(31, 91)]
    proof = prove_document(document(*alike, *others, guarantees=(few,)))
    found = proof.guarantees[0].counterexample
    assert found is not None
    assert len(found.path) < 60
    assert sum(each.times for each in found.path) + found.left_out == 61
    assert f"and {found.left_out} more calls in between" in str(found)
