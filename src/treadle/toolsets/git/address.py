"""Where a push goes: which addresses are taken, how they are shown, and which are GitHub's.

An address comes from the repository's own settings, so it isn't to be trusted: some kinds start programs. A folder of this machine
is taken only outside of the workspace, because a push to it runs the hooks that lie there.
"""

import re
from pathlib import Path

from msgspec import Struct

from treadle.toolsets.git.problems import Refused
from treadle.toolsets.sandbox.bubblewrap import within

PROTOCOLS = "https:ssh:file"
_HOST = r"[A-Za-z0-9][A-Za-z0-9.-]*"
_USER = r"(?:[A-Za-z0-9_][^\s/@]*@)?"
_HTTPS = re.compile(rf"https://{_USER}(?P<host>{_HOST})(?::\d+)?/(?P<path>[^\s]+)")
_SSH = re.compile(rf"(?:ssh|git\+ssh|ssh\+git)://{_USER}(?P<host>{_HOST})(?::\d+)?/(?P<path>[^\s-][^\s]*)")
_SCP = re.compile(rf"(?:[A-Za-z0-9_][\w.-]*@)?(?P<host>{_HOST}):(?P<path>(?![:-])(?!//)[^\s:][^\s]*)")
_REPOSITORY = re.compile(r"/?(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?")


class Address(Struct, frozen=True):
    """Where a push goes. `shown` has no password in it; `github` is what `gh` calls the repository, if it is one of GitHub's."""

    url: str
    shown: str
    github: str = ""


def address(url: str, workspace: Path) -> Address:
    """The address to push to. Raises `Refused` for one that isn't taken."""
    for pattern in (_HTTPS, _SSH, _SCP):
        found = pattern.fullmatch(url)
        if found is not None:
            return Address(url, public(url), _github(found["host"], found["path"]))
    if "://" not in url.removeprefix("file://") and "::" not in url:
        return _local(url, workspace)
    raise Refused(
        f"The remote's address {public(url)[:200]!r} isn't one that is pushed to: only https, ssh and bare repositories outside of "
        "the workspace are. Ask the person to correct it."
    )


def public(url: str) -> str:
    """An address without the name and password that may be in it."""
    return re.sub(r"(?<=://)[^\s/@]*@", "", url)


def _local(url: str, workspace: Path) -> Address:
    path = (workspace / url.removeprefix("file://")).resolve()
    if within(path, workspace.resolve()):
        raise Refused(
            "The remote is a folder in the workspace, where a push would run what lies there. Ask the person to correct it."
        )
    if not ((path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()):
        raise Refused(
            f"The remote {str(path)!r} is no bare repository, so nothing can be pushed there. Ask the person to correct it."
        )
    return Address(str(path), str(path))


def _github(host: str, path: str) -> str:
    host = host.lower().removeprefix("ssh.").removeprefix("www.")
    found = _REPOSITORY.fullmatch(path)
    if found is None or not (host == "github.com" or host.startswith("github.") or host.endswith(".ghe.com")):
        return ""
    return f"{'' if host == 'github.com' else f'{host}/'}{found['owner']}/{found['name']}"
