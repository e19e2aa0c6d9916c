"""Models: provider APIs, local models, tool calling without native support, and the scripted and recorded models for tests.

Public names: requests and deltas, for models of your own; the classes of the built-in models. Each is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from treadle.lazy import lazy_exports

if TYPE_CHECKING:
    from treadle.core.requests import (
        CallDelta,
        CallDone,
        Delta,
        Notice,
        Progress,
        ReplyEnded,
        Request,
        TextDelta,
        ThinkingDelta,
        ToolSpec,
        Traits,
    )
    from treadle.models.downloads.catalogue import LOCAL_MODELS, LocalModel, find_local_model
    from treadle.models.downloads.pull import pull_model
    from treadle.models.downloads.storage import find_model_file
    from treadle.models.fallback import FallbackModel
    from treadle.models.llamacpp.model import LlamaCpp
    from treadle.models.programs.command import CommandModel
    from treadle.models.wires.anthropic import Anthropic
    from treadle.models.wires.bedrock import Bedrock
    from treadle.models.wires.google import Google
    from treadle.models.wires.ollama import Ollama
    from treadle.models.wires.openai import OpenAI
    from treadle.models.wires.responses import Responses

_HOMES = {
    "Anthropic": "treadle.models.wires.anthropic",
    "Bedrock": "treadle.models.wires.bedrock",
    "CallDelta": "treadle.core.requests",
    "CallDone": "treadle.core.requests",
    "CommandModel": "treadle.models.programs.command",
    "Delta": "treadle.core.requests",
    "FallbackModel": "treadle.models.fallback",
    "Google": "treadle.models.wires.google",
    "LOCAL_MODELS": "treadle.models.downloads.catalogue",
    "LlamaCpp": "treadle.models.llamacpp.model",
    "LocalModel": "treadle.models.downloads.catalogue",
    "Notice": "treadle.core.requests",
    "Ollama": "treadle.models.wires.ollama",
    "OpenAI": "treadle.models.wires.openai",
    "Progress": "treadle.core.requests",
    "ReplyEnded": "treadle.core.requests",
    "Request": "treadle.core.requests",
    "Responses": "treadle.models.wires.responses",
    "TextDelta": "treadle.core.requests",
    "ThinkingDelta": "treadle.core.requests",
    "ToolSpec": "treadle.core.requests",
    "Traits": "treadle.core.requests",
    "find_local_model": "treadle.models.downloads.catalogue",
    "find_model_file": "treadle.models.downloads.storage",
    "pull_model": "treadle.models.downloads.pull",
}

__all__ = [
    "LOCAL_MODELS",
    "Anthropic",
    "Bedrock",
    "CallDelta",
    "CallDone",
    "CommandModel",
    "Delta",
    "FallbackModel",
    "Google",
    "LlamaCpp",
    "LocalModel",
    "Notice",
    "Ollama",
    "OpenAI",
    "Progress",
    "ReplyEnded",
    "Request",
    "Responses",
    "TextDelta",
    "ThinkingDelta",
    "ToolSpec",
    "Traits",
    "find_local_model",
    "find_model_file",
    "pull_model",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)
