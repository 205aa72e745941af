"""The check of a whole log, from the stream or from exported files."""
