"""Benchmarks are imported from the repository: they aren't part of the package."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3]))
