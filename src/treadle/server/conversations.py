"""Conversations over HTTP: list, rename, pin, delete and export. The list is that of the pages' sidebar."""

import asyncio
import time
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from treadle.admin.deletion import delete_jobs
from treadle.core.entries import Entry, Finished, Said, Steered
from treadle.guard.redaction import Redactor
from treadle.jobs.store import Job, Jobs
from treadle.plugins.assistant import Assistant
from treadle.routes import Returns, delete, get, put, routes_of
from treadle.server.demo.recordings import PREFIX, load_recordings
from treadle.server.pages import conversation_path
from treadle.server.runs.hosted_runs import HostedRuns
from treadle.server.runs.journals import read_run_entries
from treadle.server.runs.routes import requester_of
from treadle.stores.conversations import ConversationQuery, DatabaseConversations, StoredConversation
from treadle.stores.journal import RunInfo

LONGEST_TITLE = 200  # characters
MAX_JOBS = 500  # that are listed
NOT_FOUND = {404: "there is no such conversation"}
Markdown = Annotated[Response, Returns(200, "what was said, as Markdown", "text/markdown")]


class ConversationView(Struct, frozen=True):
    """A conversation. `run_id`, `status` and `updated_at` are those of its latest run; `path` is the page that shows it."""

    id: str
    run_id: str
    assistant: str
    title: str
    status: str
    updated_at: float
    pinned: bool
    path: str


class ConversationList(Struct, frozen=True):
    """Conversations: pinned ones first, then the newest."""

    conversations: list[ConversationView]
    more: bool


class ConversationListQuery(Struct, frozen=True):
    """Filters for the list of conversations."""

    search: Annotated[str, Meta(description="Words in their titles.", max_length=200)] = ""
    assistant: Annotated[str, Meta(max_length=200)] = ""
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class ConversationChange(Struct, frozen=True, forbid_unknown_fields=True):
    """What is changed about a conversation; unset values stay as they are."""

    title: (
        Annotated[
            str, Meta(description="Its title; with an empty one it is named after what was said first.", max_length=LONGEST_TITLE)
        ]
        | None
    ) = None
    pinned: bool | None = None


