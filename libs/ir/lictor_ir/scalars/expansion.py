"""Takes containers, rows and `any` apart into formulas over scalars: the one place of Python's equality over terms.

After `Expander.expand` a term is made of scalars, places (`lictor_ir.places`) and scalar operators only. Equality is
Python's: numbers of all types compare as numbers, a list is no tuple, a dict keeps the last of equal keys, sets are
compared by what they hold.

Inside containers Python takes one and the same NaN object as equal to itself. Terms don't have that identity, so two
floats are compared inside containers only when one of them is known to be a number: otherwise UnsupportedError.

What can't be taken apart but has one truth value for given values, such as `x in` a list that a call returned, becomes
a variable of its own. That is sound for proofs, as the variable may be anything; `approximations` says so, and a model
of such a goal is only a candidate.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from typing import Final

from lictor_ir.document import Schema
from lictor_ir.errors import UnsupportedError
from lictor_ir.provenance import ORIGIN_OPERATORS
from lictor_ir.scalars import rewriting
from lictor_ir.terms import (
    FALSE,
    TRUE,
    App,
    Const,
    Matches,
    Result,
    Term,
    Var,
    and_,
    apply,
    children,
    column,
    const,
    ite,
    matches,
    not_,
    or_,
    postorder,
    result,
    substitute,
    var,
)
from lictor_ir.types import (
    ANY,
    FLOAT,
    NEVER,
    STR,
    EnumOf,
    ListOf,
    MapOf,
    OptionalOf,
    RowOf,
    Scalar,
    SetOf,
    TupleOf,
    Type,
)

MADE: Final = frozenset({"list", "tuple", "set", "dict", "row"})
MAX_COMPARISONS: Final = 50_000
"""One formula may need so many comparisons of parts; more is unsupported."""
STAND_IN: Final = "?"
"""Names of variables that stand in for what can't be taken apart begin with this."""

_Ask = tuple[Term, Term, bool]
_Work = Generator[_Ask, Term, Term]


