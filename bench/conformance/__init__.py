"""The Model Context Protocol's own conformance suite, run on Treadle's MCP server and on its MCP client.

`make conformance`, or `python -m bench.conformance`; what came of it is in `bench/results/mcp-conformance.md`.
"""
