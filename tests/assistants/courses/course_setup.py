"""Material to ask about, and the server that answers: real files, real HTTP on both sides."""

import asyncio
import json
from contextlib import contextmanager

import aiohttp
from msgspec.structs import replace

from server.running import Serving
from treadle.assistant import AssistantSession
from treadle.assistants.courses import assistant
from treadle.assistants.courses.library import CourseLibrary
from treadle.assistants.courses.session import to_course_reply
from treadle.assistants.courses.session_store import CourseSessionStore
from treadle.assistants.courses.settings import CoursesSettings
from wire import WireServer
from wire import model as wired

SAILING = """Course Title: Sailing for Beginners
Course Link: https://example.org/sailing
Course Instructor: Ada Holm

Lesson 0: Before you cast off
Lesson Link: https://example.org/sailing/0
Wear a life jacket. Check the weather forecast for wind above twenty knots before every trip.

Lesson 1: Parts of a boat
Lesson Link: https://example.org/sailing/1
The keel keeps the boat upright. The rudder steers it, and the tiller moves the rudder.

Lesson 4: Tides and the moon
Lesson Link: https://example.org/sailing/4
Spring tides come at new and full moon, when the sun and the moon pull in one line. Neap tides come at half moon.
"""
ASTRONOMY = """Course Title: The Moon and Her Effects
Course Link: https://example.org/moon
Course Instructor: Ben Adeyemi

Lesson 1: Phases
The moon takes twenty-nine and a half days from one new moon to the next.

Lesson 2: How the moon makes the tides
Lesson Link: https://example.org/moon/2
Tides rise where the moon pulls on the ocean. Twice a month the sun adds to it, which sailors call spring tides.
"""
MCP = """Course Title: MCP: Build Rich-Context AI Apps
Course Link: https://example.org/mcp
Course Instructor: Elie Nasser

Lesson 0: Introduction
A protocol joins applications to what they need to know.

Lesson 3: Chatbot Example
Lesson Link: https://example.org/mcp/3
Lesson 3 covers a chatbot that keeps its tools in a list and asks a model until no call is left.

Lesson 4: Creating Servers
Lesson Link: https://example.org/mcp/4
Servers in MCP are programs that offer tools, resources and prompts to a client.
"""


def write(folder, **texts):
    """Files of text, by their names."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return folder


def add(home, *paths, title=""):
    """Add material, as `treadle courses add` does."""

    async def added():
        async with CourseLibrary(home, CoursesSettings()) as library:
            for path in paths:
                library.shelf.add(path, title)
            return await library.refresh()

    return asyncio.run(added())


async def question(host, text, session=""):
    """Ask something, as every face does; a session is begun where none is named."""
    named = session or await CourseSessionStore(host.home.folder).begin(host.user)
    return to_course_reply(await AssistantSession(assistant, host, {"session_id": named}).run(text))


class Stage:
    """Our server, and the server of its model."""

    def __init__(self, server, model):
        self.url = server.url
        self._model = model

    @property
    def requests(self):
        """What the model's server was asked."""
        return [each.body for each in self._model.requests]

    def ask(self, method, path, body=None, **more):
        async def asked():
            async with aiohttp.ClientSession() as session, session.request(method, self.url + path, json=body, **more) as answer:
                text = await answer.text()
                return answer.status, json.loads(text) if "json" in answer.content_type else text

        return asyncio.run(asked())

    def query(self, words, session_id=None):
        status, told = self.ask("POST", "/api/query", {"query": words, "session_id": session_id})
        assert status == 200, told
        return told


@contextmanager
def staged(folder, *script, wire="anthropic"):
    """Our server, with a model's server that gives these replies, one after the other."""
    with WireServer(script) as model, Serving(folder, [replace(assistant, panel=None)], wired(model, wire)) as server:
        yield Stage(server, model)


def offers_tools(request):
    """Whether a request lets the model call tools."""
    return bool(request.get("tools")) and request.get("tool_choice", {}).get("type") != "none"


def results(request):
    """What the calls before a request brought, as the model reads it."""
    parts = [part for message in request["messages"] if isinstance(message["content"], list) for part in message["content"]]
    return [_text(part["content"]) for part in parts if part["type"] == "tool_result"]


def _text(content):
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
