"""Which descriptions were approved."""

import json

import pytest

from treadle.core.errors import SettingsError
from treadle.toolsets.mcp import AdvertisedTool, ApprovalStore, DescriptionChange

OLD, NEW, OTHER = AdvertisedTool("a", "old"), AdvertisedTool("a", "new"), AdvertisedTool("b", "other")


@pytest.fixture
def approved(tmp_path):
    return ApprovalStore(tmp_path / "deep" / "approved.json")


def test_what_is_told_first_is_approved(approved):
    assert approved.review("s", [OLD, OTHER]) == [OLD, OTHER]
    assert approved.review("s", [OLD, OTHER]) == [OLD, OTHER]
    assert approved.changes("s") == []


def test_what_changes_is_told_as_it_was_and_waits(approved):
    approved.review("s", [OLD])
    assert approved.review("s", [NEW, OTHER]) == [OLD]
    assert approved.changes("s") == [DescriptionChange("a", OLD, NEW), DescriptionChange("b", None, OTHER)]


def test_an_approval_holds_for_exactly_what_was_told(approved):
    approved.review("s", [OLD])
    approved.review("s", [NEW])
    approved.approve("s", ["a"])
    assert approved.review("s", [NEW]) == [NEW]
    newer = AdvertisedTool("a", "newer")
    assert approved.review("s", [newer]) == [NEW]
    assert approved.changes("s") == [DescriptionChange("a", NEW, newer)]


def test_a_tool_that_comes_back_as_it_was_needs_no_approval(approved):
    approved.review("s", [OLD])
    assert approved.review("s", []) == []
    assert approved.review("s", [NEW]) == [OLD]
    assert approved.review("s", [OLD]) == [OLD]
    assert approved.changes("s") == []


def test_servers_are_apart(approved):
    approved.review("s", [OLD])
    assert approved.review("t", [NEW]) == [NEW]
    assert approved.changes("s") == approved.changes("unknown") == []


def test_only_what_waits_can_be_approved(approved):
    approved.review("s", [OLD])
    with pytest.raises(SettingsError, match="doesn't wait"):
        approved.approve("s", ["a"])
    with pytest.raises(SettingsError, match="doesn't wait"):
        approved.approve("t", ["a"])


def test_the_file_is_for_people_too(approved, tmp_path):
    approved.review("s", [OLD])
    file = tmp_path / "deep" / "approved.json"
    assert json.loads(file.read_text())["servers"]["s"]["approved"]["a"]["description"] == "old"
    assert [path.name for path in file.parent.iterdir()] == ["approved.json"]


@pytest.mark.parametrize(
    ("content", "words"), [("{", "can't be read"), ('{"servers": 1}', "can't be read"), ('{"version": 2}', "another Treadle")]
)
def test_a_file_that_cannot_be_understood_approves_nothing(tmp_path, content, words):
    (tmp_path / "approved.json").write_text(content)
    with pytest.raises(SettingsError, match=words):
        ApprovalStore(tmp_path / "approved.json").review("s", [OLD])


def test_a_file_that_cannot_be_used_is_named(tmp_path):
    with pytest.raises(SettingsError, match="can't be opened"):
        ApprovalStore(tmp_path).review("s", [OLD])
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"can.t be (written|opened)"):
        ApprovalStore(tmp_path / "file" / "approved.json").review("s", [OLD])
