"""The guidance assistant's tools, for one user: lookups in a project, and changes that are previewed and approved first.

In a conversation about a project the tools are bound to it: a model may name its id, and can reach no other. Otherwise a tool
names the project, or uses the one that changed last.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle import Preview, RunContext, ToolProblem, tool
from treadle.assistant import Host
from treadle.assistants.guidance.changes import (
    GivenConstraint,
    GivenEntry,
    SpecChange,
    WorldSection,
    apply_spec_change,
    apply_world_change,
    format_difference,
)
from treadle.assistants.guidance.preflight import run_preflight
from treadle.assistants.guidance.projects import NO_PROJECTS, find_project, load_project_state, project_user_of
from treadle.assistants.guidance.stages import project_state_to_json
from treadle.assistants.guidance.store.errors import ItemNotFound, StoreError, VersionConflict
from treadle.assistants.guidance.store.values import Mode, ProblemSpec, Project, Provenance, Resolution, WorldModel
from treadle.errors import SettingsError

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

CACHE_SECONDS = 60.0  # seconds
MAX_DIFFERENCE = 20_000  # characters of a difference: more than a person reads before they approve it
MAX_MESSAGES = 50
ResolutionOrNone = Resolution | None
ModeOrNone = Mode | None


class ProjectScope(Struct, frozen=True):
    """The project that tools act on: the bound one, or one of the user's."""

    host: Host
    store: "Store"
    project_id: str = ""
    session_id: str = ""

    @property
    def user(self) -> str:
        """The user that tools act for."""
        return project_user_of(self.host)

    async def project(self, named: str = "") -> Project:
        """Return the project that a call names, by its id or its title."""
        try:
            return await find_project(self.store, self.user, named) if not self.project_id else await self._bound(named)
        except (SettingsError, ItemNotFound) as error:
            raise ToolProblem(str(error)) from error

    async def _bound(self, named: str) -> Project:
        project = await self.store.get_project(self.user, self.project_id)
        if named not in ("", project.id, project.title):
            raise ToolProblem("There is no such project in this conversation. Leave project_id out: the right one is known.")
        return project


