"""Programs, proofs and coverage."""
