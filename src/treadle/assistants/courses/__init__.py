"""The course assistant: answers from your own course material, in at most two searches.

This module only declares the assistant; everything it needs is imported on first use.
"""

from pathlib import Path

from treadle import Limits, Options, allow
from treadle.assistant import Assistant, Command, Panel, lazy_import
from treadle.assistants.courses.settings import CoursesSettings

_NAME = "treadle.assistants.courses"
_READ = "Text, Markdown, PDF, DOCX, HTML, subtitles and notebooks are read. What has changed since is looked for, too."


def _command(name: str, summary: str, more: str = "", does: str = "") -> Command:
    run = f"{_NAME}.command:{does or name}"
    common = ("model", "approval") if name in ("ask", "chat") else ()
    return Command(name, summary, lazy_import(run), lazy_import(f"{run}_arguments"), more, common=common)


assistant = Assistant(
    name="courses",
    title="Courses",
    summary="Answers from your own course material, with its sources.",
    configure=lazy_import(f"{_NAME}.session:configure"),
    toolsets=lazy_import(f"{_NAME}.session:toolsets"),
    policy=(allow("*", effect="read"),),
    limits=Limits(rounds=2, failures=1, at_limit="conclude"),
    parts={"grounded": True},
    options=Options(temperature=0, max_tokens=800),
    quick=True,
    questions=(
        "What are the lessons of Baking Bread at Home?",
        "Are there any courses about chatbots?",
        "Which course explains what RAG is?",
        "Is there a course on the same topic as lesson 4 of Chatbots That Look Things Up?",
    ),
    commands=(
        Command(
            "courses",
            "answer from your own course material",
            parts=(
                _command("add", "add a folder of courses, a file, a zip archive or a URL", _READ),
                _command("remove", "remove a folder or file", "Its courses are forgotten; the files stay."),
                _command("delete", "delete a course, or one of its documents", "Uploaded files are deleted; others stay."),
                _command("list", "list the courses, or show the lessons of one", does="list_courses"),
                _command("search", "find passages, without a model"),
                _command("ask", "ask a question"),
                _command("chat", "have a conversation", "Conversations are stored."),
                _command("demo", "add the sample courses", "--remove removes them again."),
            ),
        ),
    ),
    routes=lazy_import(f"{_NAME}.routes:routes"),
    erase=lazy_import(f"{_NAME}.session:erase"),
    panel=Panel("Courses", Path(__file__).parent / "panel", conversation="session={id}", asks=True),
    lead=lazy_import(f"{_NAME}.session:plan"),
    settings=CoursesSettings,
    begin=lazy_import(f"{_NAME}.session:begin"),
    reply=lazy_import(f"{_NAME}.session:reply"),
)
