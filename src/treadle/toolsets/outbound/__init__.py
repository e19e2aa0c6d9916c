"""HTTP for tools: only to named origins, only at checked addresses, bounded in time and size. What is sent is up to the tool."""

from treadle.toolsets.outbound.answer import Answer
from treadle.toolsets.outbound.client import Client

__all__ = ["Answer", "Client"]
