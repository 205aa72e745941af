"""The concrete oracle: values of terms, runs of documents, and contracts held against runs, without any solver."""

from lictor_ir.evaluation.contract_monitor import ContractMonitor
from lictor_ir.evaluation.contract_truth import holds
from lictor_ir.evaluation.following import Following, ObservedCall, follows
from lictor_ir.evaluation.steps import Step, Trace
from lictor_ir.evaluation.term_values import Environment, value
from lictor_ir.evaluation.traces import Broken, Results, broken_assumptions, failed_obligations, run

__all__ = [
    "Broken",
    "ContractMonitor",
    "Environment",
    "Following",
    "ObservedCall",
    "Results",
    "Step",
    "Trace",
    "broken_assumptions",
    "failed_obligations",
    "follows",
    "holds",
    "run",
    "value",
]
