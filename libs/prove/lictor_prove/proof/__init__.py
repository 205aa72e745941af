"""A proof: the prover, its limits, its result, counterexamples."""
