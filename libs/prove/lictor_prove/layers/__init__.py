"""Trusted layers: finding, loading and reading them. docs/trusted-layers.md says how to write one."""

from lictor_prove.layers.files import discover_trusted_roots
from lictor_prove.layers.load import load_layer

__all__ = ["discover_trusted_roots", "load_layer"]
