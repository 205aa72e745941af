"""Static analyses of contracts: what implies what, what can't be kept, and what says nothing new.

The questions are about contracts alone, over every trace of an effect signature, whatever program they stand on.
`docs/contract-analysis.md` says why traces of a few steps are enough to ask about.
"""

from lictor_ir.analysis.contract_sets import (
    Possibility,
    Possible,
    Reduction,
    Redundant,
    SetAnalysis,
    analyze,
    possible,
    reduced,
)
from lictor_ir.analysis.entailment import Entailment, EntailmentVerdict, entails
from lictor_ir.analysis.signature import Behaviour, Signature
from lictor_ir.analysis.solver_budget import Budget
from lictor_ir.analysis.witnesses import told

__all__ = [
    "Behaviour",
    "Budget",
    "Entailment",
    "EntailmentVerdict",
    "Possibility",
    "Possible",
    "Reduction",
    "Redundant",
    "SetAnalysis",
    "Signature",
    "analyze",
    "entails",
    "possible",
    "reduced",
    "told",
]
