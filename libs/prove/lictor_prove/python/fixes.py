"""Mechanical rewriting of what is refused: each reason that has one becomes an edit of the text, and the result is read
again until nothing is left to do.

Whoever takes a rewritten program proves that one: what is proved of it is never said of the program before.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from lictor_prove.errors import Reason, Rejected
from lictor_prove.layer_model import Layer
from lictor_prove.python.diagnosis import every_reason
from lictor_prove.python.reader import parse_program, read_parsed

MAX_ROUNDS: Final = 3
_LINE_END: Final = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """What stands between two places of a line-and-column text; columns count bytes, as the parser does."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


def rewritten(source: str, reasons: tuple[Reason, ...], *, target: str, layer: Layer) -> str:
    """The program after every mechanical rewriting of what is refused in it; empty where there is none."""
    # The program is rejected already: a rewriting that can't be found is not told.
    with suppress(Exception):
        return _rewritten(source, reasons, target, layer)
    return ""


def _rewritten(source: str, reasons: tuple[Reason, ...], target: str, layer: Layer) -> str:
    text, now = source, reasons
    for _ in range(MAX_ROUNDS):
        changed = _edited(text, _edits(text, now))
        if changed == text:
            break
        text = changed
        first = _refused(text, target, layer)
        if first is None:
            break
        now = every_reason(first, text, target=target, layer=layer)
    return "" if text == source else text


def _refused(text: str, target: str, layer: Layer) -> Reason | None:
    try:
        read_parsed(parse_program(text), name="fixed.py", target=target, layer=layer)
    except Rejected as refused:
        return refused.reasons[0]
    return None


