"""The guidance assistant's tools, for one person: looks at a project, and changes that are shown and approved first.

In a conversation about a project it is bound: a model may name its id, and can reach no other. Elsewhere a tool names the project,
or means the one that changed last.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle import Host, Preview, RunContext, SettingsError, ToolProblem, tool
from treadle.assistants.guidance.changes import (
    GivenConstraint,
    GivenEntry,
    Section,
    SpecChange,
    changed_spec,
    changed_world,
    difference,
)
from treadle.assistants.guidance.preflight import preflight
from treadle.assistants.guidance.projects import NONE_YET, find_project, state_of, user_of
from treadle.assistants.guidance.stages import told
from treadle.assistants.guidance.store.errors import ChangedMeanwhile, NotThere, StoreError
from treadle.assistants.guidance.store.values import Mode, ProblemSpec, Project, Provenance, Resolution, WorldModel

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

KEPT = 60.0  # seconds
MOST_SHOWN = 20_000  # characters of a difference: more than a person reads before they approve it
MOST_MESSAGES = 50
ResolutionOrNone = Resolution | None
ModeOrNone = Mode | None


class ProjectScope(Struct, frozen=True):
    """Which project tools act on: the one that is bound, or one of the person's."""

    host: Host
    store: "Store"
    project_id: str = ""
    session_id: str = ""

    @property
    def user(self) -> str:
        """For whom."""
        return user_of(self.host)

    async def project(self, named: str = "") -> Project:
        """The project that a call means, by its id or its title."""
        try:
            return await find_project(self.store, self.user, named) if not self.project_id else await self._bound(named)
        except (SettingsError, NotThere) as error:
            raise ToolProblem(str(error)) from error

    async def _bound(self, named: str) -> Project:
        project = await self.store.get_project(self.user, self.project_id)
        if named not in ("", project.id, project.title):
            raise ToolProblem("There is no such project in this conversation. Leave project_id out: the right one is known.")
        return project


