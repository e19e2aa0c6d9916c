"""Names in git, without git."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.toolsets.git.sandboxed import GitRefused
from treadle.toolsets.git.working_tree import call_ref, check_revision, is_sha, normalize_branch, unquote_path


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("a b", "a b"),
        ('"', '"'),
        ('""', ""),
        ('"a\\nb"', "a\nb"),
        ('"\\303\\251\\"\\\\\\t"', 'é"\\\t'),
        ('"\\377"', "\udcff"),
    ],
)
def test_a_quoted_path_is_what_it_was(written, name):
    assert unquote_path(written) == name


@given(st.binary(min_size=1))
def test_any_bytes_of_a_path_survive_being_quoted(name):
    quoted = "".join(f"\\{byte:03o}" if not 32 < byte < 127 or byte in b'"\\' else chr(byte) for byte in name)
    assert os.fsencode(unquote_path(f'"{quoted}"')) == name


def test_a_branch_gets_the_prefix_once():
    assert normalize_branch("fix", "treadle/") == normalize_branch("treadle/fix", "treadle/") == "treadle/fix"
    assert normalize_branch("ünïcode/1.2_x") == "ünïcode/1.2_x"
    with pytest.raises(GitRefused, match="can't be the name of a branch"):
        normalize_branch("", "treadle/")


@given(st.text())
def test_no_branch_or_revision_is_ever_an_option_or_two_words(name):
    for check in (normalize_branch, check_revision):
        try:
            taken = check(name)
        except GitRefused:
            continue
        assert taken
        assert not taken.startswith("-")
        assert not set(taken) & set(" \0\n\t\r")


@given(st.text(min_size=1), st.text(min_size=1))
def test_every_key_has_a_ref_of_its_own_that_git_takes(one, other):
    ref = call_ref(one)
    assert normalize_branch(ref) == ref
    assert len(ref) < 120
    assert (ref == call_ref(other)) == (one == other)


def test_a_call_without_a_key_is_not_remembered():
    assert call_ref("") == ""


def test_hashes_are_known_by_their_length():
    assert is_sha("a" * 40)
    assert is_sha("0" * 64)
    assert not any(is_sha(text) for text in ("", "a" * 39, "a" * 41, "g" * 40, "a" * 40 + "\n"))
