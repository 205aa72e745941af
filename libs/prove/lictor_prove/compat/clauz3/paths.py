"""Paths as contract arguments."""

from lictor_layer import DirectoryPath, FilePath

__all__ = ["DirectoryPath", "FilePath"]
