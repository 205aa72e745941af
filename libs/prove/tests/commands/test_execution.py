"""Programs in commands, executed: the calls they make, and where they stop instead of going wrong."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from libs.prove.tests.python_front_end import LAYER, UserRow
from lictor_ir.json.document import to_json
from lictor_ir.text import write
from lictor_ir.types import INT, NONE
from lictor_layer.rows import row_class
from lictor_prove.commands import HEADER, Executed, ExecutionError, execute, read_commands
from lictor_prove.errors import Rejected
from lictor_prove.layer_model import LayerParameter, TrustedFunction
from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.proof.prover import document_of, prove
from lictor_prove.workers.pool import Job, Pool, Roots
from lictor_schema.proofs.proof import ProofVerdict

EXAMPLES = Path(__file__).parents[4] / "examples"
Calls = list[tuple[str, dict[str, Any]]]


def done(
    *lines: str,
    inputs: Mapping[str, Any] | None = None,
    answers: Mapping[str, Callable[[], Any]] | None = None,
    **options: Any,
) -> tuple[Executed, Calls]:
    """What a program did, with functions that answer as told."""
    calls: Calls = []

    def call(function: str, arguments: Mapping[str, Any]) -> Any:
        calls.append((function, dict(arguments)))
        return (answers or {}).get(function, lambda: None)()

    commands = read_commands("\n".join([HEADER, *lines]), layer=LAYER)
    options.setdefault("rows", {"UserRow": UserRow})
    return execute(commands, inputs or {}, call, **options), calls


def stopped(*lines: str, **given: Any) -> ExecutionError:
    """Why a program could not go on."""
    with pytest.raises(ExecutionError) as failure:
        done(*lines, **given)
    return failure.value


def test_calls_are_made_in_order_with_arguments_by_name() -> None:
    ended, calls = done('call send(msg = "m", addr = "a")', "call pay(amount = 2)")
    assert calls == [("send", {"addr": "a", "msg": "m"}), ("pay", {"amount": 2})]
    assert list(calls[0][1]) == ["addr", "msg"]
    assert (ended.calls, ended.steps, ended.stopped) == (2, 2, None)


def test_a_run_tells_where_it_was_stopped() -> None:
    ended, calls = done("for i in 0..5 {", "when i == 2 { stop }", "call pay(amount = i)", "}")
    assert [given["amount"] for _, given in calls] == [0, 1]
    assert ended.stopped is not None
    assert ended.stopped.line == 3


def test_a_count_below_one_is_no_round() -> None:
    assert done("input n: int", "for i in 0..n { call number() }", inputs={"n": -(2**70)})[1] == []


def test_rows_pass_the_boundary_as_the_layers_own_and_are_made_anew() -> None:
    row = UserRow(email="a@b", age=3, active=True)
    _, calls = done(
        "found = call users()",
        "for each user in found { call note(value = user) }",
        'let made = row UserRow(email = "c", age = 1, active = false)',
        "call note(value = [made])",
        answers={"users": lambda: [row]},
    )
    passed = calls[1][1]["value"]
    assert passed == row
    assert passed is not row
    assert calls[2][1]["value"] == [UserRow(email="c", age=1, active=False)]


def test_containers_pass_as_python_has_them() -> None:
    _, calls = done('call note(value = [set(1, 2), tuple("a", none), {"k": [1.5]}])')
    (value,) = [given["value"] for _, given in calls]
    assert value == [{1, 2}, ("a", None), {"k": [1.5]}]
    assert [type(each) for each in value] == [set, tuple, dict]


def test_what_a_function_does_to_its_arguments_is_not_seen() -> None:
    seen: list[Any] = []

    def call(function: str, arguments: Mapping[str, Any]) -> Any:
        if function == "names":
            return kept
        seen.append(list(arguments["values"]))
        arguments["values"].append("more")
        return None

    kept = ["a"]
    commands = read_commands(
        f"{HEADER}\nxs = call names()\ncall tags(values = xs)\ncall tags(values = xs)", layer=LAYER
    )
    execute(commands, {}, call)
    assert seen == [["a"], ["a"]]
    assert kept == ["a"]


class Sly(str):
    """A string that is not what it seems."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


