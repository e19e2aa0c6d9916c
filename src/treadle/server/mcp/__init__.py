"""Treadle's tools for other programs, over the Model Context Protocol: `serve_mcp` over stdio, `mcp_app` over HTTP.

What a client calls goes the way of every call: read, judged, journaled, audited. The SDK is imported with these modules alone.
"""
