"""Where imports, classes and decorators may stand in a file, and what annotations may hold."""

from __future__ import annotations

import ast
from typing import Final

from lictor_prove.python.program.annotations import of_function
from lictor_prove.python.refusals import refuse
from lictor_prove.python.syntax.error_names import check_error_names
from lictor_prove.python.syntax.walking import nodes_below

_ANNOTATION: Final = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.BinOp,
    ast.BitOr,
    ast.Load,
)


def check_placement(statement: ast.stmt, target: str) -> None:
    """What holds of each statement of the file, also of what is never executed."""
    for node in (statement, *nodes_below(statement)):
        match node:
            case ast.Import() | ast.ImportFrom() if node is not statement:
                refuse("import.nested", "imports stand at the top of the file", "Move it.", node)
            case ast.ClassDef() if node is not statement:
                refuse("unsupported.class", "classes are outside the subset", "Use a dict.", node)
            case ast.FunctionDef():
                is_target = node is statement and node.name == target
                # Whoever reads the class says what to write instead of a decorated method.
                is_method = isinstance(statement, ast.ClassDef) and node in statement.body
                if node.decorator_list and not is_target and not is_method:
                    refuse(
                        "decorator.unknown",
                        "only the target may be decorated, and only with guarantees",
                        f"State the guarantee on {target}.",
                        node.decorator_list[0],
                    )
                if node is statement:
                    check_error_names(node)
                for annotation in of_function(node):
                    _check_annotation(annotation)
            case ast.AnnAssign():
                _check_annotation(node.annotation)
            case _:
                pass


def _check_annotation(annotation: ast.expr) -> None:
    for node in (annotation, *nodes_below(annotation)):
        if not isinstance(node, _ANNOTATION):
            refuse(
                "annotation.expression",
                "an annotation may be evaluated, so it holds names and subscripts only",
                "Write a type.",
                node if hasattr(node, "lineno") else annotation,
            )
