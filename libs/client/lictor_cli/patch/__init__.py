"""`lictor patch`: patches listed, shown, proposed, decided, applied."""
