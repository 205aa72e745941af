"""Certificates of proofs: made, checked again, and the second solver."""
