"""`treadle doctor`: looks at everything that Treadle needs here, and says of what isn't right what to do. Changes nothing.

Each check is a function that gives findings. What it can't look at because of something else is left to that to say.
"""

import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from msgspec import Struct

from treadle._version import __version__
from treadle.app.home import FILE, Home, open_home, users_in
from treadle.app.models import default_model, model_at, names_in, settled_model, spec_of
from treadle.app.settings import user_settings
from treadle.core.errors import TreadleError, UnknownModel
from treadle.stores.journal import Wanted
from treadle.stores.journal_key import NAME, VARIABLE, kept_key, settled_key
from treadle.stores.migration import Migration, format_of, migrations_of
from treadle.stores.sqlite import SCHEMA_VERSION

ROOM = 500 * 1024 * 1024  # bytes below which a disk is nearly full
OTHERS = 0o077  # the rights of everybody else
MOST_OPEN = 1_000

EXTRAS = {
    "server": ("starlette", "uvicorn"),
    "local": ("xllamacpp",),
    "coding": ("bashlex",),
    "mcp": ("mcp",),
    "retrieval": ("numpy", "wordllama"),
    "cluster": ("psycopg", "dbos"),
}

State = Literal["fine", "note", "wrong"]


class Finding(Struct, frozen=True):
    """What was found about one thing. `do` says what to do about it."""

    about: str
    state: State
    says: str
    do: str = ""


Check = Callable[[Path], AsyncIterator[Finding]]


async def examine(workspace: Path) -> AsyncIterator[Finding]:
    """Every finding, as it is found. A check that breaks is a finding too, and the others go on."""
    for about, check in CHECKS.items():
        try:
            async for finding in check(workspace):
                yield finding
        except TreadleError as error:
            yield Finding(about, "wrong", str(error))
        except Exception as error:  # noqa: BLE001 - whatever is wrong here, the rest is worth knowing
            yield Finding(about, "wrong", f"It can't be looked at: {type(error).__name__}: {error}")


# what is installed and settled


async def _installed(workspace: Path) -> AsyncIterator[Finding]:
    yield Finding("treadle", "fine", f"Treadle {__version__} on Python {'.'.join(map(str, sys.version_info[:3]))}.")
    there = [extra for extra, modules in EXTRAS.items() if all(find_spec(module) for module in modules)]
    missing = [extra for extra in EXTRAS if extra not in there]
    yield Finding("extras", "fine", f"Installed: {', '.join(there) or 'none'}. Not installed: {', '.join(missing) or 'none'}.")


async def _settings(workspace: Path) -> AsyncIterator[Finding]:
    from treadle.app.settings import settings_of

    settings = settings_of(workspace)
    read = [file for file in (settings.user_file, settings.project_file) if file and os.access(file, os.R_OK)]
    yield Finding("settings", "fine", f"Read: {', '.join(read)}." if read else "There is no treadle.toml; everything is as usual.")
    for note in settings.notes:
        yield Finding("settings", "note", note)


# what is kept


async def _folder(workspace: Path) -> AsyncIterator[Finding]:
    folder = open_home().folder
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        yield Finding(
            "folder", "wrong", f"{there} can't be written to.", "Give yourself the right to, or set TREADLE_HOME to another."
        )
        return
    free = shutil.disk_usage(there).free
    if free < ROOM:
        yield Finding(
            "folder", "note", f"{free / 1e6:,.0f} MB are left on the disk of {folder}.", "Make room: runs can't go on without."
        )
    yield Finding("folder", "fine", f"Runs are kept in {folder}." if folder.exists() else f"Nothing is kept in {folder} yet.")
    for path in _readable_by_others(folder):
        yield Finding("folder", "wrong", f"{path} can be read by others on this machine.", f"chmod go= {path}")


def _readable_by_others(folder: Path) -> Iterator[Path]:
    for path in (folder, folder / NAME, *sorted(folder.glob("*.db"))):
        if path.exists() and path.stat().st_mode & OTHERS:
            yield path


async def _stores(workspace: Path) -> AsyncIterator[Finding]:
    home = open_home()
    if not home.database.exists():
        return
    found = [finding for path in sorted(home.folder.glob("*.db")) for finding in _file(path)]
    for finding in found:
        yield finding
    if home.database.name != str(home.folder / FILE):
        await home.journal.runs(1)
        yield Finding("stores", "fine", f"{home.database.name} can be used.")
        has_table = home.database.words.has_table
        for done in await home.database.submit(lambda connection: migrations_of(connection, has_table)):
            yield _migrated(home.database.name, done)
    elif any(finding.about == "format" and finding.state == "note" for finding in found):
        return  # looking at what is in it would migrate it
    yield await _audit(home)
    async for finding in _runs(home):
        yield finding


def _file(path: Path) -> Iterator[Finding]:
    """Whether a SQLite file is whole, and what its format is where that was or will be migrated."""
    import sqlite3
    from contextlib import closing

    mend = f"Stop Treadle, move {path} aside, and put a backup in its place: treadle restore."
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as connection:
            said = [row[0] for row in connection.execute("PRAGMA quick_check(3)")]
            number, migrations = format_of(connection), migrations_of(connection)
    except sqlite3.Error as error:
        busy = "locked" in str(error)
        do = "Try again when whoever has it is done." if busy else mend
        yield Finding("stores", "note" if busy else "wrong", f"{path.name} can't be looked at: {error}.", do)
        return
    if said != ["ok"]:
        yield Finding("stores", "wrong", f"{path.name} is damaged: {'; '.join(said)}.", mend)
        return
    yield Finding("stores", "fine", f"{path.name} is whole.")
    yield from _format(path.name, number, migrations)


