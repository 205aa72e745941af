"""What tool policies, feedback providers and completion checkers implement, and the installed ones."""
