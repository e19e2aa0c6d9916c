"""Benchmarks are imported from the repository: they aren't part of the package."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[3]))


@pytest.fixture(autouse=True)
def without_code_analysis(no_code_analysis: None) -> None:
    pass
