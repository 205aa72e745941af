"""Hypothesis strategies for Effect IR: values, well-typed terms, contracts and documents over one small world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from lictor_ir import operators, terms
from lictor_ir.contracts import (
    KEY_NAME,
    VALUE_NAME,
    All,
    Anything,
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
from lictor_ir.document import (
    Assumption,
    Atom,
    Binder,
    Document,
    Effect,
    Enumeration,
    Event,
    Fluent,
    Guarantee,
    Obligation,
    ObligationKind,
    Parameter,
    Performed,
    Schema,
    Span,
    Update,
)
from lictor_ir.provenance import argument_labels
from lictor_ir.regexes import (
    ReAny,
    ReConcat,
    Regex,
    ReNothing,
    ReNotIn,
    ReRange,
    ReRepeat,
    ReText,
    ReUnion,
)
from lictor_ir.terms import Term, Var
from lictor_ir.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NONE,
    REAL,
    STR,
    EnumOf,
    ListOf,
    RowOf,
    TupleOf,
    Type,
)
from lictor_ir.values import EnumValue, RowValue

# -- the world -------------------------------------------------------------------------------------

USER = RowOf("User")
COLOUR = EnumOf("Colour")
SCHEMAS = (
    Schema("User", (Parameter("email", STR), Parameter("age", INT), Parameter("active", BOOL))),
)
ENUMS = (Enumeration("Colour", ("RED", "GREEN")),)
EFFECTS = (
    Effect("users", (), ListOf(USER), ("read",), "tools.db"),
    Effect("names", (Parameter("limit", INT),), ListOf(STR)),
    Effect("query", (Parameter("schema", STR),), ListOf(ANY)),
    Effect("rate", (Parameter("of", INT),), FLOAT),
    Effect("pay", (Parameter("to", STR), Parameter("amount", INT)), INT, ("net", "money")),
    Effect(
        "send",
        (Parameter("to", STR), Parameter("msg", STR), Parameter("tags", ListOf(STR))),
        NONE,
    ),
    Effect("note", (Parameter("what", ANY),), NONE),
)
EVENTS = (
    Event("Write", ("Write", "Touch"), (Parameter("path", STR), Parameter("size", INT))),
    Event("Read", ("Read", "Touch"), (Parameter("path", STR),)),
)
FLUENTS = (
    Fluent("locked", STR, BOOL, terms.TRUE),
    Fluent("level", INT, INT, terms.const(0)),
)
INPUTS = (
    Parameter("x", INT),
    Parameter("s", STR),
    Parameter("flag", BOOL),
    Parameter("f", FLOAT),
    Parameter("q", REAL),
    Parameter("colour", COLOUR),
)
RESULTS = {effect.name: effect.result for effect in EFFECTS} | {"query": ListOf(USER)}

# -- values ----------------------------------------------------------------------------------------

CHARACTERS = st.one_of(
    st.sampled_from("ab@. \n\"\\'é`😀\ud800\u200b"),
    st.characters(max_codepoint=0x2FF00),
)
STRINGS = st.text(CHARACTERS, max_size=6)
INTS = st.one_of(
    st.integers(-4, 4),
    st.integers(-4, 4),
    st.integers(-(2**70), 2**70),
    st.sampled_from([7**3000, -(7**3000)]),  # long enough to be spelled in hex
)
FLOATS = st.one_of(st.sampled_from([0.0, -0.0, 1.0, float("nan"), float("inf")]), st.floats())
SCALARS: dict[Type, st.SearchStrategy[Any]] = {
    BOOL: st.booleans(),
    INT: INTS,
    REAL: st.fractions(),
    FLOAT: FLOATS,
    STR: STRINGS,
    NONE: st.none(),
    COLOUR: st.sampled_from(["RED", "GREEN"]).map(lambda member: EnumValue("Colour", member)),
}
CONSTANTS = st.one_of(*SCALARS.values()).map(terms.const)


def values_of(type_: Type) -> st.SearchStrategy[Any]:
    """Concrete values of a type of the world."""
    match type_:
        case ListOf(item):
            return st.lists(values_of(item), max_size=3)
        case RowOf():
            columns = {column.name: values_of(column.type) for column in SCHEMAS[0].columns}
            return st.fixed_dictionaries(columns).map(lambda found: RowValue("User", found))
        case _:
            return SCALARS.get(type_, st.integers(-2, 2))


def input_values() -> st.SearchStrategy[dict[str, Any]]:
    """A value for each input."""
    return st.fixed_dictionaries({each.name: values_of(each.type) for each in INPUTS})


# -- regular expressions ---------------------------------------------------------------------------


def _ranges() -> st.SearchStrategy[ReRange]:
    return st.tuples(CHARACTERS, CHARACTERS).map(lambda pair: ReRange(min(pair), max(pair)))


def regexes() -> st.SearchStrategy[Regex]:
    """Small regular expressions of every kind."""
    leaves: st.SearchStrategy[Regex] = st.one_of(
        st.text("ab@.", max_size=2).map(ReText),
        STRINGS.map(ReText),
        _ranges(),
        st.just(ReAny()),
        st.just(ReNothing()),
        st.lists(_ranges(), max_size=2).map(lambda found: ReNotIn(tuple(found))),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda found: ReConcat(tuple(found))),
            st.lists(inner, max_size=3).map(lambda found: ReUnion(tuple(found))),
            st.tuples(inner, st.integers(0, 2), st.one_of(st.none(), st.integers(2, 3))).map(
                lambda found: ReRepeat(*found)
            ),
        ),
        max_leaves=5,
    )


# -- terms -----------------------------------------------------------------------------------------

Leaves = Mapping[Type, Sequence[Term]]

_OPERATORS: dict[Type, list[tuple[str, tuple[Type, ...]]]] = {
    BOOL: [
        ("not", (BOOL,)),
        ("and", (BOOL, BOOL)),
        ("and", (BOOL, BOOL, BOOL)),
        ("or", (BOOL, BOOL)),
        *(("eq", (one, other)) for one in (INT, BOOL, STR) for other in (INT, FLOAT, NONE)),
        *(("eq", (one, one)) for one in (BOOL, STR, FLOAT, REAL, COLOUR, ListOf(INT))),
        ("eq", (ListOf(INT), TupleOf((INT, INT)))),
        *(("lt", (one, one)) for one in (INT, STR, FLOAT, REAL)),
        *(("le", pair) for pair in ((INT, INT), (INT, FLOAT), (REAL, INT))),
        *((op, (STR, STR)) for op in ("contains", "startswith", "endswith")),
        ("is_nan", (FLOAT,)),
        ("is_inf", (FLOAT,)),
        ("in", (STR, ListOf(STR))),
        ("in", (INT, ListOf(INT))),
    ],
    INT: [
        *((op, (INT, INT)) for op in ("add", "sub", "mul", "floordiv", "mod")),
        ("add", (INT, INT, INT)),
        ("neg", (INT,)),
        ("abs", (INT,)),
        ("int_of_bool", (BOOL,)),
        ("len", (STR,)),
        ("len", (ListOf(STR),)),
        ("find", (STR, STR, INT)),
        ("count", (STR, STR)),
        ("at", (ListOf(INT), INT)),
    ],
    FLOAT: [
        *((op, (FLOAT, FLOAT)) for op in ("add", "sub", "mul", "fdiv")),
        ("neg", (FLOAT,)),
        ("abs", (FLOAT,)),
        ("float_of_int", (INT,)),
    ],
    REAL: [
        *((op, (REAL, REAL)) for op in ("add", "sub", "mul", "rdiv")),
        ("real_of_int", (INT,)),
    ],
    STR: [
        ("concat", (STR, STR)),
        ("concat", (STR, STR, STR)),
        ("substring", (STR, INT, INT)),
        ("replace", (STR, STR, STR)),
        ("str_of_int", (INT,)),
        ("at", (ListOf(STR), INT)),
    ],
    ListOf(INT): [("list", (INT,)), ("list", (INT, INT))],
    ListOf(STR): [("list", (STR,)), ("list", (STR, STR))],
    TupleOf((INT, INT)): [("tuple", (INT, INT))],
}


@st.composite
def typed_terms(draw: st.DrawFn, type_: Type, leaves: Leaves | None = None, depth: int = 3) -> Term:
    """A term of the type over these leaves, some parts folded and some as they stand."""
    known = list((leaves or {}).get(type_, ()))
    if depth == 0 or not draw(st.integers(0, 3)):
        if known and (type_ not in SCALARS or draw(st.booleans())):
            return draw(st.sampled_from(known))
        if type_ in SCALARS:
            return terms.const(draw(SCALARS[type_]))
        depth = 1
    below = depth - 1
    if type_ == BOOL and draw(st.integers(0, 7)) == 0:
        text = draw(typed_terms(STR, leaves, below))
        return terms.matches(text, draw(regexes()))
    if type_ in (*SCALARS, ListOf(STR)) and draw(st.integers(0, 4)) == 0:
        args: list[Term] = [draw(typed_terms(each, leaves, below)) for each in (BOOL, type_, type_)]
        return draw(_applied("ite", args))
    choices = _OPERATORS.get(type_)
    if not choices:
        return terms.const(draw(SCALARS[type_]))
    op, types = draw(st.sampled_from(choices))
    return draw(_applied(op, [draw(typed_terms(each, leaves, below)) for each in types]))


@st.composite
def _applied(draw: st.DrawFn, op: str, args: Sequence[Term], param: str = "") -> Term:
    if draw(st.booleans()):
        return terms.apply(op, *args, param=param)
    type_ = operators.result_type(op, tuple(arg.type for arg in args), param)
    return terms.application(op, args, param, type_)


def leaves_of(*known: Term) -> dict[Type, list[Term]]:
    """Terms by their types."""
    found: dict[Type, list[Term]] = {}
    for term in known:
        found.setdefault(term.type, []).append(term)
    return found


INPUT_VARIABLES = tuple(terms.var(each.name, each.type) for each in INPUTS)


def closed_terms(type_: Type) -> st.SearchStrategy[Term]:
    """Terms of the type without variables."""
    return typed_terms(type_)


def input_terms(type_: Type) -> st.SearchStrategy[Term]:
    """Terms of the type over the world's inputs."""
    return typed_terms(type_, leaves_of(*INPUT_VARIABLES))


