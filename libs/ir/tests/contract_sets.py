"""A small signature, all kinds of contracts over it, and traces made by hand: for tests of contract analysis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from hypothesis import strategies as st

from lictor_ir.analysis import Behaviour, Signature
from lictor_ir.contracts import (
    All,
    AtEnd,
    Before,
    Both,
    Comparison,
    Contract,
    Count,
    Distinct,
    Empty,
    NeverAfter,
    Relation,
    SharesValue,
    Sum,
    field,
)
from lictor_ir.document import Atom, Effect, Event, Fluent, Parameter, Performed, Update
from lictor_ir.evaluation import Step, Trace
from lictor_ir.terms import Term, apply, const, eq, not_, or_, var
from lictor_ir.types import BOOL, INT, NONE, STR

X, S = field("x", INT), field("s", STR)
FREE = Signature(
    effects=(
        Effect("take", (Parameter("x", INT),), NONE),
        Effect("send", (Parameter("x", INT), Parameter("s", STR)), NONE),
    ),
    events=(
        Event("Move", ("Move",), (Parameter("x", INT),)),
        Event("Fast", ("Fast", "Move"), (Parameter("x", INT),)),
    ),
    fluents=(Fluent("open", INT, BOOL, const(value=False)),),
)
KNOWN = Signature(
    FREE.effects,
    FREE.events,
    fluents=FREE.fluents,
    behaviours={
        "take": Behaviour(
            events=(Performed("Fast", {"x": X}),),
            updates=(Update("open", X, const(value=True)),),
            demands=(apply("le", const(0), X),),
        ),
        "send": Behaviour(updates=(Update("open", X, const(value=False)),)),
    },
)

Call = tuple[str, dict[str, int | str], tuple[tuple[str, int], ...], tuple[tuple[int, bool], ...]]
"""Effect, arguments, events and settings."""
NUMBERS: Sequence[int] = (-1, 0, 1, 2)
TEXTS: Sequence[str] = ("", "a", "é\x00")


def steps_of(signature: Signature) -> list[Call]:
    """Every step over a few values: effect, arguments, events and settings."""
    calls: list[tuple[str, dict[str, int | str]]] = [("take", {"x": x}) for x in NUMBERS]
    calls += [("send", {"x": x, "s": s}) for x, s in product(NUMBERS[1:3], TEXTS)]
    found: list[Call] = []
    for effect, given in calls:
        x = given["x"]
        assert isinstance(x, int)
        if signature.behaviours is None:
            for events in ((), (("Move", 0),), (("Fast", 1), ("Move", 1))):
                for settings in ((), ((0, True),), ((1, False),)):
                    found.append((effect, given, events, settings))
        elif effect == "take":
            if x >= 0:
                found.append((effect, given, (("Fast", x),), ((x, True),)))
        else:
            found.append((effect, given, (), ((x, False),)))
    return found


def trace_of(signature: Signature, steps: Sequence[Call]) -> Trace:
    """The steps as a trace."""
    made: list[Step] = []
    for number, (effect, given, events, settings) in enumerate(steps):
        atom = Atom(
            f"c{number}",
            effect,
            {name: const(value) for name, value in given.items()},
            events=tuple(Performed(name, {"x": const(x)}) for name, x in events),
            updates=tuple(Update("open", const(key), const(value)) for key, value in settings),
        )
        made.append(
            Step(
                number,
                atom,
                (),
                given,
                tuple((name, {"x": x}) for name, x in events),
                tuple(("open", key, value) for key, value in settings),
                None,
            )
        )
    return Trace(signature.document(), {}, tuple(made), {})


def traces(signature: Signature, length: int) -> Iterator[Trace]:
    """Every trace of so many steps."""
    for steps in product(steps_of(signature), repeat=length):
        yield trace_of(signature, steps)


# -- contracts ---------------------------------------------------------------------------------------

_predicates = st.one_of(
    st.builds(lambda n: apply("le", X, const(n)), st.sampled_from(NUMBERS)),
    st.builds(lambda n: apply("le", const(n), X), st.sampled_from(NUMBERS)),
    st.builds(lambda n: eq(X, const(n)), st.sampled_from(NUMBERS)),
    st.builds(
        lambda ns: apply("in", X, apply("list", *map(const, ns))),
        st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=3, unique=True),
    ),
)
_predicates = st.one_of(
    _predicates,
    st.builds(not_, _predicates),
    st.builds(lambda one, other: or_(one, other), _predicates, _predicates),
)


def _relation(names: tuple[tuple[str, ...], tuple[str, ...]], where: Term | None) -> Relation:
    return Relation(names[0], names[1], where)


relations = st.builds(
    _relation,
    st.sampled_from(
        [
            (("take",), ()),
            (("send",), ()),
            (("take", "send"), ()),
            ((), ("Move",)),
            ((), ("Fast",)),
            (("take",), ("Move",)),
        ]
    ),
    st.one_of(st.none(), _predicates),
)
_sending = st.builds(
    Relation,
    st.just(("send",)),
    st.just(()),
    st.one_of(
        st.none(),
        st.builds(lambda text: eq(S, const(text)), st.sampled_from(TEXTS)),
        st.builds(lambda text: apply("startswith", S, const(text)), st.sampled_from(TEXTS)),
    ),
)
_bounds = st.integers(-1, 3).map(const)
_set = var("value", BOOL)
_key = var("key", INT)

leaves = st.one_of(
    st.builds(All, relations, _predicates),
    st.builds(All, _sending, st.builds(lambda text: eq(S, const(text)), st.sampled_from(TEXTS))),
    st.builds(Empty, st.one_of(relations, _sending)),
    st.builds(Distinct, relations, st.just(X)),
    st.builds(Distinct, _sending, st.just(S)),
    st.builds(Count, relations, st.sampled_from(list(Comparison)), _bounds),
    st.builds(Sum, relations, st.just(X), st.sampled_from(list(Comparison)), _bounds),
    st.builds(SharesValue, relations, relations, st.just(X)),
    st.builds(Before, relations, relations),
    st.builds(Before, relations, relations, st.just(X), st.just(X)),
    st.builds(NeverAfter, relations, relations),
    st.builds(
        AtEnd,
        st.just("open"),
        st.sampled_from([_set, not_(_set), or_(_set, eq(_key, const(1)))]),
        st.one_of(st.none(), st.sampled_from(NUMBERS[1:3]).map(const)),
    ),
)
contracts: st.SearchStrategy[Contract] = st.one_of(
    leaves, leaves, leaves, st.builds(Both, st.tuples(leaves, leaves))
)
