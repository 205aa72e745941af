"""What Python's operators, builtins and methods do to symbolic values."""
