"""`treadle doctor`: check everything that Treadle needs here, and say how to fix what is wrong. Changes nothing.

Each check is a function that yields findings. What it can't check because of another problem is left to that
problem's check.
"""

import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from msgspec import Struct

from treadle._version import __version__
from treadle.core.errors import TreadleError, UnknownModel
from treadle.home import DATABASE_FILE, Home, open_home, open_users
from treadle.plugins.models import configured_model, default_model, model_at, model_spec, split_model_names
from treadle.settings.loader import user_settings
from treadle.settings.provider_keys import PROVIDER_KEYS_FILE
from treadle.stores.disk_errors import ADVICE, classify_disk_error, examine_disk, open_read_only
from treadle.stores.journal import JournalQuery
from treadle.stores.journal_key import NAME, VARIABLE, load_environment_key, load_key_file
from treadle.stores.migration import Migration, format_of, migrations_of
from treadle.stores.queue_stats import read_operation_stats
from treadle.stores.sqlite import SCHEMA_VERSION
from treadle.toolsets.workspace.search import find_ripgrep
from treadle.workers.app_version import format_unserved

MIN_FREE_BYTES = 500 * 1024 * 1024  # bytes below which a disk is nearly full
OTHERS_MODE_BITS = 0o077  # the rights of everybody else
MAX_OPEN_RUNS = 1_000

EXTRAS = {
    "server": ("starlette", "uvicorn"),
    "local": ("xllamacpp",),
    "mcp": ("mcp",),
    "acp": ("acp",),
    "retrieval": ("numpy", "wordllama"),
    "cluster": ("psycopg", "dbos"),
}

State = Literal["fine", "note", "wrong"]


class DoctorFinding(Struct, frozen=True):
    """The result of one check. `do` says how to fix it."""

    about: str
    state: State
    says: str
    do: str = ""


Check = Callable[[Path], AsyncIterator[DoctorFinding]]


async def diagnose(workspace: Path) -> AsyncIterator[DoctorFinding]:
    """Yield every finding as it is found. A check that raises is a finding too, and the others continue."""
    reported: set[str] = set()
    for about, check in CHECKS.items():
        try:
            async for finding in check(workspace):
                yield finding
        except TreadleError as error:  # one problem, such as a wrong setting, keeps several checks from their work
            if str(error) not in reported:
                yield DoctorFinding(about, "wrong", str(error))
            reported.add(str(error))
        except Exception as error:  # noqa: BLE001 - whatever is wrong here, the rest is worth knowing
            yield DoctorFinding(about, "wrong", f"It can't be looked at: {type(error).__name__}: {error}")


# what is installed and settled


async def _check_installed(workspace: Path) -> AsyncIterator[DoctorFinding]:
    yield DoctorFinding("treadle", "fine", f"Treadle {__version__} on Python {'.'.join(map(str, sys.version_info[:3]))}.")
    there = [extra for extra, modules in EXTRAS.items() if all(find_spec(module) for module in modules)]
    missing = [extra for extra in EXTRAS if extra not in there]
    yield DoctorFinding(
        "extras", "fine", f"Installed: {', '.join(there) or 'none'}. Not installed: {', '.join(missing) or 'none'}."
    )


async def _check_settings(workspace: Path) -> AsyncIterator[DoctorFinding]:
    from treadle.settings.loader import settings_for

    settings = settings_for(workspace)
    read = [file for file in (settings.user_file, settings.project_file) if file and os.access(file, os.R_OK)]
    yield DoctorFinding(
        "settings", "fine", f"Read: {', '.join(read)}." if read else "There is no treadle.toml; all settings have their defaults."
    )
    for note in settings.notes:
        yield DoctorFinding("settings", "note", note)


# what is kept


async def _check_folder(workspace: Path) -> AsyncIterator[DoctorFinding]:
    folder = open_home().folder
    there = next(path for path in (folder, *folder.parents) if path.exists())
    fault = examine_disk(folder / DATABASE_FILE)
    if fault in ADVICE:
        yield DoctorFinding("folder", "wrong", f"{there} can't be written.", ADVICE[fault])
        return
    free = shutil.disk_usage(there).free
    if free < MIN_FREE_BYTES:
        says = f"{free / 1e6:,.0f} MB are left on the disk of {folder}."
        yield DoctorFinding("folder", "note", says, "Make room: runs can't continue without it.")
    yield DoctorFinding(
        "folder", "fine", f"Runs are stored in {folder}." if folder.exists() else f"Nothing is stored in {folder} yet."
    )
    for path in _find_readable_by_others(folder):
        yield DoctorFinding("folder", "wrong", f"{path} can be read by others on this machine.", f"chmod go= {path}")


