"""From a program and its layer to a verdict with counterexamples."""
