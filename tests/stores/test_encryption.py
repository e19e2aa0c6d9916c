"""Lines with a secret are encrypted, and only those; each is readable with its key, for what it is about, and not otherwise."""

import asyncio
import subprocess
import sys
from base64 import b64encode

import pytest

from guard.planted import BY_LOOKS
from treadle.core.entries import Opened, Said, encode
from treadle.core.errors import JournalDamaged, WrongKey
from treadle.guard.redaction import Redactor
from treadle.stores.encryption import BEGIN, Cipher
from treadle.stores.journal import DatabaseJournal
from treadle.stores.journal_key import NAME, VARIABLE, load_key_file

SECRET = BY_LOOKS[0][1]
LINE = encode(Said(text=f"it is {SECRET}"))


@pytest.fixture(autouse=True)
def nothing_settled(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


def test_a_line_with_a_secret_comes_back_as_it_was(tmp_path):
    safe = Cipher(tmp_path).safe(LINE, "r1")
    assert safe.startswith(BEGIN)
    assert b"\n" not in safe
    assert SECRET[:8].encode() not in safe
    assert Cipher(tmp_path).read(safe, "r1") == LINE


def test_the_same_line_is_never_encrypted_to_the_same(tmp_path):
    cipher = Cipher(tmp_path)
    assert cipher.safe(LINE, "r1") != cipher.safe(LINE, "r1")


def test_a_line_without_one_stays_and_makes_no_key(tmp_path):
    line = encode(Said(text="max_tokens=4096"))
    assert Cipher(tmp_path).safe(line, "r1") == line
    assert Cipher(tmp_path).read(line, "r1") == line
    assert list(tmp_path.iterdir()) == []


def test_what_is_a_secret_a_redactor_says(tmp_path):
    line = b'{"pin": "4711"}'
    assert Cipher(tmp_path).safe(line, "r1") == line
    assert Cipher(tmp_path).safe(line, "r1", Redactor(["pin"])).startswith(BEGIN)


def test_a_line_of_another_run_is_refused(tmp_path):
    safe = Cipher(tmp_path).safe(LINE, "r1")
    with pytest.raises(JournalDamaged, match="about r2 isn't what was written"):
        Cipher(tmp_path).read(safe, "r2")


@pytest.mark.parametrize("change", [lambda line: line[:-30] + b'"}', lambda line: line[:-2], lambda line: BEGIN + b'"box":"?"}'])
def test_a_broken_line_is_refused(tmp_path, change):
    safe = Cipher(tmp_path).safe(LINE, "r1")
    with pytest.raises(JournalDamaged, match="An encrypted line about r1"):
        Cipher(tmp_path).read(change(safe), "r1")


def test_a_line_that_is_too_short_is_refused(tmp_path):
    cipher = Cipher(tmp_path)
    key = cipher.safe(LINE, "r1")[len(BEGIN) :].split(b",")[0]
    with pytest.raises(JournalDamaged, match="An encrypted line about r1"):
        cipher.read(BEGIN + key + b',"box":"AAAA"}', "r1")


def test_a_line_under_another_key_is_refused_with_what_to_do(tmp_path):
    safe = Cipher(tmp_path / "one").safe(LINE, "r1")
    with pytest.raises(WrongKey, match=rf"with another key \([0-9a-f]{{8}}\).* Put that key into {VARIABLE}, or as {NAME} into"):
        Cipher(tmp_path / "other").read(safe, "r1")
    assert not (tmp_path / "other").exists()
    with pytest.raises(WrongKey, match=rf"Put that key into {VARIABLE}\.$"):
        Cipher().read(safe, "r1")


def test_without_a_folder_the_environment_has_to_have_a_key(monkeypatch):
    with pytest.raises(WrongKey, match="set TREADLE_KEY"):
        Cipher().safe(LINE, "r1")
    monkeypatch.setenv(VARIABLE, b64encode(bytes(32)).decode())
    assert Cipher().read(Cipher().safe(LINE, "r1"), "r1") == LINE


def test_the_key_in_the_environment_is_used_and_the_one_in_the_file_still_reads(tmp_path, monkeypatch):
    before = Cipher(tmp_path).safe(LINE, "r1")
    monkeypatch.setenv(VARIABLE, b64encode(bytes(32)).decode())
    after = Cipher(tmp_path).safe(LINE, "r1")
    assert load_key_file(tmp_path).id.encode() in before
    assert load_key_file(tmp_path).id.encode() not in after
    assert [Cipher(tmp_path).read(line, "r1") for line in (before, after)] == [LINE, LINE]


def test_a_run_that_cannot_be_read_breaks_no_other(place, tmp_path):
    async def story():
        database = place.open()
        database.cipher = Cipher(tmp_path / "one")
        await DatabaseJournal(database).append("r1", 0, [Opened(), Said(text=f"it is {SECRET}")])
        await DatabaseJournal(database).append("r2", 0, [Opened(), Said(text="plain")])
        database.cipher = Cipher(tmp_path / "other")
        journal = DatabaseJournal(database)
        with pytest.raises(WrongKey):
            await journal.read("r1")
        return [entry.text for entry in (await journal.read("r2"))[1:]], [run.title for run in await journal.list_runs()]

    texts, titles = asyncio.run(story())
    assert texts == ["plain"]
    assert sorted(titles) == ["it is [redacted:aws_key]", "plain"]


def test_a_secret_that_cannot_be_encrypted_is_not_written(place):
    async def story():
        database = place.open()
        database.cipher = Cipher()
        journal = DatabaseJournal(database)
        written = journal.append("r1", 0, [Opened(), Said(text=f"it is {SECRET}")])
        with pytest.raises(WrongKey):
            await written
        await journal.append("r2", 0, [Opened()])
        return [run.run_id for run in await journal.list_runs()]

    assert asyncio.run(story()) == ["r2"]


def test_the_library_is_imported_with_the_first_secret():
    code = "import sys, treadle.stores.encryption; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_of_lines_that_are_stored_together_only_those_with_a_secret_are_encrypted(tmp_path):
    cipher, plain = Cipher(tmp_path), b'{"v":1,"kind":"said","text":"plain"}'
    first, second = cipher.safe_lines([plain, LINE], "r1")
    assert first == plain
    assert second.startswith(BEGIN)
    assert cipher.read(second, "r1") == LINE
