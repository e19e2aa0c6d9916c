"""Where local models are kept."""

from pathlib import Path

import pytest

from treadle.core.errors import PullFailed
from treadle.models.downloads.storage import (
    find_model_file,
    format_bytes,
    lock_model,
    models_folder,
    partial_path,
    remove_model,
    wheels_path,
)
from wire.index import content, tiny


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_MODELS", str(tmp_path))
    return tmp_path


def test_the_folder_is_the_systems_own_for_caches_unless_one_was_chosen(folder, monkeypatch):
    assert models_folder() == folder
    monkeypatch.setenv("TREADLE_MODELS", "~/models")
    assert models_folder() == Path.home() / "models"
    monkeypatch.setenv("TREADLE_MODELS", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    assert models_folder().name == "models"
    assert models_folder().parent.name == "treadle"


def test_a_model_is_here_when_its_file_has_the_right_size(folder):
    model = tiny(content(100))
    assert find_model_file(model) is None
    (folder / model.file).write_bytes(bytes(99))
    assert find_model_file(model) is None
    (folder / model.file).write_bytes(bytes(100))
    assert find_model_file(model) == folder / model.file


def test_a_folder_that_is_none_holds_no_models(folder, monkeypatch):
    (folder / "file").write_text("")
    monkeypatch.setenv("TREADLE_MODELS", str(folder / "file"))
    assert find_model_file(tiny(b"x")) is None


def test_removing_takes_everything_with_it(folder):
    model = tiny(content(100))
    assert remove_model(model) == 0
    (folder / model.file).write_bytes(bytes(100))
    partial_path(model).write_bytes(bytes(50))
    wheels_path(partial_path(model)).mkdir()
    (folder / "other.gguf").write_bytes(bytes(10))
    assert remove_model(model) == 150
    assert [path.name for path in folder.iterdir() if not path.name.endswith(".lock")] == ["other.gguf"]


def test_what_is_being_pulled_is_not_removed(folder):
    model = tiny(content(100))
    (folder / model.file).write_bytes(bytes(100))
    with lock_model(model) as is_held, lock_model(model) as is_held_twice:
        assert (is_held, is_held_twice) == (True, False)
        with pytest.raises(PullFailed, match="is being pulled by another process"):
            remove_model(model)
    assert find_model_file(model)
    assert remove_model(model) == 100


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (98_362_432, "98.4 MB"),
        (1_117_320_768, "1.1 GB"),
        (5e15, "5000.0 TB"),
    ],
)
def test_sizes_are_written_for_people(count, words):
    assert format_bytes(count) == words
