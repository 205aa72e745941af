"""A program's modules, annotations and guarantees, and the document that comes of it."""
