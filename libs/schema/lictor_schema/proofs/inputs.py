"""The values that a submission gives to the parameters of its program; pure.

A parameter is `bool`, `int`, `float` or `str`: the front-ends read no other. Each value has one spelling, which is that
of `lictor_prove.written_values`, so equal values have equal hashes:

| Python | JSON |
|---|---|
| `bool`, `str` | the same |
| `int` | a number; beyond 2**53 - 1, `{"int": "…"}` |
| `float` | `{"float": "0.1"}`, as `repr` spells it |
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, cast, get_args

from pydantic import AfterValidator, Field, JsonValue
from pydantic_core import PydanticCustomError

from lictor_schema.core.base_model import MAX_SAFE_INTEGER, Label, Model
from lictor_schema.core.canonical_json import CanonicalError, canonical_json
from lictor_schema.errors import SchemaError
from lictor_schema.proofs.input_limits import MAX_INPUTS

MAX_INPUT_BYTES: Final = 64 * 1024
"""Of all values of one submission, as canonical JSON: an approver should be able to look at them."""
MAX_INT_BITS: Final = 8_192
_LAST_CHARACTER: Final = chr(0x2FFFF)
"""The last that solvers know, and so the last that a proof is about."""

InputCode = Literal["inputs.not_run", "inputs.unknown", "inputs.type"]
INPUT_CODES: Final[tuple[str, ...]] = get_args(InputCode)
PlainValue = bool | int | float | str
_NAMES: Final[Mapping[type, str]] = {bool: "bool", int: "int", float: "float", str: "str"}
_INSTEAD: Final[Mapping[str, str]] = {
    "Decimal": "give it as str, and let the program convert it",
    "NoneType": "give a value that stands for nothing, such as an empty str",
    "list": "read it with a trusted function, or write it into the program",
    "tuple": "read it with a trusted function, or write it into the program",
    "set": "read it with a trusted function, or write it into the program",
    "dict": "read it with a trusted function, or write it into the program",
}
_INSTEAD_ELSE: Final = "give bool, int, float or str"


class InputRefused(SchemaError):
    """A value that no parameter can be given."""


def written_input(value: object) -> JsonValue:
    """The value as it is written; InputRefused for what no parameter takes."""
    kind = type(value)
    if kind is bool:
        return cast(bool, value)
    if kind is str:
        return _text(cast(str, value))
    if kind is int:
        return _whole(cast(int, value))
    if kind is float:
        return {"float": repr(value)}
    name = kind.__qualname__
    raise InputRefused(
        f"is a value of type {name}, and a parameter is bool, int, float or str;"
        f" {_INSTEAD.get(name, _INSTEAD_ELSE)}"
    )


def _text(value: str) -> str:
    if value and (
        max(value) > _LAST_CHARACTER or any("\ud800" <= each <= "\udfff" for each in value)
    ):
        raise InputRefused("holds half of a surrogate pair, or a character past U+2FFFF")
    return value


def _whole(value: int) -> JsonValue:
    if value.bit_length() > MAX_INT_BITS:
        raise InputRefused(f"has more than {MAX_INT_BITS} bits; give a smaller number")
    return value if abs(value) <= MAX_SAFE_INTEGER else {"int": str(value)}


def read_input(written: JsonValue) -> PlainValue:
    """The value that is written so; InputRefused for every other spelling of it."""
    value: object = written
    if isinstance(written, dict):
        try:
            match written:
                case {"int": str(text), **others} if not others:
                    value = int(text)
                case {"float": str(text), **others} if not others:
                    value = float(text)
                case _:
                    pass
        except ValueError:
            raise InputRefused("is no number as it is written") from None
    elif type(written) is float:
        raise InputRefused(f'is a number with a fraction: write {{"float": "{written!r}"}}')
    # One spelling a value: what is signed is compared by its bytes.
    again = written_input(value)
    if type(again) is not type(written) or again != written:
        raise InputRefused(f"is to be written {again!r}")
    return cast(PlainValue, value)


def written_inputs(values: Mapping[str, object]) -> dict[str, JsonValue]:
    """Values by the names of their parameters, as they are written; InputRefused says which can't be."""
    found: dict[str, JsonValue] = {}
    for name, value in values.items():
        try:
            found[name] = written_input(value)
        except InputRefused as error:
            raise InputRefused(f"{name} {error}") from None
    problem = _why_too_many(found)
    if problem is not None:
        raise InputRefused(problem)
    return found


