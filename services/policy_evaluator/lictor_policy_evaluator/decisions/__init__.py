"""Decisions on the bus: past ones, receipts and marks."""