def _find_readable_by_others(folder: Path) -> Iterator[Path]:
    for path in (folder, folder / NAME, folder / PROVIDER_KEYS_FILE, *sorted(folder.glob("*.db"))):
        if path.exists() and path.stat().st_mode & OTHERS_MODE_BITS:
            yield path


async def _check_stores(workspace: Path) -> AsyncIterator[DoctorFinding]:
    home = open_home()
    if not home.database.exists():
        return
    found = [finding for path in sorted(home.folder.glob("*.db")) for finding in _check_sqlite_file(path)]
    for finding in found:
        yield finding
    if home.database.name != str(home.folder / DATABASE_FILE):
        await home.journal.list_runs(JournalQuery(limit=1))
        yield DoctorFinding("stores", "fine", f"{home.database.name} can be used.")
        has_table = home.database.words.has_table
        for done in await home.database.submit(lambda connection: migrations_of(connection, has_table)):
            yield _migration_finding(home.database.name, done)
    elif any(finding.about == "format" and finding.state == "note" for finding in found):
        return  # looking at what is in it would migrate it
    yield await _check_audit(home)
    async for finding in _check_runs(home):
        yield finding


def _check_sqlite_file(path: Path) -> Iterator[DoctorFinding]:
    """Check whether a SQLite file is intact, and whether its format was or will be migrated."""
    import sqlite3

    replace_it = f"Stop Treadle, move {path} aside, and put a backup in its place: treadle restore."
    try:
        with closing(open_read_only(path)) as connection:
            said = [row[0] for row in connection.execute("PRAGMA quick_check(3)")]
            number, migrations = format_of(connection), migrations_of(connection)
    except (OSError, sqlite3.Error) as error:
        fault = classify_disk_error(error, path)
        if fault == "locked":
            yield DoctorFinding(
                "stores", "note", f"{path.name} is locked: {error}.", "Try again when the program that uses it is done."
            )
        elif fault == "damaged":
            yield DoctorFinding("stores", "wrong", f"{path.name} is damaged: {error}.", replace_it)
        else:
            yield DoctorFinding("stores", "wrong", f"{path.name} can't be read: {error}.", ADVICE.get(fault, "Check its disk."))
        return
    if said != ["ok"]:
        yield DoctorFinding("stores", "wrong", f"{path.name} is damaged: {'; '.join(said)}.", replace_it)
        return
    yield DoctorFinding("stores", "fine", f"{path.name} is intact.")
    yield from _check_format(path.name, number, migrations)


def _check_format(name: str, number: int, migrations: list[Migration]) -> Iterator[DoctorFinding]:
    for done in migrations:
        yield _migration_finding(name, done)
    if name == DATABASE_FILE and number < SCHEMA_VERSION:
        says = f"{name} has format {number}; this Treadle uses format {SCHEMA_VERSION}."
        do = "The next command that uses it migrates it. To be able to go back to an older Treadle: treadle backup FILE"
        yield DoctorFinding("format", "note", says, do)


def _migration_finding(name: str, done: Migration) -> DoctorFinding:
    at = datetime.fromtimestamp(done.at).astimezone().isoformat(" ", "seconds")
    return DoctorFinding("format", "fine", f"{name} was migrated from format {done.from_format} to {done.to_format} on {at}.")


async def _check_audit(home: Home) -> DoctorFinding:
    verified = await home.audit.verify()
    if verified.broken_at is None and verified.missing == "anchors":
        says = f"The audit log can't be verified: {verified.records:,} records are intact, but {verified.reason}."
        return DoctorFinding(
            "audit", "wrong", says, "Restore the anchors from a backup; the next run notes where the audit ends then."
        )
    if verified.broken_at is None:
        no_anchor = f"; {verified.reason}" if verified.reason else ""
        return DoctorFinding("audit", "fine", f"The audit log is intact: {verified.records:,} records{no_anchor}.")
    says = f"The audit log is broken at record {verified.broken_at}: {verified.reason}."
    return DoctorFinding("audit", "wrong", says, "The file was changed; compare it with a backup.")


