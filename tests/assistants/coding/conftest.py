"""Benchmarks are imported from the repository: they aren't part of the package.

Edits in jobs aren't checked by a language server, which takes seconds to start; `tests/toolsets/diagnostics` has that.
"""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[3]))


@pytest.fixture(autouse=True)
def no_language_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREADLE_CODING_DIAGNOSTICS", "false")