class ConversationsApi:
    """The handlers for one user's conversations."""

    def __init__(self, runs: HostedRuns, assistants: Sequence[Assistant], user: str) -> None:
        self._runs = runs
        self._user = user
        self._home = runs.home
        self._jobs = Jobs(runs.home.folder)
        self._assistants = {assistant.name: assistant for assistant in assistants}
        self._stored = DatabaseConversations(runs.home.database)

    @get("/api/conversations", returns="the conversations")
    async def list_conversations(self, request: Request, query: ConversationListQuery) -> ConversationList:
        """List the conversations with installed assistants."""
        found = await self._load(request, query.search, query.assistant, limit=query.limit + 1)
        return ConversationList([self._to_view(each) for each in found[: query.limit]], len(found) > query.limit)

    @put("/api/conversations/{conversation_id}", errors=NOT_FOUND, returns="the conversation")
    async def update_conversation(self, request: Request, conversation_id: str, body: ConversationChange) -> ConversationView:
        """Rename a conversation, or pin it."""
        found = await self._find(conversation_id, request)
        title = found.title if body.title is None else _clean_title(body.title)
        pinned_at = found.pinned_at if body.pinned is None else time.time() if body.pinned else 0.0
        await self._stored.label(found.id, title, pinned_at)
        return self._to_view(await self._find(conversation_id, request))

    @delete(
        "/api/conversations/{conversation_id}",
        errors={**NOT_FOUND, 409: "an answer is under way"},
        returns="it is gone",
    )
    async def delete_conversation(self, request: Request, conversation_id: str) -> None:
        """Delete a conversation: all its runs, with all stored content of them."""
        found = await self._find(conversation_id, request)
        if self._jobs.has(found.run_id):
            await delete_jobs(self._home, [found.run_id], by=self._user)
            return
        if self._runs.live.is_under_way(found.run_id):
            raise HTTPException(409, "An answer is under way in this conversation; stop it first.")
        for run_id in await self._stored.runs_of(found.id):
            await self._runs.delete(run_id, requester_of(request))

    @get("/api/conversations/{conversation_id}/export", errors=NOT_FOUND)
    async def export_conversation(self, request: Request, conversation_id: str) -> Markdown:
        """Get what was said in a conversation, as Markdown."""
        found = await self._find(conversation_id, request)
        journals: list[list[Entry]] = []
        for run_id in await self._stored.runs_of(found.id):
            await self._runs.check_shown(run_id, requester_of(request))
            journals.append(await read_run_entries(self._home, run_id))
        ordered = sorted(journals, key=lambda entries: entries[0].at)
        text = conversation_to_markdown(found.title or found.first, self._assistants[found.agent].title, ordered)
        headers = {"content-disposition": 'attachment; filename="conversation.md"'}
        return Response(text, media_type="text/markdown", headers=headers)

    async def _find(self, conversation_id: str, request: Request) -> StoredConversation:
        found = await self._load(request, conversation_id=conversation_id)
        if not found:
            raise HTTPException(404, f"There is no conversation {conversation_id[:100]!r}.")
        return found[0]

    async def _load(
        self, request: Request, search: str = "", assistant: str = "", conversation_id: str = "", limit: int = 1
    ) -> list[StoredConversation]:
        """Return the conversations that the requester may see. Jobs are among them: their runs are of other agents."""
        jobs = {job.id: job for job in await asyncio.to_thread(self._jobs.all) if job.assistant in self._assistants}
        agents = [name for name in self._assistants if assistant in ("", name)]
        of_jobs = [job.id for job in jobs.values() if assistant in ("", job.assistant)][:MAX_JOBS]
        found = await self._stored.list_conversations(
            ConversationQuery(tuple(agents), conversation_id, search, tuple(of_jobs), _recordings(), limit)
        )
        infos = [RunInfo(each.run_id, agent=each.agent, user=each.user) for each in found]
        seen = {info.run_id for info in await self._runs.shown_to(infos, requester_of(request))}
        return [_of_assistant(each, jobs.get(each.run_id)) for each in found if each.run_id in seen]

    def _to_view(self, found: StoredConversation) -> ConversationView:
        path = conversation_path(self._assistants[found.agent], found.id, found.run_id, is_job=self._jobs.has(found.run_id))
        title = found.title or found.first
        return ConversationView(
            found.id, found.run_id, found.agent, title, found.status, found.updated_at, found.pinned_at > 0, path
        )


def _of_assistant(found: StoredConversation, job: Job | None) -> StoredConversation:
    """Return a conversation with its assistant as agent, and with the title of its job, where it is one."""
    return found if job is None else replace(found, agent=job.assistant, first=job.title)


def _recordings() -> tuple[str, ...]:
    """Return the runs that come with the package: they are on the first page, and aren't the user's own."""
    return tuple([recording.run_id for recording in load_recordings() if recording.run_id.startswith(PREFIX)])


def _clean_title(title: str) -> str:
    """Return a title as it is stored: one line, without control characters and secrets."""
    line = " ".join(title.split())
    return Redactor().text("".join([char for char in line if char.isprintable()]))


def conversation_to_markdown(title: str, assistant: str, journals: Sequence[Sequence[Entry]]) -> str:
    """Return what was said in a conversation as Markdown, with secrets redacted."""
    parts = [f"# {title}"] if title else []
    for entry in (entry for entries in journals for entry in entries):
        match entry:
            case Said(text=text) | Steered(text=text):
                parts += ["## You", text]
            case Finished(text=text) if text:
                parts += [f"## {assistant}", text]
            case _:
                pass
    return Redactor().text("\n\n".join(parts)) + "\n"


def conversation_routes(runs: HostedRuns, assistants: Sequence[Assistant], user: str) -> list[BaseRoute]:
    """Return the routes."""
    return routes_of(ConversationsApi(runs, assistants, user))
