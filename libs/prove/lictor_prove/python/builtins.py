"""The builtin functions, and the few of `math` and `re`, that the subset has. Each is exact or refuses."""

from __future__ import annotations

import ast
import math
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lictor_ir.terms import FALSE, TRUE, Term, and_, apply, const, matches, not_, or_
from lictor_ir.types import ANY, BOOL, FLOAT, INT, NONE, STR, ListOf, MapOf, SetOf, TupleOf
from lictor_prove.python import contents, iterators, methods, regexes, strings
from lictor_prove.python.arithmetic import (
    NUMBERS,
    binary,
    is_number,
    known_int,
    less,
    to_float,
    truth,
    whole,
)
from lictor_prove.python.containers import length
from lictor_prove.python.iteration import known_items
from lictor_prove.python.limits import MAX_TEXT
from lictor_prove.python.refusals import Raises, refuse
from lictor_prove.python.state import Machine
from lictor_prove.python.values import (
    NONE_VALUE,
    BuiltinV,
    FunctionV,
    MatchV,
    OnceV,
    Opaque,
    PatternV,
    RangeV,
    Ref,
    SequenceV,
    Sym,
    TrustedV,
    TupleV,
    Value,
    boolean,
    described,
    is_known,
    known,
    known_scalar,
    merge,
    union,
)

Args = Sequence[Value]
Function = Callable[[Machine, Args, Mapping[str, Value]], Value]


def call(machine: Machine, name: str, args: Args, keywords: Mapping[str, Value]) -> Value:
    """`name(*args, **keywords)`."""
    known_function = _FUNCTIONS.get(name)
    if known_function is None:
        refuse(
            "builtin.unsupported",
            f"{name} is outside the subset",
            "See docs/python-subset.md for the builtins there are.",
        )
    least, most, allowed, function = known_function
    unknown = [] if allowed is None else [key for key in keywords if key not in allowed]
    if unknown or not least <= len(args) <= most:
        refuse(
            "builtin.arguments",
            f"{name} is supported with {least} to {most} positional arguments"
            + (
                f" and the keywords {', '.join(sorted(allowed))}" if allowed else " and no keywords"
            ),
            "Pass them so.",
        )
    return function(machine, args, keywords)


def each(function: Callable[[Machine, Value], Value]) -> Function:
    """A function of one argument, whatever it is."""
    return lambda machine, args, _: machine.each(args[0], lambda one: function(machine, one))


# -- conversions -----------------------------------------------------------------------------------


def _str(machine: Machine, args: Args, _: Mapping[str, Value]) -> Value:
    return strings.text_of(machine, args[0]) if args else known("")


def _bool(machine: Machine, args: Args, _: Mapping[str, Value]) -> Value:
    return boolean(truth(machine, args[0])) if args else boolean(FALSE)


def _int(machine: Machine, args: Args, _: Mapping[str, Value]) -> Value:
    if not args:
        return known(0)
    base = known_int(args[1]) if len(args) > 1 else None

    def of(value: Value) -> Value:
        if isinstance(value, Sym) and value.type in (INT, BOOL) and len(args) == 1:
            return Sym(whole(value.term))
        if is_known(value) and (len(args) == 1 or base is not None):
            held = known_scalar(value)
            if isinstance(held, str) and len(held) > 4_000:
                refuse("limits.term", "the number is too long", "Use a shorter one.")
            return _computed(machine, lambda: int(held, base) if base is not None else int(held), 0)  # pyright: ignore[reportArgumentType, reportCallIssue]
        if isinstance(value, Sym) and value.type in (STR, FLOAT):
            refuse(
                "builtin.int",
                f"int() of {described(value)} that is not known is not supported",
                "Let the trusted function return an int.",
            )
        raise Raises("TypeError", f"int() of {described(value)}")

    return machine.each(args[0], of)


