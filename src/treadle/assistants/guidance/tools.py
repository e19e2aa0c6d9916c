"""The guidance assistant's tools, for one person and one project: looks, and two changes that are shown and approved first.

The project and the conversation are bound: a model may name their ids, and can reach no others.
"""

import asyncio
from collections.abc import Callable, Sequence
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from treadle import Functions, Preview, RunContext, ToolProblem, tool
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
from treadle.assistants.guidance.stages import State, told
from treadle.assistants.guidance.store.errors import ChangedMeanwhile, StoreError
from treadle.assistants.guidance.store.values import Mode, ProblemSpec, Provenance, Resolution, WorldModel

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

KEPT = 60.0  # seconds
MOST_SHOWN = 20_000  # characters of a difference: more than a person reads before they approve it
MOST_MESSAGES = 50
ResolutionOrNone = Resolution | None
ModeOrNone = Mode | None


async def state_of(store: "Store", user: str, project_id: str) -> State:
    """How far a project is."""
    project, spec, world, runs, candidates = await asyncio.gather(
        store.get_project(user, project_id),
        store.get_problem_spec(user, project_id),
        store.get_world_model(user, project_id),
        store.list_runs(user, project_id),
        store.list_project_candidates(user, project_id),
    )
    return State(
        title=project.title,
        description=project.description,
        has_problem_spec=spec is not None,
        has_world_model=world is not None,
        runs=len(runs),
        running=sum(run.status == "running" for run in runs),
        completed=sum(run.status == "completed" for run in runs),
        candidates=len(candidates),
    )


class Abilities:
    """What the tools do. Their docstrings are what a model is told."""

    def __init__(self, store: "Store", user: str, project_id: str, session_id: str = "") -> None:
        self._store = store
        self._user = user
        self._project = project_id
        self._session = session_id

    def _bound(self, project_id: str) -> str:
        if project_id and project_id != self._project:
            raise ToolProblem("There is no such project in this conversation. Leave project_id out: the right one is known.")
        return self._project

    async def get_workflow_state(self, project_id: str = "") -> dict[str, Any]:
        """How far the project is: its stage, whether it has a problem spec, a world model and runs, its title and description.

        :param project_id: may be left out; only the project of this conversation can be looked at
        """
        return told(await state_of(self._store, self._user, self._bound(project_id)))

    async def get_problem_spec(self, project_id: str = "") -> Any:
        """The problem spec: constraints with their weights (100 is a must), goals, resolution and mode.

        :param project_id: may be left out; only the project of this conversation can be looked at
        """
        spec = await self._store.get_problem_spec(self._user, self._bound(project_id))
        return "The project has no problem spec yet." if spec is None else _plain(spec)

    async def get_world_model(self, project_id: str = "") -> Any:
        """The world model: actors, mechanisms, resources, constraints, assumptions and simplifications.

        :param project_id: may be left out; only the project of this conversation can be looked at
        """
        world = await self._store.get_world_model(self._user, self._bound(project_id))
        return "The project has no world model yet." if world is None else _plain(world)

    async def list_runs(self, project_id: str = "") -> Any:
        """The runs of the project, the newest last, with status and mode.

        :param project_id: may be left out; only the project of this conversation can be looked at
        """
        runs = await self._store.list_runs(self._user, self._bound(project_id), last=MOST_MESSAGES)
        told = [{"id": run.id, "status": run.status, "mode": run.mode, "created_at": run.created_at.isoformat()} for run in runs]
        return told or "Nothing has been run yet."

    async def get_chat_history(self, chat_session_id: str = "", limit: int = 10) -> Any:
        """What was said in this conversation before.

        :param chat_session_id: may be left out; only this conversation can be looked at
        :param limit: how many messages, from the newest backwards
        """
        if not self._session or (chat_session_id and chat_session_id != self._session):
            raise ToolProblem("There is no such conversation here. Leave chat_session_id out: the right one is known.")
        messages = await self._store.list_messages(self._user, self._session, min(max(limit, 1), MOST_MESSAGES))
        return [{"role": each.role, "content": each.content, "created_at": each.created_at.isoformat()} for each in messages]

    async def check_run(self, mode: Mode = "full_search", num_candidates: int = 5, num_scenarios: int = 8) -> Any:
        """Whether a run could begin with these settings: what blocks it, what to think of. A person starts it, never you.

        :param mode: how it searches
        :param num_candidates: how many solutions it looks at
        :param num_scenarios: in how many situations
        """
        state = await state_of(self._store, self._user, self._project)
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
    ) -> str:
        """Change the problem spec. Name only what changes; the person is shown the difference and asked first.

        :param constraints: constraints to add or change, by name; a weight is from 0 to 100, which is a must
        :param without_constraints: names of constraints to remove
        :param goals: goals to add
        :param without_goals: goals to remove, as they are written
        :param resolution: how closely to look
        :param mode: how runs search
        """
        change = SpecChange(constraints, without_constraints, goals, without_goals, resolution, mode)
        before = await self._spec()
        _hold(ctx, before)
        after = changed_spec(before, change)
        why = _why("spec_change", ctx, difference(before, after))
        return await self._kept(self._store.put_problem_spec(self._user, self._project, after, expected=before.version, why=why))

    async def to_change_spec(
        self,
        ctx: RunContext[Any],
        constraints: tuple[GivenConstraint, ...] = (),
        without_constraints: tuple[str, ...] = (),
        goals: tuple[str, ...] = (),
        without_goals: tuple[str, ...] = (),
        resolution: ResolutionOrNone = None,
        mode: ModeOrNone = None,
    ) -> Preview:
        """What that would change."""
        before = await self._spec()
        after = changed_spec(before, SpecChange(constraints, without_constraints, goals, without_goals, resolution, mode))
        return _preview("The problem spec", before, after)

    async def change_world_model(
        self, ctx: RunContext[Any], section: Section, entries: tuple[GivenEntry, ...] = (), without: tuple[str, ...] = ()
    ) -> str:
        """Change a section of the world model. Name only what changes; the person is shown the difference and asked first.

        :param section: which part of the world model
        :param entries: entries to add or change, by name
        :param without: names of entries to remove
        """
        before = await self._world()
        _hold(ctx, before)
        after = changed_world(before, section, entries, without)
        why = _why("world_model_change", ctx, difference(before, after))
        return await self._kept(self._store.put_world_model(self._user, self._project, after, expected=before.version, why=why))

    async def to_change_world(
        self, ctx: RunContext[Any], section: Section, entries: tuple[GivenEntry, ...] = (), without: tuple[str, ...] = ()
    ) -> Preview:
        """What that would change."""
        before = await self._world()
        return _preview("The world model", before, changed_world(before, section, entries, without))

    async def was_changed(self, ctx: RunContext[Any], *_: Any, **__: Any) -> str | None:
        """Whether this call's change is on record, after a crash."""
        changes = await self._store.list_provenance(self._user, self._project)
        made = [each for each in changes if each.metadata.get("call") == _mark(ctx)]
        return f"Changed; this is version {made[-1].version}." if made else None

    async def _spec(self) -> ProblemSpec:
        return await self._store.get_problem_spec(self._user, self._project) or ProblemSpec()

    async def _world(self) -> WorldModel:
        return await self._store.get_world_model(self._user, self._project) or WorldModel()

    async def _kept(self, putting: Any) -> str:
        try:
            kept = await putting
        except ChangedMeanwhile as error:
            raise ToolProblem(f"{error} Look at it again, and ask the person once more.") from error
        except StoreError as error:
            raise ToolProblem(str(error)) from error
        return f"Changed; this is version {kept.version}."


