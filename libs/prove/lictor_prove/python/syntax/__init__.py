"""The subset of Python that programs may use."""
