"""The evaluator's step: which rules match, which of them decides."""