def guidance_tools(store: "Store", user: str, project_id: str, session_id: str = "") -> Functions:
    """The tools of a project. What they read is reused, which is right for as long as one turn."""
    able = Abilities(store, user, project_id, session_id)
    reads: Sequence[Callable[..., Any]] = (
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
    return Functions([*[_read(each) for each in reads], spec, world], name=f"guidance-{token_hex(6)}")


def _read(function: Callable[..., Any]) -> Callable[..., Any]:
    return tool(function, effect="read", cache=KEPT)


def _plain(value: ProblemSpec | WorldModel) -> dict[str, Any]:
    plain = msgspec.to_builtins(replace(value, updated_at=None))
    return {key: each for key, each in plain.items() if each not in (None, [], ())}


def _preview(what: str, before: ProblemSpec | WorldModel, after: ProblemSpec | WorldModel) -> Preview:
    shown = difference(before, after)
    if len(shown) > MOST_SHOWN:
        raise ToolProblem("That is too much for a person to look through at once. Change it in several smaller steps.")
    return Preview(f"{what} would change:\n{shown}", _seal(before))


def _seal(value: ProblemSpec | WorldModel) -> str:
    return f"version {value.version}"


def _hold(ctx: RunContext[Any], now: ProblemSpec | WorldModel) -> None:
    """What was approved was approved for the version that was shown."""
    if ctx.seal and ctx.seal != _seal(now):
        raise ToolProblem("Somebody has changed it since the person was asked, so nothing was done. Look again, and ask once more.")


def _why(kind: Literal["spec_change", "world_model_change"], ctx: RunContext[Any], text: str) -> Provenance:
    return Provenance(kind, text[:MOST_SHOWN], actor="agent", source="conversation", metadata={"call": _mark(ctx)})


def _mark(ctx: RunContext[Any]) -> str:
    return f"{ctx.run_id}:{ctx.call_id}"
