"""The values of a program's parameters, as `lictor prove` is given them."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lictor.errors import LictorError
from lictor.program_parameters import parameters_of
from lictor_cli.json_input import json_object
from lictor_schema.core.canonical_json import CanonicalError, parse_json
from lictor_schema.proofs.inputs import PlainValue
from lictor_schema.proofs.program import Language

_MAX_BYTES = 1024 * 1024


def input_arguments(parser: ArgumentParser) -> None:
    """The options that give values."""
    parser.add_argument(
        "--input",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="the value of a parameter, read as the type that the program says; for one program",
    )
    parser.add_argument(
        "--inputs",
        metavar="FILE",
        type=Path,
        help="the values of the parameters, as a JSON object; --input gives others than the file",
    )


def given_inputs(
    options: Namespace, source: str, language: Language
) -> Mapping[str, PlainValue] | None:
    """The values for a program; LictorError for a text that is no value of its type."""
    if options.inputs is None and not options.input:
        return None
    parameters = parameters_of(source, language, options.target) or ()
    types = {each.name: each.type for each in parameters}
    told = {} if options.inputs is None else json_object(options.inputs, _MAX_BYTES)
    values: dict[str, Any] = {
        name: _from_json(name, value, types.get(name)) for name, value in told.items()
    }
    for text in options.input:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise LictorError(f"--input is {text!r}: write NAME=VALUE.")
        values[name] = _from_text(name, value, types.get(name))
    return values


def _from_json(name: str, value: Any, wanted: str | None) -> Any:
    # JSON has one kind of numbers: `5` is a float where the program says so, if it is the very same number.
    if wanted == "float" and type(value) is int:
        return _same_float(name, value)
    return value


def _same_float(name: str, value: int) -> float:
    try:
        found = float(value)
    except OverflowError:
        found = 0.0
    if found != value:
        raise LictorError(f"{name} is float, and {value} is none: write the float that is meant.")
    return found


def _from_text(name: str, text: str, wanted: str | None) -> PlainValue:
    try:
        match wanted:
            case "str":
                return text
            case "int":
                return int(text)
            case "float":
                return float(text)
            case "bool":
                return {"true": True, "false": False}[text.lower()]
            case _:
                pass
    except (ValueError, KeyError):
        told = "true or false" if wanted == "bool" else f"of type {wanted}"
        raise LictorError(f"--input {name}={text}: {name} is {told}.") from None
    # What the program says can't be read here: the prover tells what is wrong with it.
    try:
        value = parse_json(text)
    except CanonicalError:
        return text
    return value if isinstance(value, bool | int | float | str) else text
