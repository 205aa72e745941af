"""`lictor hook`: its installation; the hook itself is `lictor.fast.hook`."""
