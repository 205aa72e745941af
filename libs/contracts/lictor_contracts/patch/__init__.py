"""Patches: changes of a pack that drift or a person proposes, from proposal to undo."""
