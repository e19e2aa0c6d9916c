"""Public names for authors of assistants and plug-ins: the definition, its session, jobs, commands and settings.

Each is loaded when it is first used. Agents without an assistant need none of them.
"""

from typing import TYPE_CHECKING

from treadle.lazy import lazy_exports

if TYPE_CHECKING:
    from treadle.agent.session import AssistantSession, SessionReply
    from treadle.agent.shared_resources import SharedResources
    from treadle.agent.talk import ApprovalChoice, AssistantChat, ChatExtension, SlashCommand, exit_code
    from treadle.core.diff_styles import style_diff
    from treadle.core.errors import ContextNotFound
    from treadle.core.messages import Quote
    from treadle.core.seams import Situation
    from treadle.core.wrapping import fit_columns, wrap_words
    from treadle.engine.setup import Caller
    from treadle.guard.rules import NO_RULE, Rule, RulePolicy
    from treadle.jobs.execution import JobContext, JobKind, JobResult, execute_job
    from treadle.jobs.store import Job, Jobs
    from treadle.plugins.assistant import Assistant, Command, Host, Panel, Terminal, lazy_import
    from treadle.plugins.assistants import assistant_agent, configured_agent, list_assistants
    from treadle.plugins.editor_session import EditorSession, SessionCommand, SessionCommandResult, SessionMode, SessionTask
    from treadle.plugins.item_sharing import ItemSharing
    from treadle.plugins.mcp_servers import mcp_toolsets
    from treadle.plugins.models import model_spec
    from treadle.plugins.prompts import TypedPrompt, expand_mentions, prompt_from_words, read_piped_text, read_typed_prompt
    from treadle.settings.loader import Settings, settings_for
    from treadle.stores.users import Share, SharedItem
    from treadle.stores.write_ahead import open_private_sqlite, purge_sqlite, write_ahead

_HOMES = {
    "NO_RULE": "treadle.guard.rules",
    "ApprovalChoice": "treadle.agent.talk",
    "Assistant": "treadle.plugins.assistant",
    "AssistantChat": "treadle.agent.talk",
    "AssistantSession": "treadle.agent.session",
    "Caller": "treadle.engine.setup",
    "ChatExtension": "treadle.agent.talk",
    "Command": "treadle.plugins.assistant",
    "ContextNotFound": "treadle.core.errors",
    "EditorSession": "treadle.plugins.editor_session",
    "Host": "treadle.plugins.assistant",
    "ItemSharing": "treadle.plugins.item_sharing",
    "Job": "treadle.jobs.store",
    "JobContext": "treadle.jobs.execution",
    "JobKind": "treadle.jobs.execution",
    "JobResult": "treadle.jobs.execution",
    "Jobs": "treadle.jobs.store",
    "Panel": "treadle.plugins.assistant",
    "Quote": "treadle.core.messages",
    "Rule": "treadle.guard.rules",
    "RulePolicy": "treadle.guard.rules",
    "SessionCommand": "treadle.plugins.editor_session",
    "SessionCommandResult": "treadle.plugins.editor_session",
    "SessionMode": "treadle.plugins.editor_session",
    "SessionReply": "treadle.agent.session",
    "SessionTask": "treadle.plugins.editor_session",
    "Settings": "treadle.settings.loader",
    "Share": "treadle.stores.users",
    "SharedItem": "treadle.stores.users",
    "SharedResources": "treadle.agent.shared_resources",
    "Situation": "treadle.core.seams",
    "SlashCommand": "treadle.agent.talk",
    "Terminal": "treadle.plugins.assistant",
    "TypedPrompt": "treadle.plugins.prompts",
    "assistant_agent": "treadle.plugins.assistants",
    "configured_agent": "treadle.plugins.assistants",
    "execute_job": "treadle.jobs.execution",
    "exit_code": "treadle.agent.talk",
    "expand_mentions": "treadle.plugins.prompts",
    "fit_columns": "treadle.core.wrapping",
    "lazy_import": "treadle.plugins.assistant",
    "list_assistants": "treadle.plugins.assistants",
    "mcp_toolsets": "treadle.plugins.mcp_servers",
    "model_spec": "treadle.plugins.models",
    "prompt_from_words": "treadle.plugins.prompts",
    "read_piped_text": "treadle.plugins.prompts",
    "read_typed_prompt": "treadle.plugins.prompts",
    "open_private_sqlite": "treadle.stores.write_ahead",
    "purge_sqlite": "treadle.stores.write_ahead",
    "settings_for": "treadle.settings.loader",
    "style_diff": "treadle.core.diff_styles",
    "wrap_words": "treadle.core.wrapping",
    "write_ahead": "treadle.stores.write_ahead",
}

__all__ = [
    "NO_RULE",
    "ApprovalChoice",
    "Assistant",
    "AssistantChat",
    "AssistantSession",
    "Caller",
    "ChatExtension",
    "Command",
    "ContextNotFound",
    "EditorSession",
    "Host",
    "ItemSharing",
    "Job",
    "JobContext",
    "JobKind",
    "JobResult",
    "Jobs",
    "Panel",
    "Quote",
    "Rule",
    "RulePolicy",
    "SessionCommand",
    "SessionCommandResult",
    "SessionMode",
    "SessionReply",
    "SessionTask",
    "Settings",
    "Share",
    "SharedItem",
    "SharedResources",
    "Situation",
    "SlashCommand",
    "Terminal",
    "TypedPrompt",
    "assistant_agent",
    "configured_agent",
    "execute_job",
    "exit_code",
    "expand_mentions",
    "fit_columns",
    "lazy_import",
    "list_assistants",
    "mcp_toolsets",
    "model_spec",
    "open_private_sqlite",
    "prompt_from_words",
    "purge_sqlite",
    "read_piped_text",
    "read_typed_prompt",
    "settings_for",
    "style_diff",
    "wrap_words",
    "write_ahead",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)