def _float(machine: Machine, args: Args, _: Mapping[str, Value]) -> Value:
    if not args:
        return known(0.0)

    def of(value: Value) -> Value:
        if is_number(value):
            assert isinstance(value, Sym)
            return Sym(to_float(machine, value.term))
        if is_known(value) and isinstance(known_scalar(value), str):
            held = str(known_scalar(value))
            return _computed(machine, lambda: float(held), 0.0)
        if isinstance(value, Sym) and value.type == STR:
            refuse(
                "builtin.float",
                "float() of a string that is not known is not supported",
                "Let the trusted function return a float.",
            )
        raise Raises("TypeError", f"float() of {described(value)}")

    return machine.each(args[0], of)


def _computed(machine: Machine, compute: Callable[[], Any], otherwise: Any) -> Value:
    try:
        return known(compute())
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        machine.require(FALSE, f"no {type(error).__name__}: {error}")
        return known(otherwise)
    except TypeError as error:
        raise Raises("TypeError", str(error)) from error


def _format(machine: Machine, args: Args, _: Mapping[str, Value]) -> Value:
    spec = contents.known_value(machine, args[1]) if len(args) > 1 else ""
    if not isinstance(spec, str):
        refuse("string.format", "the format must be known", "Write it out.")
    return strings.formatted(machine, args[0], spec)


# -- numbers ---------------------------------------------------------------------------------------


def _abs(_: Machine, value: Value) -> Value:
    if not isinstance(value, Sym) or value.type not in NUMBERS:
        raise Raises("TypeError", f"abs() of {described(value)}")
    return Sym(apply("abs", whole(value.term)))


def _extreme(name: str) -> Function:
    def of(machine: Machine, args: Args, keywords: Mapping[str, Value]) -> Value:
        options = (
            known_items(machine, _unordered(machine, args[0]), name)
            if len(args) == 1
            else [(TRUE, tuple(args))]
        )
        found: list[tuple[Term, Value]] = []
        outer = machine.guard
        for guard, items in options:
            machine.guard = and_(outer, guard)
            found.append((guard, _best(machine, name, items, keywords.get("default"))))
            machine.guard = outer
        return union(found) if len(found) > 1 else found[0][1]

    return of


def _best(machine: Machine, name: str, items: Args, default: Value | None) -> Value:
    if not items:
        if default is None:
            raise Raises("ValueError", f"{name}() of nothing")
        return default
    best = items[0]
    for item in items[1:]:
        # As CPython does: an item replaces the best so far when it is truly less, or more.
        wins = less(machine, item, best) if name == "min" else less(machine, best, item)
        best = merge(wins, item, best)
    return best


def _unordered(machine: Machine, value: Value) -> Value:
    """A set of known items as a tuple: for functions to which order does not matter."""
    held = contents.known_value(machine, value)
    if isinstance(held, set):
        return TupleV(tuple(entry.value for entry in contents.entries(machine, _ref(value))))
    return value


def _ref(value: Value) -> Ref:
    assert isinstance(value, Ref)
    return value


def _sum(machine: Machine, args: Args, keywords: Mapping[str, Value]) -> Value:
    total = args[1] if len(args) > 1 else keywords.get("start", known(0))
    for entry in methods.items_of(machine, _unordered(machine, args[0])):
        for one in (entry.value, total):
            for _, case in machine.cases(one):
                if isinstance(case, Sym) and case.type == FLOAT:
                    refuse(
                        "builtin.sum",
                        "sum() of floats rounds differently in different versions of Python",
                        "Add them with `+`.",
                    )
        total = merge(entry.present, binary(machine, ast.Add(), total, entry.value), total)
    return total


def _any(machine: Machine, args: Args, _: Mapping[str, Value]) -> Value:
    held = methods.items_of(machine, _unordered(machine, args[0]))
    return boolean(or_(*(and_(e.present, truth(machine, e.value)) for e in held)))


def _all(machine: Machine, args: Args, _: Mapping[str, Value]) -> Value:
    held = methods.items_of(machine, _unordered(machine, args[0]))
    return boolean(and_(*(or_(not_(e.present), truth(machine, e.value)) for e in held)))


def _divmod(machine: Machine, args: Args, _: Mapping[str, Value]) -> Value:
    return TupleV(
        (
            binary(machine, ast.FloorDiv(), args[0], args[1]),
            binary(machine, ast.Mod(), args[0], args[1]),
        )
    )


def _pow(machine: Machine, args: Args, _: Mapping[str, Value]) -> Value:
    return binary(machine, ast.Pow(), args[0], args[1])


