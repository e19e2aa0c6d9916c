"""Where a job works and with what: its folder, settings, model, checkpoints, and the agent that does it. Decides nothing."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from treadle import (
    Agent,
    Desk,
    Led,
    Limits,
    Model,
    Settings,
    settings_of,
    settled_agent,
)
from treadle.assistants.coding import answers, prompts
from treadle.assistants.coding.checkout import folder_of, say, working_folder
from treadle.assistants.coding.kept import Kept
from treadle.assistants.coding.plan import debug as debug_plan
from treadle.assistants.coding.tools import Kind, rules, toolset
from treadle.files import Workspace, WorkspaceProblem
from treadle.workspace import Bounds, Checkpoints, GitRules, SandboxMissing, link_environments, require_sandbox

ROUNDS = 20
_GUIDES = ("AGENTS.md", "CLAUDE.md")
_MOST_GUIDE = 4_000
_TOLD = {"build": prompts.BUILD, "debug": prompts.DEBUG, "review": prompts.REVIEW, "triage": prompts.TRIAGE}
_ANSWERS: dict[str, Any] = {
    "build": answers.Report,
    "debug": answers.Report,
    "review": answers.ReviewAnswer,
    "triage": answers.TriageAnswer,
}


class Room(Struct, frozen=True):
    """Where one job works. `led` says that its model is too small to choose among tools, and is led by a plan.

    source   the person's folder
    folder   where the job works: a private copy of it, or the folder itself
    project  the person's folder, where commands see the copy at its path
    """

    kind: Kind
    desk: Desk
    source: Path
    folder: Path
    project: Path | None
    settings: Settings
    model: Model
    led: bool
    checkpoints: Checkpoints

    @property
    def unsafe(self) -> bool:
        """Whether the person lets commands run without a sandbox."""
        return not self.settings.commands.sandbox

    @property
    def git(self) -> GitRules:
        """What the person decided about git."""
        return git_rules(self.settings)

    @property
    def is_private(self) -> bool:
        """Whether it works in a copy."""
        return self.folder != self.source

    def say(self, words: str) -> None:
        """What happens between turns, for whoever watches."""
        say(self.desk, words)

    def touched(self, paths: Sequence[str]) -> None:
        """Remember that the job has changed these files."""
        self.desk.note(touched=[*dict.fromkeys([*self.desk.job.facts.get("touched", ()), *paths])])

    @property
    def changes(self) -> bool:
        """Whether this kind of work changes anything."""
        return self.kind in ("build", "debug")


def git_rules(settings: Settings) -> GitRules:
    """What the person decided about git."""
    git = settings.git
    return GitRules(git.remote, git.draft_pr, git.branch_prefix, tuple(git.protected))


async def room_for(desk: Desk, kind: Kind, *, keeps: bool, free: bool = False, leaves: bool = False) -> Room:
    """The room of a job. Raises a sentence where its folder is gone, or where commands can't be contained."""
    source = folder_of(desk.job)
    settings = settings_of(source)
    folder, project = source, None
    if kind in ("build", "debug"):
        is_sandboxed = await _is_sandboxed(source, settings)
        folder = await working_folder(desk, source, settings, leaves=leaves)
        if folder != source and not is_sandboxed:
            link_environments(source, folder)
        project = source if folder != source and is_sandboxed else None
    model = await desk.host.model()
    chooses = free or bool(desk.host.dialect)  # a dialect that was named is to be used
    led = kind == "debug" and not chooses and not model.traits.native_calls
    model = Kept(model, desk.folder / "context") if keeps or settings.context.keep else model
    return Room(kind, desk, source, folder, project, settings, model, led, Checkpoints(folder, desk.folder / "checkpoints"))


async def _is_sandboxed(folder: Path, settings: Settings) -> bool:
    """Whether commands are contained. Raises a sentence where they aren't and have to be."""
    try:
        await require_sandbox(folder)
    except SandboxMissing:
        if settings.commands.sandbox:
            raise
        return False
    return True


async def agent_in(room: Room, *, leaves: bool = False, turn: int = 0, tests: Bounds | None = None) -> Agent[Any]:
    """The agent that does the work. `leaves` lets it push; `turn` is which it is; `tests` is what tests may use."""
    kept = room.checkpoints if room.changes else None
    tools = toolset(
        room.kind,
        room.folder,
        room.settings,
        flat=room.led,
        checkpoints=kept,
        touched=room.touched,
        tests=tests,
        project=room.project,
    )
    parts: dict[str, Any] = {
        "name": f"coding-{room.kind}",
        "toolsets": [tools],
        "instructions": instructions(room.kind, room.folder, room.settings),
        "output_type": _ANSWERS[room.kind],
        "policy": rules(room.kind, leaves=leaves),
        "approver": room.desk.host.approver,
        "priced": True,
        "dialect": room.desk.host.dialect,
    }
    limits = asdict(await _limits(room, turn))  # over all turns of a job, so that what is left goes before what was settled
    model = Led(room.model, debug_plan) if room.led else room.model
    host = room.desk.host if room.changes else None  # whoever judges has no tools but those that read the folder
    return settled_agent(room.source, model, limits=limits, parts=parts, host=host, assistant="coding")


async def _limits(room: Room, turn: int) -> Limits:
    """What is left of the job's limits after the turns before this one."""
    limits, rounds, spent = room.settings.limits, await room.desk.rounds(turn), await room.desk.usage(turn)
    return Limits(
        rounds=max(1, (limits.rounds or ROUNDS) - rounds),
        tokens=None if limits.tokens is None else max(1, limits.tokens - spent.total_tokens),
        seconds=limits.seconds,
        cost=None if limits.cost is None else max(0.0, limits.cost - (spent.cost or 0.0)),
        at_limit="fail",
        refuse_at=6,
    )


def instructions(kind: Kind, folder: Path, settings: Settings) -> str:
    """What the model is told, with what the project says of itself; not where it is judged, since it could ask for mercy."""
    if kind in ("review", "triage"):
        return _TOLD[kind]
    project = settings.project
    about = prompts.facts_of(tuple(project.facts), project.instructions, _guide(folder))
    return f"{_TOLD[kind]}\n\n{about}".strip()


def _guide(folder: Path) -> str:
    """What the project tells those who work on it; only a plain file counts."""
    workspace = Workspace(folder, links=False)
    for name in _GUIDES:
        with suppress(WorkspaceProblem), workspace.open_read(name) as file:
            return file.read(4 * _MOST_GUIDE).decode("utf-8", errors="replace")[:_MOST_GUIDE]
    return ""
