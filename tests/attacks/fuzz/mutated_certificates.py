"""Certificates with a part changed and sealed again: each is refused, or what it shows is so.

What is accepted about the same Effect IR is right, because that is proved. About another Effect IR, a solver that the
checker does not use decides the goals: one that fails makes the certificate a lie.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from cpc_steps import changed_proof
from fuzz.tally import Tally, Told, silent

from lictor_ir.certificate.check import Report, check
from lictor_ir.errors import IrError
from lictor_ir.solver.answers import Conclusion
from lictor_ir.solver.z3_lowering import decide
from lictor_schema.core.canonical_json import CanonicalError, canonical_json, hash_bytes

PAY = Path(__file__).parents[3] / "libs/ir/tests/certificate/pay.json"
BODY: dict[str, Any] = json.loads(PAY.read_bytes())["certificate"]
GOAL_MS, MEMORY_MB = 2_000, 512
Place = tuple[str | int, ...]


def fuzz(count: int, seed: int, told: Told = silent) -> Tally:
    """Try this many changed certificates."""
    chance, tally = Random(seed), Tally(told)
    places = list(_places(BODY))
    while tally.applied < count:
        body = copy.deepcopy(BODY)
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            if chance.random() < 0.4:
                _change_proof(chance, body)
            else:
                _change_part(chance, body, chance.choice(places))
        tally.begin()
        try:
            report = check(_sealed(body))
        except (IrError, CanonicalError):
            tally.refused += 1
            continue
        if report.certificate.ir_hash == BODY["ir_hash"]:
            tally.right += 1
            continue
        _judge(report, tally)
    return tally


def _judge(report: Report, tally: Tally) -> None:
    """Whether a solver agrees about every goal of another Effect IR."""
    found = [
        (goal, decide(goal, GOAL_MS, MEMORY_MB).conclusion)
        for goal in report.derived
        if not goal.folded
    ]
    for goal, conclusion in found:
        if conclusion is Conclusion.FAILS:
            tally.wrong.append(f"{goal.id} of {report.certificate.ir.decode()}")
            return
    if any(conclusion is Conclusion.UNDECIDED for _, conclusion in found):
        tally.open += 1
    else:
        tally.right += 1


def _sealed(body: dict[str, Any]) -> bytes:
    if "ir" in body:
        body["ir_hash"] = hash_bytes(canonical_json(body["ir"]))
    whole = canonical_json(body)
    return b'{"certificate":' + whole + b',"hash":"' + hash_bytes(whole).encode() + b'"}'


def _places(value: Any, here: Place = ()) -> Iterator[Place]:
    if here:
        yield here
    members = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, member in members:
        yield from _places(member, (*here, key))


def _change_proof(chance: Random, body: dict[str, Any]) -> None:
    carried = [goal for goal in body.get("goals") or () if _has_proof(goal)]
    if carried:
        goal = chance.choice(carried)
        goal["proof"] = changed_proof(chance, goal["proof"])


def _has_proof(goal: Any) -> bool:
    return isinstance(goal, dict) and "(step" in str(goal.get("proof"))


def _change_part(chance: Random, body: dict[str, Any], place: Place) -> None:
    holder: Any = body
    try:
        for part in place[:-1]:
            holder = holder[part]
        holder[place[-1]] = _other(chance, holder[place[-1]])
    except (KeyError, IndexError, TypeError):
        return  # an earlier change took it away


def _other(chance: Random, value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return chance.choice((value + 1, value - 1, 0, chance.randrange(25)))
        case str() if value.removeprefix("-").isdigit():
            return str(chance.choice((int(value) + 1, int(value) - 1, 0, -int(value))))
        case str():
            words = ("lt", "le", "eq", "and", "or", "<", "<=", ">=", "x", "y", "int", "c", "solver")
            return chance.choice((*words, value[::-1], ""))
        case list() if value:
            return chance.choice((value[::-1], value[:-1], value[1:], [*value, value[-1]]))
        case dict() if value:
            gone = chance.choice(list(value))
            return {key: each for key, each in value.items() if key != gone}
        case _:
            return chance.choice((None, 0, "", [], {}))
