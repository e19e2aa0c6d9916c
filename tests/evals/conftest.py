"""The bench of replays is `bench.evals`, at the root of the repository, which isn't part of the package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
