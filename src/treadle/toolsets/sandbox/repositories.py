"""Whether a repository could run programs for whoever uses git in it. Pure, and strict: what isn't known to be harmless isn't.

Git starts programs that a repository's settings and hooks name, at a mere `git status`; some editors and prompts ask for that by
themselves.
"""

import re

MOST_SETTINGS = 100_000  # bytes
LEADING = ("commondir", "config.worktree", "gitdir")  # files that name or are the settings of another repository
HOLDING = ("modules", "worktrees")  # folders with repositories of their own
PARTS = frozenset(("HEAD", "objects", "refs"))  # what makes a folder a repository

_SECTION = re.compile(r'\[(?P<name>[a-z]+)(?: "[^"\\\n]*")?\]')
_SETTING = re.compile(r"(?P<name>[a-z]+) *= *(?P<value>[^\\\"#;\n]*)", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[^\s:]+(?::\d+)?(?:/\S*)?")
_HARMLESS = {
    "core": {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks"},
    "extensions": {"objectformat", "refstorage"},
    "remote": {"url", "fetch"},
    "branch": {"remote", "merge"},
    "user": {"name", "email"},
}


def harmless(settings: str) -> bool:
    """Whether the text of a `config` says only what starts no program."""
    section = ""
    for line in map(str.strip, settings.splitlines()):
        if not line:
            continue
        if heading := _SECTION.fullmatch(line):
            section = heading["name"]
            if section not in _HARMLESS:
                return False
            continue
        setting = _SETTING.fullmatch(line)
        if setting is None or setting["name"].lower() not in _HARMLESS.get(section, ()):
            return False
        if setting["name"].lower() == "url" and not _ADDRESS.fullmatch(setting["value"].strip()):
            return False
    return True


def hook_runs(name: str) -> bool:
    """Whether git may run a file of the folder `hooks`; those that `git init` puts there are only examples."""
    return not name.endswith(".sample")
