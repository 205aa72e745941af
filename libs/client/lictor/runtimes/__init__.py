"""Agent runtimes that Lictor guards, one module or folder each."""