# -- contracts -------------------------------------------------------------------------------------

_RELATIONS: list[tuple[tuple[str, ...], tuple[str, ...], tuple[Var, ...]]] = [
    (("send",), (), (field("to", STR), field("msg", STR))),
    (("pay",), (), (field("to", STR), field("amount", INT))),
    (("send", "pay"), (), (field("to", STR),)),
    ((), ("Write",), (field("path", STR), field("size", INT))),
    ((), ("Touch",), (field("path", STR),)),
    (("note",), (), ()),
]
ORIGINS = st.sampled_from(["from", "not_from"])


@st.composite
def relations(draw: st.DrawFn) -> tuple[Relation, dict[Type, list[Term]]]:
    """A relation of the world, and the fields that its predicates may read."""
    effects, events, fields = draw(st.sampled_from(_RELATIONS))
    leaves = leaves_of(*fields)
    where = draw(st.none() | typed_terms(BOOL, leaves, 2))
    return Relation(effects, events, where), leaves


@st.composite
def _stated(draw: st.DrawFn, leaves: Leaves) -> Term:
    plain = draw(typed_terms(BOOL, leaves, 2))
    texts = leaves.get(STR, ())
    if not texts or draw(st.booleans()):
        return plain
    one = draw(st.sampled_from(texts))
    origin = terms.apply(draw(ORIGINS), one, param="User.email")
    return terms.apply(draw(st.sampled_from(["and", "or"])), origin, plain)