def _edits(text: str, reasons: tuple[Reason, ...]) -> list[Edit]:
    """The edits for the reasons; of those that overlap, the first."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = sorted({each for reason in reasons for each in _edits_for(tree, text, reason)})
    chosen: list[Edit] = []
    for each in found:
        if not chosen or chosen[-1].end <= each.start:
            chosen.append(each)
    return chosen


def _edits_for(tree: ast.Module, text: str, reason: Reason) -> Iterator[Edit]:
    make = _FIXES.get(reason.code)
    if make is not None and reason.line is not None:
        yield from make(tree, text, reason.line)


def _edited(text: str, edits: list[Edit]) -> str:
    """The text after the edits; the same where the result is no Python."""
    # As the parser counts them: other separators stand in strings.
    lines = [line.encode() for line in _LINE_END.split(text)]
    for each in reversed(edits):
        (first, start), (last, end) = each.start, each.end
        after = lines[last - 1][end:] if last <= len(lines) else b""
        lines[first - 1 : last] = [lines[first - 1][:start] + each.text.encode() + after]
    changed = b"".join(lines).decode()
    try:
        ast.parse(changed)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    return changed


# -- the fixes -------------------------------------------------------------------------------------


def _replaced(node: ast.expr | ast.stmt, text: str) -> Edit:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return Edit((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset), text)


_LOOSE: Final = (ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.NamedExpr)
"""What binds no closer than a comparison, as `not` does. The parentheses around it are no part of it."""


def _text(node: ast.expr, source: str) -> str:
    """An expression as it was written; between parentheses where it is on several lines, or would be taken apart beside
    an operator."""
    told = ast.get_source_segment(source, node) or ast.unparse(node)
    is_loose = isinstance(node, _LOOSE) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )
    return f"({told})" if is_loose or "\n" in told else told


def _at(tree: ast.Module, line: int) -> Iterator[ast.AST]:
    return (node for node in ast.walk(tree) if getattr(node, "lineno", None) == line)


def _comprehension(tree: ast.Module, text: str, line: int) -> Iterator[Edit]:
    """`map(f, xs)` and `filter(p, xs)`, in `list(…)` or alone."""
    taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    item = next(name for name in ("item", "each", "item_", "each_") if name not in taken)
    whole = {
        id(node.args[0]): node
        for node in _at(tree, line)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "list"
        and len(node.args) == 1
        and not node.keywords
    }
    for node in _at(tree, line):
        match node:
            case ast.Call(
                func=ast.Name(id="map" | "filter" as name), args=[function, over], keywords=[]
            ) if isinstance(function, ast.Name | ast.Attribute | ast.Constant | ast.Lambda):
                told = _applied(function, item)
                if told is None:
                    continue
                items = _text(over, text)
                made = (
                    f"[{told} for {item} in {items}]"
                    if name == "map"
                    else f"[{item} for {item} in {items} if {told}]"
                )
                yield _replaced(whole.get(id(node), node), made)
            case _:
                pass


def _applied(function: ast.expr, item: str) -> str | None:
    match function:
        case ast.Constant(value=None):
            return item
        case ast.Lambda(
            args=ast.arguments(
                posonlyargs=[],
                args=[parameter],
                kwonlyargs=[],
                defaults=[],
                vararg=None,
                kwarg=None,
            ),
            body=body,
        ):
            if any(isinstance(inner, ast.Lambda | ast.comprehension) for inner in ast.walk(body)):
                return None
            for inner in ast.walk(body):
                if isinstance(inner, ast.Name) and inner.id == parameter.arg:
                    inner.id = item
            return ast.unparse(body)
        case ast.Name() | ast.Attribute():
            return f"{ast.unparse(function)}({item})"
        case _:
            return None


def _unused_import(tree: ast.Module, _: str, line: int) -> Iterator[Edit]:
    """An import that nothing reads."""
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in tree.body:
        if node.lineno != line or not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        bound = {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        if not bound & read and "*" not in bound and node.end_lineno is not None:
            yield Edit((node.lineno, 0), (node.end_lineno + 1, 0), "")


def _import_at_top(tree: ast.Module, _: str, line: int) -> Iterator[Edit]:
    """An import inside of a function moves to the others."""
    for node in _at(tree, line):
        if not isinstance(node, ast.Import | ast.ImportFrom) or node in tree.body:
            continue
        imports = [each for each in tree.body if isinstance(each, ast.Import | ast.ImportFrom)]
        above = max((each.end_lineno or each.lineno for each in imports), default=0)
        if above:
            yield Edit((above + 1, 0), (above + 1, 0), f"{ast.unparse(node)}\n")
            yield from _removed(tree, node)


def _removed(tree: ast.Module, node: ast.stmt) -> Iterator[Edit]:
    """Without a statement that stands in a line of its own; a block must not end up empty."""
    alone = any(
        getattr(outer, field, None) == [node]
        for outer in ast.walk(tree)
        for field in ("body", "orelse", "finalbody")
    )
    beside = any(
        other is not node and isinstance(other, ast.stmt) and other.lineno == node.lineno
        for other in ast.walk(tree)
    )
    if alone or beside or node.end_lineno is None:
        yield _replaced(node, "pass")
    else:
        yield Edit((node.lineno, 0), (node.end_lineno + 1, 0), "")


def _equality(tree: ast.Module, text: str, line: int) -> Iterator[Edit]:
    """`is` with a number or a text."""
    for node in _at(tree, line):
        match node:
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[right]):
                sign = "==" if isinstance(op, ast.Is) else "!="
                yield _replaced(node, f"{_text(left, text)} {sign} {_text(right, text)}")
            case _:
                pass


def _in_order(tree: ast.Module, text: str, line: int) -> Iterator[Edit]:
    """A loop over a set goes over its items in order."""
    yield from _over(tree, text, line, "sorted")


def _over_copy(tree: ast.Module, text: str, line: int) -> Iterator[Edit]:
    """A loop that changes what it runs over goes over a copy."""
    yield from _over(tree, text, line, "list")


def _over(tree: ast.Module, text: str, line: int, function: str) -> Iterator[Edit]:
    for node in _at(tree, line):
        if isinstance(node, ast.For):
            yield _replaced(node.iter, f"{function}({_text(node.iter, text)})")


def _list(tree: ast.Module, text: str, line: int) -> Iterator[Edit]:
    """A generator expression, or an iterator, that is kept becomes a list."""
    for node in _at(tree, line):
        match node:
            case ast.Assign(value=ast.GeneratorExp() as value):
                inner = ast.get_source_segment(text, value) or ""
                if inner.startswith("(") and inner.endswith(")"):
                    yield _replaced(value, f"[{inner[1:-1]}]")
            case ast.Assign(value=ast.Call() as value):
                yield _replaced(value, f"list({_text(value, text)})")
            case _:
                pass


def _merged(tree: ast.Module, text: str, line: int) -> Iterator[Edit]:
    """`{**a, "b": 1}` becomes `a | {"b": 1}`."""
    for node in _at(tree, line):
        if not isinstance(node, ast.Dict) or None not in node.keys:
            continue
        parts: list[str] = []
        pairs: list[str] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None:
                pairs.append(f"{_text(key, text)}: {_text(value, text)}")
                continue
            if pairs:
                parts.append(f"{{{', '.join(pairs)}}}")
                pairs = []
            parts.append(
                _text(value, text)
                if isinstance(value, ast.Name | ast.Attribute | ast.Call)
                else f"({_text(value, text)})"
            )
        if pairs:
            parts.append(f"{{{', '.join(pairs)}}}")
        whole = " | ".join(parts) if len(parts) > 1 else f"{{}} | {parts[0]}"
        yield _replaced(node, f"({whole})")


_FIXES: Final[Mapping[str, Callable[[ast.Module, str, int], Iterator[Edit]]]] = {
    "builtin.unsupported": _comprehension,
    "import.nested": _import_at_top,
    "import.unknown": _unused_import,
    "import.unmodelled": _unused_import,
    "iterator.kept": _list,
    "loop.mutation": _over_copy,
    "loop.set": _in_order,
    "operator.is": _equality,
    "unsupported.generator": _list,
    "unsupported.starred": _merged,
}
"""By the code of the reason; what is not here has no mechanical rewriting."""
