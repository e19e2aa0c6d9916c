"""Where a push goes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.toolsets.git.push import parse_address, strip_credentials
from treadle.toolsets.git.sandboxed import GitRefused

WORK = Path("/srv/work")


@pytest.mark.parametrize(
    ("url", "shown", "github"),
    [
        ("https://github.com/acme/widget.git", "https://github.com/acme/widget.git", "acme/widget"),
        ("https://ada:token@github.com/acme/wid.get", "https://github.com/acme/wid.get", "acme/wid.get"),
        ("git@github.com:acme/widget.git", "git@github.com:acme/widget.git", "acme/widget"),
        ("github.com:acme/widget", "github.com:acme/widget", "acme/widget"),
        ("ssh://git@ssh.github.com:443/acme/widget.git", "ssh://ssh.github.com:443/acme/widget.git", "acme/widget"),
        ("https://github.example.com/acme/widget", "https://github.example.com/acme/widget", "github.example.com/acme/widget"),
        ("https://acme.ghe.com/acme/widget/", "https://acme.ghe.com/acme/widget/", "acme.ghe.com/acme/widget"),
        ("https://gitlab.com/acme/sub/widget.git", "https://gitlab.com/acme/sub/widget.git", ""),
        ("https://github.com/acme/sub/widget.git", "https://github.com/acme/sub/widget.git", ""),
        ("git+ssh://host/~ada/x", "git+ssh://host/~ada/x", ""),
        ("host:x", "host:x", ""),
    ],
)
def test_addresses_that_are_taken(url, shown, github):
    taken = parse_address(url, WORK)
    assert (taken.url, taken.shown, taken.github) == (url, shown, github)


@pytest.mark.parametrize(
    "url",
    [
        *("", "-x", "--x", "ext::sh", "https://", "https://-x/y", "http://host/x", "git://host/x", "ssh://-x/y", "ssh://host/-x"),
        *(
            "https://host/x y",
            "host:-x",
            "-host:x",
            "a::b",
            "host:",
            "https://host/a\nb",
            "file://host/x",
            "rsync://host/x",
            "/nowhere",
        ),
        *("nowhere.git", "file:///nowhere", "."),
    ],
)
def test_addresses_that_are_not(url):
    with pytest.raises(GitRefused, match="Ask the person"):
        parse_address(url, WORK)


@given(st.text(alphabet="-:/.@~ah\0\n +sxt", max_size=30))
def test_nothing_that_could_be_an_option_or_a_helper_is_taken(url):
    try:
        taken = parse_address(url, WORK)
    except (GitRefused, ValueError):
        return
    assert not taken.url.startswith("-")
    assert "::" not in taken.url.partition("/")[0]


def test_a_bare_repository_beside_the_workspace_is_taken(tmp_path):
    for name in ("objects", "refs"):
        (tmp_path / "bare.git" / name).mkdir(parents=True)
    (tmp_path / "bare.git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "work").mkdir()
    for url in (str(tmp_path / "bare.git"), f"file://{tmp_path}/bare.git", "../bare.git"):
        assert parse_address(url, tmp_path / "work").url == str(tmp_path / "bare.git")


def test_passwords_are_not_shown():
    assert strip_credentials("https://ada:secret@host/x and ssh://bob@host/y") == "https://host/x and ssh://host/y"
