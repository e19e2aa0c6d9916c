"""The assistants' own commands on their sample tasks, with the models of today: each provider's rules are enforced as it does.

The model's replies are written in advance; the command, its tools and the platform that it acts on are real.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import lite_pytest
from assistants.coding.stage import git, needs_git
from cli.running import InProcess
from providers.oracles import is_installed
from providers.script import Ask, Give, Part, Reply, Say, Think, Tokens
from providers.servers import SERVERS, Server
from providers.servers.base import KEY, Expected, Session
from providers.servers.http import serve
from providers.servers.mock import Mock
from treadle.assistants.coding.sample import SAMPLE_FILES, SAMPLE_TASK, make_coding_sample
from treadle.cli.main import main
from treadle.demo.platform import start_demo

MODELS = ("gpt-5-mini", "gpt-5.6", "claude", "gemini")
VARIABLES = {"openai": "OPENAI", "anthropic": "ANTHROPIC", "google": "GOOGLE"}
THINKS = Tokens(output=9_000, reasoning=8_500)  # such a model thinks before it writes, and a limit counts that too


@dataclass(frozen=True)
class Sample:
    """A sample task.

    prepare  makes what the command works on; gives the folder to work in, and what else stands in the environment
    words    the command
    prompt   what every request has to carry of it
    tools    what has to be on offer
    replies  the model's parts, reply by reply
    finished asserts that the task is done, by what was printed and by what is there
    """

    prepare: Callable[[Path], Any]
    words: tuple[str, ...]
    prompt: str
    tools: tuple[str, ...]
    replies: Sequence[tuple[Part, ...]]
    finished: Callable[[Path, str], None]


# Reading: which parts of a file belong together

SHOP = "\n\n".join(f"def {name}(items):\n    return {name!r}, items\n" for name in ("put", "take", "price", "total"))
INTENT = "Keeps a shop's shelf and knows its prices."
READING = {
    "file_intent": INTENT,
    "responsibilities": [
        {"label": "Keeping the shelf", "description": "Puts and takes.", "ranges": [[1, 6]]},
        {"label": "Knowing prices", "description": "Adds up.", "ranges": [[9, 14]]},
    ],
}


@contextmanager
def shop(home: Path) -> Iterator[Mapping[str, str]]:
    (home / "shop.py").write_text(SHOP)
    yield {}


def was_read(home: Path, out: str) -> None:
    found = json.loads(out)
    assert (found["file_intent"], found["metadata"]["execution_path"]) == (INTENT, "tool-calling")
    assert [block["elements"]["functions"] for block in found["responsibilities"]] == [["put", "take"], ["price", "total"]]
    assert found["metadata"]["tool_reads"][0]["start_line"] == 1


# Platform: what runs there


@contextmanager
def platform(home: Path) -> Iterator[Mapping[str, str]]:
    with start_demo() as demo:
        yield {"TREADLE_PLATFORM_SERVER": demo.url, "TREADLE_PLATFORM_TOKEN": demo.token("alice")}


# Coding: a bug that two tests show


@contextmanager
def cart(home: Path) -> Iterator[Mapping[str, str]]:
    asyncio.run(make_coding_sample(home, set()))
    yield {}


def was_mended(home: Path, out: str) -> None:
    job = json.loads(out)
    assert (job["state"], job["output"]["verified"], job["output"]["files"]) == ("completed", True, ["cart.py"])
    assert "for price in prices:" in git(home / "cart", "show", f"{job['output']['branch']}:cart.py")
    assert git(home / "cart", "show", "main:cart.py") + "\n" == SAMPLE_FILES["cart.py"]


# Guidance and courses: their own samples


@contextmanager
def demonstration(home: Path, command: str) -> Iterator[Mapping[str, str]]:
    assert main([command, "demo"]) == 0
    yield {}


def says(answer: str) -> Callable[[Path, str], None]:
    """The answer is all that is printed."""

    def finished(home: Path, out: str) -> None:
        assert out == f"{answer}\n"

    return finished


COMPARED = "Fares are a must, and the road has bus lanes for it."
SALT = "Salt tightens the gluten and slows the yeast down."
APPLICATIONS = "You have checkout and two others."
EDIT = {"action": "replace", "path": "cart.py", "old": "prices[1:]", "new": "prices"}
REPORT = {"summary": "Sum all prices", "done": True}
SAMPLES = {
    "reading": Sample(
        shop,
        ("read", "shop.py", "--path", "tool-calling", "--json"),
        "shop.py",
        ("refer_to_source_code",),
        [(Ask("refer_to_source_code", {"start_line": 1, "end_line": 7}),), (Give(READING),)],
        was_read,
    ),
    "platform": Sample(
        platform,
        ("platform", "ask", "What applications do I have?"),
        "What applications do I have?",
        ("list_applications", "deploy_application"),
        [(Ask("list_applications", {}), Ask("get_current_user", {})), (Say(APPLICATIONS),)],
        says(APPLICATIONS),
    ),
    "coding": Sample(
        cart,
        ("debug", SAMPLE_TASK, "-C", "cart", "--json"),
        SAMPLE_TASK,
        ("file", "code_edit", "search", "navigate", "test", "bash", "git"),
        [(Ask("file", {"action": "read", "path": "cart.py"}),), (Ask("file", EDIT),), (Ask("test", {}),), (Give(REPORT),)],
        was_mended,
    ),
    "guidance": Sample(
        lambda home: demonstration(home, "guide"),
        ("guide", "ask", "Compare my constraints with my resources."),
        "Compare my constraints with my resources.",
        ("get_problem_spec", "get_world_model", "change_problem_spec"),
        [(Ask("get_problem_spec", {}), Ask("get_world_model", {})), (Say(COMPARED),)],
        says(COMPARED),
    ),
    "courses": Sample(
        lambda home: demonstration(home, "courses"),
        ("courses", "ask", "Why does bread dough need salt?"),
        "Why does bread dough need salt?",
        ("search_course_content", "get_course_outline"),
        [(Ask("search_course_content", {"query": "salt in bread dough"}),), (Say(SALT),)],
        says(SALT),
    ),
}


@contextmanager
def asked(server: Server, sample: Sample) -> Iterator[tuple[Session, Mapping[str, str]]]:
    """A model's server with the replies of a sample, and what makes a command ask it."""
    thoughts = [Think(f"Thought {number}.", f"c2VhbC0{number}") for number in range(len(sample.replies))]
    replies = [Reply((thought, *parts), tokens=THINKS) for thought, parts in zip(thoughts, sample.replies, strict=True)]
    session = Session([(sample.prompt, reply) for reply in replies], Expected(tools=sample.tools))
    name = VARIABLES[server.provider]
    with serve(Mock(server.wires(), session)) as url:
        yield session, {f"{name}_BASE_URL": url + server.base, f"{name}_API_KEY": KEY}


