"""From source text to a syntax tree that holds nothing but what the subset knows.

The program is parsed, never imported or executed. Every node of the file is looked at, also in functions that nobody
calls: what is not on the list is refused where it stands, with the nearest supported spelling.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable
from typing import Final

from lictor_ir.document import Span
from lictor_prove.python.refusals import MAX_DEPTH, MAX_SOURCE_BYTES, SubsetRefusal, refuse
from lictor_prove.python.syntax.walking import children

SUPPORTED: Final[frozenset[type[ast.AST]]] = frozenset(
    {
        ast.Module,
        ast.FunctionDef,
        ast.ClassDef,
        ast.arguments,
        ast.arg,
        ast.keyword,
        ast.alias,
        ast.Import,
        ast.ImportFrom,
        ast.Return,
        ast.Assign,
        ast.AugAssign,
        ast.AnnAssign,
        ast.For,
        ast.While,
        ast.If,
        ast.Match,
        ast.match_case,
        ast.MatchValue,
        ast.MatchSingleton,
        ast.MatchSequence,
        ast.MatchStar,
        ast.MatchAs,
        ast.MatchOr,
        ast.MatchClass,
        ast.Delete,
        ast.Raise,
        ast.Try,
        ast.With,
        ast.withitem,
        ast.ExceptHandler,
        ast.Assert,
        ast.Expr,
        ast.Pass,
        ast.Break,
        ast.Continue,
        ast.BoolOp,
        ast.BinOp,
        ast.UnaryOp,
        ast.Lambda,
        ast.IfExp,
        ast.NamedExpr,
        ast.Dict,
        ast.Set,
        ast.List,
        ast.Tuple,
        ast.ListComp,
        ast.SetComp,
        ast.DictComp,
        ast.GeneratorExp,
        ast.comprehension,
        ast.Compare,
        ast.Call,
        ast.JoinedStr,
        ast.FormattedValue,
        ast.Constant,
        ast.Attribute,
        ast.Subscript,
        ast.Slice,
        ast.Name,
        ast.Load,
        ast.Store,
        ast.Del,
        ast.Starred,
        ast.And,
        ast.Or,
        ast.Not,
        ast.UAdd,
        ast.USub,
        ast.Invert,
        ast.Add,
        ast.Sub,
        ast.Mult,
        ast.Div,
        ast.FloorDiv,
        ast.Mod,
        ast.Pow,
        ast.LShift,
        ast.RShift,
        ast.BitOr,
        ast.BitAnd,
        ast.BitXor,
        ast.Eq,
        ast.NotEq,
        ast.Lt,
        ast.LtE,
        ast.Gt,
        ast.GtE,
        ast.Is,
        ast.IsNot,
        ast.In,
        ast.NotIn,
    }
)

_REFUSED: Final[dict[str, tuple[str, str, str]]] = {
    "AsyncFunctionDef": ("async", "async functions are outside the subset", "Use `def`."),
    "AsyncFor": ("async", "async loops are outside the subset", "Use `for`."),
    "AsyncWith": ("async", "async blocks are outside the subset", "Call the functions directly."),
    "Await": ("async", "await is outside the subset", "Call the function directly."),
    "Yield": ("generator", "generators are outside the subset", "Return a list."),
    "YieldFrom": ("generator", "generators are outside the subset", "Return a list."),
    "TryStar": ("try", "except* is outside the subset", "Use `except`."),
    "MatchMapping": ("match", "patterns of dicts are outside the subset", "Use if/elif/else."),
    "Global": ("global", "rebinding module names is outside the subset", "Pass and return values."),
    "Nonlocal": ("nonlocal", "rebinding outer names is outside the subset", "Return the value."),
    "TypeAlias": ("type-alias", "type statements are outside the subset", "Remove it."),
    "MatMult": ("operator", "`@` is outside the subset", "Use arithmetic on numbers."),
    "TemplateStr": ("template", "t-strings are outside the subset", "Use an f-string."),
}


def refused_syntax() -> dict[str, str]:
    """What is outside the subset, and what to write instead."""
    return {message: remedy for _, message, remedy in _REFUSED.values()}


_WAYS_OUT: Final = frozenset(
    [
        *("gi_frame", "gi_code", "gi_yieldfrom", "cr_frame", "cr_code", "cr_await"),
        *("ag_frame", "ag_code", "ag_await", "f_back", "f_builtins", "f_code"),
        *("f_globals", "f_locals", "tb_frame", "tb_next"),
    ]
)
"""Attributes that lead from generators, tracebacks and functions to frames, and from there anywhere."""


def leads_out(attribute: str) -> bool:
    """Whether an attribute looks behind a value: no program may read it, and the runner stops one that does."""
    return attribute.startswith("__") or attribute in _WAYS_OUT


def changes_others(node: ast.AST, fields: frozenset[str]) -> bool:
    """Whether it assigns to an attribute that is none of these fields, or deletes one.

    Functions and classes are those of everybody in the process.
    """
    return isinstance(node, ast.Attribute) and not (
        isinstance(node.ctx, ast.Load) or (isinstance(node.ctx, ast.Store) and node.attr in fields)
    )


def assignable_fields(tree: ast.AST) -> frozenset[str]:
    """The names of the fields of a program's dataclasses."""
    return frozenset(
        part.target.id
        for node in children(tree)
        if isinstance(node, ast.ClassDef) and node.decorator_list
        for part in node.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    )


