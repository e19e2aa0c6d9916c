"""`treadle guide`: projects on the command line, and the architect beside them."""

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from treadle import RunResult
from treadle.assistant import AssistantSession, Host, exit_code, prompt_from_words
from treadle.assistants.guidance import assistant
from treadle.assistants.guidance.changes import to_plain_lines
from treadle.assistants.guidance.projects import (
    NO_PROJECTS,
    delete_project,
    find_project,
    load_project_state,
    open_projects,
    project_user_of,
    share_project,
    unshare_project,
)
from treadle.assistants.guidance.prompts import NO_QUESTION
from treadle.assistants.guidance.sample import SAMPLE_CONSTRAINTS, SAMPLE_DESCRIPTION, SAMPLE_GOALS, SAMPLE_TITLE, SAMPLE_WORLD
from treadle.assistants.guidance.session import GuidanceReply, reply_without_model
from treadle.assistants.guidance.stages import progress_of
from treadle.assistants.guidance.store import Constraint, ProblemSpec, Project, Provenance, WorldEntry, WorldModel
from treadle.errors import ModelError, UnknownModel

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

SESSION_TITLE = "Terminal"
MAX_CHANGES = 10


def _project_option(parser: ArgumentParser) -> None:
    parser.add_argument("-p", "--project", default="", metavar="PROJECT", help="the project's id or title (default: the newest)")


def projects_arguments(parser: ArgumentParser) -> None:
    """Add the arguments for listing projects."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def new_arguments(parser: ArgumentParser) -> None:
    """Add the arguments for creating a project."""
    parser.add_argument("title", metavar="TITLE", help="the title")
    parser.add_argument("--description", default="", metavar="TEXT", help="a description")
    parser.add_argument("--json", action="store_true", help="print JSON")


def show_arguments(parser: ArgumentParser) -> None:
    """Add the arguments for showing a project."""
    parser.add_argument("project", nargs="?", default="", metavar="PROJECT", help="the project's id or title (default: the newest)")
    parser.add_argument("--json", action="store_true", help="print the exported project as JSON")


def ask_arguments(parser: ArgumentParser) -> None:
    """Add the arguments for asking a question."""
    what = "what to ask; piped text is added, and files as @FILE (default: the state of the project)"
    parser.add_argument("words", nargs="*", metavar="QUESTION", help=what)
    parser.add_argument("--json", action="store_true", help="print JSON")
    _project_option(parser)


def chat_arguments(parser: ArgumentParser) -> None:
    """Add the arguments for a conversation."""
    _project_option(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object for each reply")


def demo_arguments(parser: ArgumentParser) -> None:
    """Add the arguments for creating the sample project."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def delete_arguments(parser: ArgumentParser) -> None:
    """Add the arguments for deleting a project."""
    parser.add_argument("project", metavar="PROJECT", help="the project's id or title")
    parser.add_argument("--json", action="store_true", help="print JSON")


def share_arguments(parser: ArgumentParser) -> None:
    """Add the arguments for sharing or unsharing a project."""
    parser.add_argument("project", metavar="PROJECT", help="the project's id or title")
    parser.add_argument("users", nargs="+", metavar="USER", help="users who may see and change it")
    parser.add_argument("--json", action="store_true", help="print JSON")


unshare_arguments = share_arguments


async def delete(args: Namespace, host: Host) -> int:
    """Delete a project with everything in it."""
    async with open_projects(host) as store:
        project = await find_project(store, project_user_of(host), args.project)
        await delete_project(host, store, project.id)
        if args.json:
            host.show({"deleted": project.id})
        else:
            host.command_terminal.tell(f"{project.title} is deleted, with its conversations, runs and candidates.")
    return 0


async def share(args: Namespace, host: Host) -> int:
    """Let other users see and change a project."""
    async with open_projects(host) as store:
        project = await find_project(store, project_user_of(host), args.project)
        return _print_members(args, host, await share_project(host, store, project.id, *args.users))


async def unshare(args: Namespace, host: Host) -> int:
    """Stop sharing a project with other users."""
    async with open_projects(host) as store:
        project = await find_project(store, project_user_of(host), args.project)
        return _print_members(args, host, await unshare_project(host, store, project.id, *args.users))


def _print_members(args: Namespace, host: Host, project: Project) -> int:
    if args.json:
        host.show(project)
    else:
        host.command_terminal.line(f"{project.title}: {', '.join([project.owner, *project.members])}")
    return 0


async def projects(args: Namespace, host: Host) -> int:
    """List the projects."""
    async with open_projects(host) as store:
        found = await store.list_projects(project_user_of(host))
        if args.json:
            host.show(found)
            return 0
        for project in found:
            state = await load_project_state(store, project_user_of(host), project.id)
            host.command_terminal.line(f"{project.id}  {progress_of(state).current_stage:<12}  {project.title}")
        if not found:
            host.command_terminal.tell(NO_PROJECTS)
    return 0