class Expander:
    """Expands the terms of one document; remembers what it did."""

    def __init__(self, schemas: Sequence[Schema] = ()) -> None:
        self.approximations: dict[Var, Term] = {}
        """The stand-ins, and what each stands for."""
        self._schemas: Mapping[str, Schema] = {schema.name: schema for schema in schemas}
        self._done: dict[Term, Term] = {}
        self._equal: dict[_Ask, Term] = {}
        self._stand_ins: dict[Term, Var] = {}
        self._comparisons = 0

    def expand(self, root: Term) -> Term:
        """The same value, without containers."""
        self._comparisons = 0
        done = self._done
        stack: list[tuple[Term, bool]] = [(root, False)]
        while stack:
            term, ready = stack.pop()
            if ready:
                done[term] = self._expanded(term)
            elif term not in done:
                stack.append((term, True))
                stack.extend((part, False) for part in reversed(children(term)) if part not in done)
        return done[root]

    def equal(self, left: Term, right: Term) -> Term:
        """Python's == of two terms, expanded."""
        self._comparisons = 0
        return self._compared(self.expand(left), self.expand(right), inside=False)

    def moved(self, term: Term, values: Mapping[Term, Term]) -> Term:
        """An expanded term in another iteration: what stands in for something there stands for another thing."""
        if not values:
            return term
        inside: set[Term] = set()
        todo = [term]
        while todo:
            for part in postorder(todo.pop()):
                if isinstance(part, Var) and part in self.approximations and part not in inside:
                    inside.add(part)
                    todo.append(self.approximations[part])
        replaced = dict(values)
        # Each stands for a term with earlier ones in it only.
        for stand_in, meaning in list(self.approximations.items()) if inside else ():
            if stand_in in inside:
                replaced[stand_in] = self.expand(substitute(meaning, replaced))
        return substitute(term, replaced)

    # -- one term, whose parts are expanded ------------------------------------------------------

    def _expanded(self, term: Term) -> Term:
        match term:
            case Result():
                return result(term.call, term.type, [self._done[part] for part in term.indices])
            case Matches():
                return matches(self._done[term.text], term.regex)
            case App():
                parts = tuple(self._done[part] for part in term.args)
                return self._application(term, parts)
            case _:
                return term

    def _application(self, term: App, parts: tuple[Term, ...]) -> Term:
        match term.op:
            case "eq":
                return self._compared(parts[0], parts[1], inside=False)
            case "in":
                return self._member(parts[0], parts[1])
            case "lt" | "le":
                return rewriting.ordered(term.op, *parts)
            case "len" if parts[0].type != STR:
                return self._length(parts[0])
            case "at":
                return self._item(parts[0], parts[1])
            case "column":
                return self._column(parts[0], term.param)
            case op if op in ORIGIN_OPERATORS:
                raise UnsupportedError(f"{op} is decided on terms before they are expanded")
            case _:
                return apply(term.op, *parts, param=term.param)

    def _stand_in(self, term: Term) -> Var:
        if not isinstance(term.type, Scalar | EnumOf) or term.type in (ANY, NEVER):
            raise UnsupportedError(f"a value of type {term.type} can't be taken apart")
        return self._any_value(term)

    def _any_value(self, term: Term) -> Var:
        known = self._stand_ins.get(term)
        if known is None:
            known = var(f"{STAND_IN}{len(self.approximations)}", term.type)
            self._stand_ins[term] = known
            self.approximations[known] = term
        return known

    # -- reading containers ----------------------------------------------------------------------

    def _alternatives(self, container: Term) -> list[tuple[Term, Term]]:
        """The containers that it may be, each under its guard; the guards exclude each other and one of them holds."""
        found: list[tuple[Term, Term]] = []
        stack: list[tuple[Term, Term]] = [(TRUE, container)]
        while stack:
            guard, at = stack.pop()
            if isinstance(at, App) and at.op == "ite":
                condition, then, otherwise = at.args
                stack.append((and_(guard, not_(condition)), otherwise))
                stack.append((and_(guard, condition), then))
            elif guard is not FALSE:
                found.append((guard, at))
            if len(found) + len(stack) > 256:
                raise UnsupportedError("a container has too many alternatives")
        return found

    def _choose(self, choices: Sequence[tuple[Term, Term]]) -> Term:
        chosen = choices[-1][1]
        for guard, outcome in reversed(choices[:-1]):
            chosen = ite(guard, outcome, chosen)
        return chosen

    def _member(self, item: Term, container: Term) -> Term:
        choices: list[tuple[Term, Term]] = []
        for guard, one in self._alternatives(container):
            if isinstance(one, App) and one.op in MADE:
                held = one.args[::2] if one.op == "dict" else one.args
                truth = or_(*(self._compared(item, other, inside=True) for other in held))
            else:
                _demand_comparable(item.type, one.type)
                truth = self._stand_in(apply("in", item, one))
            choices.append((guard, truth))
        return self._choose(choices)

    def _length(self, container: Term) -> Term:
        return self._choose(
            [(guard, self._length_of(one)) for guard, one in self._alternatives(container)]
        )

    def _length_of(self, container: Term) -> Term:
        if not (isinstance(container, App) and container.op in MADE):
            return apply("len", container)
        items = container.args[::2] if container.op == "dict" else container.args
        if container.op in ("list", "tuple"):
            return const(len(items))
        # Only the first of equal items counts.
        firsts = [
            not_(or_(*(self._compared(item, before, inside=True) for before in items[:at])))
            for at, item in enumerate(items)
        ]
        ones: list[Term] = [ite(first, const(1), const(0)) for first in firsts]
        return apply("add", *ones) if ones else const(0)

    def _item(self, items: Term, index: Term) -> Term:
        choices: list[tuple[Term, Term]] = []
        for guard, one in self._alternatives(items):
            if not (isinstance(one, App) and one.op == "list"):
                choices.append((guard, apply("at", one, index)))
            elif not one.args:
                choices.append((guard, self._left_open(items, index)))
            else:
                known = rewriting.interval(index)
                inside = known.bottom is not None and known.bottom >= 0
                inside = inside and known.top is not None and known.top < len(one.args)
                chosen = one.args[-1] if inside else self._left_open(items, index)
                for at in range(len(one.args) - (2 if inside else 1), -1, -1):
                    same = rewriting.equal(index, const(at))
                    chosen = ite(same, one.args[at], chosen)
                choices.append((guard, chosen))
        return self._choose(choices)

    def _left_open(self, items: Term, index: Term) -> Term:
        """What stands outside of a list may be anything."""
        term = apply("at", items, index)
        if term.type == NEVER:
            raise UnsupportedError("an item of an empty list is read")
        return self._any_value(term)

    def _column(self, row: Term, param: str) -> Term:
        return self._choose(
            [(guard, apply("column", one, param=param)) for guard, one in self._alternatives(row)]
        )

    # -- equality --------------------------------------------------------------------------------

    def _compared(self, left: Term, right: Term, *, inside: bool) -> Term:
        """Equality of expanded terms; a stack of generators, because terms may be deep."""
        first: _Ask = (left, right, inside)
        if first in self._equal:
            return self._equal[first]
        stack: list[tuple[_Ask, _Work]] = [(first, self._equality(*first))]
        answer: Term | None = None
        while stack:
            asked, work = stack[-1]
            try:
                wanted = next(work) if answer is None else work.send(answer)
            except StopIteration as finished:
                answer = finished.value
                assert isinstance(answer, Term)
                self._equal[asked] = answer
                stack.pop()
                continue
            answer = self._equal.get(wanted)
            if answer is None:
                stack.append((wanted, self._equality(*wanted)))
        assert answer is not None
        return answer

    def _equality(self, left: Term, right: Term, inside: bool) -> _Work:
        self._comparisons += 1
        if self._comparisons > MAX_COMPARISONS:
            raise UnsupportedError("an equality has too many parts")
        if left is right and _reflexive(left.type):
            return TRUE
        if _plain(left.type) and _plain(right.type):
            if inside and left.type == right.type == FLOAT:
                _demand_number(left, right)
            return rewriting.equal(left, right)
        for one, other in ((left, right), (right, left)):
            if isinstance(one, App) and one.op == "ite":
                then = yield one.args[1], other, inside
                otherwise = yield one.args[2], other, inside
                return ite(one.args[0], then, otherwise)
        if any(side.type in (ANY, NEVER) for side in (left, right)):
            raise UnsupportedError("a value of any type, which a call returned, is compared")
        if any(isinstance(side.type, OptionalOf) for side in (left, right)):
            raise UnsupportedError("a value that may be None is compared as a whole")
        match left.type, right.type:
            case ListOf(), ListOf():
                return (yield from self._equal_lists(left, right))
            case TupleOf(ours), TupleOf(theirs) if len(ours) != len(theirs):
                return FALSE
            case TupleOf(), TupleOf() if _made(left, right):
                return (yield from _equal_items(_args(left), _args(right)))
            case SetOf(), SetOf() if _made(left, right):
                return (yield from _equal_sets(_args(left), _args(right)))
            case MapOf(), MapOf() if _made(left, right):
                return (yield from _equal_dicts(_args(left), _args(right)))
            case RowOf(ours), RowOf(theirs):
                return (yield from self._equal_rows(left, right)) if ours == theirs else FALSE
            case (TupleOf(), TupleOf()) | (SetOf(), SetOf()) | (MapOf(), MapOf()):
                return self._opaque_equality(left, right)
            case _:
                return FALSE

    def _opaque_equality(self, left: Term, right: Term) -> Term:
        _demand_comparable(left.type, right.type)
        return self._stand_in(apply("eq", left, right))

    def _equal_lists(self, left: Term, right: Term) -> _Work:
        made = [isinstance(side, App) and side.op == "list" for side in (left, right)]
        if all(made):
            if len(_args(left)) != len(_args(right)):
                return FALSE
            return (yield from _equal_items(_args(left), _args(right)))
        if not any(made):
            return self._opaque_equality(left, right)
        written, given = (left, right) if made[0] else (right, left)
        items = _args(written)
        same_length = rewriting.equal(apply("len", given), const(len(items)))
        others = [apply("at", given, const(at)) for at in range(len(items))]
        return and_(same_length, (yield from _equal_items(items, others)))

    def _equal_rows(self, left: Term, right: Term) -> _Work:
        assert isinstance(left.type, RowOf)
        schema = self._schemas.get(left.type.schema)
        if schema is None:
            raise UnsupportedError(f"the columns of {left.type.schema} are not known")
        names = [(parameter.name, parameter.type) for parameter in schema.columns]
        for side in (left, right):
            if isinstance(side, App) and side.op == "row":
                given = side.param.partition(":")[2].split(",") if side.args else []
                if set(given) != {name for name, _ in names}:
                    raise UnsupportedError(f"a row has not the columns of {left.type.schema}")
        return (
            yield from _equal_items(
                [column(left, name, type_) for name, type_ in names],
                [column(right, name, type_) for name, type_ in names],
            )
        )


