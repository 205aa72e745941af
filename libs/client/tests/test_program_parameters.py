"""What a program takes, read off its text: nothing is told that the prover would read otherwise."""

from typing import Any

import pytest

from lictor.program_parameters import parameters_of
from lictor.programs import Program, SubmissionRefused

HEAD = "lictor-commands v1\n"


def told(source: str, language: Any = "python", target: str = "main") -> list[str] | None:
    found = parameters_of(source, language, target)
    return None if found is None else list(map(str, found))


@pytest.mark.parametrize(
    ("source", "takes"),
    [
        ("def main() -> None: pass", []),
        ("def main(a: int, /, b: 'str', *, c: bool): pass", ["a: int", "b: str", "c: bool"]),
        ("@guarantee(x)\ndef main(a: float): pass", ["a: float"]),
        # What the prover refuses, or reads in its own way, is left to it.
        ("def main(a): pass", None),
        ("def main(a: list[int]): pass", None),
        ("def main(*a: int): pass", None),
        ("def main(): pass\ndef main(a: int): pass", None),
        ("def other(): pass", None),
        ("def main(", None),
        ("(" * 100_000, None),
        ("\0", None),
        (f"def main({'p' * 256}: int): pass", ["p" * 256 + ": int"]),
        (f"def main({'p' * 257}: int): pass", None),
        (f"def main({', '.join(f'p{n}: int' for n in range(101))}): pass", None),
    ],
)
def test_python(source: str, takes: list[str] | None) -> None:
    assert told(source) == takes


@pytest.mark.parametrize(
    ("source", "takes"),
    [
        (HEAD, []),
        (HEAD + "input a: int input b: str # input c: int\ncall f(x = a)", ["a: int", "b: str"]),
        (HEAD + "input a: int\nguarantee only('x')\n", ["a: int"]),
        # Where a promise ends takes the grammar.
        (HEAD + "guarantee only('x')\ninput a: int\n", None),
        (HEAD + "guarantee only('# input a: int')\n", None),
        ("call f()", None),
    ],
)
def test_commands(source: str, takes: list[str] | None) -> None:
    assert told(source, "commands") == takes


def test_of_a_document_nothing_is_told() -> None:
    assert told("{}", "ir") is None


def test_other_values_are_another_submission() -> None:
    source = "def main(a: int): pass"
    programs = [
        Program(source, layer_hash="sha256:" + "0" * 64, inputs={"a": a}) for a in (1, 2, 1)
    ]
    one, other, again = (each.submission_id("t", "agent") for each in programs)
    assert one == again != other


@pytest.mark.parametrize(
    "inputs", [None, {}, {"a": "1"}, {"a": True}, {"a": [1]}, {"a": 1, "b": 1}]
)
def test_what_does_not_fit_is_refused_before_it_is_sent(inputs: Any) -> None:
    with pytest.raises(SubmissionRefused, match=r"program\.py: "):
        Program("def main(a: int): pass", inputs=inputs).written_inputs()


def test_a_program_without_parameters_is_given_none() -> None:
    assert Program("def main(): pass", inputs={}).written_inputs() is None
    with pytest.raises(SubmissionRefused, match="main takes nothing"):
        Program("def main(): pass", inputs={"a": 1}).written_inputs()
