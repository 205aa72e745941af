"""Patches: proposals, the operations in them, what they loosen, their life."""
