"""The concrete oracle: values of terms, runs of documents, and contracts held against runs, without any solver."""

from lictor_ir.evaluation.contract_truth import holds
from lictor_ir.evaluation.term_values import Environment, value
from lictor_ir.evaluation.traces import (
    Broken,
    Results,
    Step,
    Trace,
    broken_assumptions,
    failed_obligations,
    run,
)

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
