"""Agent definitions: loaded, linted, compared, compiled."""
