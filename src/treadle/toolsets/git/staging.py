"""Staging of named files, one by one, and none that contains a secret. Refused files are reported with the reason.

Keys and tokens are detected by their format alone: a safety net rather than a guarantee. Names such as `password = …` say too
little here: code is full of them. Obvious examples don't count.
"""

import re
from asyncio import to_thread
from collections.abc import Iterator, Sequence
from os.path import lexists

from msgspec import Struct

from treadle.files.problems import WorkspaceProblem, printable_name
from treadle.files.secret_files import is_secret_file
from treadle.files.workspace import Workspace
from treadle.guard.secret_formats import FORMATS, PRIVATE_KEY, SecretFormat, compile_pattern, match_end
from treadle.toolsets.git.sandboxed import SandboxedGit, check_repository_root
from treadle.toolsets.git.working_tree import STATUS_QUERY, StatusChange, parse_status, unquote_path

MIN_DISTINCT = 8  # different characters in the random part of a real one
KEY_PREFIX_LENGTH = 64  # characters that tell one private key from another
_EXAMPLE = re.compile(r"example|sample|dummy|fake|placeholder|redacted|x{6}|1234567|abcdef", re.IGNORECASE)


class Leak(Struct, frozen=True):
    """A secret in a text: its kind, its line, and the secret itself, for comparison."""

    kind: str
    line: int
    secret: str


def find_leaks(text: str, before: str = "") -> list[Leak]:
    """Return the secrets in a text that weren't in the text before it."""
    known = {leak.secret for leak in _scan(before)}
    return [leak for leak in _scan(text) if leak.secret not in known]


def _scan(text: str) -> Iterator[Leak]:
    for form in (PRIVATE_KEY, *FORMATS):
        if any(trigger in text for trigger in form.triggers):
            yield from _scan_format(form, text)


def _scan_format(form: SecretFormat, text: str) -> Iterator[Leak]:
    for found in compile_pattern(form.head).finditer(text):
        start = found.start(1)
        if form.alone and start and text[start - 1].isalnum():
            continue
        end = found.end() + KEY_PREFIX_LENGTH if form is PRIVATE_KEY else match_end(form.tail, text, found.end(1), len(text))
        secret = text[start:end]
        if len(set(secret)) >= MIN_DISTINCT and not _EXAMPLE.search(secret):
            yield Leak(form.kind.replace("_", " "), text.count("\n", 0, start) + 1, secret)


MAX_IN_FOLDER = 20
MAX_READ = 5_000_000
BATCH_SIZE = 500  # paths on one command line
ADD = ("update-index", "--add", "--remove", "--replace", "--")  # takes names only, also of what is gone already

EVERYTHING = "it means everything. Name the files that belong to your change"
PATTERN = "there is no such file, and patterns and options are not taken. Name each file"
HOLDS_SECRETS = "files of this name hold secrets, which don't belong in a repository. Leave it out"
NESTED = "it is a repository of its own. Leave it out"


class StagingPlan(Struct, frozen=True):
    """Which of the named paths can be staged, and why the others can't."""

    files: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()


async def stage_paths(git: SandboxedGit, paths: Sequence[str]) -> StagingPlan:
    """Stage what can be staged."""
    choice = await plan_staging(git, paths)
    for start in range(0, len(choice.files), BATCH_SIZE):
        await git.change(*ADD, *choice.files[start : start + BATCH_SIZE])
    return choice


async def plan_staging(git: SandboxedGit, paths: Sequence[str]) -> StagingPlan:
    """Return which of these paths have changes that may be staged. Nothing is changed."""
    check_repository_root(git.folder)
    workspace = Workspace(git.folder, links=False, secrets=True)
    plain, refused = _normalize_paths(workspace, paths)
    found: dict[str, StatusChange] = {}
    changes = await _read_changes(git, plain) if plain else ()
    for path in plain:
        below = [change for change in changes if change.path == path or change.path.startswith(f"{path}/")]
        why = _explain_unfit(git, path, below, [change for change in changes if change.ignored])
        if why:
            refused[path] = why
        else:
            found |= {change.path: change for change in below if not change.ignored}
    unsuitable = await _find_unsuitable(git, workspace, list(found))
    refused |= unsuitable
    return StagingPlan(tuple(path for path in found if path not in unsuitable), tuple(refused.items()))


