"""A check of work in a folder without tests: a command that the user names or agrees to, remembered for the folder.

It is named by `--check` or by the setting `tests.check`; else one is proposed, by the project's files, and the user is asked once:
in a session by a call that needs approval (`ask_in_run`), so that the answer may come later and from another process; for a job
by the host's approver (`choose_check`).
Its exit code alone counts, and what it verifies is never called tested.
"""

from collections.abc import Awaitable
from itertools import islice
from pathlib import Path
from shutil import which
from time import time
from typing import Any, cast

import msgspec

from treadle import Answer, Approval, RunContext, ToolProblem
from treadle.assistant import Host, Settings
from treadle.errors import SettingsError
from treadle.files import Workspace
from treadle.workspace import CheckOutcome

FILE = "checks.json"  # in the home
CHECK_CALL = "check"
CHECK_REASON = (
    "There are no tests here. This command can check the work instead: it runs in the sandbox, and is remembered for this folder."
)
MAX_COMMAND = 1_000  # characters
_DAY = 86_400.0
_MAX_FILES = 5_000  # among which Python code is looked for
_INSTALLED = (".venv", "venv", "node_modules")


def lacks_tests(outcome: CheckOutcome) -> bool:
    """Return whether tests said nothing, because there are none or because no runner was found."""
    return outcome.state in ("no tests", "not run")


def propose_check(folder: Path) -> str:
    """Return a command that finds at least what doesn't compile, by the project's files; empty where none is known."""
    if (folder / "go.mod").is_file():
        return "go vet ./..."
    if (folder / "Cargo.toml").is_file():
        return "cargo check --offline --quiet"
    if (folder / "tsconfig.json").is_file():
        if (folder / "node_modules" / ".bin" / "tsc").exists():
            return "node_modules/.bin/tsc --noEmit"
        if which("tsc"):
            return "tsc --noEmit"
    files = Workspace(folder, links=False).files(passed=lambda name: name.startswith(".") or name in _INSTALLED)
    if any(path.endswith(".py") for path in islice(files, _MAX_FILES)):
        left_out = " -x '/(.?venv|node_modules)/'" if any((folder / name).exists() for name in _INSTALLED) else ""
        return f"python3 -m compileall -q{left_out} ."
    return ""


def load_agreed_check(home: Path, folder: Path) -> str | None:
    """Return the command that the user agreed to for a folder; empty if they declined, None if they weren't asked."""
    return _load(home).get(str(folder))


def save_agreed_check(home: Path, folder: Path, command: str) -> None:
    """Remember the user's answer for a folder."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = home / f"{FILE}.part"
    part.write_bytes(msgspec.json.format(msgspec.json.encode({**_load(home), str(folder): command})))
    part.replace(home / FILE)


def _load(home: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode((home / FILE).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):  # a user who is asked again loses nothing
        return {}


def find_check(host: Host, folder: Path, settings: Settings, named: str = "") -> str | None:
    """Return the command that checks work in a folder: the named one, the setting's, or the one that the user agreed to.

    One that is named is remembered. Empty where the user declined, None where they weren't asked yet.
    """
    home = host.home.folder
    command = named.strip() or settings.tests.check.strip()
    if len(command) > MAX_COMMAND:
        raise SettingsError(f"A check has at most {MAX_COMMAND:,} characters; put it into a script.")
    if named.strip():
        save_agreed_check(home, folder, command)
    return command or load_agreed_check(home, folder)


async def choose_check(host: Host, folder: Path, settings: Settings, named: str = "", run_id: str = "") -> str:
    """Return the command that checks work in a folder, after asking the user if they can be asked; empty for none."""
    known = find_check(host, folder, settings, named)
    proposed = propose_check(folder) if known is None else ""
    if known is not None or not proposed or host.approver is None:
        return known or ""
    now = time()
    approval = Approval(run_id, CHECK_CALL, CHECK_CALL, {"command": proposed}, CHECK_REASON, "", now, now + _DAY)
    answered = host.approver(approval)
    answer = await answered if isinstance(answered, Awaitable) else answered
    command = _agreed_command(answer if isinstance(answer, Answer) else Answer(answer), proposed)
    save_agreed_check(host.home.folder, folder, command)
    return command


async def ask_in_run(ctx: RunContext[Any], host: Host, folder: Path, settings: Settings, named: str = "") -> str:
    """Return the command that checks work in a folder, after asking the user by a call of `CHECK_CALL`; empty for none.

    That tool stores what is approved; a denial is stored here.
    """
    known = find_check(host, folder, settings, named)
    proposed = propose_check(folder) if known is None else ""
    if known is not None or not proposed:
        return known or ""
    try:
        return str(await ctx.call(CHECK_CALL, command=proposed))
    except ToolProblem as problem:
        if problem.refused_by:  # else it wasn't answered
            save_agreed_check(host.home.folder, folder, "")
        return ""


def _agreed_command(answer: Answer, proposed: str) -> str:
    """Return the command that was agreed to, as the user edited it; empty for none."""
    if not answer.approved:
        return ""
    edited = cast("dict[str, object]", answer.arguments or {}).get("command", proposed)
    return edited.strip() if isinstance(edited, str) else proposed
