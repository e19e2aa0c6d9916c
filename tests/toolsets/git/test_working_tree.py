"""What git says of a working folder, read and told."""

from hypothesis import given
from hypothesis import strategies as st

from treadle.toolsets.git.working_tree import GitState, StatusChange, format_git_status, parse_status

OID = "1" * 40
SAID = f"""# branch.oid {OID}
# branch.head main
# branch.upstream origin/main
# branch.ab +2 -3
1 M. N... 100644 100644 100644 {OID} {OID} a b.txt
1 .D N... 100644 100644 000000 {OID} {OID} "new\\nline"
1 MT N... 100644 100644 120000 {OID} {OID} both
u UU N... 100644 100644 100644 100644 {OID} {OID} {OID} in conflict.txt
? new.txt
! out/
"""


def test_every_kind_of_line_is_read():
    assert parse_status(SAID) == GitState(
        "main",
        OID,
        "origin/main",
        2,
        3,
        (
            StatusChange("a b.txt", staged="M"),
            StatusChange("new\nline", unstaged="D"),
            StatusChange("both", staged="M", unstaged="T"),
            StatusChange("in conflict.txt", conflict=True),
            StatusChange("new.txt", untracked=True),
            StatusChange("out/", ignored=True),
        ),
    )


def test_a_commit_moves_the_branch_or_the_head():
    assert parse_status(SAID).ref == "refs/heads/main"
    loose = parse_status("# branch.oid (initial)\n# branch.head (detached)\n")
    assert (loose.branch, loose.head, loose.ref) == (None, None, "HEAD")


def test_the_state_is_told_in_words():
    assert format_git_status(parse_status(SAID)).splitlines() == [
        "On branch main, at 1111111111; 2 ahead of and 3 behind origin/main.",
        "In conflict:",
        "  in conflict.txt",
        "Staged:",
        "  a b.txt (changed)",
        "  both (changed)",
        "Not staged:",
        "  'new\\nline' (deleted)",
        "  both (changed)",
        "Untracked:",
        "  new.txt",
    ]


@given(st.text(alphabet='1u?!# \n".MADabc'))
def test_whatever_git_says_is_read(text):
    assert isinstance(format_git_status(parse_status(text)), str)