def _round(machine: Machine, args: Args, _: Mapping[str, Value]) -> Value:
    def of(value: Value) -> Value:
        if isinstance(value, Sym) and value.type in (INT, BOOL) and len(args) == 1:
            return Sym(whole(value.term))
        digits = known_int(args[1]) if len(args) > 1 else None
        held = known_scalar(value) if is_known(value) else None
        if isinstance(held, int | float) and (len(args) == 1 or digits is not None):
            if digits is not None and abs(digits) > MAX_TEXT:
                refuse("limits.term", "too many digits", "Round to fewer.")
            return _computed(machine, lambda: round(held, digits), 0)
        refuse(
            "builtin.round",
            "round() is supported for known numbers",
            "Work with whole numbers, such as cents.",
        )

    return machine.each(args[0], of)


def _ord(machine: Machine, value: Value) -> Value:
    held = contents.known_value(machine, value)
    if isinstance(held, str) and len(held) == 1:
        return known(ord(held))
    refuse("builtin.ord", "ord() is supported for one known character", "Compare characters.")


def _chr(machine: Machine, value: Value) -> Value:
    held = contents.known_value(machine, value)
    if isinstance(held, int):
        return _computed(machine, lambda: chr(held), "")
    refuse("builtin.chr", "chr() is supported for known numbers", "Write the character.")


# -- containers ------------------------------------------------------------------------------------


def _len(machine: Machine, value: Value) -> Value:
    return Sym(length(machine, value))


def _list(machine: Machine, args: Args, _: Mapping[str, Value]) -> Value:
    if not args:
        return machine.make("list", ())

    def of(value: Value) -> Value:
        if isinstance(value, Sym) and isinstance(value.type, ListOf):
            return value
        if isinstance(value, SequenceV):
            return SequenceV(value.over, value.index, value.item, value.keep)
        return machine.make("list", methods.items_of(machine, value))

    return machine.each(args[0], of)


def _tuple(machine: Machine, args: Args, _: Mapping[str, Value]) -> Value:
    if not args:
        return TupleV(())
    found = [(guard, TupleV(items)) for guard, items in known_items(machine, args[0], "tuple()")]
    return union(found) if len(found) > 1 else found[0][1]


def _set(machine: Machine, args: Args, _: Mapping[str, Value]) -> Value:
    if not args:
        return machine.make("set", ())
    return machine.each(args[0], lambda value: methods.as_set(machine, value))


def _dict(machine: Machine, args: Args, keywords: Mapping[str, Value]) -> Value:
    from lictor_prove.python.containers import put

    made = machine.make("dict", ())
    if args:
        source = args[0]
        if isinstance(source, Ref) and machine.content(source).kind == "dict":
            methods.update(machine, made, source)
        else:
            for entry in methods.items_of(machine, source):
                if not isinstance(entry.value, TupleV) or len(entry.value.items) != 2:
                    refuse("builtin.dict", "dict() takes a dict or pairs", "Use a display: {…}.")
                key, value = entry.value.items
                put(machine, made, key, value, entry.present)
    for name, value in keywords.items():
        put(machine, made, known(name), value)
    return made


def _sorted(machine: Machine, args: Args, keywords: Mapping[str, Value]) -> Value:
    reverse = contents.known_value(machine, keywords["reverse"]) if "reverse" in keywords else False
    items = known_items(machine, _unordered(machine, args[0]), "sorted()")
    held = [contents.known_value(machine, item) for item in items[0][1]] if len(items) == 1 else []
    if (
        len(items) != 1
        or any(one is contents.UNKNOWN for one in held)
        or reverse not in (True, False)
    ):
        refuse(
            "builtin.sorted",
            "sorted() is supported for known values",
            "Write the order out, or let the trusted function sort.",
        )
    order = list(range(len(held)))
    try:
        order.sort(key=lambda at: held[at], reverse=bool(reverse))
    except TypeError as error:
        raise Raises("TypeError", str(error)) from error
    return machine.make_list([items[0][1][at] for at in order])