class ProjectTools:
    """What the tools do. Their docstrings are the descriptions that a model gets."""

    def __init__(self, scope: ProjectScope) -> None:
        self._scope = scope
        self._store = scope.store
        self._user = scope.user
        self._session = scope.session_id

    async def _bound(self, project_id: str) -> str:
        return (await self._scope.project(project_id)).id

    async def list_projects(self) -> Any:
        """The person's projects: id, title and description, the one that changed last first."""
        found = await self._store.list_projects(self._user)
        return [{"id": each.id, "title": each.title, "description": each.description[:500]} for each in found] or NONE_YET

    async def get_workflow_state(self, project_id: str = "") -> dict[str, Any]:
        """How far the project is: its stage, whether it has a problem spec, a world model and runs, its title and description.

        :param project_id: its id or title; may be left out
        """
        return told(await state_of(self._store, self._user, await self._bound(project_id)))

    async def get_problem_spec(self, project_id: str = "") -> Any:
        """The problem spec: constraints with their weights (100 is a must), goals, resolution and mode.

        :param project_id: its id or title; may be left out
        """
        spec = await self._store.get_problem_spec(self._user, await self._bound(project_id))
        return "The project has no problem spec yet." if spec is None else _plain(spec)

    async def get_world_model(self, project_id: str = "") -> Any:
        """The world model: actors, mechanisms, resources, constraints, assumptions and simplifications.

        :param project_id: its id or title; may be left out
        """
        world = await self._store.get_world_model(self._user, await self._bound(project_id))
        return "The project has no world model yet." if world is None else _plain(world)

    async def list_runs(self, project_id: str = "") -> Any:
        """The runs of the project, the newest last, with status and mode.

        :param project_id: its id or title; may be left out
        """
        runs = await self._store.list_runs(self._user, await self._bound(project_id), last=MOST_MESSAGES)
        told = [{"id": run.id, "status": run.status, "mode": run.mode, "created_at": run.created_at.isoformat()} for run in runs]
        return told or "Nothing has been run yet."

    async def get_chat_history(self, chat_session_id: str = "", limit: int = 10) -> Any:
        """What was said in this conversation before.

        :param chat_session_id: may be left out; only this conversation can be looked at
        :param limit: how many messages, from the newest backwards
        """
        session = chat_session_id if not self._scope.project_id else self._session
        if not session or chat_session_id not in ("", session):
            raise ToolProblem("There is no such conversation here. Leave chat_session_id out: the right one is known.")
        try:
            messages = await self._store.list_messages(self._user, session, min(max(limit, 1), MOST_MESSAGES))
        except NotThere as error:
            raise ToolProblem(str(error)) from error
        return [{"role": each.role, "content": each.content, "created_at": each.created_at.isoformat()} for each in messages]

    async def check_run(
        self, mode: Mode = "full_search", num_candidates: int = 5, num_scenarios: int = 8, project_id: str = ""
    ) -> Any:
        """Whether a run could begin with these settings: what blocks it, what to think of.

        :param mode: how it searches
        :param num_candidates: how many solutions it looks at
        :param num_scenarios: in how many situations
        :param project_id: its id or title; may be left out
        """
        state = await state_of(self._store, self._user, await self._bound(project_id))
        return msgspec.to_builtins(preflight(state, mode, {"num_candidates": num_candidates, "num_scenarios": num_scenarios}))

    async def change_problem_spec(
        self,
        ctx: RunContext[Any],
        constraints: tuple[GivenConstraint, ...] = (),
        without_constraints: tuple[str, ...] = (),
        goals: tuple[str, ...] = (),
        without_goals: tuple[str, ...] = (),
        resolution: ResolutionOrNone = None,
        mode: ModeOrNone = None,
        project_id: str = "",
    ) -> str:
        """Change the problem spec. Name only what changes; the person is shown the difference and asked first.

        :param constraints: constraints to add or change, by name; a weight is from 0 to 100, which is a must
        :param without_constraints: names of constraints to remove
        :param goals: goals to add
        :param without_goals: goals to remove, as they are written
        :param resolution: how closely to look
        :param mode: how runs search
        :param project_id: its id or title; may be left out
        """
        change = SpecChange(constraints, without_constraints, goals, without_goals, resolution, mode)
        project = await self._bound(project_id)
        before = await self._spec(project)
        _hold(ctx, before, project)
        after = changed_spec(before, change)
        why = _why("spec_change", ctx, difference(before, after))
        return await self._kept(self._store.put_problem_spec(self._user, project, after, expected=before.version, why=why))

    async def to_change_spec(
        self,
        ctx: RunContext[Any],
        constraints: tuple[GivenConstraint, ...] = (),
        without_constraints: tuple[str, ...] = (),
        goals: tuple[str, ...] = (),
        without_goals: tuple[str, ...] = (),
        resolution: ResolutionOrNone = None,
        mode: ModeOrNone = None,
        project_id: str = "",
    ) -> Preview:
        """What that would change."""
        project = await self._scope.project(project_id)
        before = await self._spec(project.id)
        after = changed_spec(before, SpecChange(constraints, without_constraints, goals, without_goals, resolution, mode))
        return _preview("The problem spec", project, before, after)

    async def change_world_model(
        self,
        ctx: RunContext[Any],
        section: Section,
        entries: tuple[GivenEntry, ...] = (),
        without: tuple[str, ...] = (),
        project_id: str = "",
    ) -> str:
        """Change a section of the world model. Name only what changes; the person is shown the difference and asked first.

        :param section: which part of the world model
        :param entries: entries to add or change, by name
        :param without: names of entries to remove
        :param project_id: its id or title; may be left out
        """
        project = await self._bound(project_id)
        before = await self._world(project)
        _hold(ctx, before, project)
        after = changed_world(before, section, entries, without)
        why = _why("world_model_change", ctx, difference(before, after))
        return await self._kept(self._store.put_world_model(self._user, project, after, expected=before.version, why=why))

    async def to_change_world(
        self,
        ctx: RunContext[Any],
        section: Section,
        entries: tuple[GivenEntry, ...] = (),
        without: tuple[str, ...] = (),
        project_id: str = "",
    ) -> Preview:
        """What that would change."""
        project = await self._scope.project(project_id)
        before = await self._world(project.id)
        return _preview("The world model", project, before, changed_world(before, section, entries, without))

    async def was_changed(self, ctx: RunContext[Any], *_: Any, project_id: str = "", **__: Any) -> str | None:
        """Whether this call's change is on record, after a crash."""
        changes = await self._store.list_provenance(self._user, await self._bound(project_id))
        made = [each for each in changes if each.metadata.get("call") == mark_of(ctx)]
        return f"Changed; this is version {made[-1].version}." if made else None

    async def _spec(self, project_id: str) -> ProblemSpec:
        return await self._store.get_problem_spec(self._user, project_id) or ProblemSpec()

    async def _world(self, project_id: str) -> WorldModel:
        return await self._store.get_world_model(self._user, project_id) or WorldModel()

    async def _kept(self, putting: Any) -> str:
        try:
            kept = await putting
        except ChangedMeanwhile as error:
            raise ToolProblem(f"{error} Look at it again, and ask the person once more.") from error
        except StoreError as error:
            raise ToolProblem(str(error)) from error
        return f"Changed; this is version {kept.version}."


