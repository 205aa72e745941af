"""Fluents. Here, `effect` says what a call does to one."""

from lictor_layer import Fluent, fluent
from lictor_layer import sets as effect

__all__ = ["Fluent", "effect", "fluent"]
