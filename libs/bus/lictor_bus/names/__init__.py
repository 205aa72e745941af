"""The names on the bus: subjects, streams, and the roles that may use them."""
