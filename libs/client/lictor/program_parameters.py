"""What a program takes, read off its text without the prover: a value that is missing is told before anything is sent.

The prover reads the program anew and decides; what can't be told here is left to it.
"""

import ast
import re
from typing import Final

from lictor_schema.proofs.input_limits import MAX_INPUT_NAME, MAX_INPUTS
from lictor_schema.proofs.inputs import InputParameter
from lictor_schema.proofs.program import Language

_TYPES: Final = ("bool", "int", "float", "str")
_HEADER: Final = re.compile(r"\s*lictor-commands\s+v1\b")
_INPUT: Final = re.compile(r"\s*input\s+([A-Za-z]\w*)\s*:\s*(bool|int|float|str)\b")
_COMMENT: Final = re.compile(r"#[^\n]*")
_WORD: Final = re.compile(r"\binput\b")
_GUARANTEE: Final = re.compile(r"\s*guarantee\b")


def parameters_of(
    source: str, language: Language, target: str
) -> tuple[InputParameter, ...] | None:
    """The parameters of the target; None when that can't be told here."""
    found = _of_python(source, target) if language == "python" else _of_commands(source, language)
    if (
        found is None
        or len(found) > MAX_INPUTS
        or any(len(name) > MAX_INPUT_NAME for name, _ in found)
    ):
        return None
    return tuple(InputParameter(name=name, type=type_) for name, type_ in found)


def _of_python(source: str, target: str) -> list[tuple[str, str]] | None:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    targets = [
        each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == target
    ]
    if len(targets) != 1 or targets[0].args.vararg or targets[0].args.kwarg:
        return None
    taken = targets[0].args
    found: list[tuple[str, str]] = []
    for each in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs):
        match each.annotation:
            case ast.Name(id=name) | ast.Constant(value=str(name)) if name in _TYPES:
                found.append((each.arg, name))
            case _:
                return None
    return found


def _of_commands(source: str, language: Language) -> list[tuple[str, str]] | None:
    """The inputs that stand before the first promise: behind one, telling where it ends takes the grammar."""
    if language != "commands":
        return None
    text = _COMMENT.sub("", source)
    header = _HEADER.match(text)
    if header is None:
        return None
    found: list[tuple[str, str]] = []
    at = header.end()
    while read := _INPUT.match(text, at):
        found.append((read[1], read[2]))
        at = read.end()
    # Comments are counted too, and texts: too many only leave it to the prover.
    is_whole = not _GUARANTEE.match(text, at) or len(_WORD.findall(source)) == len(found)
    return found if is_whole else None