@pytest.mark.parametrize(
    ("function", "returned"),
    [
        ("number", True),
        ("number", 1.0),
        ("number", None),
        ("text", Sly("a")),
        ("text", b"a"),
        ("rate", 1),
        ("names", ("a",)),
        ("names", ["a", 1]),
        ("names", None),
        ("users", [{"email": "a", "age": 1, "active": True}]),
        ("users", [row_class("UserRow", {"email": str, "age": int, "active": bool})(email="a", age=1, active=True)]),
    ],
)  # fmt: skip
def test_a_result_of_another_type_ends_the_run(function: str, returned: Any) -> None:
    failure = stopped(
        f"x = call {function}()", "call pay(amount = 1)", answers={function: lambda: returned}
    )
    assert f"what {function} returned must be" in failure.message
    assert failure.span is not None
    assert failure.span.line == 2


def test_a_result_of_another_type_ends_the_run_also_when_nobody_names_it() -> None:
    assert "must be int" in stopped("call number()", answers={"number": lambda: "1"}).message


@pytest.mark.parametrize(
    "inputs", [{}, {"x": 1, "y": 2}, {"x": True}, {"x": 1.0}, {"x": "1"}, {"y": 1}]
)
def test_inputs_are_exactly_those_declared(inputs: dict[str, Any]) -> None:
    calls_none = stopped("input x: int", "call pay(amount = x)", inputs=inputs)
    assert calls_none.span is None
    assert "x" in calls_none.message


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("call pay(amount = 1 // x)", "divisor is not zero"),
        ("call pay(amount = 1 % x)", "divisor is not zero"),
        ("call pay_float(amount = fdiv(1.0, float_of_int(x)))", "divisor is not zero"),
        ("call pay(amount = [1][x + 1])", "index is within the list"),
        ("call pay(amount = [1][x - 1])", "index is within the list"),
        ("assert x == 1", "assertion does not hold"),
        ("when true and 1 // x == 1 { stop }", "divisor is not zero"),
    ],
)
def test_what_the_document_obliges_is_tested_before_the_call(line: str, says: str) -> None:
    made: list[str] = []

    def call(function: str, arguments: Mapping[str, Any]) -> None:
        del arguments
        made.append(function)

    source = f"{HEADER}\ninput x: int\n{line}"
    commands = read_commands(source, layer=LAYER)
    with pytest.raises(ExecutionError, match=says):
        execute(commands, {"x": 0}, call)
    assert made == []
    assert prove(source, name="p", layer=LAYER, language="commands").verdict is ProofVerdict.REFUTED


def test_what_is_not_needed_is_not_tested() -> None:
    _, calls = done(
        "input x: int",
        "when x == 0 or 1 // x == 1 { call pay(amount = (if x == 0 then 5 else 1 // x)) }",
        inputs={"x": 0},
    )
    assert calls == [("pay", {"amount": 5})]


def test_a_parameter_that_has_no_name_is_not_left_out_before_another() -> None:
    placed = [
        LayerParameter("first", INT, has_default=True, positional_only=True),
        LayerParameter("second", INT, has_default=True, positional_only=True),
    ]
    put = TrustedFunction("put", "tools.desk.trusted.effects", tuple(placed), NONE)
    layer = dataclasses.replace(LAYER, functions={"put": put})
    with pytest.raises(Rejected, match="second of put is given without first"):
        read_commands(f"{HEADER}\ncall put(second = 2)", layer=layer)
    source = f"{HEADER}\ncall put(second = 2, first = 1)"
    (atom,) = document_of(source, name="p", layer=layer, language="commands").atoms
    assert {name: repr(term) for name, term in atom.arguments.items()} == {
        "first": "Const(1)",
        "second": "Const(2)",
    }


def test_steps_are_bounded() -> None:
    assert "more than 100 steps" in stopped("for i in 0..1000 { }", max_steps=100).message


