"""The guidance assistant: an architect beside your project, with every look it takes on record.

This module only says what it offers; everything it needs is imported when it is used.
"""

from pathlib import Path

from treadle import Assistant, Command, Limits, Panel, ask, later
from treadle.assistants.guidance.settings import GuidanceSettings

_NAME = "treadle.assistants.guidance"


def _part(name: str, summary: str, more: str = "", module: str = "command") -> Command:
    return Command(name, summary, later(f"{_NAME}.{module}:{name}"), later(f"{_NAME}.{module}:{name}_arguments"), more)


def _run_part(name: str, summary: str, more: str = "") -> Command:
    return _part(name, summary, more, "run_command")


assistant = Assistant(
    name="guidance",
    title="Guidance",
    summary="Guides a project: its problem, its world and its runs, with every look on record.",
    instructions="You help people to plan a project.",
    configure=later(f"{_NAME}.session:configure"),
    toolsets=later(f"{_NAME}.session:toolsets"),
    policy=(
        ask("change_*", reason="This changes the project."),
        ask("create_*", reason="This adds to the project."),
        ask("start_run", reason="A run asks the model many times."),
    ),
    limits=Limits(rounds=10, calls=40),
    questions=("What constraints are in my ProblemSpec?", "Compare my constraints with my resources.", "What should I do next?"),
    commands=(
        Command(
            "guide",
            "plan a project with an architect beside you",
            parts=(
                _part("projects", "list your projects"),
                _part("new", "begin a project"),
                _part("show", "show a project: its state, problem spec, world model and changes"),
                _part("ask", "ask something about a project", "Changes are shown as a difference, and asked about."),
                _part("chat", "talk about a project", "The conversation is kept with it."),
                _run_part("run", "propose candidate solutions and score them", "With --detach it goes on in the background."),
                _run_part("runs", "list the runs of a project"),
                _run_part("resume", "go on with a run that failed or was interrupted, or start one of your own candidates"),
                _run_part("cancel", "stop a run"),
                _run_part("compare", "show the candidates of a run side by side"),
                _run_part("adr", "print the decision for a candidate, as an architecture decision record"),
                _run_part("candidate", "propose a candidate", "`treadle guide resume RUN` then scores it."),
                _run_part("issue", "say that something is wrong"),
                _run_part("issues", "list what is wrong"),
                _part("share", "let others see and change a project"),
                _part("unshare", "let others no longer see a project"),
                _part("delete", "delete a project with all that is in it"),
                _part("demo", "make the sample project", "It can be made any number of times."),
            ),
        ),
    ),
    work=later(f"{_NAME}.project_runs:work"),
    routes=later(f"{_NAME}.routes:routes"),
    panel=Panel("Guidance", Path(__file__).parent / "panel", only="It works on one of your projects, which its panel opens."),
    lead=later(f"{_NAME}.session:plan"),
    settings=GuidanceSettings,
    begin=later(f"{_NAME}.session:begin"),
    reply=later(f"{_NAME}.session:reply"),
    erase=later(f"{_NAME}.projects:erase"),
)
