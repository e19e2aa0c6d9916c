"""Every way out of the workspace through the coding assistant's tools, tried for real: none gets out, each is answered."""

import asyncio
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from assistants.coding.stage import git, needs_git
from properties import EXPLORE
from server.acp.editor import connected
from treadle import Answer
from treadle.agent.agent import Agent
from treadle.agent.session import AssistantSession
from treadle.assistants.coding import assistant
from treadle.assistants.coding.session import CodingSession
from treadle.assistants.coding.tools import coding_rules, make_coding_toolset
from treadle.core.calls import Result
from treadle.home import close_home, open_home
from treadle.models.scripted import Scripted, ScriptedCall, ScriptedReply
from treadle.plugins.assistant import Host
from treadle.settings.loader import Settings

SECRET = "the-person's-own-words"


FILE_TOOLS = {"read": "read_file", "write": "write_file", "delete": "delete_file", "append": "insert_lines"}
GIT_ARGUMENTS = {"add": "files", "commit": "message", "create_branch": "branch"}


class World:
    """A workspace, and what lies outside of it.

    `face` is how a model gets at it: by a job, by a session that accepts edits, or by one in an editor.
    """

    def __init__(self, place: Path, face: str = "job") -> None:
        self.place, self.face = place, face
        self.folder = place / "work"
        self.folder.mkdir()
        (self.folder / "inside.txt").write_text("inside\n")
        self.outside = place / "outside"
        self.outside.mkdir()
        self.victim = self.outside / "victim.txt"
        self.victim.write_text(SECRET)

    def tried(self, *calls: tuple[str, dict[str, Any]], settings: Settings = Settings()) -> list[Result]:  # noqa: B008 - frozen
        """What came back from these calls, made by a model in one run."""
        if self.face == "session":
            return self._tried_in_a_session(*[flat(*call) for call in calls])
        if self.face == "editor":
            return asyncio.run(self._tried_in_an_editor(*[flat(*call) for call in calls]))
        tools = make_coding_toolset("build", self.folder, settings, flat=False)
        replies = [ScriptedReply(calls=(ScriptedCall(name, arguments),)) for name, arguments in calls]
        agent = Agent(Scripted(*replies, "Done."), toolsets=[tools], policy=coding_rules("build", leaves=False))
        result = asyncio.run(agent.run("Get out."))
        return [record.result for record in result.calls if record.result is not None]

    def _tried_in_a_session(self, *calls: tuple[str, dict[str, Any]]) -> list[Result]:
        home = open_home(self.place / "home")
        try:
            host = Host(home, lambda: None, folder=self.folder)  # type: ignore[arg-type, return-value]
            session = CodingSession(assistant, host, "accept-edits")
            replies = [ScriptedReply(calls=(ScriptedCall(name, arguments),)) for name, arguments in calls]
            talk = AssistantSession(session.assistant, host, {"mode": "accept-edits"})
            agent = talk.agent(Scripted(*replies, "Done."), approver=lambda _: Answer(True))
            result = asyncio.run(agent.run("Get out.", journal=home.services()))
        finally:
            close_home(home)
        return [record.result for record in result.calls if record.result is not None]

    async def _tried_in_an_editor(self, *calls: tuple[str, dict[str, Any]]) -> list[Result]:
        """What the editor showed of the calls, diffs included; the results are those of its last updates."""
        replies = [ScriptedReply(calls=(ScriptedCall(name, arguments),)) for name, arguments in calls]
        async with connected(self.folder, *replies, "Done.") as desk:
            await desk.open()
            await desk.agent.set_session_mode(desk.session_id, "accept-edits")
            await desk.say("Get out.")
            assert SECRET not in "".join([update.model_dump_json() for _, update in desk.editor.updates])
            assert SECRET not in "".join([call.model_dump_json() for call, _ in desk.editor.asked])
            shown = desk.editor.calls().values()
        return [
            Result(call["tool_call_id"], call["title"], str(call["content"]), "raised" if call["status"] == "failed" else None)
            for call in shown
        ]

    def bash(self, *commands: str, **how: Any) -> Result:
        """What came back from the last of these commands."""
        return self.tried(*[("bash", {"command": command}) for command in commands], **how)[-1]

    def holds(self, result: Result) -> None:
        """Nothing outside was touched or seen, and the model was told something."""
        assert self.victim.read_text() == SECRET
        assert [path.name for path in self.outside.iterdir()] == ["victim.txt"]
        assert SECRET not in result.content
        assert result.content.strip()


