"""A whole program: imports, annotations, guarantees, and the document made of it."""
