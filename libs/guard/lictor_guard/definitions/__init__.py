"""Agent definitions: loaded, linted, compiled, compared, stored."""
