"""The key of a home: made once, by whoever is first, and never taken for another."""

import asyncio
import subprocess
import sys
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from treadle.core.errors import JournalError, SettingsError
from treadle.stores.journal_key import NAME, VARIABLE, load_environment_key, load_key_file, load_or_create_key

MAKES = (
    "import sys; from pathlib import Path; from treadle.stores.journal_key import load_or_create_key;"
    "print(load_or_create_key(Path(sys.argv[1])).id)"
)


def test_it_is_made_with_the_first_need_and_readable_by_its_owner_only(tmp_path):
    folder = tmp_path / "deeper" / "home"
    assert load_key_file(folder) is None
    key = load_or_create_key(folder)
    assert load_or_create_key(folder) == load_key_file(folder) == key
    assert (len(key.secret), [path.name for path in folder.iterdir()]) == (32, [NAME])
    assert (folder / NAME).stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


def test_two_keys_are_never_the_same_and_none_is_shown(tmp_path):
    one, other = load_or_create_key(tmp_path / "one"), load_or_create_key(tmp_path / "other")
    assert one.id != other.id
    assert repr(one) == f"JournalKey({one.id})"


def test_processes_that_make_it_at_once_have_the_same(tmp_path):
    async def all_at_once():
        command = [sys.executable, "-c", MAKES, str(tmp_path)]
        started = [await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE) for _ in range(4)]
        return {(await each.communicate())[0] for each in started}

    assert len(asyncio.run(all_at_once())) == 1
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_the_environment_can_settle_it(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert load_environment_key() is None
    monkeypatch.setenv(VARIABLE, f" {b64encode(bytes(range(32))).decode()}\n")
    assert load_environment_key().secret == bytes(range(32))


@pytest.mark.parametrize("text", ["short", "no Base64 at all!", b64encode(bytes(31)).decode(), "ä" * 44])
def test_what_is_no_key_is_said_with_how_to_make_one(monkeypatch, text):
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(SettingsError, match=r"TREADLE_KEY is no key: .* This makes one: python -c"):
        load_environment_key()


def test_a_file_that_holds_no_key_is_never_replaced(tmp_path):
    (tmp_path / NAME).write_text("")
    with pytest.raises(SettingsError, match="holds no key; put it back from a backup"):
        load_or_create_key(tmp_path)
    assert (tmp_path / NAME).read_text() == ""


def test_a_file_that_cannot_be_read_is_said(tmp_path):
    (tmp_path / NAME).mkdir()
    with pytest.raises(SettingsError, match="give yourself the right to"):
        load_key_file(tmp_path)


def test_where_it_cannot_be_written_that_is_said(tmp_path):
    (tmp_path / "home").symlink_to(tmp_path / "nowhere")
    with pytest.raises(JournalError, match=r"so a secret can't be kept\. Make room, or set TREADLE_KEY"):
        load_or_create_key(tmp_path / "home")


def test_threads_that_make_it_at_once_have_the_same(tmp_path):
    with ThreadPoolExecutor(8) as threads:
        for number in range(20):
            folder, gate = tmp_path / str(number), Barrier(8)
            made = [
                threads.submit(lambda gate=gate, folder=folder: gate.wait() >= 0 and load_or_create_key(folder)) for _ in range(8)
            ]
            assert len({each.result().id for each in made}) == 1
            assert [path.name for path in folder.iterdir()] == [NAME]
