"""Installation."""
