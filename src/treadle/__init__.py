"""Treadle: the tool-calling engine that keeps any language model working with any tools, safely and durably.

The public names; each is loaded when it is first used, so that importing Treadle costs next to nothing.
"""

from typing import TYPE_CHECKING

from treadle._version import __version__
from treadle.lazy import lazy_exports

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
    "Agent": "treadle.app.agent",
    "Allow": "treadle.core.calls",
    "Answer": "treadle.engine.setup",
    "Approval": "treadle.engine.setup",
    "Ask": "treadle.core.calls",
    "Assistant": "treadle.app.assistant",
    "AssistantSession": "treadle.app.session",
    "Audio": "treadle.core.media",
    "BadPrompt": "treadle.core.errors",
    "Call": "treadle.core.calls",
    "CallDone": "treadle.core.requests",
    "CallRecord": "treadle.engine.result",
    "Caller": "treadle.engine.setup",
    "Command": "treadle.app.assistant",
    "ContextNotFound": "treadle.core.errors",
    "Delta": "treadle.core.requests",
    "Deny": "treadle.core.calls",
    "Desk": "treadle.app.work",
    "Discovery": "treadle.app.agent",
    "Document": "treadle.core.media",
    "Done": "treadle.app.work",
    "Functions": "treadle.toolsets.python",
    "History": "treadle.core.messages",
    "Home": "treadle.app.home",
    "Host": "treadle.app.assistant",
    "Image": "treadle.core.media",
    "Job": "treadle.app.jobs",
    "Jobs": "treadle.app.jobs",
    "LateTools": "treadle.toolsets.wrap",
    "Led": "treadle.models.led",
    "Limits": "treadle.loop.limits",
    "Message": "treadle.core.messages",
    "Model": "treadle.core.seams",
    "ModelError": "treadle.core.errors",
    "Move": "treadle.models.led",
    "Options": "treadle.core.requests",
    "OutputArrived": "treadle.core.events",
    "Panel": "treadle.app.assistant",
    "Plan": "treadle.models.led",
    "Preview": "treadle.core.calls",
    "Program": "treadle.models.led",
    "Question": "treadle.models.led",
    "Recorded": "treadle.models.recorded",
    "ReplyEnded": "treadle.core.requests",
    "Request": "treadle.core.requests",
    "Result": "treadle.core.calls",
    "Results": "treadle.app.agent",
    "RunContext": "treadle.core.context",
    "RunFailed": "treadle.core.errors",
    "RunInfo": "treadle.stores.journal",
    "RunNotFound": "treadle.core.errors",
    "RunResult": "treadle.engine.result",
    "Runs": "treadle.app.runs",
    "Scripted": "treadle.models.scripted",
    "SessionReply": "treadle.app.session",
    "Settings": "treadle.app.settings",
    "SettingsError": "treadle.core.errors",
    "SharedResources": "treadle.app.shared",
    "Slash": "treadle.app.talk",
    "Talk": "treadle.app.talk",
    "Terminal": "treadle.app.assistant",
    "Text": "treadle.core.messages",
    "TextArrived": "treadle.core.events",
    "TextDelta": "treadle.core.requests",
    "Tool": "treadle.core.tool",
    "ToolProblem": "treadle.core.errors",
    "ToolResult": "treadle.core.tool",
    "Toolset": "treadle.core.seams",
    "Traits": "treadle.core.requests",
    "TreadleError": "treadle.core.errors",
    "UnknownModel": "treadle.core.errors",
    "Usage": "treadle.core.requests",
    "Work": "treadle.app.work",
    "agent_of": "treadle.app.assistants",
    "allow": "treadle.guard.policy",
    "ask": "treadle.guard.policy",
    "carry_out": "treadle.app.work",
    "deny": "treadle.guard.policy",
    "exit_code": "treadle.app.talk",
    "json_in": "treadle.dialects.mend",
    "later": "treadle.app.assistant",
    "mcp_toolsets": "treadle.app.mcp_servers",
    "model_of": "treadle.app.models",
    "one_call": "treadle.models.one_call",
    "only": "treadle.toolsets.wrap",
    "open_home": "treadle.app.home",
    "settings_of": "treadle.app.settings",
    "settled_agent": "treadle.app.assistants",
    "spec_of": "treadle.app.models",
    "tool": "treadle.tools.tool",
    "typed": "treadle.app.assistant",
    "purge_sqlite": "treadle.stores.write_ahead",
    "write_ahead": "treadle.stores.write_ahead",
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

__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)
