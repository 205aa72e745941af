"""Certificates of proofs: made, cross-checked by a second solver, checked again."""
