"""Toolsets, and the wrappers that add behaviour to them.

Public names: toolsets of functions, MCP servers and OpenAPI documents, and the wrappers. Each is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from treadle.lazy import lazy_exports

if TYPE_CHECKING:
    from treadle.core.messages import ContextItem
    from treadle.toolsets.dynamic import DynamicToolset, prepared
    from treadle.toolsets.functions import FunctionToolset
    from treadle.toolsets.mcp import AdvertisedTool, ApprovalStore, DescriptionChange, McpServer, McpTools, mcp_tools
    from treadle.toolsets.memory import Memory
    from treadle.toolsets.openapi.toolset import OpenApiTools, openapi_tools
    from treadle.toolsets.project_guide import ProjectGuide
    from treadle.toolsets.reminders import reminder_toolset
    from treadle.toolsets.skills import Skills
    from treadle.toolsets.wrappers import (
        CombinedToolset,
        LazyToolset,
        MappedToolset,
        WrapperToolset,
        only,
        prefixed,
        renamed,
        untrusted,
        with_cache,
        with_retries,
    )

_HOMES = {
    "AdvertisedTool": "treadle.toolsets.mcp",
    "ApprovalStore": "treadle.toolsets.mcp",
    "CombinedToolset": "treadle.toolsets.wrappers",
    "ContextItem": "treadle.core.messages",
    "DescriptionChange": "treadle.toolsets.mcp",
    "DynamicToolset": "treadle.toolsets.dynamic",
    "FunctionToolset": "treadle.toolsets.functions",
    "LazyToolset": "treadle.toolsets.wrappers",
    "MappedToolset": "treadle.toolsets.wrappers",
    "McpServer": "treadle.toolsets.mcp",
    "McpTools": "treadle.toolsets.mcp",
    "Memory": "treadle.toolsets.memory",
    "OpenApiTools": "treadle.toolsets.openapi.toolset",
    "ProjectGuide": "treadle.toolsets.project_guide",
    "Skills": "treadle.toolsets.skills",
    "WrapperToolset": "treadle.toolsets.wrappers",
    "mcp_tools": "treadle.toolsets.mcp",
    "only": "treadle.toolsets.wrappers",
    "openapi_tools": "treadle.toolsets.openapi.toolset",
    "prefixed": "treadle.toolsets.wrappers",
    "prepared": "treadle.toolsets.dynamic",
    "reminder_toolset": "treadle.toolsets.reminders",
    "renamed": "treadle.toolsets.wrappers",
    "untrusted": "treadle.toolsets.wrappers",
    "with_cache": "treadle.toolsets.wrappers",
    "with_retries": "treadle.toolsets.wrappers",
}

__all__ = [
    "AdvertisedTool",
    "ApprovalStore",
    "CombinedToolset",
    "ContextItem",
    "DescriptionChange",
    "DynamicToolset",
    "FunctionToolset",
    "LazyToolset",
    "MappedToolset",
    "McpServer",
    "McpTools",
    "Memory",
    "OpenApiTools",
    "ProjectGuide",
    "Skills",
    "WrapperToolset",
    "mcp_tools",
    "only",
    "openapi_tools",
    "prefixed",
    "prepared",
    "reminder_toolset",
    "renamed",
    "untrusted",
    "with_cache",
    "with_retries",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)