def project_tools(scope: ProjectScope) -> list[Callable[..., Any]]:
    """Looks at a project, and changes of it. What they read is reused, which is right for as long as one turn."""
    able = ProjectTools(scope)
    reads: Sequence[Callable[..., Any]] = (
        *([] if scope.project_id else [able.list_projects]),
        able.get_workflow_state,
        able.get_problem_spec,
        able.get_world_model,
        able.list_runs,
        able.get_chat_history,
        able.check_run,
    )
    terms: dict[str, Any] = {"retry": "checkable", "reconcile": able.was_changed, "sequential": True}
    spec = tool(able.change_problem_spec, preview=able.to_change_spec, **terms)
    world = tool(able.change_world_model, preview=able.to_change_world, **terms)
    return [*[read_tool(each) for each in reads], spec, world]


def read_tool(function: Callable[..., Any]) -> Callable[..., Any]:
    """A look at a project as a tool."""
    return tool(function, effect="read", cache=KEPT)


def _plain(value: ProblemSpec | WorldModel) -> dict[str, Any]:
    plain = msgspec.to_builtins(replace(value, updated_at=None))
    return {key: each for key, each in plain.items() if each not in (None, [], ())}


def _preview(what: str, project: Project, before: ProblemSpec | WorldModel, after: ProblemSpec | WorldModel) -> Preview:
    shown = difference(before, after)
    if len(shown) > MOST_SHOWN:
        raise ToolProblem("That is too much for a person to look through at once. Change it in several smaller steps.")
    return Preview(f"{what} of {project.title!r} would change:\n{shown}", _seal(before, project.id))


def _seal(value: ProblemSpec | WorldModel, project_id: str) -> str:
    return f"version {value.version} of {project_id}"


def _hold(ctx: RunContext[Any], now: ProblemSpec | WorldModel, project_id: str) -> None:
    """What was approved was approved for the version that was shown."""
    if ctx.seal and ctx.seal != _seal(now, project_id):
        raise ToolProblem("Somebody has changed it since the person was asked, so nothing was done. Look again, and ask once more.")


def _why(kind: Literal["spec_change", "world_model_change"], ctx: RunContext[Any], text: str) -> Provenance:
    return Provenance(kind, text[:MOST_SHOWN], actor="agent", source="conversation", metadata={"call": mark_of(ctx)})


def mark_of(ctx: RunContext[Any]) -> str:
    """What a call is known by in the store, so that it is carried out once."""
    return f"{ctx.run_id}:{ctx.call_id}"
