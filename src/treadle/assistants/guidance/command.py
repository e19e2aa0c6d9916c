"""`treadle guide`: projects on the command line, and the architect beside them."""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from treadle import AssistantSession, Host, ModelError, RunResult, UnknownModel, exit_code
from treadle.assistants.guidance import assistant
from treadle.assistants.guidance.changes import told
from treadle.assistants.guidance.projects import (
    NONE_YET,
    delete_project,
    find_project,
    open_projects,
    share_project,
    state_of,
    user_of,
)
from treadle.assistants.guidance.prompts import NO_QUESTION
from treadle.assistants.guidance.sample import CONSTRAINTS, DESCRIPTION, GOALS, TITLE, WORLD
from treadle.assistants.guidance.session import Guided, guided_without_model
from treadle.assistants.guidance.stages import progress_of
from treadle.assistants.guidance.store import Constraint, Entry, ProblemSpec, Project, Provenance, WorldModel

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

SESSION = "Terminal"
MOST_CHANGES = 10


def _project_option(parser: ArgumentParser) -> None:
    parser.add_argument("-p", "--project", default="", metavar="PROJECT", help="its id, or its title (default: the newest)")


def projects_arguments(parser: ArgumentParser) -> None:
    """What can be typed to list projects."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def new_arguments(parser: ArgumentParser) -> None:
    """What can be typed to begin one."""
    parser.add_argument("title", metavar="TITLE", help="what it is called")
    parser.add_argument("--description", default="", metavar="TEXT", help="what it is about")


def show_arguments(parser: ArgumentParser) -> None:
    """What can be typed to show one."""
    parser.add_argument("project", nargs="?", default="", metavar="PROJECT", help="its id, or its title (default: the newest)")
    parser.add_argument("--json", action="store_true", help="print it as it is exported")


def ask_arguments(parser: ArgumentParser) -> None:
    """What can be typed to ask."""
    parser.add_argument("words", nargs="*", metavar="QUESTION", help="what to ask; nothing asks where the project stands")
    parser.add_argument("--json", action="store_true", help="print JSON")
    _project_option(parser)


def chat_arguments(parser: ArgumentParser) -> None:
    """What can be typed to talk."""
    _project_option(parser)


def demo_arguments(parser: ArgumentParser) -> None:
    """Nothing."""


def delete_arguments(parser: ArgumentParser) -> None:
    """What can be typed to delete one."""
    parser.add_argument("project", metavar="PROJECT", help="its id, or its title")


def share_arguments(parser: ArgumentParser) -> None:
    """What can be typed to share one, or not any more."""
    parser.add_argument("project", metavar="PROJECT", help="its id, or its title")
    parser.add_argument("users", nargs="+", metavar="USER", help="who may see and change it")


unshare_arguments = share_arguments


async def delete(args: Namespace, host: Host) -> int:
    """Delete one, with all that is in it."""
    async with open_projects(host) as store:
        project = await find_project(store, user_of(host), args.project)
        await delete_project(host, store, project.id)
        host.shown_at.tell(f"{project.title} is deleted, with its conversations, runs and candidates.")
    return 0


async def share(args: Namespace, host: Host) -> int:
    """Let others see and change one."""
    async with open_projects(host) as store:
        project = await find_project(store, user_of(host), args.project)
        return _members(host, await share_project(host, store, project.id, *args.users))


async def unshare(args: Namespace, host: Host) -> int:
    """Let others no longer see one."""
    async with open_projects(host) as store:
        project = await find_project(store, user_of(host), args.project)
        return _members(host, await store.unshare_project(user_of(host), project.id, *args.users))


def _members(host: Host, project: Project) -> int:
    host.shown_at.line(f"{project.title}: {', '.join([project.owner, *project.members])}")
    return 0


async def projects(args: Namespace, host: Host) -> int:
    """List them."""
    async with open_projects(host) as store:
        found = await store.list_projects(user_of(host))
        if args.json:
            host.show(found)
            return 0
        for project in found:
            state = await state_of(store, user_of(host), project.id)
            host.shown_at.line(f"{project.id}  {progress_of(state).current_stage:<12}  {project.title}")
        if not found:
            host.shown_at.tell(NONE_YET)
    return 0


async def new(args: Namespace, host: Host) -> int:
    """Begin one."""
    async with open_projects(host) as store:
        project = await store.create_project(user_of(host), args.title, args.description)
        await store.create_chat_session(user_of(host), project.id, "Main Chat")
        host.shown_at.line(f"{project.id}  {project.title}")
    return 0


async def show(args: Namespace, host: Host) -> int:
    """Show one, with all that is in it."""
    async with open_projects(host) as store:
        project = await find_project(store, user_of(host), args.project)
        if args.json:
            host.show(await store.export_project(user_of(host), project.id))
        else:
            await _show(store, host, project)
    return 0


async def ask(args: Namespace, host: Host) -> int:
    """One question. With `--json` everything that came of it is printed as one value."""
    query = _typed(args.words)
    session = await _session(host, args.project)
    try:
        agent = session.agent(await host.model())
    except (UnknownModel, ModelError) as error:
        guided = await _without_model(session, query, str(error))
        host.show(guided) if args.json else host.shown_at.line(guided.guidance_message)
        return 1
    if args.json:
        reply = await session.run(query or NO_QUESTION)
        host.show(reply.data)
        return exit_code(reply.result)
    result = await host.talking(session, agent).ask(query or NO_QUESTION)
    await session.reply(result)
    return exit_code(result)


async def chat(args: Namespace, host: Host) -> int:
    """A conversation, kept with the project."""
    session = await _session(host, args.project)

    async def after(result: RunResult[Any]) -> None:
        await session.reply(result)

    async with open_projects(host) as store:
        project = await store.get_project(user_of(host), session.host.about["project_id"])
        host.shown_at.note(f"Talking about {project.title!r}. /help lists what can be typed.")
        return await host.talking(session, session.agent(await host.model())).converse({}, after)


async def demo(args: Namespace, host: Host) -> int:
    """Make the sample project."""
    async with open_projects(host) as store:
        project = await make_sample(store, user_of(host))
        host.shown_at.line(f"{project.id}  {project.title}")
        host.shown_at.note('Ask about it: treadle guide ask "What constraints are in my ProblemSpec?"')
    return 0


async def make_sample(store: "Store", user: str) -> Project:
    """The sample project, with its problem and its world, and a conversation to go on with."""
    project = await store.create_project(user, TITLE, DESCRIPTION)
    await store.create_chat_session(user, project.id, "Main Chat")
    spec = ProblemSpec(tuple([Constraint(*each) for each in CONSTRAINTS]), GOALS)
    entries: dict[str, Any] = {
        section: tuple([Entry(name, words, kind) for name, kind, words in named]) for section, named in WORLD.items()
    }
    why = Provenance("sample", "comes with the sample project", actor="system")
    await store.put_problem_spec(user, project.id, spec, expected=0, why=why)
    await store.put_world_model(user, project.id, WorldModel(**entries), expected=0, why=why)
    return project


async def _session(host: Host, project: str) -> AssistantSession:
    """The assistant, on the project that is meant, in the chat session of this terminal."""
    async with open_projects(host) as store:
        found, user = await find_project(store, user_of(host), project), user_of(host)
        sessions = [each for each in await store.list_chat_sessions(user, found.id) if each.title == SESSION]
        session = sessions[-1] if sessions else await store.create_chat_session(user, found.id, SESSION)
    return AssistantSession(assistant, host, {"project_id": found.id, "session_id": session.id})


async def _without_model(session: AssistantSession, query: str, why: str) -> Guided:
    async with open_projects(session.host) as store:
        state = await state_of(store, user_of(session.host), session.host.about["project_id"])
    return guided_without_model(state, query, why)


async def _show(store: "Store", host: Host, project: Project) -> None:
    terminal, user = host.shown_at, user_of(host)
    state = await state_of(store, user, project.id)
    progress = progress_of(state)
    terminal.line(f"{project.title}  ({project.id})", "bold")
    if project.description:
        terminal.line(project.description)
    terminal.line(f"stage: {progress.current_stage}; next: {progress.next_steps[0] if progress.next_steps else 'nothing'}")
    for title, value in (
        ("Problem spec", await store.get_problem_spec(user, project.id)),
        ("World model", await store.get_world_model(user, project.id)),
    ):
        terminal.line()
        terminal.line(title, "bold")
        terminal.line("none yet" if value is None else told(value))
    changes = await store.list_provenance(user, project.id, last=MOST_CHANGES)
    if changes:
        terminal.line()
        terminal.line("Changes", "bold")
        for each in changes:
            terminal.line(f"{each.timestamp:%Y-%m-%d %H:%M}  {each.actor:<6}  {each.type}  {each.description.splitlines()[0][:80]}")


def _typed(words: list[str]) -> str:
    return (sys.stdin.read() if words == ["-"] else " ".join(words)).strip()