# -- equality of parts -----------------------------------------------------------------------------


def _equal_items(ours: Sequence[Term], theirs: Sequence[Term]) -> _Work:
    parts: list[Term] = []
    for one, other in zip(ours, theirs, strict=True):
        same = yield one, other, True
        if same is FALSE:
            return FALSE
        parts.append(same)
    return and_(*parts)


def _equal_sets(ours: Sequence[Term], theirs: Sequence[Term]) -> _Work:
    """Each holds what the other holds; items of one set may be equal to each other."""
    table: list[list[Term]] = []
    for one in ours:
        line: list[Term] = []
        for other in theirs:
            line.append((yield one, other, True))
        table.append(line)
    there = [or_(*line) for line in table]
    back = [or_(*(line[at] for line in table)) for at in range(len(theirs))]
    return and_(*there, *back)


def _equal_dicts(ours: Sequence[Term], theirs: Sequence[Term]) -> _Work:
    """The same keys, and for each the value that was written last."""
    our_keys, our_values = ours[::2], ours[1::2]
    their_keys, their_values = theirs[::2], theirs[1::2]
    our_last = yield from _written_last(our_keys)
    their_last = yield from _written_last(their_keys)
    same: dict[tuple[int, int], Term] = {}
    agree: list[Term] = []
    for i, key in enumerate(our_keys):
        found: list[Term] = []
        for j, other in enumerate(their_keys):
            same[i, j] = yield key, other, True
            if same[i, j] is FALSE:
                continue
            value = yield our_values[i], their_values[j], True
            found.append(and_(same[i, j], their_last[j], value))
        agree.append(or_(not_(our_last[i]), *found))
    back = [or_(*(same[i, j] for i in range(len(our_keys)))) for j in range(len(their_keys))]
    return and_(*agree, *back)


