"""Treadle: the tool-calling engine that keeps any language model working with any tools, safely and durably.

The public names; each is loaded when it is first used, so that importing Treadle costs next to nothing.
"""

from typing import TYPE_CHECKING, Any

from treadle._version import __version__

if TYPE_CHECKING:
    from treadle.app.agent import Agent, Discovery, Results
    from treadle.app.assistant import Assistant, Command, Host, Panel, Terminal, later, typed
    from treadle.app.assistants import agent_of, settled_agent
    from treadle.app.home import Home, open_home
    from treadle.app.jobs import Job, Jobs
    from treadle.app.mcp_servers import mcp_toolsets
    from treadle.app.models import model_of, spec_of
    from treadle.app.runs import Runs
    from treadle.app.session import AssistantSession, SessionReply
    from treadle.app.settings import Settings, settings_of
    from treadle.app.shared import SharedResources
    from treadle.app.talk import Slash, Talk, exit_code
    from treadle.app.work import Desk, Done, Work, carry_out
    from treadle.core.calls import Allow, Ask, Call, Deny, Preview, Result
    from treadle.core.context import RunContext
    from treadle.core.errors import (
        BadPrompt,
        ContextNotFound,
        ModelError,
        RunFailed,
        RunNotFound,
        SettingsError,
        ToolProblem,
        TreadleError,
        UnknownModel,
    )
    from treadle.core.events import OutputArrived, TextArrived
    from treadle.core.media import Audio, Document, Image
    from treadle.core.messages import History, Message, Text
    from treadle.core.requests import CallDone, Delta, Options, ReplyEnded, Request, TextDelta, Traits, Usage
    from treadle.core.seams import Model, Toolset
    from treadle.core.tool import Tool, ToolResult
    from treadle.dialects.mend import json_in
    from treadle.engine.result import CallRecord, RunResult
    from treadle.engine.setup import Answer, Approval, Caller
    from treadle.guard.policy import allow, ask, deny
    from treadle.loop.limits import Limits
    from treadle.models.led import Led, Move, Plan, Program, Question
    from treadle.models.one_call import one_call
    from treadle.models.recorded import Recorded
    from treadle.models.scripted import Scripted
    from treadle.stores.journal import RunInfo
    from treadle.stores.write_ahead import purge_sqlite, write_ahead
    from treadle.tools.tool import tool
    from treadle.toolsets.python import Functions
    from treadle.toolsets.wrap import LateTools, only

_HOMES = {
    "Agent": "app.agent",
    "Allow": "core.calls",
    "Answer": "engine.setup",
    "Approval": "engine.setup",
    "Ask": "core.calls",
    "Assistant": "app.assistant",
    "AssistantSession": "app.session",
    "Audio": "core.media",
    "BadPrompt": "core.errors",
    "Call": "core.calls",
    "CallDone": "core.requests",
    "CallRecord": "engine.result",
    "Caller": "engine.setup",
    "Command": "app.assistant",
    "ContextNotFound": "core.errors",
    "Delta": "core.requests",
    "Deny": "core.calls",
    "Desk": "app.work",
    "Discovery": "app.agent",
    "Document": "core.media",
    "Done": "app.work",
    "Functions": "toolsets.python",
    "History": "core.messages",
    "Home": "app.home",
    "Host": "app.assistant",
    "Image": "core.media",
    "Job": "app.jobs",
    "Jobs": "app.jobs",
    "LateTools": "toolsets.wrap",
    "Led": "models.led",
    "Limits": "loop.limits",
    "Message": "core.messages",
    "Model": "core.seams",
    "ModelError": "core.errors",
    "Move": "models.led",
    "Options": "core.requests",
    "OutputArrived": "core.events",
    "Panel": "app.assistant",
    "Plan": "models.led",
    "Preview": "core.calls",
    "Program": "models.led",
    "Question": "models.led",
    "Recorded": "models.recorded",
    "ReplyEnded": "core.requests",
    "Request": "core.requests",
    "Result": "core.calls",
    "Results": "app.agent",
    "RunContext": "core.context",
    "RunFailed": "core.errors",
    "RunInfo": "stores.journal",
    "RunNotFound": "core.errors",
    "RunResult": "engine.result",
    "Runs": "app.runs",
    "Scripted": "models.scripted",
    "SessionReply": "app.session",
    "Settings": "app.settings",
    "SettingsError": "core.errors",
    "SharedResources": "app.shared",
    "Slash": "app.talk",
    "Talk": "app.talk",
    "Terminal": "app.assistant",
    "Text": "core.messages",
    "TextArrived": "core.events",
    "TextDelta": "core.requests",
    "Tool": "core.tool",
    "ToolProblem": "core.errors",
    "ToolResult": "core.tool",
    "Toolset": "core.seams",
    "Traits": "core.requests",
    "TreadleError": "core.errors",
    "UnknownModel": "core.errors",
    "Usage": "core.requests",
    "Work": "app.work",
    "agent_of": "app.assistants",
    "allow": "guard.policy",
    "ask": "guard.policy",
    "carry_out": "app.work",
    "deny": "guard.policy",
    "exit_code": "app.talk",
    "json_in": "dialects.mend",
    "later": "app.assistant",
    "mcp_toolsets": "app.mcp_servers",
    "model_of": "app.models",
    "one_call": "models.one_call",
    "only": "toolsets.wrap",
    "open_home": "app.home",
    "settings_of": "app.settings",
    "settled_agent": "app.assistants",
    "spec_of": "app.models",
    "tool": "tools.tool",
    "typed": "app.assistant",
    "purge_sqlite": "stores.write_ahead",
    "write_ahead": "stores.write_ahead",
}

__all__ = [
    "Agent",
    "Allow",
    "Answer",
    "Approval",
    "Ask",
    "Assistant",
    "AssistantSession",
    "Audio",
    "BadPrompt",
    "Call",
    "CallDone",
    "CallRecord",
    "Caller",
    "Command",
    "ContextNotFound",
    "Delta",
    "Deny",
    "Desk",
    "Discovery",
    "Document",
    "Done",
    "Functions",
    "History",
    "Home",
    "Host",
    "Image",
    "Job",
    "Jobs",
    "LateTools",
    "Led",
    "Limits",
    "Message",
    "Model",
    "ModelError",
    "Move",
    "Options",
    "OutputArrived",
    "Panel",
    "Plan",
    "Preview",
    "Program",
    "Question",
    "Recorded",
    "ReplyEnded",
    "Request",
    "Result",
    "Results",
    "RunContext",
    "RunFailed",
    "RunInfo",
    "RunNotFound",
    "RunResult",
    "Runs",
    "Scripted",
    "SessionReply",
    "Settings",
    "SettingsError",
    "SharedResources",
    "Slash",
    "Talk",
    "Terminal",
    "Text",
    "TextArrived",
    "TextDelta",
    "Tool",
    "ToolProblem",
    "ToolResult",
    "Toolset",
    "Traits",
    "TreadleError",
    "UnknownModel",
    "Usage",
    "Work",
    "__version__",
    "agent_of",
    "allow",
    "ask",
    "carry_out",
    "deny",
    "exit_code",
    "json_in",
    "later",
    "mcp_toolsets",
    "model_of",
    "one_call",
    "only",
    "open_home",
    "purge_sqlite",
    "settings_of",
    "settled_agent",
    "spec_of",
    "tool",
    "typed",
    "write_ahead",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'treadle' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"treadle.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
