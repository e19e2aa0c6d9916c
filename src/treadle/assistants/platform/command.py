"""`treadle platform`: ask about a platform, talk to it, change it, write and check specs, and start one to try it on."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from treadle import AssistantSession, Host, RunResult, SettingsError, Slash, Terminal, exit_code, one_call, typed
from treadle.assistants.platform import assistant
from treadle.assistants.platform.documents import Documents, open_documents
from treadle.assistants.platform.generate import as_json
from treadle.assistants.platform.score import PROVIDED, Finding, check, spec_in
from treadle.assistants.platform.session import generate as write_spec
from treadle.assistants.platform.settings import platform_settings
from treadle.assistants.platform.shapes import Json
from treadle.files import read_named

MOST_BYTES = 1_000_000  # of a spec


def server_option(parser: ArgumentParser) -> None:
    """Where the platform is."""
    parser.add_argument("--server", default="", metavar="URL", help="where the platform is (default: TREADLE_PLATFORM_SERVER)")


def ask_arguments(parser: ArgumentParser) -> None:
    """What can be typed to ask."""
    parser.add_argument("words", nargs="+", metavar="QUESTION", help="what to ask; - stands for what comes on stdin")
    server_option(parser)


def generate_arguments(parser: ArgumentParser) -> None:
    """What can be typed to have a spec written."""
    parser.add_argument("words", nargs="+", metavar="DESCRIPTION", help="what to run; - stands for what comes on stdin")
    parser.add_argument("-o", "--output", default="", metavar="FILE", help="write the spec there, and not to stdout")
    parser.add_argument("--force", action="store_true", help="replace FILE")
    parser.add_argument("--json", action="store_true", help="print JSON")
    server_option(parser)


def deploy_arguments(parser: ArgumentParser) -> None:
    """What can be typed to deploy a spec."""
    parser.add_argument("file", metavar="FILE", help="the spec; - stands for what comes on stdin")
    server_option(parser)


def delete_arguments(parser: ArgumentParser) -> None:
    """What can be typed to delete an application."""
    parser.add_argument("name", metavar="NAME", help="the application")
    server_option(parser)


def run_arguments(parser: ArgumentParser) -> None:
    """What can be typed to run a golden path."""
    parser.add_argument("path", metavar="PATH", help="the golden path's name")
    parser.add_argument(
        "--param", action="append", default=[], metavar="NAME=VALUE", help="what the path wants to know; repeatable"
    )
    deploy_arguments(parser)


def retry_arguments(parser: ArgumentParser) -> None:
    """What can be typed to retry a workflow."""
    parser.add_argument("workflow", metavar="ID", help="the number of a failed workflow")
    server_option(parser)


def validate_arguments(parser: ArgumentParser) -> None:
    """What can be typed to have specs checked."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="a spec; - stands for what comes on stdin")
    parser.add_argument("--json", action="store_true", help="print JSON")


def demo_arguments(parser: ArgumentParser) -> None:
    """What can be typed to start the demonstration."""
    parser.add_argument("--port", type=int, default=8081, metavar="N", help="where to listen (default: 8081; 0 takes any)")


async def ask(args: Namespace, host: Host) -> int:
    """One question."""
    async with _session(args, host) as (session, _):
        result = await host.talking(session, session.agent(await host.model())).ask(typed(args.words))
        await _after(session, result)
    return exit_code(result)


async def chat(args: Namespace, host: Host) -> int:
    """A conversation."""
    async with _session(args, host) as (session, documents):
        talk = host.talking(session, session.agent(await host.model()))
        last: list[str] = []

        async def after(result: RunResult[str]) -> None:
            last.extend(filter(None, [spec_in(result.text)]))
            await _after(session, result)

        terminal = host.shown_at
        state = await documents.state()
        known = f" {state.documents} documents are known." if state.documents else ""
        whose = _as_whom((await session.caller()).deps)
        terminal.note(f"Talking to {session.host.about['server']} {whose}.{known} /help lists what can be typed.")
        save = Slash("write the spec that was shown last into a file", lambda name: _save(terminal, last, name), "FILE")
        return await talk.converse({"/save": save}, after)


async def generate(args: Namespace, host: Host) -> int:
    """Write a spec."""
    if args.output and args.json:
        raise SettingsError("--json prints everything and --output writes the spec: leave one of them out.")
    if args.output and not args.force and _is_there(args.output):
        raise SettingsError(f"{args.output} is there already; choose another name, or replace it with --force.")
    async with _session(args, host) as (session, _):
        made = await write_spec(session.host, typed(args.words))
    terminal = host.shown_at
    if args.json:
        host.show(as_json(made))
    elif args.output:
        write_new(Path(args.output), made.spec, force=args.force)
        terminal.tell(f"Written to {args.output}.")
    else:
        terminal.line(made.spec.rstrip())
    if not args.json:
        terminal.note(made.explanation)
        _show(terminal, made.findings)
    return 1 if any(each.level == "error" for each in made.findings) else 0


