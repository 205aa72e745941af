"""What a program in commands promises: contracts of the layer by name, or the contract algebra of the Effect IR.

Both are closed: arguments are literals, predicates read the fields of effects alone. Nothing that the program computes
can change what was promised. A contract of the algebra is named by what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import lictor_layer
from lictor_ir.document import Document, Guarantee, Schema, Span
from lictor_ir.errors import IrError
from lictor_ir.spelling.literals import read_int
from lictor_ir.text import write_contract
from lictor_ir.text.contract_reader import ContractReader
from lictor_ir.text.scanner import Scanner, Token
from lictor_ir.text.term_reader import TermReader
from lictor_ir.validation.contracts import check_contract
from lictor_ir.validation.terms import TermRules
from lictor_prove.coverage.report import Stated
from lictor_prove.coverage.required_contracts import contracts_of, is_contract
from lictor_prove.errors import ProveError, ProverConfigError
from lictor_prove.layer_model import ContractBuilder, Layer
from lictor_prove.python.interpreter.trusted_calls import declared_effect

MAX_LITERAL_DEPTH: Final = 16
Literal = tuple[Any, str]
"""A value, and how Python would write it: guarantees are named alike whatever a program is written in."""


class GuaranteeReader:
    """Reads what follows the word `guarantee`."""

    def __init__(self, scanner: Scanner, terms: TermReader, layer: Layer) -> None:
        self._scan = scanner
        self._layer = layer
        self._contracts = ContractReader(scanner, terms)
        self._declared = Document(
            "",
            None,
            None,
            effects=tuple(map(declared_effect, layer.functions.values())),
            events=tuple(layer.events.values()),
            schemas=tuple(layer.schemas.values()),
            fluents=tuple(layer.fluents.values()),
        )
        self._contracts.effects.update((each.name, each) for each in self._declared.effects)
        self._contracts.events.extend(self._declared.events)
        self._contracts.fluents.update((each.name, each) for each in self._declared.fluents)

    def guarantee(self, span: Callable[[], Span]) -> tuple[Guarantee, Stated | None]:
        """Pass a contract; with which one of the layer it is, unless it is written out."""
        start = self._scan.token
        after = self._scan.source[start.start + len(start.text) :][:1]
        if start.kind == "word" and after in ("(", "."):
            return self._of_layer(start, span)
        contract = self._contracts.contract()
        try:
            check_contract(contract, ("contract",), self._declared, TermRules(self._declared))
            name = write_contract(self._declared, contract)
        except IrError as error:
            raise self._scan.fail(str(error), start) from None
        return Guarantee(name, contract, span=span()), None

    # -- contracts of the layer --------------------------------------------------------------------

    def _of_layer(self, start: Token, span: Callable[[], Span]) -> tuple[Guarantee, Stated]:
        scan = self._scan
        path = [scan.name()]
        while scan.takes("."):
            path.append(scan.name())
        builder = self._builder(path, start)
        args: list[Literal] = []
        kwargs: dict[str, Literal] = {}

        def argument() -> None:
            at = scan.token
            if at.kind in ("word", "quoted") and _is_keyword(scan):
                name = scan.name()
                if name in kwargs:
                    raise scan.fail(f"{name} is given twice", at)
                scan.expect("=")
                kwargs[name] = self._literal(0)
            elif kwargs:
                raise scan.fail("arguments by name come last", at)
            else:
                args.append(self._literal(0))

        scan.expect("(")
        self._until(")", argument)
        told = [text for _, text in args] + [f"{name}={text}" for name, (_, text) in kwargs.items()]
        name = f"{builder.name}({', '.join(told)})"
        try:
            contract, description = builder.build(
                [value for value, _ in args], {key: value for key, (value, _) in kwargs.items()}
            )
        except ProverConfigError:
            raise
        except ProveError as error:
            raise scan.fail(f"the guarantee {name} can't be stated: {error}", start) from None
        stated = Stated(builder.name, builder.module)
        return Guarantee(name, contract, description, span=span()), stated

    def _builder(self, path: Sequence[str], start: Token) -> ContractBuilder:
        if len(path) > 1:
            module = self._layer.modules.get(".".join(path[:-1]))
            found = module.names.get(path[-1]) if module is not None else None
            if is_contract(found):
                return found
            raise self._scan.fail(f"{'.'.join(path)} is no contract of the layer", start)
        named = [each for each in contracts_of(self._layer) if each.name == path[0]]
        if len(named) == 1:
            return named[0]
        if not named:
            raise self._scan.fail(f"{path[0]} is no contract of the layer", start)
        whole = ", ".join(sorted(f"{each.module}.{each.name}" for each in named))
        raise self._scan.fail(f"{path[0]} is one of several contracts; write one of {whole}", start)

    # -- literals ----------------------------------------------------------------------------------

    def _literal(self, depth: int) -> Literal:
        scan = self._scan
        token = scan.token
        if depth > MAX_LITERAL_DEPTH:
            raise scan.fail(f"literals are nested deeper than {MAX_LITERAL_DEPTH}")
        match token.kind:
            case "string":
                value = scan.string()
                return value, repr(value)
            case "int":
                number = self._made(lambda: read_int(scan.skip().text), token)
                return number, repr(number)
            case "float":
                number = float(scan.skip().text)
                return number, repr(number)
            case "word" | "quoted":
                return self._word(depth)
            case _:
                pass
        if scan.takes("["):
            items = self._items("]", depth)
            return [value for value, _ in items], f"[{_told(items)}]"
        if scan.takes("{"):
            return self._dict(depth, token)
        raise scan.fail(
            "an argument of a guarantee is written out: a literal, a row class or a path"
        )

    def _word(self, depth: int) -> Literal:
        scan = self._scan
        token = scan.skip()
        match token.text:
            case "true" | "false":
                return token.text == "true", token.text.capitalize()
            case "none":
                return None, "None"
            case "tuple" if scan.takes("("):
                items = self._items(")", depth)
                trailing = "," if len(items) == 1 else ""
                return tuple(value for value, _ in items), f"({_told(items)}{trailing})"
            case "set" if scan.takes("("):
                items = self._items(")", depth)
                return self._made(
                    lambda: {value for value, _ in items}, token
                ), f"{{{_told(items)}}}"
            case name:
                return self._class(name.strip("`"), token, depth)

    def _class(self, name: str, token: Token, depth: int) -> Literal:
        scan = self._scan
        if not scan.takes("("):
            schema: Schema | None = self._layer.schemas.get(name)
            if schema is None:
                raise scan.fail(
                    f"{name} is no row class of the layer; arguments are written out", token
                )
            return schema, name
        made: object = getattr(lictor_layer, name, None)
        if not (isinstance(made, type) and getattr(made, "__lictor_literal__", False)):
            raise scan.fail(f"{name} can't be written in a guarantee", token)
        items = self._items(")", depth)
        return self._made(
            lambda: made(*(value for value, _ in items)), token
        ), f"{name}({_told(items)})"

    def _dict(self, depth: int, token: Token) -> Literal:
        pairs: list[tuple[Literal, Literal]] = []

        def pair() -> None:
            key = self._literal(depth + 1)
            self._scan.expect(":")
            pairs.append((key, self._literal(depth + 1)))

        self._until("}", pair)
        told = ", ".join(f"{key}: {value}" for (_, key), (_, value) in pairs)
        made = self._made(lambda: {key: value for (key, _), (value, _) in pairs}, token)
        return made, f"{{{told}}}"

    def _items(self, end: str, depth: int) -> list[Literal]:
        found: list[Literal] = []
        self._until(end, lambda: found.append(self._literal(depth + 1)))
        return found

    def _until(self, end: str, read: Callable[[], None]) -> None:
        first = True
        while not self._scan.takes(end):
            if not first:
                self._scan.expect(",")
            first = False
            read()

    def _made(self, make: Callable[[], Any], token: Token) -> Any:
        try:
            return make()
        except (IrError, TypeError, ValueError) as error:
            raise self._scan.fail(str(error), token) from None


def _told(items: Sequence[Literal]) -> str:
    return ", ".join(text for _, text in items)


def _is_keyword(scan: Scanner) -> bool:
    """Whether `name =` comes next."""
    rest = scan.source[scan.token.start + len(scan.token.text) :][:40].lstrip(" \t")
    return rest.startswith("=") and not rest.startswith("==")