def _normalize_paths(workspace: Workspace, paths: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the paths relative to the root, and those that are invalid."""
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


async def _read_changes(git: SandboxedGit, paths: Sequence[str]) -> tuple[StatusChange, ...]:
    found = list[StatusChange]()
    for start in range(0, len(paths), BATCH_SIZE):
        some = paths[start : start + BATCH_SIZE]
        found += parse_status(await git.read(*STATUS_QUERY, "--untracked-files=all", "--ignored=matching", "--", *some)).changes
    return tuple(found)


def _explain_unfit(git: SandboxedGit, path: str, below: Sequence[StatusChange], ignored: Sequence[StatusChange]) -> str:
    """Return why a path can't be staged as named."""
    known = any(change.path == path and not change.ignored for change in below)
    if not known and any(change.path == path or f"{path}/".startswith(f"{change.path.rstrip('/')}/") for change in ignored):
        return "it is ignored by .gitignore. Leave it out"
    if any(change.path == f"{path}/" for change in below):
        return NESTED
    count = len([change for change in below if not change.ignored])
    if count > MAX_IN_FOLDER:
        some = ", ".join([printable_name(change.path) for change in below[:MAX_IN_FOLDER]])
        return f"it is a folder with {count} changed files, too many to take unseen. Name those you want, as of: {some}"
    if count == 0 and lexists(git.folder / path):
        return "nothing in it is changed"
    if count == 0:
        return PATTERN if path.startswith("-") or set(path) & set("*?[]:") else "there is no such file"
    return ""


async def _find_unsuitable(git: SandboxedGit, workspace: Workspace, paths: Sequence[str]) -> dict[str, str]:
    """Return files that don't belong in a repository, or that need a missing filter program."""
    by_name = {path: HOLDS_SECRETS for path in paths if is_secret_file(path)} | {
        path: NESTED for path in paths if path.endswith("/")
    }
    rest = [path for path in paths if path not in by_name]
    filtered = await _find_filtered(git, rest) if rest else {}
    by_content = dict[str, str]()
    for path in rest:
        if path not in filtered and (why := await _explain_leak(git, workspace, path)):
            by_content[path] = why
    return {**by_name, **filtered, **by_content}


async def _explain_leak(git: SandboxedGit, workspace: Workspace, path: str) -> str:
    """Return why a file's content doesn't belong in a repository. Secrets that its last version had already don't count."""
    text = await to_thread(_read_text, workspace, path)
    if not find_leaks(text):
        return ""
    before = await git.try_read("cat-file", "blob", f"HEAD:{path}")
    new = find_leaks(text, before.output if before.code == 0 else "")
    if not new:
        return ""
    return f"line {new[0].line} has what looks like a secret ({new[0].kind}). Take it out and repeat this, or ask the person"


def _read_text(workspace: Workspace, path: str) -> str:
    try:
        with workspace.open_read(path) as file:
            return file.read(MAX_READ).decode("utf-8", "replace")
    except WorkspaceProblem:  # deleted, or a link, whose own content is only where it leads
        return ""


async def _find_filtered(git: SandboxedGit, paths: Sequence[str]) -> dict[str, str]:
    """Return files that need a clean filter, such as those of Git LFS, which the repository itself doesn't configure."""
    asked = await git.read("check-attr", "filter", "--", *paths)
    named = [line.rsplit(": filter: ", 1) for line in asked.splitlines() if ": filter: " in line]
    using = {unquote_path(path): name for path, name in named if name not in ("unspecified", "unset", "set")}
    missing = [name for name in set(using.values()) if (await git.try_read("config", "--get", f"filter.{name}.clean")).code != 0]
    why = "it is kept by the program {}, which isn't set up here. Ask the person to add it"
    return {path: why.format(name) for path, name in using.items() if name in missing}
