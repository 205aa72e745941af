"""Predicates over written paths and URLs."""

from lictor_layer.path_predicates import (
    has_no_parent_segments,
    has_plain_segments,
    is_plain_path,
    is_single_path_component,
    url_has_no_parent_segments,
)

__all__ = [
    "has_no_parent_segments",
    "has_plain_segments",
    "is_plain_path",
    "is_single_path_component",
    "url_has_no_parent_segments",
]