class ProgramSource:
    """The text of a program, and where things stand in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = re.split(r"\r\n|\r|\n", text)

    def span(self, node: ast.AST) -> Span | None:
        """Where the node stands; columns count characters."""
        line, column = getattr(node, "lineno", None), getattr(node, "col_offset", 0)
        if not isinstance(line, int):
            return None
        end_line = getattr(node, "end_lineno", None) or line
        end = getattr(node, "end_col_offset", None) or column
        return Span(line, self._column(line, column), end_line, self._column(end_line, end))

    def _column(self, line: int, offset: int) -> int:
        # The parser counts bytes of UTF-8.
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        if text.isascii():
            return offset + 1
        return len(text.encode(errors="replace")[:offset].decode(errors="replace")) + 1


# PEP 263: Python reads a file in the encoding that a comment in its first two lines names.
_ENCODING: Final = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)


def _check_encoding(text: str) -> None:
    """Run as a file, the program must be the text that was proved."""
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text, maxsplit=2)[:2], 1):
        named = _ENCODING.match(line)
        if named and named[1].lower().replace("_", "-") not in ("utf-8", "utf8"):
            refuse(
                "source.encoding",
                f"the source asks to be read as {named[1]}, and is proved as UTF-8",
                "Save the program as UTF-8 and remove the comment.",
                ast.Pass(lineno=number, col_offset=0),
            )


def parse(text: str) -> ast.Module:
    """The syntax tree of a program in the subset, or a Refusal."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        refuse(
            "source.encoding",
            "the source holds half of a surrogate pair, which is no character",
            "Save the program as UTF-8.",
        )
    if size > MAX_SOURCE_BYTES:
        refuse(
            "limits.source",
            f"the source has {size} bytes; {MAX_SOURCE_BYTES} are allowed",
            "Split the program.",
        )
    if "\0" in text:
        refuse("source.syntax", "the source holds a null byte", "Remove it.")
    _check_encoding(text)
    try:
        with warnings.catch_warnings():
            # Warnings of the parser (`\d` in a plain string) are the author's business, not errors of ours.
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            check_subset(tree)
            # The compiler knows rules that the grammar does not: `break` stands in a loop, parameters differ.
            compile(tree, "<program>", "exec", dont_inherit=True)
    except SyntaxError as error:
        at = ast.Pass(lineno=error.lineno or 1, col_offset=max((error.offset or 1) - 1, 0))
        refuse("source.syntax", f"this is no Python: {error.msg}", "Correct the syntax.", at)
    except (RecursionError, MemoryError):
        refuse("limits.depth", "the program is nested too deeply to be read", "Flatten it.")
    except ValueError as error:
        refuse("source.syntax", f"this is no Python: {error}", "Correct the source.")
    return tree


def started_as_script(node: ast.AST) -> str | None:
    """The function that `if __name__ == "__main__": main()` calls; None for anything else.

    Neither the runner nor a rehearsal gives a program that name, so the block does nothing there.
    """
    match node:
        case ast.If(
            test=ast.Compare(
                left=ast.Name(id="__name__"),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value="__main__")],
            ),
            body=[ast.Expr(value=ast.Call(func=ast.Name(id=name), args=[], keywords=[]))],
            orelse=[],
        ):
            return name
        case _:
            return None


