"""Which Python this process is.

What `\\d` matches, what `str.lower` gives and how floats are summed changes with the minor version, so a proof and a
rehearsal count for one.
"""

from __future__ import annotations

import sys


def this_python() -> str:
    """Implementation and minor version, such as `cpython 3.11`."""
    return f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"
