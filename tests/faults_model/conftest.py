"""The proof is a program of its own, `bench.model_faults`; what is run here is a share of it."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))
