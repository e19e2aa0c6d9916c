"""Addresses of remotes: which are accepted, how they are shown, and which are GitHub's.

An address comes from the repository's own settings, so it isn't trusted: some kinds start programs. A folder of this machine
is accepted only outside of the workspace, because a push to it runs the hooks that lie there.
"""

import re
from pathlib import Path

from msgspec import Struct

from treadle.sandbox.bubblewrap import is_within
from treadle.toolsets.git.problems import GitRefused

PROTOCOLS = "https:ssh:file"
_HOST = r"[A-Za-z0-9][A-Za-z0-9.-]*"
_USER = r"(?:[A-Za-z0-9_][^\s/@]*@)?"
_HTTPS = re.compile(rf"https://{_USER}(?P<host>{_HOST})(?::\d+)?/(?P<path>[^\s]+)")
_SSH = re.compile(rf"(?:ssh|git\+ssh|ssh\+git)://{_USER}(?P<host>{_HOST})(?::\d+)?/(?P<path>[^\s-][^\s]*)")
_SCP = re.compile(rf"(?:[A-Za-z0-9_][\w.-]*@)?(?P<host>{_HOST}):(?P<path>(?![:-])(?!//)[^\s:][^\s]*)")
_REPOSITORY = re.compile(r"/?(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?")


class RemoteAddress(Struct, frozen=True):
    """Where a push goes. `shown` has no password in it; `github` is the repository's name for `gh`, if it is one of GitHub's."""

    url: str
    shown: str
    github: str = ""


def parse_address(url: str, workspace: Path) -> RemoteAddress:
    """Return the address to push to. Raises `GitRefused` for one that isn't accepted."""
    for pattern in (_HTTPS, _SSH, _SCP):
        found = pattern.fullmatch(url)
        if found is not None:
            return RemoteAddress(url, strip_credentials(url), github_repository(found["host"], found["path"]))
    if "://" not in url.removeprefix("file://") and "::" not in url:
        return _parse_local(url, workspace)
    raise GitRefused(
        f"The remote's address {strip_credentials(url)[:200]!r} isn't one that is pushed to: "
        "only https, ssh and bare repositories outside of "
        "the workspace are. Ask the person to correct it."
    )


def strip_credentials(url: str) -> str:
    """Return an address without the user name and password that may be in it."""
    return re.sub(r"(?<=://)[^\s/@]*@", "", url)


def _parse_local(url: str, workspace: Path) -> RemoteAddress:
    path = (workspace / url.removeprefix("file://")).resolve()
    if is_within(path, workspace.resolve()):
        raise GitRefused(
            "The remote is a folder in the workspace, where a push would run what lies there. Ask the person to correct it."
        )
    if not ((path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()):
        raise GitRefused(
            f"The remote {str(path)!r} is no bare repository, so nothing can be pushed there. Ask the person to correct it."
        )
    return RemoteAddress(str(path), str(path))


def github_repository(host: str, path: str) -> str:
    """Return the name of a repository for `gh`; empty if the host isn't one of GitHub's."""
    host = host.lower().removeprefix("ssh.").removeprefix("www.")
    found = _REPOSITORY.fullmatch(path)
    if found is None or not (host == "github.com" or host.startswith("github.") or host.endswith(".ghe.com")):
        return ""
    return f"{'' if host == 'github.com' else f'{host}/'}{found['owner']}/{found['name']}"
