"""Treadle: the tool-calling engine that keeps any language model working with any tools, safely and durably.

The public names; each is loaded when it is first used, so that importing Treadle costs next to nothing.
"""

from typing import TYPE_CHECKING

from treadle._version import __version__
from treadle.lazy import lazy_exports

if TYPE_CHECKING:
    from treadle.agent.agent import Agent, Discovery, ResultOptions
    from treadle.agent.session import AssistantSession, SessionReply
    from treadle.agent.shared_resources import SharedResources
    from treadle.agent.talk import AssistantChat, SlashCommand, exit_code
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
    from treadle.dialects.json_repair import extract_json
    from treadle.engine.result import CallRecord, RunResult
    from treadle.engine.setup import Answer, Approval, Caller
    from treadle.guard.policy import allow, ask, deny
    from treadle.home import Home, open_home
    from treadle.jobs.execution import JobContext, JobKind, JobResult, execute_job
    from treadle.jobs.store import Job, Jobs
    from treadle.loop.limits import Limits
    from treadle.models.calling.guided import FixedPlan, GuidedModel, Plan, PlanQuestion, PlanStep
    from treadle.models.calling.one_call import one_call
    from treadle.models.recorded import Recorded
    from treadle.models.scripted import Scripted
    from treadle.plugins.assistant import Assistant, Command, Host, Panel, Terminal, lazy_import, prompt_from_words
    from treadle.plugins.assistants import assistant_agent, configured_agent
    from treadle.plugins.mcp_servers import mcp_toolsets
    from treadle.plugins.models import model_spec, resolve_model
    from treadle.runs import Runs
    from treadle.settings.loader import Settings, settings_for
    from treadle.stores.journal import RunInfo
    from treadle.stores.write_ahead import purge_sqlite, write_ahead
    from treadle.tools.tool import tool
    from treadle.toolsets.functions import FunctionToolset
    from treadle.toolsets.wrappers import LazyToolset, only

_HOMES = {
    "Agent": "treadle.agent.agent",
    "Allow": "treadle.core.calls",
    "Answer": "treadle.engine.setup",
    "Approval": "treadle.engine.setup",
    "Ask": "treadle.core.calls",
    "Assistant": "treadle.plugins.assistant",
    "AssistantChat": "treadle.agent.talk",
    "AssistantSession": "treadle.agent.session",
    "Audio": "treadle.core.media",
    "BadPrompt": "treadle.core.errors",
    "Call": "treadle.core.calls",
    "CallDone": "treadle.core.requests",
    "CallRecord": "treadle.engine.result",
    "Caller": "treadle.engine.setup",
    "Command": "treadle.plugins.assistant",
    "ContextNotFound": "treadle.core.errors",
    "Delta": "treadle.core.requests",
    "Deny": "treadle.core.calls",
    "Discovery": "treadle.agent.agent",
    "Document": "treadle.core.media",
    "FixedPlan": "treadle.models.calling.guided",
    "FunctionToolset": "treadle.toolsets.functions",
    "GuidedModel": "treadle.models.calling.guided",
    "History": "treadle.core.messages",
    "Home": "treadle.home",
    "Host": "treadle.plugins.assistant",
    "Image": "treadle.core.media",
    "Job": "treadle.jobs.store",
    "JobContext": "treadle.jobs.execution",
    "JobKind": "treadle.jobs.execution",
    "JobResult": "treadle.jobs.execution",
    "Jobs": "treadle.jobs.store",
    "LazyToolset": "treadle.toolsets.wrappers",
    "Limits": "treadle.loop.limits",
    "Message": "treadle.core.messages",
    "Model": "treadle.core.seams",
    "ModelError": "treadle.core.errors",
    "Options": "treadle.core.requests",
    "OutputArrived": "treadle.core.events",
    "Panel": "treadle.plugins.assistant",
    "Plan": "treadle.models.calling.guided",
    "PlanQuestion": "treadle.models.calling.guided",
    "PlanStep": "treadle.models.calling.guided",
    "Preview": "treadle.core.calls",
    "Recorded": "treadle.models.recorded",
    "ReplyEnded": "treadle.core.requests",
    "Request": "treadle.core.requests",
    "Result": "treadle.core.calls",
    "ResultOptions": "treadle.agent.agent",
    "RunContext": "treadle.core.context",
    "RunFailed": "treadle.core.errors",
    "RunInfo": "treadle.stores.journal",
    "RunNotFound": "treadle.core.errors",
    "RunResult": "treadle.engine.result",
    "Runs": "treadle.runs",
    "Scripted": "treadle.models.scripted",
    "SessionReply": "treadle.agent.session",
    "Settings": "treadle.settings.loader",
    "SettingsError": "treadle.core.errors",
    "SharedResources": "treadle.agent.shared_resources",
    "SlashCommand": "treadle.agent.talk",
    "Terminal": "treadle.plugins.assistant",
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
    "allow": "treadle.guard.policy",
    "ask": "treadle.guard.policy",
    "assistant_agent": "treadle.plugins.assistants",
    "configured_agent": "treadle.plugins.assistants",
    "deny": "treadle.guard.policy",
    "execute_job": "treadle.jobs.execution",
    "exit_code": "treadle.agent.talk",
    "extract_json": "treadle.dialects.json_repair",
    "lazy_import": "treadle.plugins.assistant",
    "mcp_toolsets": "treadle.plugins.mcp_servers",
    "model_spec": "treadle.plugins.models",
    "one_call": "treadle.models.calling.one_call",
    "only": "treadle.toolsets.wrappers",
    "open_home": "treadle.home",
    "prompt_from_words": "treadle.plugins.assistant",
    "purge_sqlite": "treadle.stores.write_ahead",
    "resolve_model": "treadle.plugins.models",
    "settings_for": "treadle.settings.loader",
    "tool": "treadle.tools.tool",
    "write_ahead": "treadle.stores.write_ahead",
}

__all__ = [
    "Agent",
    "Allow",
    "Answer",
    "Approval",
    "Ask",
    "Assistant",
    "AssistantChat",
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
    "Discovery",
    "Document",
    "FixedPlan",
    "FunctionToolset",
    "GuidedModel",
    "History",
    "Home",
    "Host",
    "Image",
    "Job",
    "JobContext",
    "JobKind",
    "JobResult",
    "Jobs",
    "LazyToolset",
    "Limits",
    "Message",
    "Model",
    "ModelError",
    "Options",
    "OutputArrived",
    "Panel",
    "Plan",
    "PlanQuestion",
    "PlanStep",
    "Preview",
    "Recorded",
    "ReplyEnded",
    "Request",
    "Result",
    "ResultOptions",
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
    "SlashCommand",
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
    "__version__",
    "allow",
    "ask",
    "assistant_agent",
    "configured_agent",
    "deny",
    "execute_job",
    "exit_code",
    "extract_json",
    "lazy_import",
    "mcp_toolsets",
    "model_spec",
    "one_call",
    "only",
    "open_home",
    "prompt_from_words",
    "purge_sqlite",
    "resolve_model",
    "settings_for",
    "tool",
    "write_ahead",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)
