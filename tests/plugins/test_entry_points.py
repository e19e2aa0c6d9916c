"""What packages bring: dialects, and entry points in general."""

import pytest

from packages import install
from treadle.core.errors import SettingsError
from treadle.dialects import get_dialect
from treadle.plugins.dialects import dialect_of
from treadle.plugins.entry_points import entry_points_of, package_of


def test_a_dialect_is_found_by_its_name_long_or_short():
    assert dialect_of("hermes") is dialect_of("hermes_json") is get_dialect("hermes")


def test_a_package_may_bring_one(tmp_path, monkeypatch):
    folder = tmp_path / "angles-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: angles\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[treadle.dialects]\nangles = angles:ANGLES\n")
    lines = (
        "from msgspec.structs import replace",
        "from treadle.dialects import get_dialect",
        "ANGLES = replace(get_dialect('json'), name='angles')",
    )
    (tmp_path / "angles.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    assert dialect_of("angles").name == "angles"
    with pytest.raises(SettingsError, match="There are: angles, apertus_json"):
        dialect_of("0")


def test_what_is_installed_is_read_once_and_again_when_the_module_path_changes(tmp_path, monkeypatch):
    before = entry_points_of("assistants")
    assert entry_points_of("assistants") is before
    monkeypatch.syspath_prepend(install(tmp_path, "lake", "lake", "LAKE = 1\n", lake="LAKE"))
    assert {point.name for point in entry_points_of("assistants")} == {point.name for point in before} | {"lake"}


def test_the_metadata_of_a_package_is_read_once_for_all_that_it_offers(tmp_path, monkeypatch):
    folder = install(tmp_path, "lakes", "lakes", "LAKE = 1\n", como="LAKE", garda="LAKE")
    monkeypatch.syspath_prepend(folder)
    como, garda = (next(iter(entry_points_of("assistants").select(name=name))) for name in ("como", "garda"))
    first = package_of(como)
    assert first[0] == "lakes"
    next(tmp_path.rglob("METADATA")).unlink()
    assert package_of(garda) == first