def check_subset(
    tree: ast.AST, noted: Callable[[SubsetRefusal, ast.AST], None] | None = None
) -> None:
    """Refuse every node that is not on the list, without recursion; `noted` hears of all of them instead."""
    stack: list[tuple[ast.AST, int]] = [(tree, 0)]
    parts: set[ast.AST] = set()
    """Of what was refused: only what has a reason of its own is refused once more."""
    fields = assignable_fields(tree)
    while stack:
        node, depth = stack.pop()
        if depth == 1 and started_as_script(node) is not None:
            continue
        if depth > MAX_DEPTH:
            refuse(
                "limits.depth",
                f"the program is nested deeper than {MAX_DEPTH} levels",
                "Give parts of it names.",
                node,
            )
        try:
            if type(node) not in SUPPORTED:
                _refuse_node(node)
            _check_details(node)
            if changes_others(node, fields):
                if isinstance(getattr(node, "ctx", None), ast.Del):
                    refuse(
                        "delete.target",
                        "only names, and items of lists and dicts, can be deleted",
                        "Build a new container.",
                        node,
                    )
                refuse(
                    "assign.target",
                    "only names, items, fields of dataclasses and tuples of them can be assigned to",
                    "Rows and modules don't change; make a new value.",
                    node,
                )
            inner = _flat_children(node)
        except SubsetRefusal as refusal:
            if noted is None:
                raise
            if node not in parts or type(node).__name__ in _REFUSED:
                noted(refusal, node)
            inner = children(node)
            parts.add(node)
        if node in parts:
            parts.update(inner)
        stack += [(child, depth + 1) for child in reversed(inner)]


def _flat_children(node: ast.AST) -> list[ast.AST]:
    """The children; chains (`a + b + …`, `elif`) count as one level, for they are executed without recursion."""
    if not isinstance(node, ast.BinOp | ast.If):
        return children(node)
    found: list[ast.AST] = []
    todo = children(node)
    while todo:
        child = todo.pop(0)
        chained = (isinstance(node, ast.BinOp) and isinstance(child, ast.BinOp)) and (
            child is node.left
        )
        if chained or (
            isinstance(node, ast.If) and node.orelse == [child] and isinstance(child, ast.If)
        ):
            node = child
            _check_details(child)
            todo = children(child) + todo
        else:
            found.append(child)
    return found


def _check_details(node: ast.AST) -> None:
    match node:
        case ast.Name(id=name) if name.startswith("__") and name.endswith("__"):
            refuse("name.dunder", f"{name} reaches into the interpreter", "Don't use it.", node)
        case ast.Attribute(attr=name) if leads_out(name):
            refuse(
                "attribute.dunder", f".{name} reaches into the interpreter", "Don't use it.", node
            )
        case ast.MatchClass(kwd_attrs=[_, *_]):
            refuse(
                "unsupported.match",
                "patterns that read attributes are outside the subset",
                "Test attributes with `if`.",
                node,
            )
        case ast.comprehension(is_async=1):
            refuse("unsupported.async", "async comprehensions are outside the subset", "Use `for`.")
        case ast.arguments(vararg=ast.arg()) | ast.arguments(kwarg=ast.arg()):
            refuse(
                "unsupported.starred",
                "functions that take any number of arguments are outside the subset",
                "Name the parameters.",
                node.vararg or node.kwarg,
            )
        case ast.keyword(arg=None):
            refuse(
                "unsupported.starred",
                "`**` in a call is outside the subset",
                "Write the arguments out.",
                node.value,
            )
        case _:
            params: list[ast.AST] = getattr(node, "type_params", [])
            if params:
                refuse(
                    "unsupported.type-parameters",
                    "type parameters are outside the subset",
                    "Remove them.",
                    node,
                )


def _refuse_node(node: ast.AST) -> None:
    name = type(node).__name__
    code, message, remedy = _REFUSED.get(
        name, (name.lower(), f"{name} is outside the subset", "See docs/python-subset.md.")
    )
    refuse(f"unsupported.{code}", message, remedy, node)
