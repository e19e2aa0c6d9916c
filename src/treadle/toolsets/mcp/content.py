"""Content of an MCP tool result for a model: text as it is, data as JSON, media as attachments, the rest as labels."""

from typing import Any

import msgspec
from mcp.types import AudioContent, CallToolResult, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents

from treadle.core.errors import BadMedia
from treadle.core.media import Attachment, attachment_from_base64
from treadle.core.tool import ToolResult
from treadle.tools.text import to_text, try_parse_json
from treadle.tools.values import as_object

MAX_TEXT = 2_000_000  # characters of one result; the engine shows less, and keeps the whole
MAX_PROGRESS = 300

ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource


def to_tool_result(result: CallToolResult) -> ToolResult:
    """Return the whole result: a text, or texts and media in order; and the structured content as data."""
    blocks = _read_blocks(result)
    if any(isinstance(block, Attachment) for block in blocks):
        shown = [shorten_middle(block, MAX_TEXT) if isinstance(block, str) else block for block in blocks]
        return ToolResult(shown, result.structured_content)
    text = _join(blocks)
    return ToolResult(text, _unwrap_data(result.structured_content, text))


def _unwrap_data(structured: dict[str, Any] | None, text: str) -> Any:
    """Return the structured content. A value that is no object is wrapped in one on the way, as `result`, but not in the text."""
    if structured is None or list(structured) != ["result"] or try_parse_json(text) == structured:
        return structured
    return structured["result"]


def result_to_text(result: CallToolResult) -> str:
    """Return the whole result as text: media have a label there."""
    return _join(_read_blocks(result))


def _join(blocks: list[str | Attachment]) -> str:
    return shorten_middle("\n\n".join([str(block) for block in blocks]), MAX_TEXT)


def _read_blocks(result: CallToolResult) -> list[str | Attachment]:
    blocks = [_read_block(block) for block in result.content]
    data = result.structured_content
    if data is not None and not any(_is_same_data(str(block), data) for block in blocks):
        blocks.append(to_text(data))
    return [block for block in blocks if block != ""]


def _read_block(block: ContentBlock) -> str | Attachment:
    match block:
        case TextContent():
            return block.text
        case ImageContent():
            return _read_media("image", block.mime_type, block.data)
        case AudioContent():
            return _read_media("audio", block.mime_type, block.data)
        case ResourceLink():
            return f"[a link to {block.name}: {block.uri}]"
        case EmbeddedResource():
            inside = block.resource
            if isinstance(inside, TextResourceContents):
                return f"[{inside.uri}]\n{inside.text}"
            return _read_media(str(inside.uri), inside.mime_type or "", inside.blob)


def _read_media(what: str, kind: str, base64: str) -> str | Attachment:
    """Decode Base64 media; a label where it is nothing that a model could be shown."""
    name = what.rpartition("/")[2] if "/" in what else ""
    try:
        return attachment_from_base64(base64, kind, name)
    except BadMedia:
        return _label_media(what, kind, base64)


def _label_media(what: str, kind: str, base64: str) -> str:
    return f"[{what}{f' ({kind})' if kind else ''}, about {len(base64) * 3 // 4} bytes, not shown]"


def _is_same_data(text: str, data: Any) -> bool:
    """Return whether a text is the same as the data: most servers send both, some as the value of a single field."""
    fields = as_object(data) or {}
    values = [data, *([fields["result"]] if list(fields) == ["result"] else [])]
    if text in [to_text(value) for value in values]:
        return True
    try:
        return msgspec.json.decode(text) in values
    except msgspec.DecodeError:
        return False


def shorten_middle(text: str, longest: int) -> str:
    """Return head and tail of a text that is too long, and how much is missing."""
    if len(text) <= longest:
        return text
    head, tail = longest * 2 // 3, longest // 3
    return f"{text[:head]}\n[… {len(text) - head - tail} of {len(text)} characters left out]\n{text[-tail:]}"


def format_progress(done: float, total: float | None, message: str | None) -> str:
    """Format the progress of a call as one line."""
    words = " ".join((message or "").split())[:MAX_PROGRESS]
    share = f"{done:g} of {total:g}" if total else ""
    return f"{share}: {words}" if share and words else share or words or f"{done:g}"
