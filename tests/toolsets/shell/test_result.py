"""The result of a command, in words."""

import pytest

from treadle.sandbox.values import Bounds, CommandResult
from treadle.toolsets.shell import format_command_result


def words(ran, line="make", bounds=Bounds(seconds=60), **how):  # noqa: B008 - frozen
    return format_command_result(line, ran, bounds, longest=120, **({"network": False} | how))


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("time", "Ended after 60 s, because its time was over"),
        ("memory", "took more than 2.0 GiB of memory. Work on less at a time"),
        ("disk", "because it wrote more than 8.0 GiB, or all that the disk has room for. Delete"),
        ("processes", "because it took too many processes: at most 256 are allowed. Start fewer"),
    ],
)
def test_each_reason_to_end_a_command_has_its_own_advice(reason, said):
    assert said in words(CommandResult(None, "so far\n", False, 3.2, reason == "time", reason)).splitlines()[0]


@pytest.mark.parametrize(("code", "said"), [(126, "no program"), (137, "too much memory"), (139, "crashed"), (143, "by a signal")])
def test_codes_that_shells_give_are_explained(code, said):
    assert said in words(CommandResult(code, "", False, 0.1, False, "")).splitlines()[0]


def test_a_missing_network_is_explained_only_where_there_is_none_and_something_failed():
    failed = CommandResult(1, "Temporary failure in name resolution", False, 0.1, False, "")
    assert "There is no network here" in words(failed)
    assert "There is no network here" not in words(failed, network=True)
    assert "There is no network here" not in words(CommandResult(0, failed.output, False, 0.1, False, ""))


def test_a_repository_that_is_read_only_leads_to_the_git_tool():
    refused = "fatal: Unable to create '/work/.git/index.lock': Read-only file system"
    assert "[What git keeps in .git is read-only to commands. Stage, commit" in words(
        CommandResult(128, refused, False, 0.1, False, "")
    )
    assert "with the git tool" in words(CommandResult(0, f"{refused}\ndone", False, 0.1, False, ""))
    assert "git tool" not in words(CommandResult(1, "/etc/x: Read-only file system", False, 0.1, False, ""))


def test_what_was_disarmed_after_a_command_is_told():
    said = words(
        CommandResult(0, "", False, 0.1, False, "", set_aside=("a/.git", "b\n/.git"), stripped=tuple(f"p{n}" for n in range(7)))
    )
    assert "settings of a/.git, 'b\\n/.git', so it was renamed" in said
    assert "was taken from p0, p1, p2, p3, p4 and 2 more." in said
