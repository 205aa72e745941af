"""Decisions, of the evaluator and of guards; receipts, marks, capabilities of adapters."""
