"""The course assistant: answers from your own course material, in at most two searches.

This module only says what it offers; everything it needs is imported when it is used.
"""

from pathlib import Path

from treadle import Assistant, Command, Limits, Options, Panel, allow, later
from treadle.assistants.courses.settings import CoursesSettings

_NAME = "treadle.assistants.courses"
_READ = "Text, Markdown, PDF, DOCX, HTML, subtitles and notebooks are read. What has changed since is looked for, too."


def _part(name: str, summary: str, more: str = "", does: str = "") -> Command:
    run = f"{_NAME}.command:{does or name}"
    return Command(name, summary, later(run), later(f"{run}_arguments"), more)


assistant = Assistant(
    name="courses",
    title="Courses",
    summary="Answers from your own course material, with its sources.",
    configure=later(f"{_NAME}.session:configure"),
    toolsets=later(f"{_NAME}.session:toolsets"),
    policy=(allow("*", effect="read"),),
    limits=Limits(rounds=2, failures=1, at_limit="conclude"),
    options=Options(temperature=0, max_tokens=800),
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
                _part("add", "add a folder of courses, a file, a zip archive or a URL", _READ),
                _part("remove", "take a folder or file off again", "Its courses are forgotten; the files stay."),
                _part("delete", "delete a course, or one of its documents", "Uploaded files are deleted; others stay."),
                _part("list", "list the courses, or show the lessons of one", does="listed"),
                _part("search", "find passages, without a model"),
                _part("ask", "ask something"),
                _part("chat", "talk", "The last exchanges are remembered, and conversations are kept."),
                _part("demo", "add the sample courses", "--remove takes them off again."),
            ),
        ),
    ),
    routes=later(f"{_NAME}.routes:routes"),
    erase=later(f"{_NAME}.session:erase"),
    panel=Panel("Courses", Path(__file__).parent / "panel"),
    lead=later(f"{_NAME}.session:plan"),
    settings=CoursesSettings,
    begin=later(f"{_NAME}.session:begin"),
    reply=later(f"{_NAME}.session:reply"),
)
