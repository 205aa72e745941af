"""How types, literals and values are spelled."""
