"""The checker on a certificate that was made once and is kept here: what it shows, and what it needs to show it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from lictor_ir.certificate import command, json_schema
from lictor_ir.certificate.check import check, established, script_of
from lictor_ir.certificate.format import By, Evidence, FrontEnd, Level, name_of, read, write
from lictor_ir.contracts import Anything
from lictor_ir.document import Fact, FactKind, Guarantee, Unknown
from lictor_ir.errors import CertificateError
from lictor_ir.goals import Goal, GoalKind
from lictor_ir.json.document import to_json
from lictor_ir.regexes import ReRange
from lictor_ir.terms import apply, const, matches, result, var
from lictor_ir.text import read as read_text
from lictor_ir.types import INT, STR
from lictor_schema.core.canonical_json import hash_bytes

HERE = Path(__file__).parent
PAY = HERE / "pay.json"


def test_a_certificate_of_an_earlier_day_still_shows_what_it_did() -> None:
    report = check(PAY.read_bytes())
    assert report.level is Level.C
    assert report.document == read_text((HERE / "pay.effect-ir").read_text("utf-8"))
    assert {each.goal: each.by for each in report.goals} == {
        "promise.c1": By.EVALUATION,
        "precondition.0": By.PROOF,
        "assertion.1": By.PROOF,
        "guarantee.0.0": By.PROOF,
        "guarantee.1.0": By.EVALUATION,
    }
    assert sum(report.rules.values()) > 100
    assert all(each.steps for each in report.goals if each.by is By.PROOF)


def test_writing_what_was_read_gives_the_same_bytes_and_the_same_name() -> None:
    data = PAY.read_bytes()
    assert write(read(data)) == data
    assert check(data).hash == name_of(data)


def test_the_json_schema_is_fresh_and_knows_the_form() -> None:
    checked_in = Path(__file__).parents[4] / "schemas/ir/certificate.schema.json"
    assert checked_in.read_text("utf-8") == json_schema.text(), "run: ./taskw schemas"
    validator = Draft202012Validator(json_schema.schema())
    whole = json.loads(PAY.read_bytes())
    validator.validate(whole)
    for goal in whole["certificate"]["goals"]:
        goal["more"] = 1
        assert not validator.is_valid(whole)
        del goal["more"]


_ALONE = """
import sys

FORBIDDEN = {"z3", "cvc5", "rdflib", "nats", "redis", "rich", "faststream", "lictor", "lictor_bus", "lictor_prove",
             "lictor_layer", "lictor_policy"}

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in FORBIDDEN:
            raise ImportError(f"{name} is not for the checker")

