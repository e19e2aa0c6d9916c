"""The Model Context Protocol's own conformance suite, run on Treadle's MCP server and on its MCP client.

`make conformance`, or `python -m bench.conformance`; its result is in `bench/results/mcp-conformance.md`.
"""
