"""What a user has allowed for always, in a file that they can read and edit."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from treadle.core.errors import ApprovalError, SettingsError
from treadle.core.grants import ArgumentPattern, Grant
from treadle.stores.permissions import PermissionFile


def grant(name: str, **changes) -> Grant:
    where = {"command": ArgumentPattern("command", "pytest *")}
    given = Grant(name, "run_command", "always", "coding", "write", "shell", where, by="Ann", at=1_800_000_000.0)
    return replace(given, **changes)


def test_what_was_added_is_read_back_by_any_process(tmp_path):
    path = tmp_path / "home" / "permissions.toml"
    odd = grant("b2", tool='odd "name"', by="Ann\n[[grant]]", where={'a "b" \\': ArgumentPattern("equals", "é\n\x7f\t'\"\\")})
    PermissionFile(path).add(grant("a1"))
    PermissionFile(path).add(odd)
    PermissionFile(path).add(grant("c3", where={}, user="ann", run_id="r", call_id="c"))
    assert PermissionFile(path).load() == (grant("a1"), odd, grant("c3", where={}, user="ann", run_id="r", call_id="c"))


def test_it_is_for_people_and_for_nobody_else(tmp_path):
    path = tmp_path / "permissions.toml"
    PermissionFile(path).add(grant("a1", run_id="r7"))
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text()
    assert text.startswith("# What you have allowed for always")
    assert '# Allowed by "Ann" on 2027-01-15 at 08:00 UTC, in run "r7"\n[[grant]]\nid = "a1"\ntool = "run_command"\n' in text
    assert '"command" = { kind = "command", value = "pytest *" }' in text


def test_what_is_there_is_not_added_again_and_a_change_by_hand_counts_at_once(tmp_path):
    file = PermissionFile(tmp_path / "permissions.toml")
    assert file.load() == ()
    file.add(grant("a1"))
    file.add(grant("a1", by="Ben"))
    assert file.load() == (grant("a1"),)
    file.path.write_text(file.path.read_text().replace("pytest *", "ruff *"))
    assert file.load()[0].where["command"].value == "ruff *"
    file.path.unlink()
    assert file.load() == ()


def test_one_is_revoked_by_its_id_or_its_beginning(tmp_path):
    file = PermissionFile(tmp_path / "permissions.toml")
    for name in ("a1", "a2", "b1"):
        file.add(grant(name))
    assert file.revoke("b").id == "b1"
    assert [each.id for each in file.load()] == ["a1", "a2"]
    for wrong in ("a", "x", ""):
        with pytest.raises(ApprovalError, match="treadle permissions list"):
            file.revoke(wrong)
    file.revoke("a1")
    assert [each.id for each in file.load()] == ["a2"]


@pytest.mark.parametrize(
    "text",
    [
        "grant = 7",
        "grant = [7]",
        "[[grant",
        '[[grant]]\nid = "a"',
        '[[grant]]\nid = "a"\ntool = "t"\nagent = "a"\neffect = "write"\nwher = {}',
        '[[grant]]\nid = "a"\ntool = "t"\nagent = "a"\neffect = "everything"',
        '[[grant]]\nid = "a"\ntool = "t"\nagent = "a"\neffect = "write"\nwhere = { command = { kind = "command", value = "*" } }',
        '[[grant]]\nid = "a"\ntool = "t"\nagent = "a"\neffect = "write"\nwhere = { command = "pytest *" }',
        "\udcff",
    ],
)
def test_a_file_that_is_not_understood_is_an_error_and_stays_as_it_is(tmp_path, text):
    path = tmp_path / "permissions.toml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    path.chmod(0o600)
    for use in (PermissionFile(path).load, lambda: PermissionFile(path).add(grant("a1"))):
        with pytest.raises(SettingsError, match=r"permissions\.toml"):
            use()
    assert path.read_bytes() == text.encode(errors="surrogateescape")


def test_a_time_is_optional_for_those_who_write_it_by_hand(tmp_path):
    path = tmp_path / "permissions.toml"
    path.write_text('[[grant]]\nid = "mine"\ntool = "t"\nagent = "a"\neffect = "write"\n')
    path.chmod(0o600)
    assert PermissionFile(path).load() == (Grant("mine", "t", "always", "a", "write"),)


def test_what_others_could_have_written_is_not_used(tmp_path):
    path = tmp_path / "permissions.toml"
    PermissionFile(path).add(grant("a1"))
    path.chmod(0o666)
    with pytest.raises(SettingsError, match="chmod 600"):
        PermissionFile(path).load()
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    with pytest.raises(SettingsError):
        PermissionFile(link).load()
    (tmp_path / "folder").mkdir()
    with pytest.raises(SettingsError):
        PermissionFile(tmp_path / "folder").load()
    with pytest.raises(SettingsError):
        PermissionFile(path / "below").load()


def test_it_says_where_it_cannot_be_written():
    with pytest.raises(SettingsError, match="can't be written"):
        PermissionFile(Path("/proc/permissions.toml")).add(grant("a1"))


def test_changes_at_the_same_time_all_count(tmp_path):
    path = tmp_path / "permissions.toml"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: PermissionFile(path).add(grant(f"g{number}")), range(24)))
    assert {each.id for each in PermissionFile(path).load()} == {f"g{number}" for number in range(24)}
    assert sorted([each.name for each in tmp_path.iterdir()]) == [".permissions.toml.lock", "permissions.toml"]
