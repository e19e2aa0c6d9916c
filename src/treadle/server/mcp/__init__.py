"""Treadle's tools for other programs, over the Model Context Protocol: `serve_mcp` over stdio, `mcp_app` over HTTP.

A client's call is processed like every call: parsed, judged, journaled, audited. The SDK is imported only by these
modules.
"""
