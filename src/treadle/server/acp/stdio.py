"""The process's stdin and stdout as the transport to an editor: one JSON-RPC message on each line."""

from collections.abc import AsyncGenerator
from typing import Any, cast

import msgspec

from treadle.server.stdio_lines import StdioLines, claim_stdio_lines

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
INVALID = "Invalid Request: a line is a request, a notification or a response of JSON-RPC 2.0."


class AcpTransport:
    """Messages of one client, for the SDK's connection. An invalid line is answered here: the SDK would drop it."""

    def __init__(self, lines: StdioLines) -> None:
        self._lines = lines
        self._reading: AsyncGenerator[bytes] = lines.read()

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message. Raises `ConnectionError` where the client doesn't read any more."""
        try:
            await self._lines.write(msgspec.json.encode(message))
        except OSError as error:
            raise ConnectionError("The client has disconnected.") from error

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None at the end."""
        async for line in self._reading:
            try:
                said = msgspec.json.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                await self._refuse(None, PARSE_ERROR, f"Parse error: {error}")
                continue
            if isinstance(said, dict) and _is_message(cast("dict[str, Any]", said)):
                return cast("dict[str, Any]", said)
            await self._refuse(said, INVALID_REQUEST, INVALID)
        return None

    async def close(self) -> None:
        """Read no more."""

    async def _refuse(self, said: Any, code: int, words: str) -> None:
        number = cast("dict[str, Any]", said).get("id") if isinstance(said, dict) else None
        known = number if isinstance(number, int | str) and not isinstance(number, bool) else None
        await self.send({"jsonrpc": "2.0", "id": known, "error": {"code": code, "message": words}})


def _is_message(said: dict[str, Any]) -> bool:
    number = said.get("id")
    if "id" in said and (isinstance(number, bool) or not isinstance(number, int | str | None)):
        return False
    return isinstance(said["method"], str) if "method" in said else "id" in said and ("result" in said or "error" in said)


def claim_acp_stdio() -> AcpTransport:
    """Claim stdin and stdout for the transport: other output goes to stderr, and other readers find an end of file."""
    return AcpTransport(claim_stdio_lines())