def test_numbers_and_texts_that_grow_without_end_stop_the_run() -> None:
    grown = ["let a0 = x * x", *(f"let a{n + 1} = a{n} * a{n}" for n in range(40))]
    failure = stopped("input x: int", *grown, inputs={"x": 2**64})
    assert "too large to evaluate" in failure.message


def test_what_a_trusted_function_raises_is_raised_as_it_is() -> None:
    def call(function: str, arguments: Mapping[str, Any]) -> Any:
        raise PermissionError(function, dict(arguments))

    commands = read_commands(f"{HEADER}\ncall pay(amount = 1)", layer=LAYER)
    with pytest.raises(PermissionError, match="pay"):
        execute(commands, {}, call)


# -- executable, not descriptive -------------------------------------------------------------------


def test_a_document_of_a_program_is_no_program() -> None:
    source = f'{HEADER}\ncall send(addr = "a", msg = "b")'
    document = document_of(source, name="p", layer=LAYER, language="commands")
    for described in (write(document), to_json(document).decode(), json.dumps({"format": 1})):
        with pytest.raises(Rejected) as refused:
            read_commands(described, layer=LAYER)
        assert refused.value.reasons[0].code == "program.descriptive"


def test_the_example_is_proved_and_mails_everybody_on_the_list() -> None:
    root = EXAMPLES / "layers"
    layer = load_layer(discover_trusted_roots([root]), [root])
    source = (EXAMPLES / "programs/newsletter.lictor").read_text("utf-8")
    proof = prove(source, name="newsletter.lictor", layer=layer, language="commands")
    assert proof.verdict is ProofVerdict.PROVED
    assert [each.name for each in proof.guarantees] == [
        "only_list('newsletter')",
        "to_contacts()",
        "at_most(50)",
        "short_texts()",
    ]
    contact = row_class("Contact", {"name": str, "email": str, "mailing_list": str})
    book = [contact(name=each, email=f"{each}@x", mailing_list="newsletter") for each in "ab"]
    book.append(contact(name="c", email="no address", mailing_list="newsletter"))
    mailed: list[str] = []

    def call(function: str, arguments: Mapping[str, Any]) -> Any:
        if function == "list_contacts":
            return book
        mailed.append(f"{arguments['name']} <{arguments['addr']}>")
        return None

    execute(read_commands(source, layer=layer), {}, call, rows={"Contact": contact})
    assert mailed == ["a <a@x>", "b <b@x>"]


def test_the_program_in_the_documentation_is_proved() -> None:
    page = (EXAMPLES.parent / "docs/commands.md").read_text("utf-8")
    (source,) = re.findall(r"```commands\n(.*?)```", page, re.DOTALL)
    root = EXAMPLES / "layers"
    layer = load_layer(discover_trusted_roots([root]), [root])
    proof = prove(source, name="page", layer=layer, language="commands")
    assert proof.verdict is ProofVerdict.PROVED, proof.reasons


def test_workers_prove_commands_and_survive_what_is_none() -> None:
    root = EXAMPLES / "layers"
    roots = Roots((str(root / "tools/mail/trusted"),), (str(root),))

    def job(source: str) -> Job:
        return Job(source, language="commands", roots=roots)

    source = (EXAMPLES / "programs/newsletter.lictor").read_text("utf-8")
    with Pool(1) as pool:
        for bad in (
            "",
            "\x00",
            f"{HEADER}\n" + "when true {" * 10_000,
            "#" * 1_000_000,
            "effect-ir v1",
        ):
            assert pool.prove(job(bad)).verdict is ProofVerdict.REJECTED
        proof = pool.prove(job(source))
        assert proof.verdict is ProofVerdict.PROVED
        assert proof.coverage is not None
        assert [each.stated for each in proof.coverage.domains] == [
            ("only_list", "to_contacts", "at_most")
        ]
        short = source.replace("the new issue is out.", "x" * 501)
        assert pool.prove(job(short)).verdict is ProofVerdict.REFUTED
