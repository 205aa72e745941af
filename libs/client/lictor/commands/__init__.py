"""One module for each command of `lictor`."""