def _format(name: str, number: int, migrations: list[Migration]) -> Iterator[Finding]:
    for done in migrations:
        yield _migrated(name, done)
    if name == FILE and number < SCHEMA_VERSION:
        says = f"{name} has format {number}; this Treadle uses format {SCHEMA_VERSION}."
        do = "The next command that uses it migrates it. To be able to go back to an older Treadle: treadle backup FILE"
        yield Finding("format", "note", says, do)


def _migrated(name: str, done: Migration) -> Finding:
    at = datetime.fromtimestamp(done.at).astimezone().isoformat(" ", "seconds")
    return Finding("format", "fine", f"{name} was migrated from format {done.from_format} to {done.to_format} on {at}.")


async def _audit(home: Home) -> Finding:
    verified = await home.audit.verify()
    if verified.broken_at is None and verified.missing == "anchors":
        says = f"The audit can't be verified: {verified.records:,} records hold together, but {verified.reason}."
        return Finding("audit", "wrong", says, "Restore the anchors from a backup; the next run notes where the audit ends then.")
    if verified.broken_at is None:
        no_anchor = f"; {verified.reason}" if verified.reason else ""
        return Finding("audit", "fine", f"The audit holds: {verified.records:,} records{no_anchor}.")
    says = f"The audit is broken at record {verified.broken_at}: {verified.reason}."
    return Finding("audit", "wrong", says, "Somebody or something changed the file; compare it with a backup.")


async def _runs(home: Home) -> AsyncIterator[Finding]:
    for status, words, do in (
        ("open", "not over", "Those that nobody carries on go on with `treadle resume RUN`; a server takes up its own."),
        ("waiting", "waiting for a person", "`treadle runs --status waiting` lists them; `treadle approve RUN` answers."),
    ):
        found = len(await home.journal.listed(Wanted(status=status, limit=MOST_OPEN)))
        if found:
            yield Finding("runs", "note", f"{found:,} {'run is' if found == 1 else 'runs are'} {words}.", do)


async def _key(workspace: Path) -> AsyncIterator[Finding]:
    """What a key is worth that can't be read, the first secret would say; here it is said before."""
    folder, settled = open_home().folder, settled_key()
    kept = kept_key(folder)
    if settled is not None:
        yield Finding("key", "fine", f"Secrets are encrypted under the key {settled.id} in {VARIABLE}; no backup has it.")
    elif kept is not None:
        yield Finding("key", "fine", f"Secrets are encrypted under the key {kept.id} in {folder / NAME}; backups have it too.")
    else:
        yield Finding("key", "fine", "There is no key: no secret was kept so far. The first one makes it.")


async def _users(workspace: Path) -> AsyncIterator[Finding]:
    people = users_in(open_home()).all()
    if people:
        yield Finding("users", "fine", f"{len(people):,} may use the server: {', '.join([each.name for each in people][:10])}.")
    else:
        yield Finding("users", "fine", "There are no users: a server is for this machine alone.")


# what it works with


async def _model(workspace: Path) -> AsyncIterator[Finding]:
    try:
        name = await default_model()
    except UnknownModel as error:
        yield Finding("model", "wrong", "No model is settled, and none was found.", str(error))
        return
    settled, base_url = settled_model()
    first, *others = names_in(spec_of(model_at(name, base_url)))
    then = f", then {', '.join(others)} where it is down" if others else ""
    yield Finding("model", "fine", f"{first} is used where none is named{then}{'' if settled else '; it was found here'}.")


async def _sandbox(workspace: Path) -> AsyncIterator[Finding]:
    from treadle.toolsets.sandbox.trial import level

    found = await level(workspace)
    if found.sandboxed:
        yield Finding("sandbox", "fine", "Commands are contained: the sandbox was tried, and holds.")
    else:
        yield Finding("sandbox", "note", "Commands can't be contained here, so that coding isn't possible.", found.why)


async def _programs(workspace: Path) -> AsyncIterator[Finding]:
    for name, needed in (("git", "coding in repositories"), ("rg", "searching in large folders")):
        if shutil.which(name):
            yield Finding("programs", "fine", f"{name} is there.")
        else:
            yield Finding("programs", "note", f"{name} isn't installed; it is needed for {needed}.", f"Install {name}.")


async def _servers(workspace: Path) -> AsyncIterator[Finding]:
    for name, said in user_settings().mcp.items():
        program = said.command[0] if said.command else ""
        if program and shutil.which(program) is None:
            yield Finding(
                "mcp", "wrong", f"The MCP server {name} is started by {program}, which isn't there.", f"Install {program}."
            )
        else:
            yield Finding("mcp", "fine", f"The MCP server {name} is at {said.url or ' '.join(said.command)}.")


CHECKS: dict[str, Check] = {
    "treadle": _installed,
    "settings": _settings,
    "folder": _folder,
    "stores": _stores,
    "key": _key,
    "users": _users,
    "model": _model,
    "sandbox": _sandbox,
    "programs": _programs,
    "mcp": _servers,
}
