"""From text to a program in commands, or to the first reason why it is not one.

The grammar is closed, and stands in docs/commands.md: nothing in it declares, imports, recurses or changes a name.
What trusted functions take, give, demand and promise comes from the layer alone. Every command is checked, also where
no path leads.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from itertools import pairwise
from typing import Final, TypeVar

from lictor_ir.document import Guarantee, Parameter, Span
from lictor_ir.errors import IrError, PlacedError
from lictor_ir.text.keywords import HEADER as DOCUMENT_HEADER
from lictor_ir.text.keywords import KEYWORDS
from lictor_ir.text.scanner import Scanner, Token
from lictor_ir.text.term_reader import TermReader
from lictor_ir.types import BOOL, FLOAT, INT, NEVER, NONE, STR, ListOf, Type, accepts
from lictor_prove.commands.guarantees import GuaranteeReader
from lictor_prove.commands.operation_demands import written
from lictor_prove.commands.program import (
    Assert,
    Block,
    CallCommand,
    Command,
    Commands,
    ForCount,
    ForEach,
    Let,
    Stop,
    When,
    WrittenTerm,
)
from lictor_prove.commands.source_rules import (
    HEADER,
    check_source,
    descriptive,
    remedy_for,
    too_deep,
)
from lictor_prove.coverage.report import Stated
from lictor_prove.errors import Reason, Rejected
from lictor_prove.layer_model import Layer, LayerParameter, TrustedFunction
from lictor_schema.proofs.input_limits import MAX_INPUT_NAME, MAX_INPUTS

_T = TypeVar("_T")

MAX_BLOCKS: Final = 64
"""How deep blocks may be nested."""
MAX_COMMANDS: Final = 50_000

WORDS: Final = frozenset(
    {"assert", "call", "each", "else", "for", "guarantee", "input", "let", "stop", "when"}
)
"""Words that begin or join commands; no name of a program."""
_INPUTS: Final[Mapping[str, Type]] = {"bool": BOOL, "int": INT, "float": FLOAT, "str": STR}
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def read_commands(source: str, *, layer: Layer) -> Commands:
    """The program, or Rejected with the reason and where it stands."""
    check_source(source)
    try:
        return _Reader(source, layer).program()
    except PlacedError as error:
        remedy = remedy_for(source, error)
        reason = Reason("commands.syntax", error.what, remedy, error.line, error.column)
        raise Rejected(reason) from None
    except RecursionError:
        raise Rejected(too_deep()) from None


class _Reader:
    def __init__(self, source: str, layer: Layer) -> None:
        self._layer = layer
        self._lines = [0, *(found.end() for found in re.finditer("\n", source))]
        self._scan = Scanner(source)
        self._terms = TermReader(self._scan, closed=True)
        self._terms.columns.update(
            (schema.name, {column.name: column.type for column in schema.columns})
            for schema in layer.schemas.values()
        )
        self._guarantees = GuaranteeReader(self._scan, self._terms, layer)
        self._called: set[str] = set()
        self._depth = 0
        self._count = 0

    def program(self) -> Commands:
        scan = self._scan
        first = scan.token
        if scan.source.startswith((DOCUMENT_HEADER, "{"), first.start):
            raise Rejected(descriptive(*self._place(first.start)))
        header = scan.source.startswith(HEADER, first.start)
        words = [scan.skip().text for _ in range(4)] if header else []
        if words != ["lictor", "-", "commands", "v1"]:
            raise scan.fail(f"a program in commands begins with {HEADER!r}", first)
        inputs: list[Parameter] = []
        guarantees: list[Guarantee] = []
        stated: list[Stated] = []
        while scan.sees("input", "guarantee"):
            start = scan.skip()
            if start.text == "input":
                inputs.append(self._input())
                if len(inputs) > MAX_INPUTS:
                    raise self._limit(
                        start,
                        "limits.parameters",
                        f"the program has more than {MAX_INPUTS} inputs; values can be given to no more",
                        "Read some of the values with a trusted function.",
                    )
                continue
            guarantee, named = self._guarantees.guarantee(lambda at=start: self._span(at))
            guarantees.append(guarantee)
            stated += [named] if named is not None else []
        body = self._commands("end")
        return Commands(
            source=scan.source,
            layer=self._layer,
            inputs=tuple(inputs),
            body=body,
            guarantees=tuple(guarantees),
            stated=tuple(stated),
            called=frozenset(self._called),
        )

    def _input(self) -> Parameter:
        token = self._scan.token
        name = self._bindable(self._scan.name(), token)
        if len(name) > MAX_INPUT_NAME:
            raise self._limit(
                token,
                "limits.name",
                f"the input {name[:40]}… has a name of {len(name)} characters; a name has at most {MAX_INPUT_NAME}",
                "Give it a shorter name.",
            )
        self._scan.expect(":")
        at = self._scan.token
        type_ = _INPUTS.get(at.text) if at.kind == "word" else None
        if type_ is None:
            raise self._scan.fail(f"an input is bool, int, float or str, not {self._scan.shown()}")
        self._scan.skip()
        self._terms.inputs[name] = type_
        return Parameter(name, type_)

    def _limit(self, at: Token, code: str, message: str, remedy: str) -> Rejected:
        return Rejected(Reason(code, message, remedy, *self._place(at.start)))

    # -- places ------------------------------------------------------------------------------------

    def _span(self, start: Token) -> Span:
        line, column = self._place(start.start)
        end_line, end_column = self._place(self._scan.passed)
        return Span(line, column, end_line, end_column)

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    # -- commands ----------------------------------------------------------------------------------

    def _commands(self, end: str) -> Block:
        """The commands up to the end of a block or of the text; names that they bind end there too."""
        scan = self._scan
        found: list[Command] = []
        outer = dict(self._terms.inputs)
        while scan.token.kind != "end" and not scan.sees("}"):
            self._count += 1
            if self._count > MAX_COMMANDS:
                raise scan.fail(f"the program has more than {MAX_COMMANDS} commands")
            found.append(self._command())
        if scan.token.kind == "end" and end != "end":
            raise scan.fail("'}' is expected, not the end")
        if scan.sees("}") and end == "end":
            raise scan.fail("'}' closes nothing")
        self._terms.inputs = outer
        return tuple(found)

    def _command(self) -> Command:
        scan = self._scan
        start = scan.token
        if start.kind not in ("word", "quoted"):
            raise scan.fail(f"a command is expected, not {scan.shown()}")
        match start.text:
            case "let":
                scan.skip()
                return self._let(start)
            case "call":
                return self._call(start, None)
            case "when":
                scan.skip()
                return self._when(start)
            case "for":
                scan.skip()
                return self._for(start)
            case "assert":
                scan.skip()
                return Assert(self._condition(), self._span(start))
            case "stop":
                scan.skip()
                return Stop(self._span(start))
            case "input" | "guarantee":
                raise scan.fail(f"{start.text} stands before the first command")
            case _:
                return self._named_call(start)

    def _let(self, start: Token) -> Command:
        token = self._scan.token
        name = self._bindable(self._scan.name(), token)
        self._scan.expect("=")
        value = self._term()
        self._terms.inputs[name] = value.term.type
        return Let(name, value, self._span(start))

    def _named_call(self, start: Token) -> Command:
        scan = self._scan
        name = scan.name()
        if not scan.sees("="):
            near = get_close_matches(name, WORDS, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise scan.fail(f"{name} begins no command{hint}", start)
        scan.skip()
        if not scan.sees("call"):
            raise scan.fail(
                f"names are bound once: `let {name} = …`, or `{name} = call f(…)`", start
            )
        self._bindable(name, start)
        return self._call(start, name)

    def _call(self, start: Token, name: str | None) -> Command:
        scan = self._scan
        scan.expect("call")
        at = scan.token
        function = self._function(scan.name(), at)
        parameters = {parameter.name: parameter for parameter in function.parameters}
        arguments: dict[str, WrittenTerm] = {}

        def argument() -> None:
            token = scan.token
            given = scan.name()
            if given not in parameters:
                near = self._near(given, parameters)
                raise scan.fail(f"{function.name} has no parameter {given}{near}", token)
            if given in arguments:
                raise scan.fail(f"{given} is given twice", token)
            scan.expect("=")
            arguments[given] = self._argument(function, parameters[given])

        scan.expect("(")
        self._terms.until(")", argument)
        missing = [
            p.name for p in function.parameters if p.name not in arguments and not p.has_default
        ]
        if missing:
            raise scan.fail(f"{function.name} is not given {', '.join(missing)}", at)
        placed = [p.name for p in function.parameters if p.positional_only]
        for before, name_of_next in pairwise(placed):
            if name_of_next in arguments and before not in arguments:
                # They are passed by their place, so a gap would give one the place of another.
                raise scan.fail(f"{name_of_next} of {function.name} is given without {before}", at)
        self._called.add(function.name)
        if name is not None:
            assert function.result is not None
            if function.result == NONE:
                raise scan.fail(f"{function.name} returns nothing that could have a name", start)
            self._terms.inputs[name] = function.result
        return CallCommand(function, arguments, name, self._span(start))

    def _function(self, name: str, at: Token) -> TrustedFunction:
        function = self._layer.functions.get(name)
        if function is None:
            near = self._near(name, self._layer.functions)
            raise self._scan.fail(f"{name} is no trusted function of the layer{near}", at)
        if function.result is None or function.result_of_schema is not None:
            raise self._scan.fail(f"what {name} returns has no model here", at)
        if any(parameter.is_schema for parameter in function.parameters):
            raise self._scan.fail(f"{name} takes a row class, which commands can't pass", at)
        return function

    def _argument(self, function: TrustedFunction, parameter: LayerParameter) -> WrittenTerm:
        at = self._scan.token
        value = self._term()
        if not accepts(parameter.type, value.term.type):
            hint = (
                "; write 5.0, or float_of_int(x)"
                if (parameter.type, value.term.type) == (FLOAT, INT)
                else ""
            )
            raise self._scan.fail(
                f"{parameter.name} of {function.name} is {parameter.type},"
                f" and is given {value.term.type}{hint}",
                at,
            )
        return value

    def _when(self, start: Token) -> Command:
        condition = self._condition()
        then = self._block()
        otherwise: Block = ()
        if self._scan.takes("else"):
            at = self._scan.token
            chained = self._scan.takes("when")
            otherwise = (self._nested(lambda: self._when(at)),) if chained else self._block()
        return When(condition, then, otherwise, self._span(start))

    def _for(self, start: Token) -> Command:
        scan = self._scan
        each = scan.takes("each")
        token = scan.token
        name = self._bindable(scan.name(), token)
        scan.expect("in")
        at = scan.token
        if each:
            over = self._term()
            if not isinstance(over.term.type, ListOf):
                raise scan.fail(f"a loop runs over a list, not over {over.term.type}", at)
            if over.term.type.item == NEVER:
                raise scan.fail("this list is empty, so the loop never runs; leave it out", at)
            body = self._block(name, over.term.type.item)
            return ForEach(name, over, body, self._span(start))
        if at.kind != "int" or at.text != "0":
            raise scan.fail(
                "a loop counts from 0: `for i in 0..n`; over a list: `for each x in xs`"
            )
        scan.skip()
        scan.expect("..")
        at = scan.token
        count = self._term()
        if count.term.type != INT:
            raise scan.fail(f"a loop counts up to an int, not {count.term.type}", at)
        return ForCount(name, count, self._block(name, INT), self._span(start))

    def _block(self, name: str | None = None, type_: Type = INT) -> Block:
        def read() -> Block:
            self._scan.expect("{")
            if name is not None:
                self._terms.inputs[name] = type_
            body = self._commands("}")
            self._terms.inputs.pop(name or "", None)
            self._scan.expect("}")
            return body

        return self._nested(read)

    def _nested(self, read: Callable[[], _T]) -> _T:
        self._depth += 1
        if self._depth > MAX_BLOCKS:
            raise self._scan.fail(f"blocks are nested deeper than {MAX_BLOCKS}")
        found = read()
        self._depth -= 1
        return found

    # -- names and terms ---------------------------------------------------------------------------

    def _bindable(self, name: str, at: Token) -> str:
        if not _NAME.fullmatch(name) or name in WORDS | KEYWORDS:
            raise self._scan.fail(
                f"{name!r} can't be bound: a name is ASCII letters, digits and _, and no reserved word",
                at,
            )
        if name in self._terms.inputs:
            raise self._scan.fail(f"{name} has a value already; names are bound once", at)
        return name

    def _near(self, name: str, known: Iterable[str]) -> str:
        near = get_close_matches(name, list(known), 1)
        return f"; did you mean {near[0]}?" if near else ""

    def _condition(self) -> WrittenTerm:
        at = self._scan.token
        found = self._term()
        if found.term.type != BOOL:
            raise self._scan.fail(f"a condition is a bool, not {found.term.type}", at)
        return found

    def _term(self) -> WrittenTerm:
        at = self._scan.token
        term = self._terms.term()
        if self._scan.sees(">", ">="):
            raise self._scan.fail(f"{self._scan.shown()} can't stand here")
        try:
            return written(term, self._layer.schemas)
        except IrError as error:
            raise self._scan.fail(str(error), at) from None