def flat(name: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The same call with the tools of a session."""
    rest = {key: value for key, value in arguments.items() if key != "action"}
    match name, arguments.get("action", ""):
        case "bash", _:
            return "run_command", rest
        case "file", "append":
            return "insert_lines", {"path": rest["path"], "line_number": 1, "content": rest["content"]}
        case "file", action:
            return FILE_TOOLS[action], rest if action == "write" else {"path": rest["path"]}
        case "git", action:
            return f"git_{action}", {key: value for key, value in rest.items() if key == GIT_ARGUMENTS.get(action)}
        case other:
            raise AssertionError(other)


FACES = ("job", "session", "editor")


@pytest.fixture(params=FACES)
def world(tmp_path: Path, request: pytest.FixtureRequest) -> World:
    return World(tmp_path, request.param)


FILES = {
    "dots": "../outside/victim.txt",
    "dots in the middle": "a/../../outside/victim.txt",
    "absolute": "{victim}",
    "a file address": "file://{victim}",
    "home": "~/../{victim}",
}


ACTIONS = ("read", "write", "delete", "append")
LEADING_OUT = [
    pytest.param(face, path, action, id=f"{face}-{name}-{action}")
    for row, (name, path) in enumerate(FILES.items())
    for column, action in enumerate(ACTIONS)
    for number, face in enumerate(FACES)
    if EXPLORE or (row + column) % len(FACES) == number  # each path by each action once; all in `make explore`
]


@pytest.mark.parametrize(("world", "path", "action"), LEADING_OUT, indirect=["world"])
def test_a_path_that_leads_out(world: World, path: str, action: str) -> None:
    path = path.format(victim=world.victim)
    result = world.tried(("file", {"action": action, "path": path, "content": "x"}))[0]
    world.holds(result)
    if action not in ("write", "append") or not path.startswith(("file:", "~")):  # those are names like any other, inside
        assert result.problem == "raised"


@pytest.mark.parametrize("made", ["ln -s {outside} link", "ln -s ../outside link", "ln -s / root && ln -s root{outside} link"])
def test_a_symbolic_link_that_the_agent_made(world: World, made: str) -> None:
    made = made.format(outside=world.outside)
    for action in ("read", "write", "append", "delete"):
        call = ("file", {"action": action, "path": "link/victim.txt", "content": "x"})
        world.holds(world.tried(("bash", {"command": made}), call)[-1])
    world.holds(world.bash("cat link/victim.txt; echo gone > link/victim.txt"))


def test_a_hard_link_that_the_agent_made(world: World) -> None:
    world.holds(world.bash(f"ln {world.victim} hard; cat hard; echo gone > hard"))


def test_a_link_that_is_swapped_in_between_check_and_use(world: World) -> None:
    target, stop = world.folder / "swapped", threading.Event()
    (world.folder / "kept").mkdir()

    def swap() -> None:
        while not stop.is_set():
            for make in (lambda: target.symlink_to(world.outside), lambda: (world.folder / "kept").rename(target)):
                try:
                    make()
                    if target.is_symlink():
                        target.unlink()
                    else:
                        target.rename(world.folder / "kept")
                except OSError:
                    continue

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        calls = [
            ("file", {"action": "write", "path": "swapped/victim.txt", "content": f"gone {number}"})
            for number in range(40 if world.face == "job" else 8)
        ]
        results = world.tried(*calls)
    finally:
        stop.set()
        thread.join()
    for result in results:
        world.holds(result)


LINES = {
    "a second command": "cat inside.txt; rm {victim}",
    "a substitution": "echo $(rm {victim})",
    "backticks": "echo `rm {victim}`",
    "a newline": "true\nrm {victim}",
    "env": "env rm {victim}",
    "xargs": "echo {victim} | xargs rm",
    "find": "find / -name victim.txt -exec rm {{}} +",
    "a redirection": "echo gone > {victim}",
    "a shell in a shell": "sh -c 'rm -rf {outside}'",
    "python": "python3 -c \"import shutil; shutil.rmtree('{outside}')\"",
    "a background job": "(sleep 0.2; rm {victim}) &",
    "mv": "mv {outside} .",
    "tar": "tar -C / -cf all.tar {outside}; tar tf all.tar",
    "mount": "mount --bind {outside} . ; ls",
    "proc": "ls -R /proc/1/root{outside}; cat /proc/1/root{victim}",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_command_that_reaches_out(world: World, line: str) -> None:
    result = world.bash(line.format(victim=world.victim, outside=world.outside))
    time.sleep(0.3 if "&" in line else 0)
    world.holds(result)


LISTED = [
    "cat a; rm b",
    "echo $(rm b)",
    "echo `rm b`",
    "true\nrm b",
    "env rm b",
    "echo b | xargs rm",
    "find . -exec rm {} +",
    "r''m b",
]


@pytest.mark.parametrize("line", LISTED)
def test_the_lists_look_at_every_command_of_a_line(tmp_path: Path, line: str) -> None:
    from treadle.settings.schema import CommandSettings

    world = World(tmp_path)
    allowed = ("cat", "echo", "true", "env", "xargs", "find")
    for commands in (CommandSettings(forbid=("rm",)), CommandSettings(allow=allowed)):
        result = world.bash(line, settings=Settings(commands=commands))
        assert result.problem == "raised"
        assert "rm" in result.content


@needs_git
@pytest.mark.parametrize("action", ["status", "diff", "add", "commit", "log", "create_branch"])
def test_git_with_a_hostile_config(world: World, action: str) -> None:
    git(world.folder, "init", "--quiet", "--initial-branch=main")
    git(world.folder, "add", "inside.txt")
    git(world.folder, "commit", "--quiet", "-m", "first")
    evil = world.folder / "evil.sh"
    evil.write_text(f"#!/bin/sh\nrm -rf {world.outside}/*; touch {world.outside}/was-here\ncat\n")
    evil.chmod(0o755)
    (world.folder / ".gitattributes").write_text("* filter=evil diff=evil\n")
    with (world.folder / ".git" / "config").open("a") as config:
        config.write(
            f"[core]\n fsmonitor = {evil}\n hooksPath = {world.folder}\n pager = {evil}\n editor = {evil}\n sshCommand = {evil}\n"
        )
        config.write(f'[filter "evil"]\n clean = {evil}\n smudge = {evil}\n required = true\n[diff]\n external = {evil}\n')
        config.write(
            f'[diff "evil"]\n textconv = {evil}\n command = {evil}\n[alias]\n status = !{evil}\n[gpg]\n program = {evil}\n'
        )
        config.write("[commit]\n gpgSign = true\n")
    (world.folder / "inside.txt").write_text("changed\n")
    more = {"files": ["inside.txt"], "message": "x", "branch": "y"}
    world.holds(world.tried(("git", {"action": action, **more}))[-1])


def test_the_network(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('connected')"
        result = world.bash(f'python3 -c "{code}"; (echo > /dev/tcp/127.0.0.1/{port}) && echo connected')
        world.holds(result)
        assert "connected" not in result.content.replace(code, "")
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_fork_bomb(tmp_path: Path) -> None:
    from treadle.settings.schema import CommandSettings

    world = World(tmp_path)
    result = world.bash(":(){ :|:& };:; sleep 5; echo over", settings=Settings(commands=CommandSettings(seconds=10)))
    world.holds(result)
    assert subprocess.run(["true"], check=True).returncode == 0  # this system can still start something


def test_hundreds_of_megabytes_of_output(world: World) -> None:
    size = 200_000_000 if world.face == "job" else 20_000_000  # the same sandbox reads it
    result = world.bash(f"head -c {size} /dev/zero | tr '\\0' x")
    world.holds(result)
    assert len(result.content) < 30_000


def test_a_process_that_would_outlive_the_call(world: World) -> None:
    marker = world.folder / "still-here"
    result = world.bash("setsid nohup sh -c 'sleep 1; touch still-here' >/dev/null 2>&1 & echo begun")
    time.sleep(1.5)
    world.holds(result)
    assert not marker.exists()


def test_the_persons_keys(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "person"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text("PRIVATE-KEY-OF-THE-PERSON")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-person")
    result = world.bash(f"cat ~/.ssh/id_ed25519 {home}/.ssh/id_ed25519 /root/.ssh/*; env; cat /proc/*/environ; cat /etc/shadow")
    world.holds(result)
    assert "PRIVATE-KEY-OF-THE-PERSON" not in result.content
    assert "sk-of-the-person" not in result.content
    assert "root:" not in result.content
