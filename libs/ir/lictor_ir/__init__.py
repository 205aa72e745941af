"""The Effect IR: what a program may do, and what is guaranteed about it.

Names are loaded on first use: who builds documents need not pay for evaluating them, and only
`lictor_ir.solver.z3_lowering` needs a solver. Functions that are named as their modules are found there:
`lictor_ir.text.read` and `write`, `lictor_ir.validation.document.validate`, `lictor_ir.goals.goals`; and terms are
made with `lictor_ir.terms`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lictor_ir.contracts import (
        All,
        Anything,
        AtEnd,
        Before,
        Both,
        Comparison,
        Contract,
        Count,
        Distinct,
        Empty,
        NeverAfter,
        Relation,
        SharesValue,
        Sum,
    )
    from lictor_ir.document import (
        FORMAT,
        Assumption,
        Atom,
        Binder,
        Document,
        Effect,
        Enumeration,
        Event,
        Fact,
        FactKind,
        Fluent,
        Guarantee,
        Obligation,
        ObligationKind,
        Parameter,
        Performed,
        Schema,
        Span,
        Unknown,
        Update,
    )
    from lictor_ir.errors import (
        CertificateError,
        DifferenceError,
        DocumentError,
        FormError,
        IrError,
        TermError,
        UnknownError,
        UnspecifiedError,
        UnsupportedError,
    )
    from lictor_ir.evaluation import (
        Broken,
        Environment,
        Following,
        ObservedCall,
        Step,
        Trace,
        broken_assumptions,
        failed_obligations,
        follows,
        holds,
        run,
        value,
    )
    from lictor_ir.goals import (
        Goal,
        GoalKind,
        Strength,
    )
    from lictor_ir.json.document import document_hash, from_json, to_json
    from lictor_ir.provenance import (
        argument_labels,
        origin_formula,
    )
    from lictor_ir.summary import (
        Summary,
        summarize,
    )
    from lictor_ir.terms import (
        Term,
    )
    from lictor_ir.types import (
        Type,
    )
    from lictor_ir.values import (
        EnumValue,
        RowValue,
        Value,
    )

__version__ = "0.1.0"

_HOMES = {
    "contracts": (
        "All Anything AtEnd Before Both Comparison Contract Count Distinct Empty NeverAfter "
        "Relation SharesValue Sum"
    ),
    "document": (
        "Assumption Atom Binder Document Effect Enumeration Event FORMAT Fact FactKind Fluent Guarantee "
        "Obligation ObligationKind Parameter Performed Schema Span Unknown Update"
    ),
    "errors": (
        "CertificateError DifferenceError DocumentError FormError IrError TermError UnknownError "
        "UnspecifiedError UnsupportedError"
    ),
    "evaluation": (
        "Broken Environment Following ObservedCall Step Trace broken_assumptions failed_obligations follows "
        "holds run value"
    ),
    "goals": "Goal GoalKind Strength",
    "json.document": "document_hash from_json to_json",
    "provenance": "argument_labels origin_formula",
    "summary": "Summary summarize",
    "terms": "Term",
    "types": "Type",
    "values": "EnumValue RowValue Value",
}
HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "FORMAT",
    "All",
    "Anything",
    "Assumption",
    "AtEnd",
    "Atom",
    "Before",
    "Binder",
    "Both",
    "Broken",
    "CertificateError",
    "Comparison",
    "Contract",
    "Count",
    "DifferenceError",
    "Distinct",
    "Document",
    "DocumentError",
    "Effect",
    "Empty",
    "EnumValue",
    "Enumeration",
    "Environment",
    "Event",
    "Fact",
    "FactKind",
    "Fluent",
    "Following",
    "FormError",
    "Goal",
    "GoalKind",
    "Guarantee",
    "IrError",
    "NeverAfter",
    "Obligation",
    "ObligationKind",
    "ObservedCall",
    "Parameter",
    "Performed",
    "Relation",
    "RowValue",
    "Schema",
    "SharesValue",
    "Span",
    "Step",
    "Strength",
    "Sum",
    "Summary",
    "Term",
    "TermError",
    "Trace",
    "Type",
    "Unknown",
    "UnknownError",
    "UnspecifiedError",
    "UnsupportedError",
    "Update",
    "Value",
    "argument_labels",
    "broken_assumptions",
    "document_hash",
    "failed_obligations",
    "follows",
    "from_json",
    "holds",
    "origin_formula",
    "run",
    "summarize",
    "to_json",
    "value",
]


def __getattr__(name: str) -> object:
    home = HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