sys.meta_path.insert(0, Blocker())
from lictor_ir.certificate.command import main
code = main(["check", "--json", sys.argv[1]])
assert not FORBIDDEN & {name.partition(".")[0] for name in sys.modules}
sys.exit(code)
"""


def test_the_checker_needs_no_solver_no_prover_and_no_broker() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ALONE, PAY], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["level"] == "c"


def test_the_checker_is_small() -> None:
    files = [Path(command.__file__).with_name(f"{name}.py") for name in ("check", "format")]
    lines = sum(len(file.read_text("utf-8").splitlines()) for file in files)
    assert lines < 600


# -- evidence --------------------------------------------------------------------------------------

X = var("x", INT)
IMPOSSIBLE = Goal("guarantee.0.0", GoalKind.GUARANTEE, 0, (), apply("lt", X, X))
OPEN = Goal(
    "guarantee.0.0", GoalKind.GUARANTEE, 0, (apply("lt", const(0), X),), apply("lt", X, const(0))
)


def _evidence(goal: Goal, by: By, **more: object) -> Evidence:
    text = script_of(goal)
    made = Evidence(goal.id, goal.kind, by, Level.A, text and hash_bytes(text.encode()))
    return replace(made, **more)


def test_what_derivation_leaves_open_is_not_settled_by_evaluation() -> None:
    assert IMPOSSIBLE.folded
    assert established(IMPOSSIBLE, _evidence(IMPOSSIBLE, By.EVALUATION)).level is Level.C
    with pytest.raises(CertificateError, match="evaluation alone"):
        established(OPEN, _evidence(OPEN, By.EVALUATION))


def test_a_goal_that_could_not_be_put_into_a_formula_is_never_certified() -> None:
    half = replace(IMPOSSIBLE, undecided=("a loop over floats",))
    with pytest.raises(CertificateError, match="a loop over floats"):
        established(half, _evidence(half, By.EVALUATION))


@pytest.mark.parametrize(
    ("solvers", "level"), [(("cvc5", "z3"), Level.B), (("z3",), Level.A), (("cvc5",), Level.A)]
)
def test_solvers_are_believed_only_as_solvers(solvers: tuple[str, ...], level: Level) -> None:
    outcome = established(OPEN, _evidence(OPEN, By.SOLVER, solvers=solvers))
    assert outcome.level is level
    assert " and ".join(solvers) in outcome.reason


def test_solvers_that_can_not_have_been_asked_are_not_believed() -> None:
    """What is false when it is derived was no question, and what has no script was one for Z3 alone."""
    strange = matches(var("s", STR), ReRange("\U0003ffff", "\U00040000"))
    no_script = Goal("guarantee.0.0", GoalKind.GUARANTEE, 0, (), strange)
    assert script_of(no_script) is None
    for goal in (IMPOSSIBLE, no_script):
        with pytest.raises(CertificateError, match="could have been asked"):
            established(goal, _evidence(goal, By.SOLVER, solvers=("cvc5", "z3")))
    alone = established(no_script, _evidence(no_script, By.SOLVER, solvers=("z3",)))
    assert alone.level is Level.A


def test_nobody_at_all_is_not_believed() -> None:
    with pytest.raises(CertificateError, match="nobody"):
        established(OPEN, _evidence(OPEN, By.SOLVER))


def test_a_proof_of_something_else_is_refused() -> None:
    certificate = read(PAY.read_bytes())
    derived = {goal.id: goal for goal in check(PAY.read_bytes()).derived}
    proofs = {each.goal: each for each in certificate.goals if each.by is By.PROOF}
    of_assertion = proofs["assertion.1"]
    with pytest.raises(CertificateError, match="proof is wrong"):
        established(
            derived["precondition.0"],
            replace(proofs["precondition.0"], proof=of_assertion.proof),
        )


def test_a_proof_with_a_rule_that_is_not_known_counts_as_what_solvers_said() -> None:
    certificate = read(PAY.read_bytes())
    goal = next(each for each in check(PAY.read_bytes()).derived if each.id == "precondition.0")
    evidence = next(each for each in certificate.goals if each.goal == goal.id)
    assert evidence.proof is not None
    last = evidence.proof.rindex(":rule ")
    strange = evidence.proof[:last] + ":rule trust_me " + evidence.proof[last:].split(" ", 2)[2]
    outcome = established(goal, replace(evidence, proof=strange))
    assert outcome.level is Level.B
    assert "trust_me" in (outcome.unknown_rule or "")
    assert "cvc5 and z3 said so" in outcome.reason


# -- the command -----------------------------------------------------------------------------------


def _run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    code = command.main(["check", *map(str, arguments)])
    return code, capsys.readouterr().out


def _weaker(tmp_path: Path) -> Path:
    """The same certificate, with nothing carried for its proofs."""
    certificate = read(PAY.read_bytes())
    goals_ = tuple(
        replace(each, by=By.SOLVER, proof=None, level=Level.B) if each.by is By.PROOF else each
        for each in certificate.goals
    )
    path = tmp_path / "weak.json"
    path.write_bytes(write(replace(certificate, goals=goals_, level=Level.B)))
    return path


def test_the_command_demands_that_no_solver_is_believed_unless_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    weak = _weaker(tmp_path)
    assert _run(capsys, PAY)[0] == command.VALID
    code, out = _run(capsys, weak)
    assert code == command.REFUSED
    assert out.startswith("too weak")
    assert "--level b" in out
    assert _run(capsys, weak, "--level", "b")[0] == command.VALID
    assert _run(capsys, weak, "--level", "a")[0] == command.VALID
    code, out = _run(capsys, PAY, weak, "--json")
    assert code == command.REFUSED
    first, second = map(json.loads, out.splitlines())
    assert (first["valid"], first["level"]) == (True, "c")
    assert (second["valid"], second["level"]) == (False, "b")
    assert first["guarantees"][0]["strength"] == "on_completion"
    assert len(first["outside"]) == 4


def test_what_was_shown_is_told_not_only_what_somebody_called_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = read(PAY.read_bytes())
    document = check(PAY.read_bytes()).document
    grand = Guarantee("nobody_is_ever_paid()", Anything())
    for guarantees, told in (((grand,), "anything"), ((), "nothing is promised")):
        ir = to_json(replace(document, guarantees=guarantees))
        kept = tuple(each for each in before.goals if each.kind is not GoalKind.GUARANTEE)
        path = tmp_path / "grand.json"
        path.write_bytes(write(replace(before, ir=ir, ir_hash=hash_bytes(ir), goals=kept)))
        code, out = _run(capsys, path)
        assert (code, told in out) == (command.VALID, True), out


def test_everything_that_a_certificate_rests_on_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = _run(capsys, PAY)
    assert code == command.VALID
    rests = out.partition("    rests on:\n")[2].partition("    not shown:\n")[0]
    layer = check(PAY.read_bytes()).certificate.layer_hash
    for line in (
        f"the layer {layer}",
        "and nothing else: balance, note, withdraw",
        "that balance (c1, line 3) keeps its promise: a known balance",
        "    result(c1) == 12345",
        "by returning 12345",
        "that a trusted call that fails ends the run",
        "that the run completes, for cap(5)",
    ):
        assert line in rests
    told = json.loads(_run(capsys, PAY, "--json")[1])["rests_on"]
    assert told == {
        "layer_hash": layer,
        "trusted": ["balance", "note", "withdraw"],
        "promises": [
            {
                "call": "c1",
                "effect": "balance",
                "line": 3,
                "says": "a known balance",
                "formula": "result(c1) == 12345",
                "when": None,
                "witness": "12345",
            }
        ],
        "facts": [],
        "if_the_run_completes": ["cap(5)"],
    }


def _with_fact(path: Path, front_end: FrontEnd) -> Path:
    """A certificate of a document that says something of an unknown, which none of its goals reads."""
    before = read(PAY.read_bytes())
    document = replace(
        check(PAY.read_bytes()).document,
        unknowns=(Unknown("u1", INT, "a counter (line 4)"),),
        facts=(Fact("u1", FactKind.HOLDS, apply("lt", result("u1", INT), const(0))),),
    )
    ir = to_json(document)
    program = document.source_hash if front_end is FrontEnd.PYTHON else None
    made = replace(before, ir=ir, ir_hash=hash_bytes(ir), front_end=front_end, program_hash=program)
    path.write_bytes(write(made))
    return path


def test_facts_that_nobody_read_off_a_program_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out = _run(capsys, _with_fact(tmp_path / "facts.json", FrontEnd.DOCUMENT))
    assert code == command.REFUSED
    assert "facts: the Effect IR was handed in" in out


def test_facts_that_the_front_end_read_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = _with_fact(tmp_path / "facts.json", FrontEnd.PYTHON)
    code, out = _run(capsys, path)
    assert code == command.VALID
    assert "read this right of the unknown u1 (a counter (line 4)):\n" in out
    assert "        holds result(u1) < 0\n" in out
    told = json.loads(_run(capsys, path, "--json")[1])["rests_on"]
    assert told["facts"] == [
        {
            "about": "u1",
            "what": "a counter (line 4)",
            "kind": "holds",
            "term": "result(u1) < 0",
            "first": None,
            "when": None,
        }
    ]


def test_what_can_not_be_read_is_told_apart_from_what_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert _run(capsys, tmp_path / "none.json")[0] == command.UNREADABLE
    other = tmp_path / "other.json"
    other.write_text("{}")
    assert _run(capsys, other)[0] == command.UNREADABLE
    cut = tmp_path / "cut.json"
    cut.write_bytes(PAY.read_bytes()[:-100])
    code, out = _run(capsys, cut, "--json")
    assert code == command.REFUSED
    assert "hash" in json.loads(out)["refused"]


def test_scripts_and_proofs_are_written_out_for_another_checker(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert _run(capsys, PAY, "--extract", tmp_path / "out")[0] == command.VALID
    written = sorted(each.name for each in (tmp_path / "out").iterdir())
    assert written == [
        "README",
        *("assertion.1.cpc", "assertion.1.smt2"),
        *("guarantee.0.0.cpc", "guarantee.0.0.smt2"),
        *("precondition.0.cpc", "precondition.0.smt2"),
    ]
    assert (tmp_path / "out/guarantee.0.0.smt2").read_text().endswith("(check-sat)\n")
    readme = (tmp_path / "out/README").read_text()
    assert "--require-proof-of-false --reference=assertion.1.smt2 assertion.1.cpc" in readme


def test_a_proof_that_takes_too_long_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    certificate = read(PAY.read_bytes())
    idle = "".join(
        f"(step @idle{at} (= {at} {at}) :rule refl :args ({at}))\n" for at in range(120_000)
    )
    slow = tuple(
        replace(each, proof=each.proof.replace("(assume", idle + "(assume", 1))
        if each.proof
        else each
        for each in certificate.goals
    )
    path = tmp_path / "slow.json"
    path.write_bytes(write(replace(certificate, goals=slow)))
    code, out = _run(capsys, path, "--timeout", "1")
    assert code == command.REFUSED
    assert "within 1 s" in out


def test_a_certificate_says_whether_there_is_a_program() -> None:
    certificate = read(PAY.read_bytes())
    handed_in = replace(certificate, front_end=FrontEnd.DOCUMENT, program_hash=None)
    assert check(write(handed_in)).certificate.program_hash is None
    for wrong in (
        replace(certificate, front_end=FrontEnd.DOCUMENT),
        replace(certificate, program_hash=None),
        replace(certificate, program_hash="sha256:" + "0" * 64),
        replace(certificate, layer_hash=None),
    ):
        with pytest.raises(CertificateError, match="_hash"):
            check(write(wrong))
