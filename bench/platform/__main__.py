"""`python -m bench.platform`: the questions, one after the other, each in a run of its own; what was right, and what was said.

Every outcome is stored at once: `--resume` continues an interrupted run.
"""

import argparse
import asyncio
import os
import re
import tempfile
import time
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bench.platform.questions import DOCUMENTS, SEEN, UNSEEN, Question
from treadle.agent.session import AssistantSession
from treadle.assistants.platform import assistant
from treadle.assistants.platform.dialogue import PlatformReply, answer_chat
from treadle.assistants.platform.score import check_spec
from treadle.core.seams import Model
from treadle.demo.platform import start_demo
from treadle.home import close_home, open_home
from treadle.models.http import close_model_connections
from treadle.models.llamacpp.child import close_children
from treadle.plugins.assistant import Host
from treadle.plugins.models import resolve_model

RESULTS = Path(__file__).parents[1] / "results" / "platform.md"
WINDOW = 8_192


class Asked(Struct, frozen=True):
    """The result of one question, of those that were seen before or of the others."""

    who: str
    text: str
    right: bool
    seconds: float
    tokens: int
    calls: tuple[str, ...]
    said: str


def is_right(question: Question, reply: PlatformReply) -> bool:
    """Whether everything is there that has to be."""
    if question.call:
        waits = [approval for approval in reply.approvals if approval.name == question.call]
        words = [msgspec.json.encode(approval.arguments).decode() for approval in waits]
        return bool(words) and all(re.search(pattern, words[0]) for pattern in question.has)
    found = all(re.search(pattern, reply.message, re.IGNORECASE) for pattern in question.has)
    return found and not reply.approvals and (reply.generated_spec is None or check_spec(reply.generated_spec).ok)


async def ask(host: Host, who: str, question: Question) -> Asked:
    """One question, in a run of its own."""
    began = time.perf_counter()
    reply = await answer_chat(AssistantSession(assistant, host), question.text)
    entries = await host.home.journal.read(reply.run_id)
    made = tuple(entry.call.name for entry in entries if type(entry).__name__ == "Judged")
    right = is_right(question, reply)
    waits = ", ".join(f"waits: {approval.name}" for approval in reply.approvals)
    return Asked(who, question.text, right, time.perf_counter() - began, reply.tokens_used, made, waits or reply.message)


def _known(kept: Path) -> list[Asked]:
    return [msgspec.json.decode(line, type=Asked) for line in kept.read_bytes().splitlines()] if kept.exists() else []


async def work(wanted: argparse.Namespace, kept: Path) -> list[Asked]:
    """All questions that weren't asked yet."""
    known = _known(kept) if wanted.resume else []
    model = resolve_model(wanted.model, context=WINDOW)

    async def same() -> Model:
        return model

    with start_demo() as demo, tempfile.TemporaryDirectory() as place, kept.open("ab" if wanted.resume else "wb") as file:
        docs = Path(place) / "docs"
        docs.mkdir()
        for name, text in DOCUMENTS.items():
            (docs / name).write_text(text, "utf-8")
        settings = Path(place) / "own.toml"
        settings.write_text(f'[assistants.platform]\nserver = "{demo.url}"\ndocuments = ["{docs}"]\n', "utf-8")
        os.environ["TREADLE_CONFIG"] = str(settings)
        os.environ.pop("TREADLE_PLATFORM_SERVER", None)
        host = Host(open_home(Path(place) / "home"), same)
        for who, question in [*[("alice", each) for each in SEEN], *[("bob", each) for each in UNSEEN]]:
            if question.text in {each.text for each in known}:
                continue
            asked = await ask(replace(host, headers={"authorization": f"Bearer {demo.token(who)}"}), who, question)
            known.append(asked)
            file.write(msgspec.json.encode(asked) + b"\n")
            file.flush()
            print(_line(asked), flush=True)
        close_home(host.home)
    return known


def _line(asked: Asked) -> str:
    question = asked.text.splitlines()[0]
    return f"{'right' if asked.right else '-':6} {asked.seconds:4.0f} s  {question[:60]:60} {' '.join(asked.calls)}"


def page(known: list[Asked], model: str) -> str:
    """The tables."""
    return f"Questions on the demo platform; {model}.\n\n" + "\n".join(
        [
            _table("asked as alice, with which the plan was made", [each for each in known if each.who == "alice"]),
            _table("asked as bob, which nobody had seen", [each for each in known if each.who == "bob"]),
        ]
    )


def _table(what: str, asked: list[Asked]) -> str:
    right, many = sum(each.right for each in asked), max(1, len(asked))
    seconds = sum(each.seconds for each in asked) / many
    lines = [
        f"**{right} of {len(asked)} right ({right / many:.0%})**, {seconds:.0f} s a question: {what}.\n",
        "| question | right | calls | said |",
        "|---|---|---|---|",
    ]
    for each in asked:
        said = re.sub(r"\s+", " ", each.said).replace("|", "\\|")
        short = said if len(said) <= 160 else f"{said[:157]}…"
        lines.append(f"| {each.text.splitlines()[0]} | {'yes' if each.right else '**no**'} | {', '.join(each.calls)} | {short} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Ask, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.platform")
    parser.add_argument("--model", default="llamacpp:qwen2.5-coder-1.5b")
    parser.add_argument("--resume", action="store_true", help="go on where the last run was broken off")
    parser.add_argument("--kept", type=Path, default=Path(tempfile.gettempdir()) / "treadle-bench-platform.jsonl")
    wanted = parser.parse_args()

    async def asked() -> list[Asked]:
        try:
            return await work(wanted, wanted.kept)
        finally:
            await close_model_connections()

    try:
        known = asyncio.run(asked())
    finally:
        close_children()
    RESULTS.write_text(page(known, wanted.model), "utf-8")
    print(page(known, wanted.model))


if __name__ == "__main__":
    main()
