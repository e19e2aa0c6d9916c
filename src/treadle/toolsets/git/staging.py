"""Which files are staged: those that are named, one by one, and none that holds a secret. Refused ones are told with the reason."""

from asyncio import to_thread
from collections.abc import Sequence
from os.path import lexists

from msgspec import Struct

from treadle.files.problems import WorkspaceProblem, shown
from treadle.files.secret import is_secret
from treadle.files.workspace import Workspace
from treadle.toolsets.git.inside import Git, located
from treadle.toolsets.git.leaks import leaks
from treadle.toolsets.git.names import unquoted
from treadle.toolsets.git.state import QUERY, Change, state_of

MOST_IN_FOLDER = 20
MOST_READ = 5_000_000
AT_ONCE = 500  # paths on one command line
ADD = ("update-index", "--add", "--remove", "--replace", "--")  # takes names only, also of what is gone already

EVERYTHING = "it means everything. Name the files that belong to your change"
PATTERN = "there is no such file, and patterns and options are not taken. Name each file"
HOLDS_SECRETS = "files of this name hold secrets, which don't belong in a repository. Leave it out"
NESTED = "it is a repository of its own. Leave it out"


class Choice(Struct, frozen=True):
    """What of the named paths can be staged, and why the others can't."""

    files: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()


async def stage(git: Git, paths: Sequence[str]) -> Choice:
    """Stage what can be."""
    choice = await chosen(git, paths)
    for start in range(0, len(choice.files), AT_ONCE):
        await git.change(*ADD, *choice.files[start : start + AT_ONCE])
    return choice


async def chosen(git: Git, paths: Sequence[str]) -> Choice:
    """What of these paths has changes that may be staged. Nothing is changed."""
    located(git.folder)
    workspace = Workspace(git.folder, links=False, secrets=True)
    plain, refused = _plain(workspace, paths)
    found: dict[str, Change] = {}
    changes = await _changes(git, plain) if plain else ()
    for path in plain:
        below = [change for change in changes if change.path == path or change.path.startswith(f"{path}/")]
        why = _unfit(git, path, below, [change for change in changes if change.ignored])
        if why:
            refused[path] = why
        else:
            found |= {change.path: change for change in below if not change.ignored}
    unsuitable = await _unsuitable(git, workspace, list(found))
    refused |= unsuitable
    return Choice(tuple(path for path in found if path not in unsuitable), tuple(refused.items()))


def _plain(workspace: Workspace, paths: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The paths relative to the root, and those that can't be meant."""
    plain, refused = dict[str, None](), dict[str, str]()
    for path in paths:
        try:
            where = workspace.relative(path)
        except WorkspaceProblem as problem:
            refused[path] = str(problem).rstrip(".")
            continue
        if where == ".":
            refused[path] = EVERYTHING
        elif ".git" in [part.casefold() for part in where.split("/")]:
            refused[path] = "it belongs to git itself. Leave it out"
        else:
            plain[where] = None
    return list(plain), refused


async def _changes(git: Git, paths: Sequence[str]) -> tuple[Change, ...]:
    found = list[Change]()
    for start in range(0, len(paths), AT_ONCE):
        some = paths[start : start + AT_ONCE]
        found += state_of(await git.read(*QUERY, "--untracked-files=all", "--ignored=matching", "--", *some)).changes
    return tuple(found)


def _unfit(git: Git, path: str, below: Sequence[Change], ignored: Sequence[Change]) -> str:
    """Why a path can't be staged as it was named."""
    known = any(change.path == path and not change.ignored for change in below)
    if not known and any(change.path == path or f"{path}/".startswith(f"{change.path.rstrip('/')}/") for change in ignored):
        return "it is ignored by .gitignore. Leave it out"
    if any(change.path == f"{path}/" for change in below):
        return NESTED
    count = len([change for change in below if not change.ignored])
    if count > MOST_IN_FOLDER:
        some = ", ".join([shown(change.path) for change in below[:MOST_IN_FOLDER]])
        return f"it is a folder with {count} changed files, too many to take unseen. Name those you want, as of: {some}"
    if count == 0 and lexists(git.folder / path):
        return "nothing in it is changed"
    if count == 0:
        return PATTERN if path.startswith("-") or set(path) & set("*?[]:") else "there is no such file"
    return ""


async def _unsuitable(git: Git, workspace: Workspace, paths: Sequence[str]) -> dict[str, str]:
    """Files that don't belong in a repository, or that only a missing program could put there."""
    by_name = {path: HOLDS_SECRETS for path in paths if is_secret(path)} | {path: NESTED for path in paths if path.endswith("/")}
    rest = [path for path in paths if path not in by_name]
    filtered = await _filtered(git, rest) if rest else {}
    by_content = dict[str, str]()
    for path in rest:
        if path not in filtered and (why := await _leaked(git, workspace, path)):
            by_content[path] = why
    return {**by_name, **filtered, **by_content}


async def _leaked(git: Git, workspace: Workspace, path: str) -> str:
    """Why a file's content is not for a repository. What its last version had already is no news."""
    text = await to_thread(_text, workspace, path)
    if not leaks(text):
        return ""
    before = await git.tried("cat-file", "blob", f"HEAD:{path}")
    new = leaks(text, before.output if before.code == 0 else "")
    if not new:
        return ""
    return f"line {new[0].line} has what looks like a secret ({new[0].kind}). Take it out and repeat this, or ask the person"


def _text(workspace: Workspace, path: str) -> str:
    try:
        with workspace.open_read(path) as file:
            return file.read(MOST_READ).decode("utf-8", "replace")
    except WorkspaceProblem:  # deleted, or a link, whose own content is only where it leads
        return ""


async def _filtered(git: Git, paths: Sequence[str]) -> dict[str, str]:
    """Files that a program is to change on their way in, such as those of Git LFS, which the repository itself doesn't set up."""
    asked = await git.read("check-attr", "filter", "--", *paths)
    named = [line.rsplit(": filter: ", 1) for line in asked.splitlines() if ": filter: " in line]
    using = {unquoted(path): name for path, name in named if name not in ("unspecified", "unset", "set")}
    missing = [name for name in set(using.values()) if (await git.tried("config", "--get", f"filter.{name}.clean")).code != 0]
    why = "it is kept by the program {}, which isn't set up here. Ask the person to add it"
    return {path: why.format(name) for path, name in using.items() if name in missing}
