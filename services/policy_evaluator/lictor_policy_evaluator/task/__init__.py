"""The state of a task as the gates and other services ask for it."""