async def new(args: Namespace, host: Host) -> int:
    """Create a project."""
    async with open_projects(host) as store:
        project = await store.create_project(project_user_of(host), args.title, args.description)
        await store.create_chat_session(project_user_of(host), project.id, "Main Chat")
        host.show(project) if args.json else host.command_terminal.line(f"{project.id}  {project.title}")
    return 0


async def show(args: Namespace, host: Host) -> int:
    """Show a project with everything in it."""
    async with open_projects(host) as store:
        project = await find_project(store, project_user_of(host), args.project)
        if args.json:
            host.show(await store.export_project(project_user_of(host), project.id))
        else:
            await _print_project(store, host, project)
    return 0


async def ask(args: Namespace, host: Host) -> int:
    """Ask one question. With `--json` the whole result is printed as one value."""
    query = prompt_from_words(args.words, required=False)
    session = await _open_session(host, args.project)
    try:
        agent = session.agent(await host.model())
    except (UnknownModel, ModelError) as error:
        guided = await _answer_without_model(session, query, str(error))
        host.show(guided) if args.json else host.command_terminal.line(guided.guidance_message)
        return 1
    if args.json:
        reply = await session.run(query or NO_QUESTION)
        host.show(reply.data)
        return exit_code(reply.result)
    result = await host.start_talk(session, agent).ask(query or NO_QUESTION)
    await session.reply(result)
    return exit_code(result)


async def chat(args: Namespace, host: Host) -> int:
    """Hold a conversation, stored with the project."""
    session = await _open_session(host, args.project)

    async def after(result: RunResult[Any]) -> None:
        await session.reply(result)

    async with open_projects(host) as store:
        project = await store.get_project(project_user_of(host), session.host.about["project_id"])
        host.command_terminal.note(f"Talking about {project.title!r}. /help lists what can be typed.")
        return await host.start_talk(session, session.agent(await host.model())).converse({}, after)


async def demo(args: Namespace, host: Host) -> int:
    """Create the sample project."""
    async with open_projects(host) as store:
        project = await make_sample_project(store, project_user_of(host))
        host.show(project) if args.json else host.command_terminal.line(f"{project.id}  {project.title}")
        host.command_terminal.note('Ask about it: treadle guide ask "What constraints are in my ProblemSpec?"')
    return 0


async def make_sample_project(store: "Store", user: str) -> Project:
    """Create the sample project, with its problem spec and world model, and a conversation to continue."""
    project = await store.create_project(user, SAMPLE_TITLE, SAMPLE_DESCRIPTION)
    await store.create_chat_session(user, project.id, "Main Chat")
    spec = ProblemSpec(tuple([Constraint(*each) for each in SAMPLE_CONSTRAINTS]), SAMPLE_GOALS)
    entries: dict[str, Any] = {
        section: tuple([WorldEntry(name, words, kind) for name, kind, words in named]) for section, named in SAMPLE_WORLD.items()
    }
    why = Provenance("sample", "comes with the sample project", actor="system")
    await store.put_problem_spec(user, project.id, spec, expected=0, why=why)
    await store.put_world_model(user, project.id, WorldModel(**entries), expected=0, why=why)
    return project


async def _open_session(host: Host, project: str) -> AssistantSession:
    """Return the assistant session of the given project, in the chat session of this terminal."""
    async with open_projects(host) as store:
        found, user = await find_project(store, project_user_of(host), project), project_user_of(host)
        sessions = [each for each in await store.list_chat_sessions(user, found.id) if each.title == SESSION_TITLE]
        session = sessions[-1] if sessions else await store.create_chat_session(user, found.id, SESSION_TITLE)
    return AssistantSession(assistant, host, {"project_id": found.id, "session_id": session.id})


async def _answer_without_model(session: AssistantSession, query: str, why: str) -> GuidanceReply:
    async with open_projects(session.host) as store:
        state = await load_project_state(store, project_user_of(session.host), session.host.about["project_id"])
    return reply_without_model(state, query, why)


async def _print_project(store: "Store", host: Host, project: Project) -> None:
    terminal, user = host.command_terminal, project_user_of(host)
    state = await load_project_state(store, user, project.id)
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
        terminal.line("none yet" if value is None else to_plain_lines(value))
    changes = await store.list_provenance(user, project.id, last=MAX_CHANGES)
    if changes:
        terminal.line()
        terminal.line("Changes", "bold")
        for each in changes:
            terminal.line(f"{each.timestamp:%Y-%m-%d %H:%M}  {each.actor:<6}  {each.type}  {each.description.splitlines()[0][:80]}")
