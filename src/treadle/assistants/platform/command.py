"""`treadle platform`: ask about a platform, chat with it, change it, write and check specs, and start a demo platform."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from treadle import RunResult
from treadle.assistant import AssistantSession, Host, SlashCommand, Terminal, exit_code, prompt_from_words
from treadle.assistants.platform import assistant
from treadle.assistants.platform.documents import PlatformDocuments, open_documents
from treadle.assistants.platform.responses import Json
from treadle.assistants.platform.score import PROVIDED, SpecFinding, check_spec, find_spec
from treadle.assistants.platform.session import generate_spec_for_host as write_spec
from treadle.assistants.platform.settings import resolve_platform_settings
from treadle.assistants.platform.spec_drafts import generated_spec_to_json
from treadle.errors import SettingsError
from treadle.files import read_named
from treadle.plans import one_call

MAX_INPUT_BYTES = 1_000_000  # of a spec


def server_option(parser: ArgumentParser) -> None:
    """Add the platform's address as an option."""
    parser.add_argument("--server", default="", metavar="URL", help="the URL of the platform (default: TREADLE_PLATFORM_SERVER)")


def ask_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `ask`."""
    parser.add_argument("words", nargs="*", metavar="QUESTION", help="what to ask; piped text is added, and files as @FILE")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")
    server_option(parser)


def chat_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `chat`."""
    parser.add_argument("--json", action="store_true", help="one JSON object for each reply")
    server_option(parser)


def generate_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `generate`."""
    parser.add_argument("words", nargs="*", metavar="DESCRIPTION", help="what to run; piped text is added, and files as @FILE")
    parser.add_argument("-o", "--output", default="", metavar="FILE", help="write the spec there, and not to stdout")
    parser.add_argument("--force", action="store_true", help="replace FILE")
    parser.add_argument("--json", action="store_true", help="print JSON")
    server_option(parser)


def deploy_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `deploy`."""
    parser.add_argument("file", metavar="FILE", help="the spec; - reads stdin")
    parser.add_argument("--json", action="store_true", help="print JSON")
    server_option(parser)


def delete_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `delete`."""
    parser.add_argument("name", metavar="NAME", help="the application")
    parser.add_argument("--json", action="store_true", help="print JSON")
    server_option(parser)


def run_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `run`."""
    parser.add_argument("path", metavar="PATH", help="the golden path's name")
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the path; repeatable")
    deploy_arguments(parser)


def retry_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `retry`."""
    parser.add_argument("workflow", metavar="ID", help="the number of a failed workflow")
    parser.add_argument("--json", action="store_true", help="print JSON")
    server_option(parser)


def validate_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `validate`."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="a spec; - reads stdin")
    parser.add_argument("--json", action="store_true", help="print JSON")


def demo_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `demo`."""
    parser.add_argument("--port", type=int, default=8081, metavar="N", help="the port; 0 picks a free one (default: 8081)")


async def ask(args: Namespace, host: Host) -> int:
    """Ask one question."""
    async with _open_session(args, host) as (session, _):
        result = await host.start_talk(session, session.agent(await host.model())).ask(prompt_from_words(args.words))
        await _show_details(session, result)
    return exit_code(result)


async def chat(args: Namespace, host: Host) -> int:
    """Hold a conversation."""
    async with _open_session(args, host) as (session, documents):
        talk = host.start_talk(session, session.agent(await host.model()))
        last: list[str] = []

        async def after(result: RunResult[str]) -> None:
            last.extend(filter(None, [find_spec(result.text)]))
            await _show_details(session, result)

        terminal = host.command_terminal
        state = await documents.state()
        known = f" {state.documents} documents are known." if state.documents else ""
        whose = _format_user((await session.caller()).deps)
        terminal.note(f"Talking to {session.host.about['server']} {whose}.{known} /help lists what can be typed.")
        save = SlashCommand("write the spec that was shown last into a file", lambda name: _save_spec(terminal, last, name), "FILE")
        return await talk.converse({"/save": save}, after)


async def generate(args: Namespace, host: Host) -> int:
    """Write a spec."""
    if args.output and args.json:
        raise SettingsError("--json prints everything and --output writes the spec: leave one of them out.")
    if args.output and not args.force and _exists(args.output):
        raise SettingsError(f"{args.output} is there already; choose another name, or replace it with --force.")
    async with _open_session(args, host) as (session, _):
        made = await write_spec(session.host, prompt_from_words(args.words))
    terminal = host.command_terminal
    if args.json:
        host.show(generated_spec_to_json(made))
    elif args.output:
        write_spec_file(Path(args.output), made.spec, force=args.force)
        terminal.tell(f"Written to {args.output}.")
    else:
        terminal.line(made.spec.rstrip())
    if not args.json:
        terminal.note(made.explanation)
        _show_findings(terminal, made.findings)
    return 1 if any(each.level == "error" for each in made.findings) else 0


async def deploy(args: Namespace, host: Host) -> int:
    """Deploy a spec."""
    return await _call_tool(args, host, "deploy_application", {"spec_content": _read_input(args.file)}, f"Deploy {args.file}.")


