"""`lictor seal`: sealed episodes."""
