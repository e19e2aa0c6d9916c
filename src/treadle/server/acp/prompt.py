"""A prompt of an editor as a message: text, mentions of files, embedded files, images and recordings."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from treadle.core.errors import BadMedia, BadPrompt
from treadle.core.media import Attachment, Prompt, attachment_from_base64
from treadle.core.messages import Quote
from treadle.core.requests import Traits
from treadle.files.problems import WorkspaceProblem
from treadle.files.workspace import Workspace
from treadle.plugins.prompts import MAX_TEXT_BYTES

ContentBlock = TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock


def prompt_from_blocks(blocks: Sequence[ContentBlock], workspace: Workspace, traits: Traits) -> Prompt:
    """Return the message. Nothing is read from the disk: the model reads a mentioned file with its tools.

    Raises `BadPrompt` where it is empty, and `BadMedia` for media that the model doesn't take.
    """
    words: list[str] = []
    files: list[Quote] = []
    attached: list[Attachment] = []
    for block in blocks:
        match block:
            case TextContentBlock():
                words.append(block.text)
            case ResourceContentBlock():
                words.append(_mention(block.uri, block.name, workspace))
            case EmbeddedResourceContentBlock():
                words.append(_mention(block.resource.uri, "", workspace))
                _embed(block.resource, workspace, traits, files, attached)
            case ImageContentBlock() | AudioContentBlock():
                attached.append(_attach(block.data, block.mime_type, "", traits))
    text = "".join(words)
    if not text.strip() and not attached:
        raise BadPrompt("The prompt is empty: write what the assistant is to do.")
    return [text, *files, *attached] if files or attached else text


def text_of_prompt(prompt: Prompt) -> str:
    """Return the text of a message."""
    return prompt if isinstance(prompt, str) else "".join([part for part in prompt if isinstance(part, str)])


def _mention(uri: str, name: str, workspace: Workspace) -> str:
    """Return how a file is named to the model: by its path in the workspace, else by its address."""
    path = _path_in(uri, workspace)
    if path:
        return f"`{path}`"
    return f"[{name}]({uri})" if name else f"`{uri}`"


def _path_in(uri: str, workspace: Workspace) -> str:
    """Return the path in the workspace that a `file:` URI stands for; empty where it is no such file."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return ""
    try:
        return workspace.relative(unquote(parts.path))
    except WorkspaceProblem:
        return ""


def _embed(
    resource: TextResourceContents | BlobResourceContents,
    workspace: Workspace,
    traits: Traits,
    files: list[Quote],
    attached: list[Attachment],
) -> None:
    """Add an embedded resource: text as a quote, which the user needn't have written; anything else as media."""
    name = _path_in(resource.uri, workspace) or resource.uri
    if isinstance(resource, BlobResourceContents):
        attached.append(_attach(resource.blob, resource.mime_type or "", PurePosixPath(name).name, traits))
        return
    if len(resource.text.encode(errors="replace")) > MAX_TEXT_BYTES:
        raise BadPrompt(
            f"{name} has more than {MAX_TEXT_BYTES:,} bytes, the most that a prompt takes; mention the part that matters."
        )
    if resource.text.strip():
        files.append(Quote(name, resource.text))


def _attach(data: str, media_type: str, name: str, traits: Traits) -> Attachment:
    found = attachment_from_base64(data, media_type, name)
    if not found.media_type.startswith("text/") and not traits.takes(found.media_type):
        raise BadMedia(f"The model doesn't take {found.media_type}; choose one that does (`treadle models`), or leave it out.")
    return found
