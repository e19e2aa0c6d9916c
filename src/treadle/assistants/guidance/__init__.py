"""The guidance assistant: an architect beside your project, with every lookup recorded.

This module only declares the assistant; everything it needs is imported when it is used.
"""

from pathlib import Path

from treadle import Assistant, Command, Limits, Panel, ask, lazy_import
from treadle.assistants.guidance.settings import GuidanceSettings

_NAME = "treadle.assistants.guidance"


def _make_command(name: str, summary: str, more: str = "", module: str = "command") -> Command:
    return Command(name, summary, lazy_import(f"{_NAME}.{module}:{name}"), lazy_import(f"{_NAME}.{module}:{name}_arguments"), more)


def _make_run_command(name: str, summary: str, more: str = "") -> Command:
    return _make_command(name, summary, more, "run_command")


assistant = Assistant(
    name="guidance",
    title="Guidance",
    summary="Guides a project: its problem, its world and its runs, with every look on record.",
    instructions="You help people to plan a project.",
    configure=lazy_import(f"{_NAME}.session:configure"),
    toolsets=lazy_import(f"{_NAME}.session:toolsets"),
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
                _make_command("projects", "list your projects"),
                _make_command("new", "begin a project"),
                _make_command("show", "show a project: its state, problem spec, world model and changes"),
                _make_command("ask", "ask something about a project", "Changes are shown as a difference, and asked about."),
                _make_command("chat", "talk about a project", "The conversation is kept with it."),
                _make_run_command(
                    "run", "propose candidate solutions and score them", "With --detach it goes on in the background."
                ),
                _make_run_command("runs", "list the runs of a project"),
                _make_run_command("resume", "go on with a run that failed or was interrupted, or start one of your own candidates"),
                _make_run_command("cancel", "stop a run"),
                _make_run_command("compare", "show the candidates of a run side by side"),
                _make_run_command("adr", "print the decision for a candidate, as an architecture decision record"),
                _make_run_command("candidate", "propose a candidate", "`treadle guide resume RUN` then scores it."),
                _make_run_command("issue", "say that something is wrong"),
                _make_run_command("issues", "list what is wrong"),
                _make_command("share", "let others see and change a project"),
                _make_command("unshare", "let others no longer see a project"),
                _make_command("delete", "delete a project with all that is in it"),
                _make_command("demo", "make the sample project", "It can be made any number of times."),
            ),
        ),
    ),
    work=lazy_import(f"{_NAME}.project_runs:work"),
    routes=lazy_import(f"{_NAME}.routes:routes"),
    panel=Panel("Guidance", Path(__file__).parent / "panel", only="It works on one of your projects, which its panel opens."),
    lead=lazy_import(f"{_NAME}.session:plan"),
    settings=GuidanceSettings,
    begin=lazy_import(f"{_NAME}.session:begin"),
    reply=lazy_import(f"{_NAME}.session:reply"),
    erase=lazy_import(f"{_NAME}.projects:erase"),
)