class ProjectTools:
    """The implementation of the tools. Their docstrings are the descriptions that a model gets."""

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
        return [{"id": each.id, "title": each.title, "description": each.description[:500]} for each in found] or NO_PROJECTS

    async def get_workflow_state(self, project_id: str = "") -> dict[str, Any]:
        """How far the project is: its stage, whether it has a problem spec, a world model and runs, its title and description.

        :param project_id: its id or title; may be left out
        """
        return project_state_to_json(await load_project_state(self._store, self._user, await self._bound(project_id)))

    async def get_problem_spec(self, project_id: str = "") -> Any:
        """The problem spec: constraints with their weights (100 is a must), goals, resolution and mode.

        :param project_id: its id or title; may be left out
        """
        spec = await self._store.get_problem_spec(self._user, await self._bound(project_id))
        return "The project has no problem spec yet." if spec is None else _to_plain(spec)

    async def get_world_model(self, project_id: str = "") -> Any:
        """The world model: actors, mechanisms, resources, constraints, assumptions and simplifications.

        :param project_id: its id or title; may be left out
        """
        world = await self._store.get_world_model(self._user, await self._bound(project_id))
        return "The project has no world model yet." if world is None else _to_plain(world)

    async def list_runs(self, project_id: str = "") -> Any:
        """The runs of the project, the newest last, with status and mode.

        :param project_id: its id or title; may be left out
        """
        runs = await self._store.list_runs(self._user, await self._bound(project_id), last=MAX_MESSAGES)
        told = [{"id": run.id, "status": run.status, "mode": run.mode, "created_at": run.created_at.isoformat()} for run in runs]
        return told or "Nothing has been run yet."

    async def get_chat_history(self, chat_session_id: str = "", limit: int = 10) -> Any:
        """What was said in this conversation before.

        :param chat_session_id: may be left out; only this conversation can be looked at
        :param limit: how many messages, from the newest backwards
        """
        session = chat_session_id if not self._scope.project_id else self._session
        if self._scope.project_id and not session and not chat_session_id:
            return "Nothing was said before."
        if not session or chat_session_id not in ("", session):
            raise ToolProblem("There is no such conversation here. Leave chat_session_id out: the right one is known.")
        try:
            messages = await self._store.list_messages(self._user, session, min(max(limit, 1), MAX_MESSAGES))
        except ItemNotFound as error:
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
        state = await load_project_state(self._store, self._user, await self._bound(project_id))
        return msgspec.to_builtins(run_preflight(state, mode, {"num_candidates": num_candidates, "num_scenarios": num_scenarios}))

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
        before = await self._load_spec(project)
        _check_version(ctx, before, project)
        after = apply_spec_change(before, change)
        why = _make_provenance("spec_change", ctx, format_difference(before, after))
        return await self._store_change(self._store.put_problem_spec(self._user, project, after, expected=before.version, why=why))

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
        """Preview the change."""
        project = await self._scope.project(project_id)
        check_editable(project)
        before = await self._load_spec(project.id)
        after = apply_spec_change(before, SpecChange(constraints, without_constraints, goals, without_goals, resolution, mode))
        return _make_preview("The problem spec", project, before, after)

    async def change_world_model(
        self,
        ctx: RunContext[Any],
        section: WorldSection,
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
        before = await self._load_world(project)
        _check_version(ctx, before, project)
        after = apply_world_change(before, section, entries, without)
        why = _make_provenance("world_model_change", ctx, format_difference(before, after))
        return await self._store_change(self._store.put_world_model(self._user, project, after, expected=before.version, why=why))

    async def to_change_world(
        self,
        ctx: RunContext[Any],
        section: WorldSection,
        entries: tuple[GivenEntry, ...] = (),
        without: tuple[str, ...] = (),
        project_id: str = "",
    ) -> Preview:
        """Preview the change."""
        project = await self._scope.project(project_id)
        check_editable(project)
        before = await self._load_world(project.id)
        return _make_preview("The world model", project, before, apply_world_change(before, section, entries, without))

    async def was_changed(self, ctx: RunContext[Any], *_: Any, project_id: str = "", **__: Any) -> str | None:
        """Return the result of this call if its change is recorded, after a crash."""
        changes = await self._store.list_provenance(self._user, await self._bound(project_id))
        made = [each for each in changes if each.metadata.get("call") == call_key(ctx)]
        return f"Changed; this is version {made[-1].version}." if made else None

    async def _load_spec(self, project_id: str) -> ProblemSpec:
        return await self._store.get_problem_spec(self._user, project_id) or ProblemSpec()

    async def _load_world(self, project_id: str) -> WorldModel:
        return await self._store.get_world_model(self._user, project_id) or WorldModel()

    async def _store_change(self, putting: Any) -> str:
        try:
            kept = await putting
        except VersionConflict as error:
            raise ToolProblem(f"{error} Look at it again, and ask the person once more.") from error
        except StoreError as error:
            raise ToolProblem(str(error)) from error
        return f"Changed; this is version {kept.version}."


def check_editable(project: Project) -> None:
    """Raise where a project is shared with the user to read."""
    if not project.can_edit:
        raise ToolProblem(f"{project.owner} shares this project with the person to read: it can't be changed here.")


def project_tools(scope: ProjectScope) -> list[Callable[..., Any]]:
    """Return the lookup and change tools of a project. Lookups are cached, which is valid for one turn."""
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
    """Return a lookup function as a tool."""
    return tool(function, effect="read", cache=CACHE_SECONDS)


def _to_plain(value: ProblemSpec | WorldModel) -> dict[str, Any]:
    plain = msgspec.to_builtins(replace(value, updated_at=None))
    return {key: each for key, each in plain.items() if each not in (None, [], ())}


def _make_preview(what: str, project: Project, before: ProblemSpec | WorldModel, after: ProblemSpec | WorldModel) -> Preview:
    shown = format_difference(before, after)
    if len(shown) > MAX_DIFFERENCE:
        raise ToolProblem("That is too much for a person to look through at once. Change it in several smaller steps.")
    return Preview(f"{what} of {project.title!r} would change:\n{shown}", _version_seal(before, project.id))


def _version_seal(value: ProblemSpec | WorldModel, project_id: str) -> str:
    return f"version {value.version} of {project_id}"


def _check_version(ctx: RunContext[Any], now: ProblemSpec | WorldModel, project_id: str) -> None:
    """Raise unless the version is the one that was shown for approval."""
    if ctx.seal and ctx.seal != _version_seal(now, project_id):
        raise ToolProblem("It was changed since the person was asked, so nothing was done. Look again, and ask once more.")


def _make_provenance(kind: Literal["spec_change", "world_model_change"], ctx: RunContext[Any], text: str) -> Provenance:
    return Provenance(kind, text[:MAX_DIFFERENCE], actor="agent", source="conversation", metadata={"call": call_key(ctx)})


def call_key(ctx: RunContext[Any]) -> str:
    """Return the key of a call in the store, so that it is executed once."""
    return f"{ctx.run_id}:{ctx.call_id}"
