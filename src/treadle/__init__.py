"""Treadle: the tool-calling engine that keeps any language model working with any tools, safely and durably.

The public names; each is loaded when it is first used, so that importing Treadle costs next to nothing.
"""

from typing import TYPE_CHECKING, Any

from treadle._version import __version__

if TYPE_CHECKING:
    from treadle.app.agent import Agent, Discovery, Results
    from treadle.app.assistant import Assistant, Command, Host, Panel, Terminal
    from treadle.app.assistants import agent_of
    from treadle.app.home import Home, open_home
    from treadle.app.models import model_of
    from treadle.core.calls import Allow, Ask, Call, Deny, Result
    from treadle.core.context import RunContext
    from treadle.core.errors import ModelError, RunFailed, SettingsError, ToolProblem, TreadleError, UnknownModel
    from treadle.core.messages import History, Message
    from treadle.core.requests import Options, Request, Usage
    from treadle.core.seams import Model, Toolset
    from treadle.core.tool import Tool
    from treadle.dialects.mend import json_in
    from treadle.engine.result import CallRecord, RunResult
    from treadle.engine.setup import Answer, Approval
    from treadle.guard.policy import allow, ask, deny
    from treadle.loop.limits import Limits
    from treadle.models.recorded import Recorded
    from treadle.models.scripted import Scripted
    from treadle.tools.tool import tool
    from treadle.toolsets.python import Functions

_HOMES = {
    "Agent": "app.agent",
    "Allow": "core.calls",
    "Answer": "engine.setup",
    "Approval": "engine.setup",
    "Ask": "core.calls",
    "Assistant": "app.assistant",
    "Call": "core.calls",
    "CallRecord": "engine.result",
    "Command": "app.assistant",
    "Deny": "core.calls",
    "Discovery": "app.agent",
    "Functions": "toolsets.python",
    "History": "core.messages",
    "Home": "app.home",
    "Host": "app.assistant",
    "Limits": "loop.limits",
    "Message": "core.messages",
    "Model": "core.seams",
    "ModelError": "core.errors",
    "Options": "core.requests",
    "Panel": "app.assistant",
    "Recorded": "models.recorded",
    "Request": "core.requests",
    "Result": "core.calls",
    "Results": "app.agent",
    "RunContext": "core.context",
    "RunFailed": "core.errors",
    "RunResult": "engine.result",
    "Scripted": "models.scripted",
    "SettingsError": "core.errors",
    "Terminal": "app.assistant",
    "Tool": "core.tool",
    "ToolProblem": "core.errors",
    "Toolset": "core.seams",
    "TreadleError": "core.errors",
    "UnknownModel": "core.errors",
    "Usage": "core.requests",
    "agent_of": "app.assistants",
    "allow": "guard.policy",
    "ask": "guard.policy",
    "deny": "guard.policy",
    "json_in": "dialects.mend",
    "model_of": "app.models",
    "open_home": "app.home",
    "tool": "tools.tool",
}

__all__ = [
    "Agent",
    "Allow",
    "Answer",
    "Approval",
    "Ask",
    "Assistant",
    "Call",
    "CallRecord",
    "Command",
    "Deny",
    "Discovery",
    "Functions",
    "History",
    "Home",
    "Host",
    "Limits",
    "Message",
    "Model",
    "ModelError",
    "Options",
    "Panel",
    "Recorded",
    "Request",
    "Result",
    "Results",
    "RunContext",
    "RunFailed",
    "RunResult",
    "Scripted",
    "SettingsError",
    "Terminal",
    "Tool",
    "ToolProblem",
    "Toolset",
    "TreadleError",
    "UnknownModel",
    "Usage",
    "__version__",
    "agent_of",
    "allow",
    "ask",
    "deny",
    "json_in",
    "model_of",
    "open_home",
    "tool",
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
