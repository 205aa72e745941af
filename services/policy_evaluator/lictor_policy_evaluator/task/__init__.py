"""A task's state as the gates and other services ask for it."""