def _isinstance(machine: Machine, args: Args, _: Mapping[str, Value]) -> Value:
    wanted = args[1].items if isinstance(args[1], TupleV) else (args[1],)
    names: set[str] = set()
    for one in wanted:
        if not isinstance(one, BuiltinV) or one.name not in _TYPES:
            refuse(
                "builtin.isinstance",
                f"isinstance() is supported with {', '.join(sorted(_TYPES))}",
                "Use one of these types.",
            )
        names.add(one.name)

    def of(value: Value) -> Value:
        kind = type_name(machine, value)
        return boolean(const(kind in names or (kind == "bool" and "int" in names)))

    return machine.each(args[0], of)


def type_name(machine: Machine, value: Value) -> str:
    """What `type(value).__name__` is."""
    match value:
        case Sym():
            for type_, name in ((BOOL, "bool"), (INT, "int"), (FLOAT, "float"), (STR, "str")):
                if value.type == type_:
                    return name
            match value.type:
                case ListOf():
                    return "list"
                case SetOf():
                    return "set"
                case MapOf():
                    return "dict"
                case TupleOf():
                    return "tuple"
                case _ if value.type == NONE:
                    return "NoneType"
                case _ if value.type == ANY:
                    refuse("value.opaque", "the type of this value is not known", "Pass it on.")
                case _:
                    return "row"
        case TupleV():
            return "tuple"
        case Ref():
            return machine.content(value).kind
        case SequenceV() if value.reusable and value.over.type != INT:
            return "list"
        case FunctionV() | TrustedV() | BuiltinV():
            return "function"
        case RangeV():
            return "range"
        case Opaque() | OnceV() | SequenceV():
            refuse("value.opaque", f"the type of {described(value)} is not known", "Pass it on.")
        case _:
            return type(value).__name__


_TYPES: Final = frozenset({"bool", "int", "float", "str", "list", "dict", "tuple", "set"})


def _print(_: Machine, __: Args, ___: Mapping[str, Value]) -> Value:
    return NONE_VALUE


# -- math and re -----------------------------------------------------------------------------------


def _float_test(op: str) -> Function:
    def of(machine: Machine, value: Value) -> Value:
        if not isinstance(value, Sym) or value.type not in NUMBERS:
            raise Raises("TypeError", f"a number is needed, not {described(value)}")
        number = to_float(machine, value.term)
        if op == "is_finite":
            return boolean(not_(or_(apply("is_nan", number), apply("is_inf", number))))
        return boolean(apply(op, number))

    return each(of)


def _known_math(function: Callable[[Any], Any], *, ints: bool) -> Function:
    def of(machine: Machine, value: Value) -> Value:
        if ints and isinstance(value, Sym) and value.type in (INT, BOOL):
            return Sym(whole(value.term))
        held = contents.known_value(machine, value)
        if isinstance(held, int | float):
            return _computed(machine, lambda: function(held), 0)
        refuse(
            "math.known",
            "this function is supported for known numbers",
            "Work with ints: // and %.",
        )

    return each(of)


def _fabs(machine: Machine, value: Value) -> Value:
    if not isinstance(value, Sym) or value.type not in NUMBERS:
        raise Raises("TypeError", f"a number is needed, not {described(value)}")
    return Sym(apply("abs", to_float(machine, value.term)))


def _matched(how: str) -> Function:
    def of(machine: Machine, args: Args, _: Mapping[str, Value]) -> Value:
        pattern = args[0]
        if isinstance(pattern, PatternV):
            return match(machine, how, pattern.pattern, args[1])
        text = contents.known_value(machine, pattern)
        if not isinstance(text, str):
            refuse("regex.constant", "the pattern must be known", "Write the pattern out.")
        return match(machine, how, text, args[1])

    return of


def match(machine: Machine, how: str, pattern: str, value: Value) -> Value:
    """A match, or None."""
    regex = regexes.language(pattern, how)

    def of(text: Value) -> Value:
        if not isinstance(text, Sym) or text.type != STR:
            raise Raises("TypeError", f"a string is matched, not {described(text)}")
        found = matches(text.term, regex)
        return merge(found, MatchV(text if how == "fullmatch" else None), NONE_VALUE)

    return machine.each(value, of)


