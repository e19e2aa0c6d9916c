"""The sample is whole or not there, and what is missing is said."""

import asyncio
from pathlib import Path

import pytest

from assistants.coding.stage import needs_git
from treadle.assistants.coding import sample
from treadle.assistants.coding.sample import make_coding_sample
from treadle.errors import SettingsError


def test_without_git_there_is_none_and_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SettingsError, match="There is no git here"):
        asyncio.run(make_coding_sample(tmp_path / "samples", set()))
    assert not (tmp_path / "samples" / "cart").exists()


def test_a_git_that_fails_leaves_nothing_behind_that_looks_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\necho no room\nexit 1\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SettingsError, match="The sample can't be made: no room"):
        asyncio.run(make_coding_sample(tmp_path / "samples", set()))
    assert not (tmp_path / "samples" / "cart").exists()


@needs_git
def test_there_is_an_end_to_them(tmp_path: Path) -> None:
    places = [tmp_path / ("cart" if number == 1 else f"cart-{number}") for number in range(1, sample.MAX_SAMPLES + 1)]
    for place in places:
        place.mkdir()
    with pytest.raises(SettingsError, match="There are 50 samples"):
        asyncio.run(make_coding_sample(tmp_path, {str(place.resolve()) for place in places}))
