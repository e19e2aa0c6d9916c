"""Edits in jobs aren't checked by a language server, which takes seconds to start; `tests/toolsets/diagnostics` has that."""

import pytest


@pytest.fixture(autouse=True)
def no_language_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREADLE_CODING_DIAGNOSTICS", "false")
