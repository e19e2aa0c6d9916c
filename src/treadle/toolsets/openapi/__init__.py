"""Tools from OpenAPI documents: `openapi_tools("openapi.yaml")` is a toolset with a tool for each operation."""

from treadle.toolsets.openapi.toolset import OpenApiTools, openapi_tools

__all__ = ["OpenApiTools", "openapi_tools"]