def read_inputs(inputs: Mapping[str, JsonValue] | None) -> dict[str, PlainValue]:
    """The values that are written so, ready to be passed."""
    return {name: read_input(value) for name, value in (inputs or {}).items()}


def are_same(one: Mapping[str, JsonValue] | None, other: Mapping[str, JsonValue] | None) -> bool:
    """Whether two submissions are given the same values; for Python alone, `1` and `True` would be."""
    return canonical_json(one and dict(one)) == canonical_json(other and dict(other))


def _why_too_many(inputs: Mapping[str, JsonValue]) -> str | None:
    if len(inputs) > MAX_INPUTS:
        return f"{len(inputs)} values are given; at most {MAX_INPUTS} can be"
    try:
        size = len(canonical_json(dict(inputs)))
    except CanonicalError as error:
        return str(error)
    if size > MAX_INPUT_BYTES:
        return f"the values have {size} bytes together; at most {MAX_INPUT_BYTES} can be given"
    return None


def _checked(inputs: dict[str, JsonValue]) -> dict[str, JsonValue]:
    for name, value in inputs.items():
        try:
            read_input(value)
        except InputRefused as error:
            raise PydanticCustomError(
                "input_value", "{what}", {"what": f"{name} {error}"}
            ) from None
    problem = _why_too_many(inputs)
    if problem is not None:
        raise PydanticCustomError("input_size", "{what}", {"what": problem})
    return inputs


Inputs = Annotated[
    dict[Label, JsonValue], Field(min_length=1, max_length=MAX_INPUTS), AfterValidator(_checked)
]
"""Values by the names of their parameters, as `written_input` writes them."""
INPUTS: Final = (
    "The values of the target's parameters by their names, as `lictor_schema.proofs.inputs` writes them; left out where"
    " it has none"
)


class InputParameter(Model):
    """A parameter of the target."""

    name: Label = Field(description="Its name")
    type: Label = Field(description="`bool`, `int`, `float` or `str`")

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


InputParameters = Annotated[tuple[InputParameter, ...], Field(max_length=1000)]


@dataclass(frozen=True, slots=True)
class InputProblem:
    """Why values are not those of a program."""

    code: InputCode
    message: str
    remedy: str


def why_not_of(
    target: str,
    parameters: Sequence[InputParameter],
    inputs: Mapping[str, JsonValue] | None,
) -> InputProblem | None:
    """Why these can't be the values of a target with these parameters; None when it can be called with them."""
    given = inputs or {}
    missing = [each.name for each in parameters if each.name not in given]
    if missing:
        return InputProblem(
            "inputs.not_run",
            f"{target} takes {_listed(parameters)}, and no value is given for {', '.join(missing)}",
            "submit it with a value for each parameter (`--input NAME=VALUE`), or write the values into the program",
        )
    unknown = sorted(given.keys() - {each.name for each in parameters})
    if unknown:
        takes = f"takes {_listed(parameters)}" if parameters else "takes nothing"
        return InputProblem(
            "inputs.unknown",
            f"a value is given for {', '.join(unknown)}, and {target} {takes}",
            "leave it out, or correct its name",
        )
    for each in parameters:
        try:
            found = _NAMES[type(read_input(given[each.name]))]
        except InputRefused as error:
            return InputProblem("inputs.type", f"{each.name} {error}", "correct the value")
        if found != each.type:
            return InputProblem(
                "inputs.type",
                f"{each.name} of {target} is {each.type}, and a value of type {found} is given",
                f"give a value of type {each.type}",
            )
    return None


def _listed(parameters: Iterable[InputParameter]) -> str:
    return ", ".join(map(str, parameters))


def shown_inputs(inputs: Mapping[str, JsonValue] | None) -> tuple[str, ...]:
    """Each value as Python would write it: `limit = 50`."""
    return tuple(
        f"{name} = {read_input(value)!r}" for name, value in sorted((inputs or {}).items())
    )
