"""Keys and tokens in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.toolsets.git.staging import find_leaks

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
BODY = "MIIEpAIBAAKCAQEAq7dEr4kq9yqv8C1Yw0Jt3m5Z2cQpN6uRfGhTzXaLsVbWnOiK"
KEY = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{BODY}\n-----END OPENSSH PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        (f"a\nb = '{TOKEN}'\n", "github token", 2),
        (KEY, "private key", 1),
        ("key: AKIAQ3EGRIJ7K2M4N5P6", "aws key", 1),
    ],
)
def test_keys_and_tokens_are_found_with_their_lines(text, kind, line):
    (found,) = find_leaks(text)
    assert found.kind == kind
    assert found.line in (line, line + 1)  # a private key begins after its first line


@pytest.mark.parametrize(
    "text",
    [
        "password = get_password()\nsecret: str = settings.secret\n",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "ghp_" + "ab" * 18,
        f"x{TOKEN}",
        "-----BEGIN PUBLIC KEY-----\nabc\n",
        "",
    ],
)
def test_what_is_no_secret_is_not_found(text):
    assert find_leaks(text) == []


def test_only_what_is_new_counts():
    assert find_leaks(f"{TOKEN}\n", f"# {TOKEN}\n") == []
    assert len(find_leaks(f"{TOKEN}\n{TOKEN[:-1]}9\n", TOKEN)) == 1
    assert find_leaks(KEY + "more\n", KEY) == []
    assert len(find_leaks(KEY.replace("MIIE", "MIIF"), KEY)) == 1


@given(st.text())
def test_nothing_is_new_in_a_text_that_stayed_the_same(text):
    assert find_leaks(text + TOKEN, text + TOKEN) == []
