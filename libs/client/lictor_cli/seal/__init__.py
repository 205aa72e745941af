"""`lictor seal`: sealed episodes shown, exported, verified, corrected, erased."""
