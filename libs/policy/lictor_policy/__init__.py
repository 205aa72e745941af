"""Policy packs and the pure evaluator: state and event in, state and one decision record out."""

__version__ = "0.1.0"
