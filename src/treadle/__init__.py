"""Treadle: the tool-calling engine that keeps any language model working with any tools, safely and durably.

The names that a program with an agent needs; `treadle.events`, `treadle.models`, `treadle.toolsets`, `treadle.assistant` and the
other public modules have the rest. Each is loaded when it is first used, so that importing Treadle costs next to nothing.
"""

from typing import TYPE_CHECKING

from treadle._version import __version__
from treadle.lazy import lazy_exports

if TYPE_CHECKING:
    from treadle.agent.agent import Agent, Discovery, ResultOptions
    from treadle.agent.code_mode import CodeMode
    from treadle.core.calls import Allow, Ask, Call, Deny, Preview, Result
    from treadle.core.context import RunContext
    from treadle.core.errors import RunFailed, RunWaiting, ToolProblem, TreadleError
    from treadle.core.grants import Grant
    from treadle.core.media import Audio, Document, Image
    from treadle.core.messages import History, Message, Text
    from treadle.core.requests import Options, Usage
    from treadle.core.seams import Model, Toolset
    from treadle.core.tool import RetryPolicy, Tool, ToolResult
    from treadle.engine.result import CallRecord, RequestRecord, RunResult
    from treadle.engine.setup import Answer, Approval, Compaction
    from treadle.guard.policy import allow, ask, deny
    from treadle.home import Home, open_home
    from treadle.loop.limits import Limits
    from treadle.plugins.models import resolve_model
    from treadle.runs import Runs
    from treadle.stores.history import dump_history, load_history
    from treadle.stores.journal import RunInfo
    from treadle.tools.tool import tool
    from treadle.toolsets.functions import FunctionToolset

_HOMES = {
    "Agent": "treadle.agent.agent",
    "Allow": "treadle.core.calls",
    "Answer": "treadle.engine.setup",
    "Approval": "treadle.engine.setup",
    "Ask": "treadle.core.calls",
    "Audio": "treadle.core.media",
    "Call": "treadle.core.calls",
    "CallRecord": "treadle.engine.result",
    "CodeMode": "treadle.agent.code_mode",
    "Compaction": "treadle.engine.setup",
    "Deny": "treadle.core.calls",
    "Discovery": "treadle.agent.agent",
    "Document": "treadle.core.media",
    "FunctionToolset": "treadle.toolsets.functions",
    "Grant": "treadle.core.grants",
    "History": "treadle.core.messages",
    "Home": "treadle.home",
    "Image": "treadle.core.media",
    "Limits": "treadle.loop.limits",
    "Message": "treadle.core.messages",
    "Model": "treadle.core.seams",
    "Options": "treadle.core.requests",
    "Preview": "treadle.core.calls",
    "RequestRecord": "treadle.engine.result",
    "Result": "treadle.core.calls",
    "ResultOptions": "treadle.agent.agent",
    "RetryPolicy": "treadle.core.tool",
    "RunContext": "treadle.core.context",
    "RunFailed": "treadle.core.errors",
    "RunInfo": "treadle.stores.journal",
    "RunResult": "treadle.engine.result",
    "RunWaiting": "treadle.core.errors",
    "Runs": "treadle.runs",
    "Text": "treadle.core.messages",
    "Tool": "treadle.core.tool",
    "ToolProblem": "treadle.core.errors",
    "ToolResult": "treadle.core.tool",
    "Toolset": "treadle.core.seams",
    "TreadleError": "treadle.core.errors",
    "Usage": "treadle.core.requests",
    "allow": "treadle.guard.policy",
    "ask": "treadle.guard.policy",
    "deny": "treadle.guard.policy",
    "dump_history": "treadle.stores.history",
    "load_history": "treadle.stores.history",
    "open_home": "treadle.home",
    "resolve_model": "treadle.plugins.models",
    "tool": "treadle.tools.tool",
}

__all__ = [
    "Agent",
    "Allow",
    "Answer",
    "Approval",
    "Ask",
    "Audio",
    "Call",
    "CallRecord",
    "CodeMode",
    "Compaction",
    "Deny",
    "Discovery",
    "Document",
    "FunctionToolset",
    "Grant",
    "History",
    "Home",
    "Image",
    "Limits",
    "Message",
    "Model",
    "Options",
    "Preview",
    "RequestRecord",
    "Result",
    "ResultOptions",
    "RetryPolicy",
    "RunContext",
    "RunFailed",
    "RunInfo",
    "RunResult",
    "RunWaiting",
    "Runs",
    "Text",
    "Tool",
    "ToolProblem",
    "ToolResult",
    "Toolset",
    "TreadleError",
    "Usage",
    "__version__",
    "allow",
    "ask",
    "deny",
    "dump_history",
    "load_history",
    "open_home",
    "resolve_model",
    "tool",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)
