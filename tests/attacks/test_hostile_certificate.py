"""Files that somebody made to keep a reader busy: nobody takes longer over one than it was given, or believes it."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import pytest

from lictor_ir.certificate.cpc import InvalidProof
from lictor_ir.certificate.cpc import check as follow
from lictor_ir.document import Obligation, ObligationKind
from lictor_ir.errors import FormError
from lictor_ir.json.document import from_json, to_json
from lictor_ir.operators import result_type
from lictor_ir.spelling import literals
from lictor_ir.terms import TRUE, Term, application, const, var
from lictor_ir.text import read as read_text
from lictor_ir.types import INT
from lictor_policy.packs.strict_yaml import YamlError, read_yaml
from lictor_schema.core.canonical_json import CanonicalError, canonical_json, hash_bytes, parse_json
from lictor_seal import NoteError, parse_note

PAY = Path(__file__).parents[2] / "libs/ir/tests/certificate/pay.json"
BODY: dict[str, Any] = json.loads(PAY.read_bytes())["certificate"]
EFFECT_IR = PAY.with_name("pay.effect-ir").read_text("utf-8")
REFUSED, UNREADABLE = 1, 2
HUGE_BITS = 5_800_000
"""Of a number: two of them make a file of 2.9 MB."""


def sealed(body: dict[str, Any]) -> bytes:
    """A file of this body, with its hashes written anew."""
    body = {**body, "ir_hash": hash_bytes(canonical_json(body["ir"]))}
    whole = canonical_json(body)
    return b'{"certificate":' + whole + b',"hash":"' + hash_bytes(whole).encode() + b'"}'


def asserting(formula: Term, **spelled: str) -> bytes:
    """A file whose Effect IR asserts a formula, where each placeholder is spelled as is said."""
    document = from_json(canonical_json(BODY["ir"]))
    asserted = Obligation(ObligationKind.ASSERTION, formula, "hostile", TRUE, (), None, None)
    ir = to_json(dataclasses.replace(document, obligations=(*document.obligations, asserted)))
    for placeholder, value in spelled.items():
        ir = ir.replace(b'"%b"' % PLACEHOLDERS[placeholder].encode(), b'"%b"' % value.encode())
    return sealed({**BODY, "ir": json.loads(ir)})


PLACEHOLDERS = {"one": "77771", "other": "77773", "real": "77777/2"}
ONE, OTHER, REAL_ONE = const(77771), const(77773), const(Fraction(77777, 2))
X = var("x", INT)
CHANCE = Random(15)
HUGE, LARGE = (hex(CHANCE.getrandbits(bits) | 1) for bits in (HUGE_BITS, HUGE_BITS // 2))
HUGE_REAL = f"{HUGE}/{hex(CHANCE.getrandbits(HUGE_BITS) | 1)}"


def made(op: str, *args: Term) -> Term:
    """An application as a file has it: not folded."""
    return application(op, args, "", result_type(op, tuple(arg.type for arg in args), ""))


def squared(first: Term, times: int) -> Term:
    """A number that is squared, and the square squared: few rows, and more bits than there is memory."""
    for _ in range(times):
        first = made("mul", first, first)
    return first


def doubled(first: Term, times: int) -> Term:
    """A sum of a sum of a sum: flat, it has more addends than there is memory."""
    for _ in range(times):
        first = made("add", first, first)
    return first


def slow_proof() -> bytes:
    idle = "".join(f"(step @i{n} (= {n} {n}) :rule refl :args ({n}))\n" for n in range(120_000))
    goals = [
        {**goal, "proof": goal["proof"].replace("(assume", idle + "(assume", 1)}
        if goal["proof"]
        else goal
        for goal in BODY["goals"]
    ]
    return sealed({**BODY, "goals": goals})


def witnessed(rows: list[dict[str, Any]]) -> bytes:
    """A certificate whose witness is the last of these terms."""
    (witness,) = BODY["witnesses"]
    other = {**witness, "terms": rows, "value": len(rows) - 1}
    return sealed({**BODY, "witnesses": [other]})


HOSTILE: dict[str, Callable[[], bytes]] = {
    "real": lambda: asserting(made("lt", REAL_ONE, const(Fraction(1))), real=HUGE_REAL),
    "int": lambda: asserting(made("lt", made("mod", ONE, OTHER), X), one=HUGE, other=LARGE),
    "witness": lambda: witnessed([{"const": "real", "value": HUGE_REAL}]),
    "squared_witness": lambda: witnessed(
        [
            {"const": "int", "value": "3"},
            *({"op": "mul", "args": [at, at]} for at in range(60)),
        ]
    ),
    "deep_witness": lambda: witnessed(
        [
            {"var": "x", "type": "int"},
            {"op": "lt", "args": [0, 0]},
            *({"op": "ite", "args": [1, 0, at]} for at in [0, *range(2, 20_000)]),
        ]
    ),
    "squared_real": lambda: asserting(made("lt", squared(REAL_ONE, 60), const(Fraction(1)))),
    "divided_real": lambda: asserting(
        made("lt", made("rdiv", REAL_ONE, squared(REAL_ONE, 40)), const(Fraction(1)))
    ),
    "squared_int": lambda: asserting(made("lt", squared(ONE, 60), X)),
    "doubled_sum": lambda: asserting(made("lt", doubled(X, 60), made("neg", X))),
    "doubled_string": lambda: asserting(
        made("contains", made("str_of_int", squared(ONE, 40)), const("7"))
    ),
    "slow_proof": slow_proof,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_not_valid_and_costs_no_more_than_it_was_given(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "hostile.json"
    path.write_bytes(HOSTILE[name]())
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-m", "lictor_ir", "check", "--json", "--timeout", "2", str(path)],
        capture_output=True,
        check=False,
    )
    after = os.times()
    told = json.loads(done.stdout)
    assert told["valid"] is False
    assert done.returncode in (REFUSED, UNREADABLE)
    assert {"refused", "unreadable", "unchecked"} & set(told)
    # Processor time, so a busy machine does not matter: the two seconds that were given, and the start of Python.
    used = after.children_user + after.children_system
    assert used - before.children_user - before.children_system < 10


def many(op: str, count: int, spell: Callable[[int], str]) -> str:
    return f"({op} {' '.join(spell(CHANCE.getrandbits(12_900) | 1) for _ in range(count))})"


PROOFS: dict[str, tuple[str, Callable[[], str]]] = {
    "addends_evaluated": ("evaluate", lambda: many("+", 1_500, lambda n: f"1/{n}")),
    "factors_evaluated": ("evaluate", lambda: many("*", 1_500, str)),
    "addends_of_a_polynomial": (
        "arith_poly_norm",
        lambda: f"(= {many('+', 1_500, lambda n: f'1/{n}')} 1/2)",
    ),
    "factors_of_a_polynomial": ("arith_poly_norm", lambda: f"(= {many('*', 1_500, str)} 1)"),
}


@pytest.mark.parametrize("name", PROOFS)
def test_numbers_of_a_proof_do_not_outgrow_their_bound_within_one_step(name: str) -> None:
    rule, argument = PROOFS[name]
    given = argument()

    def taken(used: str) -> float:
        before = process_time()
        with pytest.raises(InvalidProof, match="too large" if used == rule else "end with false"):
            follow("(assert false)(check-sat)", f"((step @p1 :rule {used} :args ({given})))")
        return process_time() - before

    # Beside a rule that only reads them: a product of all would take hundreds of times as long.
    assert taken(rule) < 20 * taken("refl")


# -- other files that strangers write --------------------------------------------------------------


@pytest.mark.parametrize("value", [HUGE_REAL, f"{HUGE}/1", f"1/{HUGE}"], ids=range(3))
def test_no_reader_of_effect_ir_looks_for_the_divisor_of_huge_numbers(value: str) -> None:
    with pytest.raises(FormError, match=r"bits|too long"):
        literals.read_real(value)


def test_what_can_be_spelled_can_be_read_again_and_nothing_longer_is_spelled() -> None:
    longest = (1 << literals.MAX_INT_BITS) - 1
    assert literals.read_int(literals.spell_int(-longest)) == -longest
    real = Fraction((1 << literals.MAX_REAL_BITS) - 1, 2)
    assert literals.read_real(literals.spell_real(real)) == real
    with pytest.raises(FormError, match="bits"):
        literals.spell_int(longest + 1)
    with pytest.raises(FormError, match="bits"):
        literals.spell_real(Fraction(1 << literals.MAX_REAL_BITS))


STRANGE: dict[str, Callable[[], object]] = {
    "json_digits": lambda: parse_json(b"9" * 1_000_000),
    "json_nested": lambda: parse_json(b"[" * 1_000_000),
    "json_exponent": lambda: parse_json(b"1e999999999"),
    "yaml_nested": lambda: read_yaml(b"a: " + b"[" * 100_000),
    "yaml_sequence": lambda: read_yaml(b"- " * 20_000),
    "yaml_large": lambda: read_yaml(b"a: 0x" + b"f" * 2_000_000),
    "yaml_aliases": lambda: read_yaml(b"a: &a [x, x]\nb: [*a, *a]"),
    "text_brackets": lambda: read_text(EFFECT_IR.replace("12345", "(" * 200_000)),
    "text_digits": lambda: read_text(EFFECT_IR.replace("12345", "9" * 1_000_000)),
    "text_hex": lambda: read_text(EFFECT_IR.replace("12345", HUGE)),
    "note_signatures": lambda: parse_note("a\n\n" + "— a b\n" * 200_000),
    "note_lines": lambda: parse_note("\n" * 900_000),
}


@pytest.mark.parametrize("name", STRANGE)
def test_readers_refuse_what_would_keep_them_busy(name: str) -> None:
    with pytest.raises((CanonicalError, YamlError, FormError, NoteError)):
        STRANGE[name]()


def test_yaml_does_not_make_numbers_of_what_it_reads() -> None:
    """Hex, octal and base 60 would be quadratic, or mean something else than they look like."""
    for digits in (b"9" * 900_000, b"0x" + b"f" * 900_000, b"1:" * 200_000 + b"1"):
        assert read_yaml(b"a: " + digits).data == {"a": digits.decode()}