def tightest(session: Session, server: Server) -> float:
    """The lowest limit of output that a request has; infinite where none has one."""
    wires = server.wires()
    asked = [(next(wire for wire in wires if wire.serves(request)), request.body) for request in session.requests]
    return min([wire.options(body)["max_tokens"] or float("inf") for wire, body in asked])


@pytest.mark.parametrize("at", MODELS)
@pytest.mark.parametrize("name", [pytest.param(name, marks=needs_git if name == "coding" else ()) for name in SAMPLES])
def test_a_command_finishes_its_sample_task(
    name: str, at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is sent that the provider refuses, not even what a second try would leave out."""
    sample, server = SAMPLES[name], SERVERS[at]
    if not is_installed(server.needs):
        pytest.skip(f"{server.needs} isn't installed, so this case's requests can't be checked")
    typed = InProcess(tmp_path, monkeypatch, capsys)
    monkeypatch.setenv("VIRTUAL_ENV", lite_pytest.environment())
    with sample.prepare(tmp_path) as environment, asked(server, sample) as (session, address):
        typed.set(**environment, **address)
        ran = typed(*sample.words, "-m", f"{server.provider}:{server.model}")
    assert (session.violations, session.repairs, session.script) == ([], [], []), ran.err
    assert ran.code == 0, ran.err
    assert tightest(session, server) > THINKS.output
    sample.finished(tmp_path, ran.out)