def _compile(machine: Machine, args: Args, _: Mapping[str, Value]) -> Value:
    pattern = contents.known_value(machine, args[0])
    if not isinstance(pattern, str):
        refuse("regex.constant", "the pattern must be known", "Write the pattern out.")
    regexes.language(pattern, "match")
    return PatternV(pattern)


_NONE: Final = frozenset[str]()
_ANY_NUMBER: Final = 1_000

_FUNCTIONS: Final[dict[str, tuple[int, int, frozenset[str] | None, Function]]] = {
    "str": (0, 1, _NONE, _str),
    "repr": (1, 1, _NONE, lambda m, args, _: strings.text_of(m, args[0], quoted=True)),
    "format": (1, 2, _NONE, _format),
    "bool": (0, 1, _NONE, _bool),
    "int": (0, 2, _NONE, _int),
    "float": (0, 1, _NONE, _float),
    "len": (1, 1, _NONE, each(_len)),
    "abs": (1, 1, _NONE, each(_abs)),
    "min": (1, _ANY_NUMBER, frozenset({"default"}), _extreme("min")),
    "max": (1, _ANY_NUMBER, frozenset({"default"}), _extreme("max")),
    "sum": (1, 2, frozenset({"start"}), _sum),
    "any": (1, 1, _NONE, _any),
    "all": (1, 1, _NONE, _all),
    "divmod": (2, 2, _NONE, _divmod),
    "pow": (2, 2, _NONE, _pow),
    "round": (1, 2, _NONE, _round),
    "ord": (1, 1, _NONE, each(_ord)),
    "chr": (1, 1, _NONE, each(_chr)),
    "list": (0, 1, _NONE, _list),
    "tuple": (0, 1, _NONE, _tuple),
    "set": (0, 1, _NONE, _set),
    "dict": (0, 1, None, _dict),
    "sorted": (1, 1, frozenset({"reverse"}), _sorted),
    "range": (1, 3, _NONE, iterators.make_range),
    "enumerate": (1, 2, frozenset({"start"}), iterators.make_enumerate),
    "zip": (1, _ANY_NUMBER, _NONE, iterators.make_zip),
    "reversed": (1, 1, _NONE, iterators.make_reversed),
    "isinstance": (2, 2, _NONE, _isinstance),
    "print": (0, _ANY_NUMBER, frozenset({"sep", "end", "flush"}), _print),
    "math.isnan": (1, 1, _NONE, _float_test("is_nan")),
    "math.isinf": (1, 1, _NONE, _float_test("is_inf")),
    "math.isfinite": (1, 1, _NONE, _float_test("is_finite")),
    "math.fabs": (1, 1, _NONE, each(_fabs)),
    "math.floor": (1, 1, _NONE, _known_math(math.floor, ints=True)),
    "math.ceil": (1, 1, _NONE, _known_math(math.ceil, ints=True)),
    "math.trunc": (1, 1, _NONE, _known_math(math.trunc, ints=True)),
    "math.sqrt": (1, 1, _NONE, _known_math(math.sqrt, ints=False)),
    "re.match": (2, 2, _NONE, _matched("match")),
    "re.fullmatch": (2, 2, _NONE, _matched("fullmatch")),
    "re.search": (2, 2, _NONE, _matched("search")),
    "re.compile": (1, 1, _NONE, _compile),
}

BUILTINS: Final = frozenset(name for name in _FUNCTIONS if "." not in name)

STANDARD: Final[dict[str, dict[str, Value]]] = {
    "math": {
        "pi": known(math.pi),
        "e": known(math.e),
        "tau": known(math.tau),
        "inf": known(math.inf),
        "nan": known(math.nan),
    },
    "re": {},
    "string": {
        name: known(getattr(string, name))
        for name in (
            "ascii_letters",
            "ascii_lowercase",
            "ascii_uppercase",
            "digits",
            "hexdigits",
            "octdigits",
            "punctuation",
            "whitespace",
        )
    },
}
"""What the modelled standard modules hold; their functions are added below."""
for _full in _FUNCTIONS:
    _module, _, _name = _full.partition(".")
    if _name:
        STANDARD[_module][_name] = BuiltinV(_full)
