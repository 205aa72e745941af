"""How types, literals and values are spelled, in every form."""
