"""Whether a target can be called with the values that it is given: its document says what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lictor_ir.document import Document
from lictor_prove.errors import Reason
from lictor_schema.proofs.inputs import InputParameter, why_not_of


def parameters_of(document: Document) -> tuple[InputParameter, ...]:
    """The parameters of the target, as results tell them."""
    return tuple(InputParameter(name=each.name, type=str(each.type)) for each in document.inputs)


def why_not_with(document: Document, inputs: Mapping[str, Any] | None) -> Reason | None:
    """Why the target can't be called with these values, as they are written; None when it can."""
    found = why_not_of(document.target, parameters_of(document), inputs)
    return found and Reason(found.code, found.message, found.remedy)