async def delete(args: Namespace, host: Host) -> int:
    """Delete an application."""
    return await _call_tool(args, host, "delete_application", {"app_name": args.name}, f"Delete {args.name}.")


async def run(args: Namespace, host: Host) -> int:
    """Run a golden path."""
    wrong = [each for each in args.param if not each.partition("=")[0] or "=" not in each]
    if wrong:
        raise SettingsError(f"{wrong[0]!r} is no parameter; write it as NAME=VALUE.")
    given = dict([each.split("=", 1) for each in args.param])
    arguments = {"path": args.path, "spec_content": _read_input(args.file), "parameters": given}
    return await _call_tool(args, host, "run_golden_path", arguments, f"Run the golden path {args.path} with {args.file}.")


async def retry(args: Namespace, host: Host) -> int:
    """Retry a workflow."""
    return await _call_tool(args, host, "retry_workflow", {"workflow_id": args.workflow}, f"Retry workflow {args.workflow}.")


async def _call_tool(args: Namespace, host: Host, name: str, arguments: Json, message: str) -> int:
    """Make one call without a model: previewed, approved and journaled like any other."""
    session = AssistantSession(assistant, host, {"server": resolve_platform_settings(host, args.server).server})
    return await host.start_talk(session, session.agent(one_call(name, arguments))).call(name, arguments, message)


def validate(args: Namespace, host: Host) -> int:
    """Check specs and print findings by line."""
    terminal, types = host.command_terminal, {*PROVIDED, *resolve_platform_settings(host).types}
    found = {name: check_spec(_read_input(name), types) for name in args.files}
    if args.json:
        told = {name: {"valid": each.ok, "findings": each.findings} for name, each in found.items()}
        host.show(told)
        return 0 if all(each.ok for each in found.values()) else 1
    for name, each in found.items():
        for finding in each.findings:
            where = f"{finding.path}: " if finding.path else ""
            style = "red" if finding.level == "error" else "yellow"
            terminal.line(f"{name}:{finding.line}:{finding.column}: {finding.level}: {where}{finding.message}", style)
        terminal.tell(f"{name}: {'can be deployed' if each.ok else 'would be refused'}.")
    return 0 if all(each.ok for each in found.values()) else 1


async def demo(args: Namespace, host: Host) -> int:
    """Start a demo platform, until Ctrl-C."""
    from treadle.demo.platform import run_demo

    terminal = host.command_terminal
    await run_demo(host.home.folder / "platform-demo.db", args.port, tell=terminal.line)
    return 0


@asynccontextmanager
async def _open_session(args: Namespace, host: Host) -> AsyncGenerator[tuple[AssistantSession, PlatformDocuments]]:
    """Open the assistant on the selected platform, and its documents, re-indexed if they have changed."""
    settings = resolve_platform_settings(host, args.server)
    async with open_documents(host, settings) as documents:
        for sentence in await documents.refresh():
            host.command_terminal.note(sentence)
        yield AssistantSession(assistant, host, {"server": settings.server}), documents


def _format_user(user: Json) -> str:
    if not user:
        return "without being signed in: set TREADLE_PLATFORM_TOKEN"
    return f"as {user.get('username', 'unknown')} ({user.get('team', '?')}, {user.get('role', '?')})"


async def _show_details(session: AssistantSession, result: RunResult[str]) -> None:
    """Print below an answer what it is based on, and the findings of the spec in it."""
    reply, terminal = await session.reply(result), session.host.command_terminal
    if reply["citations"]:
        terminal.note(f"See: {', '.join(reply['citations'])}")
    _show_findings(terminal, reply["findings"])


def _show_findings(terminal: Terminal, findings: tuple[SpecFinding, ...]) -> None:
    for each in findings:
        terminal.note(str(each), "red" if each.level == "error" else "yellow")


def _exists(name: str) -> bool:
    return Path(name).exists()


def _save_spec(terminal: Terminal, last: list[str], name: str) -> None:
    if not name:
        terminal.tell("Say where: /save FILE")
    elif not last:
        terminal.tell("No spec has been shown yet.")
    else:
        try:
            write_spec_file(Path(name).expanduser(), last[-1])
            terminal.tell(f"Written to {name}.")
        except (SettingsError, RuntimeError) as error:  # also a home folder of an unknown user
            terminal.tell(str(error), "red")


def write_spec_file(path: Path, spec: str, *, force: bool = False) -> None:
    """Write a spec to a file; an existing one is overwritten only with `force`."""
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(spec.rstrip() + "\n")
    except FileExistsError as error:
        raise SettingsError(f"{path} is there already; choose another name.") from error
    except OSError as error:
        raise SettingsError(f"{path} can't be written: {error.strerror}.") from error


def _read_input(name: str) -> str:
    try:
        data = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1) if name == "-" else read_named(name, MAX_INPUT_BYTES, pipes=True)
        if len(data) > MAX_INPUT_BYTES:
            raise SettingsError(f"{name} is too large for a spec: at most {MAX_INPUT_BYTES:,} bytes are read.")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{name} is no text; write it in UTF-8.") from error
