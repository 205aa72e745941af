"""The decision timing envelope and the ladder of what is done instead."""
