"""HTTP for tools: only to named origins, only at checked addresses, bounded in time and size. What is sent is up to the tool."""

from treadle.http_guard.client import Client, GuardedResponse

__all__ = ["Client", "GuardedResponse"]
