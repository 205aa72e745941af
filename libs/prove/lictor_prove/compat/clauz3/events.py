"""Events and what performs them."""

from lictor_layer import Event, performs

__all__ = ["Event", "performs"]
