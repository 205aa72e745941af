"""A program that a stage performs before its first order, and each child of it before its own.

It does what programs do: what is looked up, made or copied on the way then takes no time of an order. Memory is shared
with the parent until it is touched, so the more of Python it goes through, the less is copied later.
"""

from __future__ import annotations

from typing import Final

from lictor_prove.rehearsal.order_json import order_bytes
from lictor_prove.rehearsal.orders import Answer, PlannedRun, StageOrder

_SOURCE: Final = """\
from lictor_layer import Row, guarantee
from shop.trusted import contracts
from shop.trusted.effects import find, pay


class Account(Row):
    name: str
    cents: int


LIMIT = 3


def amount(number: int) -> float:
    return number * 1.5 if number > 1 else 2.5


@guarantee(contracts.at_most(LIMIT))
@guarantee(contracts.only(["ann", "bob"]))
def main(count: int) -> None:
    seen: dict[str, int] = {}
    for number in range(count):
        if number < 2 and not seen.get("bob"):
            pay(f"number {number}", [number, amount(number)])
    names = [each.name for each in find(Account, limit=LIMIT) if each.cents >= 0]
    seen["found"] = len(sorted(set(names)))
    if "ann" in names or names == []:
        pay(name="ann" + str(count), cents=(1, 2))
"""


def _parameter(name: str, *, default: bool = False) -> dict[str, object]:
    return {"name": name, "kind": "either", "default": default}


_ANSWERS: Final = (
    Answer("pay", None),
    Answer("pay", None),
    Answer("find", [{"row": "Account", "columns": {"name": "ann", "cents": 3}}]),
    Answer("pay", None),
)
EXERCISE: Final = order_bytes(
    StageOrder(
        language="python",
        source=_SOURCE,
        source_name="exercise.py",
        target="main",
        outline={
            "modules": {
                "shop.trusted": {},
                "shop.trusted.contracts": {
                    "at_most": {"contract": True},
                    "only": {"contract": True},
                },
                "shop.trusted.effects": {"find": {"effect": "find"}, "pay": {"effect": "pay"}},
            },
            "effects": {
                "find": {
                    "parameters": [_parameter("row"), _parameter("limit", default=True)],
                    "of_schema": "row",
                },
                "pay": {"parameters": [_parameter("name"), _parameter("cents", default=True)]},
            },
            "rows": {"Order": {"columns": {"name": "str"}}},
            "enums": {},
        },
        runs=(
            PlannedRun({"count": 3}, _ANSWERS),
            PlannedRun({"count": 3}, _ANSWERS[:1], fails_at=1),
        ),
    )
)
