"""What operators, builtins and methods do to symbolic values."""
