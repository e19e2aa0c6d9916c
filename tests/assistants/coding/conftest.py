"""Benchmarks are imported from the repository: they aren't part of the package. Projects have a runner that starts fast."""

import os
import sys
from pathlib import Path

import pytest

import lite_pytest

sys.path.append(str(Path(__file__).parents[3]))


@pytest.fixture(autouse=True)
def without_code_analysis(no_code_analysis: None) -> None:
    pass


@pytest.fixture(autouse=True)
def projects_environment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the projects' tests be run by `lite_pytest`, unless the test wants the real one."""
    if "real_pytest" not in request.fixturenames:
        monkeypatch.setenv("VIRTUAL_ENV", lite_pytest.environment())


@pytest.fixture
def real_pytest() -> str:
    """Let the projects' tests be run by pytest itself."""
    return os.environ.get("VIRTUAL_ENV", "")
