"""The subset of Python that is read, and its scopes."""