def _written_last(keys: Sequence[Term]) -> Generator[_Ask, Term, list[Term]]:
    last: list[Term] = []
    for at, key in enumerate(keys):
        later: list[Term] = []
        for other in keys[at + 1 :]:
            later.append((yield key, other, True))
        last.append(not_(or_(*later)))
    return last


# -- types -----------------------------------------------------------------------------------------


def _plain(type_: Type) -> bool:
    return (isinstance(type_, Scalar) and type_ not in (ANY, NEVER)) or isinstance(type_, EnumOf)


def _made(*terms: Term) -> bool:
    return all(isinstance(term, App) and term.op in MADE for term in terms)


def _args(term: Term) -> tuple[Term, ...]:
    assert isinstance(term, App)
    return term.args


def _reflexive(type_: Type) -> bool:
    """Whether every value of the type equals itself: not where a NaN may be."""
    match type_:
        case Scalar():
            return type_ not in (FLOAT, ANY)
        case ListOf(item) | SetOf(item):
            return _reflexive(item)
        case MapOf(key, value):
            return _reflexive(key) and _reflexive(value)
        case TupleOf(items):
            return all(map(_reflexive, items))
        case EnumOf():
            return True
        case OptionalOf():
            return False
        case RowOf():
            return False  # its columns' types are not known here; they are compared one by one


def _demand_comparable(*types: Type) -> None:
    """Equality as a function of the values alone: no NaN with an identity of its own can be inside."""
    if not all(map(_reflexive, types)):
        raise UnsupportedError(
            "floats, rows or values of any type are compared inside a container that a call returned"
        )


def _demand_number(left: Term, right: Term) -> None:
    if not (_is_number(left) or _is_number(right)):
        raise UnsupportedError("two floats that may be NaN are compared inside containers")


def _is_number(term: Term) -> bool:
    """Whether a float is known not to be NaN."""
    if isinstance(term, Const):
        return isinstance(term.value, float) and not math.isnan(term.value)
    return isinstance(term, App) and term.op == "float_of_int"
