"""The guidance assistant is a plug-in like anyone's."""

from treadle.assistants.guidance import assistant
from treadle.testing import check_assistant


def test_it_keeps_the_contract(monkeypatch, tmp_path):
    monkeypatch.setenv("TREADLE_CONFIG", str(tmp_path / "own.toml"))
    (tmp_path / "own.toml").write_text("")
    check_assistant(assistant)
