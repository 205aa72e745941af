"""Rows and their columns."""

from lictor_layer import Column as ColumnRef
from lictor_layer import Row
from lictor_layer.errors import DeclarationError as RowSchemaError

__all__ = ["ColumnRef", "Row", "RowSchemaError"]