@st.composite
def contracts(draw: st.DrawFn, depth: int = 1) -> Contract:
    """A contract of any kind."""
    relation, leaves = draw(relations())
    other, _ = draw(relations())
    comparison = draw(st.sampled_from(list(Comparison)))
    kind = draw(st.integers(0, 10 if depth else 9))
    match kind:
        case 0:
            return Anything()
        case 1:
            return All(relation, draw(_stated(leaves)))
        case 2:
            return Empty(relation)
        case 3:
            return Distinct(relation, draw(typed_terms(STR, leaves, 2)))
        case 4:
            return Count(relation, comparison, terms.const(draw(st.integers(0, 4))))
        case 5:
            of = draw(typed_terms(INT, leaves, 1))
            return Sum(relation, of, comparison, terms.const(draw(st.integers(-5, 9))))
        case 6:
            return SharesValue(relation, relation, draw(typed_terms(STR, leaves, 1)))
        case 7:
            variables = leaves_of(terms.var(KEY_NAME, STR), terms.var(VALUE_NAME, BOOL))
            key = draw(st.none() | STRINGS.map(terms.const))
            return AtEnd("locked", draw(typed_terms(BOOL, variables, 2)), key)
        case 8:
            keys = terms.const("a") if draw(st.booleans()) else None
            return Before(relation, other, keys, keys)
        case 9:
            return NeverAfter(relation, other)
        case _:
            return Both(tuple(draw(st.lists(contracts(depth - 1), max_size=3))))


# -- documents -------------------------------------------------------------------------------------


