"""Python API of the guidance assistant: projects, answers and runs, without a frontend.

async with GuidanceService("ollama:qwen3") as service:
project = await service.store.create_project(service.user, "Buses")
result = await service.provide_guidance(project.id, "What should I do next?")
"""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from treadle import Model, open_home, resolve_model
from treadle.assistant import AssistantSession, Host, execute_job
from treadle.assistants.guidance import assistant
from treadle.assistants.guidance.comparison import Comparison, build_comparison
from treadle.assistants.guidance.project_runs import EvaluationInput, RunNotReady, create_project_run, work
from treadle.assistants.guidance.projects import open_projects, project_user_of
from treadle.assistants.guidance.prompts import NO_QUESTION
from treadle.assistants.guidance.session import GuidanceReply
from treadle.assistants.guidance.store.values import Mode

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

__all__ = ["GuidanceService"]


class GuidanceService:
    """The guidance assistant for one user. `home` is the folder that everything is stored in; by default the data folder."""

    def __init__(self, model: str | Model, *, user: str = "", home: Path | str | None = None) -> None:
        chosen = resolve_model(model)

        async def same() -> Model:
            return chosen

        self._host = Host(open_home() if home is None else open_home(home), same, user)
        self._opened = AsyncExitStack()
        self._store: Store | None = None
        self.user = project_user_of(self._host)

    async def __aenter__(self) -> Self:
        self._store = await self._opened.enter_async_context(open_projects(self._host))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._opened.aclose()

    @property
    def store(self) -> "Store":
        """The project store."""
        assert self._store is not None, "use it in an `async with`"
        return self._store

    async def provide_guidance(self, project_id: str, user_query: str = "", chat_session_id: str = "") -> GuidanceReply:
        """Answer a question about a project. With a chat session, question and answer are stored as messages of it."""
        context = {"project_id": project_id, "session_id": chat_session_id}
        return (await AssistantSession(assistant, self._host, context).run(user_query or NO_QUESTION)).data

    async def evaluate(self, project_id: str, mode: Mode = "full_search", **parameters: Any) -> Comparison:
        """Execute a run: candidates are proposed and scored. `parameters` are those of a run, such as `num_candidates`."""
        run = await create_project_run(self._host, self.store, EvaluationInput(project_id, mode, parameters))
        await execute_job(run.id, work()[0], self._host)
        done = await self.store.get_run(self.user, run.id)
        if done.status != "completed":
            raise RunNotReady(f"Run {done.id} is {done.status}. {done.error_summary}".strip())
        return build_comparison(done, await self.store.list_candidates(self.user, done.id))
