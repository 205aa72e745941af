"""The concrete oracle: values of terms, runs of documents, and contracts held against runs, without any solver."""

from lictor_ir.contract_truth import holds
from lictor_ir.traces import (
    Broken,
    Results,
    Step,
    Trace,
    broken_assumptions,
    failed_obligations,
    run,
)
from lictor_ir.valuation import Environment, value

__all__ = [
    "Broken",
    "Environment",
    "Results",
    "Step",
    "Trace",
    "broken_assumptions",
    "failed_obligations",
    "holds",
    "run",
    "value",
]
