"""What a call of an MCP tool brought, as text for a model: text as it is, data as JSON, everything else named but not shown."""

from typing import Any

import msgspec
from mcp.types import AudioContent, CallToolResult, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents

from treadle.tools.text import to_text
from treadle.tools.values import as_object

LONGEST = 2_000_000  # characters of one result; the engine shows less, and keeps the whole
LONGEST_PROGRESS = 300

Block = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource


def text_of(result: CallToolResult) -> str:
    """All that came back."""
    blocks = [_shown(block) for block in result.content]
    data = result.structured_content
    if data is not None and not any(_says_the_same(text, data) for text in blocks):
        blocks.append(to_text(data))
    return shortened("\n\n".join([text for text in blocks if text]), LONGEST)


def _shown(block: Block) -> str:
    match block:
        case TextContent():
            return block.text
        case ImageContent():
            return _named("image", block.mime_type, block.data)
        case AudioContent():
            return _named("audio", block.mime_type, block.data)
        case ResourceLink():
            return f"[a link to {block.name}: {block.uri}]"
        case EmbeddedResource():
            inside = block.resource
            if isinstance(inside, TextResourceContents):
                return f"[{inside.uri}]\n{inside.text}"
            return _named(str(inside.uri), inside.mime_type or "", inside.blob)


def _named(what: str, kind: str, base64: str) -> str:
    return f"[{what}{f' ({kind})' if kind else ''}, about {len(base64) * 3 // 4} bytes, not shown]"


def _says_the_same(text: str, data: Any) -> bool:
    """Whether a text is the data in other words: most servers send both, some as the value of a single field."""
    fields = as_object(data) or {}
    values = [data, *([fields["result"]] if list(fields) == ["result"] else [])]
    if text in [to_text(value) for value in values]:
        return True
    try:
        return msgspec.json.decode(text) in values
    except msgspec.DecodeError:
        return False


def shortened(text: str, longest: int) -> str:
    """Head and tail of a text that is too long, and how much is missing."""
    if len(text) <= longest:
        return text
    head, tail = longest * 2 // 3, longest // 3
    return f"{text[:head]}\n[… {len(text) - head - tail} of {len(text)} characters left out]\n{text[-tail:]}"


def progress_text(done: float, total: float | None, message: str | None) -> str:
    """How far a call has come, in a line."""
    words = " ".join((message or "").split())[:LONGEST_PROGRESS]
    share = f"{done:g} of {total:g}" if total else ""
    return f"{share}: {words}" if share and words else share or words or f"{done:g}"
