"""Lets the tests of this folder import `strategies`, which importlib mode would not find."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
