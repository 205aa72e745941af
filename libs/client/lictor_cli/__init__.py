"""The `lictor` command; `main` is its entry point."""