class _Maker:
    """Draws the atoms of a document, with what is in scope where each stands."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.atoms: list[Atom] = []
        self.loops = 0

    def call(
        self, effect: Effect, leaves: Leaves, binders: tuple[Binder, ...], *, guarded: bool
    ) -> Term:
        draw = self.draw
        arguments: dict[str, Term] = {}
        for parameter in effect.parameters:
            type_ = (
                draw(st.sampled_from([INT, STR, BOOL])) if parameter.type == ANY else parameter.type
            )
            if draw(st.integers(0, 9)):
                arguments[parameter.name] = draw(typed_terms(type_, leaves, 2))
        events: tuple[Performed, ...] = ()
        if effect.name == "send" and draw(st.booleans()):
            path = draw(typed_terms(STR, leaves, 1))
            size = draw(typed_terms(INT, leaves, 1))
            events = (
                Performed("Write", {"path": path, "size": size}),
                Performed("Read", {"path": path}),
            )
        updates: tuple[Update, ...] = ()
        if effect.name == "pay" and draw(st.booleans()):
            updates = (
                Update(
                    "locked", draw(typed_terms(STR, leaves, 1)), draw(typed_terms(BOOL, leaves, 1))
                ),
            )
        atom = Atom(
            id=f"c{len(self.atoms) + 1}",
            effect=effect.name,
            arguments=arguments,
            guard=draw(typed_terms(BOOL, leaves, 2)) if guarded else terms.TRUE,
            binders=binders,
            events=events,
            updates=updates,
            labels=argument_labels(arguments, [each.name for each in INPUTS]),
            span=draw(st.none() | st.just(Span(1 + len(self.atoms), 1, 1 + len(self.atoms), 9))),
        )
        self.atoms.append(atom)
        indices = [binder.index for binder in binders]
        return terms.result(atom.id, RESULTS[effect.name], indices)

    def block(self, leaves: dict[Type, list[Term]], binders: tuple[Binder, ...]) -> None:
        draw = self.draw
        leaves = {type_: list(found) for type_, found in leaves.items()}
        for _ in range(draw(st.integers(1, 4 if not binders else 2))):
            listed = [*leaves.get(ListOf(USER), ()), *leaves.get(ListOf(STR), ())]
            listed = [each for each in listed if isinstance(each, terms.Result)]
            if listed and len(binders) < 2 and draw(st.booleans()):
                self.loop(draw(st.sampled_from(listed)), leaves, binders)
                continue
            effect = draw(st.sampled_from(EFFECTS))
            lists = isinstance(effect.result, ListOf)
            result = self.call(effect, leaves, binders, guarded=not lists)
            if lists or (result.type in (INT, FLOAT) and draw(st.booleans())):
                leaves.setdefault(result.type, []).append(result)

    def loop(
        self, over: Term, leaves: Mapping[Type, list[Term]], binders: tuple[Binder, ...]
    ) -> None:
        self.loops += 1
        index = terms.var(f"i{self.loops}", INT)
        item = terms.apply("at", over, index)
        inside = {type_: list(found) for type_, found in leaves.items()}
        inside.setdefault(INT, []).append(index)
        if item.type == USER:
            for column in SCHEMAS[0].columns:
                found = terms.column(item, column.name, column.type)
                inside.setdefault(column.type, []).extend([found, found])
        else:
            inside.setdefault(item.type, []).append(item)
        self.block(inside, (*binders, Binder(index, over)))


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """A valid document over the world."""
    maker = _Maker(draw)
    leaves = leaves_of(*INPUT_VARIABLES)
    maker.block(leaves, ())
    some = st.sampled_from(maker.atoms)
    assumptions = [
        Assumption(atom.id, draw(typed_terms(BOOL, leaves, 2)), atom.guard, atom.binders, "trust")
        for atom in draw(st.lists(some, max_size=1))
    ]
    obligations = [
        Obligation(
            draw(st.sampled_from(list(ObligationKind))),
            draw(typed_terms(BOOL, leaves, 2)),
            draw(STRINGS.filter(str.isprintable)),
            atom.guard,
            atom.binders,
            atom.id,
            atom.span,
        )
        for atom in draw(st.lists(some, max_size=1))
    ]
    guarantees = [
        Guarantee(f"g{number}()", contract, "says\nso", draw(st.sampled_from(["", "mail"])))
        for number, contract in enumerate(draw(st.lists(contracts(), max_size=2)))
    ]
    return Document(
        program=draw(st.sampled_from(["p", 'a "b"\\', ""])),
        source_hash=draw(st.sampled_from([None, "sha256:" + "0" * 64])),
        layer_hash=None,
        effects=EFFECTS,
        events=EVENTS,
        schemas=SCHEMAS,
        enums=ENUMS,
        fluents=FLUENTS,
        inputs=INPUTS,
        atoms=tuple(maker.atoms),
        assumptions=tuple(assumptions),
        obligations=tuple(obligations),
        guarantees=tuple(guarantees),
    )
