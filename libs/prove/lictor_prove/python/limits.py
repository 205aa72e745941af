"""Bounds on what one program may cost the prover. Past each of them a program is rejected, never cut short."""

from __future__ import annotations

from typing import Final

MAX_SOURCE_BYTES: Final = 512 * 1024
MAX_DEPTH: Final = 120
"""Nesting of the syntax tree."""
MAX_STEPS: Final = 300_000
"""Statements and expressions executed."""
MAX_ATOMS: Final = 10_000
MAX_OBLIGATIONS: Final = 50_000
MAX_ITERATIONS: Final = 10_000
"""Iterations of one loop that is unrolled, and items of one container."""
MAX_TEXT: Final = 100_000
"""Characters of a string, bits of a number, that is computed while reading."""
MAX_ALTERNATIVES: Final = 32
"""What one value may be, on different paths, without being one term."""
MAX_CALL_DEPTH: Final = 24
"""Helpers that call helpers."""
MAX_REPEAT: Final = 1_000
"""Bounds of `{m,n}` in a regular expression."""
MAX_PATTERN: Final = 1_000
"""Characters of a regular expression."""
