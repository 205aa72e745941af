"""What programs may use of Python's standard library, beyond the functions that are exact."""