async def _check_runs(home: Home) -> AsyncIterator[DoctorFinding]:
    for status, words, do in (
        ("open", "not finished", "`treadle resume RUN` resumes one whose process is gone; a server resumes its own."),
        ("waiting", "waiting for a user", "`treadle runs --status waiting` lists them; `treadle approve RUN` answers."),
    ):
        found = len(await home.journal.list_runs(JournalQuery(status=status, limit=MAX_OPEN_RUNS)))
        if found:
            yield DoctorFinding("runs", "note", f"{found:,} {'run is' if found == 1 else 'runs are'} {words}.", do)
    for version, count in (await read_operation_stats(home.database)).unserved.items():
        yield DoctorFinding("runs", "note", format_unserved(version, count))


async def _check_key(workspace: Path) -> AsyncIterator[DoctorFinding]:
    """Check that the encryption key can be read, before the first secret fails."""
    folder, settled = open_home().folder, load_environment_key()
    kept = load_key_file(folder)
    if settled is not None:
        yield DoctorFinding("key", "fine", f"Secrets are encrypted under the key {settled.id} in {VARIABLE}; no backup has it.")
    elif kept is not None:
        yield DoctorFinding(
            "key", "fine", f"Secrets are encrypted under the key {kept.id} in {folder / NAME}; backups have it too."
        )
    else:
        yield DoctorFinding("key", "fine", "There is no key yet; it is created when the first secret is stored.")


async def _check_users(workspace: Path) -> AsyncIterator[DoctorFinding]:
    people = open_users(open_home()).all()
    if people:
        yield DoctorFinding(
            "users", "fine", f"{len(people):,} may use the server: {', '.join([each.name for each in people][:10])}."
        )
    else:
        yield DoctorFinding("users", "fine", "There are no users: a server is for this machine alone.")


# what it works with


async def _check_model(workspace: Path) -> AsyncIterator[DoctorFinding]:
    try:
        name = await default_model()
    except UnknownModel as error:
        yield DoctorFinding("model", "wrong", "No model is set up, and none was found.", str(error))
        return
    settled, base_url = configured_model()
    first, *others = split_model_names(model_spec(model_at(name, base_url)))
    then = f", then {', '.join(others)} if it is down" if others else ""
    yield DoctorFinding("model", "fine", f"{first} is the default{then}{'' if settled else '; it was found on this machine'}.")


async def _check_sandbox(workspace: Path) -> AsyncIterator[DoctorFinding]:
    from treadle.sandbox.probe import check_sandbox

    found = await check_sandbox(workspace)
    if found.sandboxed:
        yield DoctorFinding("sandbox", "fine", "Commands run in a sandbox, which was tested.")
    else:
        yield DoctorFinding("sandbox", "note", "There is no sandbox for commands here, so coding isn't possible.", found.why)


async def _check_programs(workspace: Path) -> AsyncIterator[DoctorFinding]:
    for name, path, needed in (
        ("git", shutil.which("git"), "coding in repositories"),
        ("rg", find_ripgrep(), "fast search in large folders"),
    ):
        if path:
            yield DoctorFinding("programs", "fine", f"{name} is installed.")
        else:
            yield DoctorFinding("programs", "note", f"{name} isn't installed; it is needed for {needed}.", f"Install {name}.")


async def _check_language_servers(workspace: Path) -> AsyncIterator[DoctorFinding]:
    from treadle.toolsets.diagnostics.client import KINDS, find_language_servers

    installed = {server.name for server in find_language_servers(workspace).values()}
    for kind in KINDS:
        files = ", ".join(kind.languages)
        if kind.name in installed:
            yield DoctorFinding("language servers", "fine", f"{kind.name} checks edits of {files} files.")
        else:
            says = f"{kind.name} isn't installed, so edits of {files} files aren't checked before tests run."
            yield DoctorFinding("language servers", "note", says, f"If you want that: {kind.install}.")


async def _check_servers(workspace: Path) -> AsyncIterator[DoctorFinding]:
    for name, said in user_settings().mcp.items():
        program = said.command[0] if said.command else ""
        if program and shutil.which(program) is None:
            yield DoctorFinding(
                "mcp", "wrong", f"The MCP server {name} is started by {program}, which isn't there.", f"Install {program}."
            )
        else:
            yield DoctorFinding("mcp", "fine", f"The MCP server {name} is at {said.url or ' '.join(said.command)}.")


CHECKS: dict[str, Check] = {
    "treadle": _check_installed,
    "settings": _check_settings,
    "folder": _check_folder,
    "stores": _check_stores,
    "key": _check_key,
    "users": _check_users,
    "model": _check_model,
    "sandbox": _check_sandbox,
    "programs": _check_programs,
    "language servers": _check_language_servers,
    "mcp": _check_servers,
}