async def deploy(args: Namespace, host: Host) -> int:
    """Deploy a spec."""
    return await _call(args, host, "deploy_application", {"spec_content": _read(args.file)}, f"Deploy {args.file}.")


async def delete(args: Namespace, host: Host) -> int:
    """Delete an application."""
    return await _call(args, host, "delete_application", {"app_name": args.name}, f"Delete {args.name}.")


async def run(args: Namespace, host: Host) -> int:
    """Run a golden path."""
    wrong = [each for each in args.param if not each.partition("=")[0] or "=" not in each]
    if wrong:
        raise SettingsError(f"{wrong[0]!r} is no parameter; write it as NAME=VALUE.")
    given = dict([each.split("=", 1) for each in args.param])
    arguments = {"path": args.path, "spec_content": _read(args.file), "parameters": given}
    return await _call(args, host, "run_golden_path", arguments, f"Run the golden path {args.path} with {args.file}.")


async def retry(args: Namespace, host: Host) -> int:
    """Retry a workflow."""
    return await _call(args, host, "retry_workflow", {"workflow_id": args.workflow}, f"Retry workflow {args.workflow}.")


async def _call(args: Namespace, host: Host, name: str, arguments: Json, message: str) -> int:
    """Make one call without a model: shown, approved and journaled like any other."""
    session = AssistantSession(assistant, host, {"server": platform_settings(host, args.server).server})
    return await host.talking(session, session.agent(one_call(name, arguments))).call(name, arguments, message)


def validate(args: Namespace, host: Host) -> int:
    """Check specs, by line."""
    terminal, types = host.shown_at, {*PROVIDED, *platform_settings(host).types}
    found = {name: check(_read(name), types) for name in args.files}
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
    """Start a platform to try things on, until Ctrl-C."""
    from treadle.assistants.platform.demo import run_demo

    terminal = host.shown_at
    await run_demo(host.home.folder / "platform-demo.db", args.port, tell=terminal.line)
    return 0


@asynccontextmanager
async def _session(args: Namespace, host: Host) -> AsyncGenerator[tuple[AssistantSession, Documents]]:
    """The assistant on the platform that is meant, and its documents, indexed anew where they have changed."""
    settings = platform_settings(host, args.server)
    async with open_documents(host, settings) as documents:
        for sentence in await documents.refresh():
            host.shown_at.note(sentence)
        yield AssistantSession(assistant, host, {"server": settings.server}), documents


def _as_whom(user: Json) -> str:
    if not user:
        return "without being signed in: set TREADLE_PLATFORM_TOKEN"
    return f"as {user.get('username', 'somebody')} ({user.get('team', '?')}, {user.get('role', '?')})"


async def _after(session: AssistantSession, result: RunResult[str]) -> None:
    """Beneath an answer: what it goes by, and what is wrong with the spec in it."""
    reply, terminal = await session.reply(result), session.host.shown_at
    if reply["citations"]:
        terminal.note(f"See: {', '.join(reply['citations'])}")
    _show(terminal, reply["findings"])


def _show(terminal: Terminal, findings: tuple[Finding, ...]) -> None:
    for each in findings:
        terminal.note(str(each), "red" if each.level == "error" else "yellow")


def _is_there(name: str) -> bool:
    return Path(name).exists()


def _save(terminal: Terminal, last: list[str], name: str) -> None:
    if not name:
        terminal.tell("Say where: /save FILE")
    elif not last:
        terminal.tell("No spec has been shown yet.")
    else:
        try:
            write_new(Path(name).expanduser(), last[-1])
            terminal.tell(f"Written to {name}.")
        except (SettingsError, RuntimeError) as error:  # also a home that nobody has
            terminal.tell(str(error), "red")


def write_new(path: Path, spec: str, *, force: bool = False) -> None:
    """Write a spec into a file, which is there already only where that is meant."""
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(spec.rstrip() + "\n")
    except FileExistsError as error:
        raise SettingsError(f"{path} is there already; choose another name.") from error
    except OSError as error:
        raise SettingsError(f"{path} can't be written: {error.strerror}.") from error


def _read(name: str) -> str:
    try:
        data = sys.stdin.buffer.read(MOST_BYTES + 1) if name == "-" else read_named(name, MOST_BYTES, pipes=True)
        if len(data) > MOST_BYTES:
            raise SettingsError(f"{name} is too large for a spec: at most {MOST_BYTES:,} bytes are read.")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{name} is no text; write it in UTF-8.") from error
