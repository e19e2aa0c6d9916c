"""The guidance assistant: an architect beside your project, with every lookup recorded.

This module only declares the assistant; everything it needs is imported when it is used.
"""

from pathlib import Path

from treadle import Limits, ask
from treadle.assistant import Assistant, Command, Panel, lazy_import
from treadle.assistants.guidance.settings import GuidanceSettings

_NAME = "treadle.assistants.guidance"


_WITH_MODEL = ("ask", "chat", "run", "resume")  # the others ask neither a model nor a person


def _make_command(name: str, summary: str, more: str = "", module: str = "command") -> Command:
    run = f"{_NAME}.{module}:{name}"
    common = ("model", "approval") if name in _WITH_MODEL else ()
    return Command(name, summary, lazy_import(run), lazy_import(f"{run}_arguments"), more, common=common)


def _make_run_command(name: str, summary: str, more: str = "") -> Command:
    return _make_command(name, summary, more, "run_command")


assistant = Assistant(
    name="guidance",
    title="Guidance",
    summary="Helps you plan a project: goals, constraints and what-if runs.",
    instructions="You help people to plan a project.",
    configure=lazy_import(f"{_NAME}.session:configure"),
    toolsets=lazy_import(f"{_NAME}.session:toolsets"),
    policy=(
        ask("change_*", reason="This changes the project."),
        ask("create_*", reason="This adds to the project."),
        ask("start_run", reason="A run asks the model many times."),
    ),
    limits=Limits(rounds=10, calls=40),
    parts={"grounded": True},
    questions=("What constraints are in my ProblemSpec?", "Compare my constraints with my resources.", "What should I do next?"),
    commands=(
        Command(
            "guide",
            "plan a project with an architect",
            parts=(
                _make_command("projects", "list your projects"),
                _make_command("new", "create a project"),
                _make_command("show", "show a project: its state, problem spec, world model and changes"),
                _make_command("ask", "ask about a project", "Changes are shown as a diff and need approval."),
                _make_command("chat", "have a conversation about a project", "It is stored with the project."),
                _make_run_command("run", "propose candidate solutions and score them", "With --detach it runs in the background."),
                _make_run_command("runs", "list the runs of a project"),
                _make_run_command("resume", "resume a run that failed or was interrupted, or start one with your own candidates"),
                _make_run_command("cancel", "stop a run"),
                _make_run_command("compare", "show the candidates of a run side by side"),
                _make_run_command("adr", "print the decision for a candidate, as an architecture decision record"),
                _make_run_command("candidate", "propose a candidate", "`treadle guide resume RUN` then scores it."),
                _make_run_command("issue", "report an issue"),
                _make_run_command("issues", "list issues"),
                _make_command("share", "share a project with other users"),
                _make_command("unshare", "stop sharing a project"),
                _make_command("delete", "delete a project and everything in it"),
                _make_command("demo", "create the sample project", "It can be created any number of times."),
            ),
        ),
    ),
    work=lazy_import(f"{_NAME}.project_runs:work"),
    routes=lazy_import(f"{_NAME}.routes:routes"),
    panel=Panel(
        "Guidance",
        Path(__file__).parent / "panel",
        only="It works on one of your projects, which its panel opens.",
        conversation="run={run_id}",
        asks=True,
    ),
    lead=lazy_import(f"{_NAME}.session:plan"),
    settings=GuidanceSettings,
    begin=lazy_import(f"{_NAME}.session:begin"),
    reply=lazy_import(f"{_NAME}.session:reply"),
    erase=lazy_import(f"{_NAME}.projects:erase"),
)
